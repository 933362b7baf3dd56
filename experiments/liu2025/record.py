"""What made a result file (commit, command, seeds, versions), and the cells that are measured already."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path

from experiments.liu2025.setups import SEED

ROOT = Path(__file__).parents[2]
PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "matplotlib")
SEEDS = (
    f"data set t: default_rng([{SEED}, t]); release: default_rng([t, number of the value on the axis, number of the"
    " method in runners.ALL])"
)


@cache
def commit() -> str:
    """The commit of the working tree, with a + where files of it have changed since."""
    head = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "src", "experiments/liu2025/*.py")
    return f"{head}{'+' if changed else ''}" if head else "unknown"


def made_by(seeds: str = SEEDS) -> dict[str, str | dict[str, str]]:
    """What goes into every result file."""
    versions = {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}
    command = " ".join(["python -m experiments.liu2025", *sys.argv[1:]])
    return {"commit": commit(), "command": command, "seeds": seeds, "versions": versions}


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


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
