"""What made a result file (commit, command, seeds, versions), and the cells that are measured already."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from experiments import provenance
from experiments.liu2025.setups import SEED
from experiments.provenance import commit

NUMBER = "number of the method in runners.ALL"
DATA = f"data set t: default_rng([{SEED}, t])"
ON_AXIS = f"release: default_rng([t, number of the value on the axis, {NUMBER}])"
SEEDS = f"{DATA}; {ON_AXIS}"
"""Of a figure over an axis; t counts trials from 0."""


def made_by(seeds: str = SEEDS) -> dict[str, object]:
    """What goes into every result file."""
    return provenance.made_by() | {"seeds": seeds}


class Cells:
    """Numbers by name, each written to a file as soon as it is measured, so that a run that was stopped goes on.

    The file carries the commit in its name: another commit measures anew, and a tree that has changed since never
    resumes.
    """

    def __init__(self, folder: Path) -> None:
        self.path = None if commit().endswith("+") else folder / f"{commit()[:12]}.jsonl"
        self.found: dict[str, float] = {}
        if self.path is not None and self.path.is_file():
            self.found = dict(json.loads(line) for line in self.path.read_text().splitlines())

    def get(self, name: str, measure: Callable[[], float]) -> float:
        """The number of that name; measured only where it is not known."""
        if name not in self.found:
            self.found[name] = measure()
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("a") as file:
                    file.write(json.dumps([name, self.found[name]]) + "\n")
        return self.found[name]
