"""What noise on every row leaves to be learned, whatever is trained on it: docs/proofs/slicing.md, section 11.

The share of a category, all else known, has no unbiased estimate with a smaller standard deviation than this.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

from experiments.provenance import made_by
from experiments.slicing import runs
from experiments.slicing.data import TABLES, load
from experiments.slicing.plain import Plain
from experiments.slicing.tables import EPSILONS, TITLES
from experiments.slicing.tune import GRID
from experiments.three_a.cube import Cube
from experiments.three_a.data import DataSet
from sfumato.accounting import calibrate, slicing_sigma

FILE = "ceiling.json"
Bounds = dict[str, float]


def share_deviation(rows: int, moved: float, dim: int, projections: int, sigma: float) -> float:
    """Of a share, by (11.1): two categories whose rows are `moved` apart, `projections` of every row with noise.

    >>> round(share_deviation(10_000, 0.1, 100, 100, 1.0), 3)  # about sigma sqrt(d / m') / (moved sqrt n)
    0.1
    """
    return 1.0 / math.sqrt(rows * math.expm1(-projections / 2.0 * math.log1p(-2.0 * moved**2 / (dim * sigma**2))))


def noisy_row_deviation(rows: int, moved: float, sigma: float) -> float:
    """The same of rows that get the noise themselves, all of their coordinates."""
    return 1.0 / math.sqrt(rows * math.expm1((moved / sigma) ** 2))


def bounds(data: DataSet, epsilon: float) -> Bounds:
    """As printed with the best number of slices, for noisy rows at the same distance, and for one noisy count."""
    cube = Cube.of(Plain(data).set)
    levels = (*cube.levels, len(data.classes))
    dim = cube.dim + len(data.classes)
    moved = math.sqrt(2.0 / sum(1.0 - 1.0 / n for n in levels))  # at least as far as any radius moves a row
    asked = {"distance": 1.0, "method": "theorem1", "dim": dim}
    printed = [
        share_deviation(len(data.train), moved, dim, m, slicing_sigma(epsilon, data.delta, projections=m, **asked))
        for m in GRID["slices"]
    ]
    mu = calibrate(epsilon, data.delta)
    whole = noisy_row_deviation(len(data.train), moved, 1.0 / mu)
    return {"printed": min(printed), "noisy rows": whole, "one count": 1.0 / (mu * len(data.train))}


def make(out: Path) -> Path:
    """Write the bounds of all tables."""
    found = {name: {f"{epsilon:g}": bounds(load(name), epsilon) for epsilon in EPSILONS} for name in TABLES}
    (out / FILE).write_text(json.dumps({"bounds": found, "seeds": "none"} | made_by(), indent=1) + "\n")
    written = out / "ceiling.md"
    written.write_text(f"{HEADING}\n{markdown(found)}")
    return written


HEADING = """# What noise on every row leaves

    python -m experiments.slicing ceiling

The smallest standard deviation that an unbiased estimate of a category's share can have, all else known
(docs/proofs/slicing.md, section 11): from slices as printed, at the best number of slices of the search; from rows
with noise of their own at the same distance; and from a noisy count of the rows that have the category.
"""


def markdown(found: dict[str, dict[str, Bounds]]) -> str:
    """A line for each table and epsilon."""
    lines = [["table", "epsilon", "slices as printed", "noisy rows, exact", "a noisy count"]]
    for name, each in found.items():
        for epsilon, values in each.items():
            lines.append([TITLES[name], epsilon, *(f"{value:.2g}" for value in values.values())])
    return runs.table(lines)
