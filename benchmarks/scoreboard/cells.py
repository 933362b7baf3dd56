"""Cells of the scoreboard: one file each, written as soon as there is something to say, and read by whoever resumes."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
REAL = "real"  # the method that releases nothing: the real rows themselves


@dataclass
class Cell:
    """A data set, a method and an epsilon; the releases made so far, or why there are none."""

    data: str
    method: str
    epsilon: float
    facts: dict[str, Any] = field(default_factory=dict)
    releases: list[dict[str, Any]] = field(default_factory=list)
    failure: str | None = None

    @property
    def name(self) -> str:
        """Of its file."""
        return f"{self.data}.{self.method}.{self.epsilon:g}.json"

    @property
    def seconds(self) -> float | None:
        """What the first release took."""
        return self.releases[0]["seconds"] if self.releases else None

    def figures(self) -> dict[str, list[float]]:
        """Every figure of every release, by the figure's name; seconds and memory among them."""
        names = dict.fromkeys(name for release in self.releases for name in release["measures"])
        found = {name: [r["measures"][name] for r in self.releases if name in r["measures"]] for name in names}
        return found | {name: [r[name] for r in self.releases] for name in ("seconds", "peak_megabytes")}

    def is_done(self, wanted: int) -> bool:
        """Whether nothing is left to measure."""
        return self.failure is not None or len(self.releases) >= wanted

    def save(self, folder: Path) -> None:
        """Write the cell with the mean and the spread of its figures."""
        folder.mkdir(parents=True, exist_ok=True)
        spread = {name: {"mean": mean, "sd": sd} for name, (mean, sd, _) in summary(self).items()}
        said = {
            "data": self.data,
            "method": self.method,
            "epsilon": self.epsilon,
            **self.facts,
            "failure": self.failure,
            "spread": spread,
            "releases": self.releases,
        }
        path = folder / self.name
        unfinished = path.with_suffix(".tmp")
        unfinished.write_text(json.dumps(said, indent=1) + "\n")
        unfinished.replace(path)

    @classmethod
    def read(cls, path: Path) -> Cell:
        """A cell as it was saved."""
        said = json.loads(path.read_text())
        said.pop("spread")
        own = [said.pop(name) for name in ("data", "method", "epsilon")]
        failure, releases = said.pop("failure"), said.pop("releases")
        return cls(*own, facts=said, releases=releases, failure=failure)


def load(folder: Path = RESULTS) -> dict[tuple[str, str, float], Cell]:
    """All cells that were measured."""
    cells = [Cell.read(path) for path in sorted(folder.glob("*.json"))]
    return {(cell.data, cell.method, cell.epsilon): cell for cell in cells}


def summary(cell: Cell) -> dict[str, tuple[float, float | None, int]]:
    """The mean of each figure, its standard deviation (of two releases or more) and how many releases there are."""
    return {
        name: (
            round(statistics.fmean(values), 5),
            round(statistics.stdev(values), 5) if len(values) > 1 else None,
            len(values),
        )
        for name, values in cell.figures().items()
        if values
    }
