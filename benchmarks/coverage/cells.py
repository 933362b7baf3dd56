"""Cells of the measurement: one file each, a block of releases at a time, added to by whoever resumes.

What a block keeps of a figure are sums over its releases, so that blocks add up: how many estimates there were, how
many had an interval, and over releases that had one the share of their intervals that hold the truth, its square, and
their mean width.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
# What is measured of releases: what is linear in their answers and quotients of it, functions of those, both without
# solving the tilt; and, with the tilt solved, what rows of the model say.
LINEAR, FUNCTIONS, SOLVED = "linear", "functions", "solved"
MODES = (LINEAR, FUNCTIONS, SOLVED)


@dataclass
class Tally:
    """What intervals did, added up over releases."""

    releases: int = 0
    asked: int = 0
    answered: int = 0
    with_interval: int = 0  # releases
    covered: float = 0.0
    covered_squared: float = 0.0
    width: float = 0.0

    def add(self, holds: list[bool | None], width: float) -> None:
        """One release: for each estimate whether its interval holds the truth, None where it has none."""
        known = [each for each in holds if each is not None]
        self.releases += 1
        self.asked += len(holds)
        self.answered += len(known)
        if known:
            share = sum(known) / len(known)
            self.with_interval += 1
            self.covered += share
            self.covered_squared += share**2
            self.width += width

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        mine, its = asdict(self), asdict(other)
        return Tally(**{name: mine[name] + its[name] for name in mine})

    @property
    def coverage(self) -> float:
        """The share of intervals that hold the truth."""
        return self.covered / self.with_interval if self.with_interval else math.nan

    def standard_error(self, level: float = 0.95) -> float:
        """Of that share, by the simulation: by what would be seen at the level, or more where releases differ more."""
        n = self.with_interval
        if not n:
            return math.nan
        spread = max(self.covered_squared / n - self.coverage**2, 0.0)
        each = self.answered / n  # intervals of a release
        return math.sqrt(max(spread, level * (1.0 - level) / each) / n)

    @property
    def mean_width(self) -> float:
        """Of the intervals."""
        return self.width / self.with_interval if self.with_interval else math.nan


@dataclass
class Cell:
    """A population, a number of rows, an epsilon, and what was measured of them so far."""

    population: str
    rows: int
    epsilon: float
    mode: str
    blocks: list[dict[str, Any]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Of its file."""
        return f"{self.population}.{self.rows}.{self.epsilon:g}.{self.mode}.json"

    @property
    def releases(self) -> int:
        """How many were made."""
        return sum(block["releases"] for block in self.blocks)

    @property
    def tallies(self) -> dict[str, Tally]:
        """All blocks together, by the figure's name."""
        found: dict[str, Tally] = {}
        for block in self.blocks:
            for name, sums in block["figures"].items():
                found[name] = found.get(name, Tally()).plus(Tally(**sums))
        return found

    def save(self, folder: Path) -> None:
        """Write the cell, whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.name
        unfinished = path.with_suffix(".tmp")
        told = asdict(self) | {"blocks": []}
        blocks = ",\n".join(json.dumps(block) for block in self.blocks)  # a line each
        unfinished.write_text(json.dumps(told).replace("[]", f"[\n{blocks}]") + "\n")
        unfinished.replace(path)


def load(folder: Path = RESULTS) -> dict[tuple[str, int, float, str], Cell]:
    """All cells that were measured."""
    cells = [Cell(**json.loads(path.read_text())) for path in sorted(folder.glob("*.*.json"))]
    return {(cell.population, cell.rows, cell.epsilon, cell.mode): cell for cell in cells}
