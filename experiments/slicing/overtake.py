"""Where noise on every row's projections gives as much as noise on sums: Adult, epsilon from 1 to 500."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from experiments.slicing import runs
from experiments.slicing.methods import METHODS, REAL
from experiments.slicing.runs import Run, select, spread
from experiments.three_a.judge import lightgbm

DATA = "adult"
SCORE = "AUC"
EPSILONS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 500.0)
RELEASES = 3
ROWS = "rows2"
CENTRAL = ("central", "central-replaced")  # the second promises what `rows` does: the same for a row replaced
SHOWN = (REAL, "untrained", *CENTRAL, ROWS)
FILE = "overtake.jsonl"


def make(
    out: Path,
    *,
    methods: Sequence[str] = (),
    epsilons: Sequence[float] = (),
    releases: int | None = None,
    again: bool = False,
) -> Path:
    """Make the runs that are missing, write the table, draw the picture, and say where they are."""
    path = out / FILE
    runs.make(
        path,
        lightgbm,
        data=[DATA],
        methods=methods or SHOWN,
        epsilons=epsilons or EPSILONS,
        releases=releases or RELEASES,
        again=again,
    )
    found = runs.kept(path)
    draw(found, out / "overtake.png")
    written = out / "overtake.md"
    written.write_text(f"{HEADING}\n{markdown(found)}")
    return written


HEADING = """# Adult over epsilon: noise on rows and noise on sums

    python -m experiments.slicing overtake

AUC on the real test rows of LightGBM trained on synthetic ones: mean ± standard deviation over releases, and how many;
delta = 1 / N. Releases have fixed seeds, so that the table can be made again, and so carry no guarantee themselves.
"""


def markdown(found: Sequence[Run]) -> str:
    """A line for each epsilon, and where the lines cross."""
    there = _there(found)
    if not there:
        return "No runs yet.\n"
    lines = [["epsilon", *(METHODS[method].title for method in there)]]
    for epsilon in sorted({run["epsilon"] for run in found} - {None}):
        cells = [values(found, method).get(epsilon, []) for method in there]
        lines.append([f"{epsilon:g}", *(f"{spread(cell)} ({len(cell)})" if cell else "" for cell in cells)])
    real = f"Real rows: {spread(_real(found))}.\n\n" if _real(found) else ""
    return f"{real}{runs.table(lines)}\n{crossings(found)}"


def crossings(found: Sequence[Run]) -> str:
    """Where the rows' form overtakes each central one."""
    means = {method: _means(found, method) for method in (*CENTRAL, ROWS)}
    said = []
    for method in CENTRAL:
        if means[method] and means[ROWS]:
            at = overtaken(means[method], means[ROWS])
            where = f"at epsilon {at:.2g}" if at is not None else "nowhere on this range"
            said.append(f"`{METHODS[ROWS].title}` overtakes `{METHODS[method].title}` {where}.\n")
    return "".join(said)


def overtaken(first: dict[float, float], second: dict[float, float]) -> float | None:
    """The epsilon from which on the second is above the first for good, between two values by a straight line over log
    epsilon; the smallest epsilon where it always is, None where it is not in the end.

    >>> round(overtaken({1: 0.9, 100: 0.9}, {1: 0.8, 100: 1.0}), 9)
    10.0
    """
    ahead = {epsilon: second[epsilon] - first[epsilon] for epsilon in sorted(first) if epsilon in second}
    if not ahead or list(ahead.values())[-1] <= 0:
        return None
    for (low, before), (high, after) in reversed(list(pairwise(ahead.items()))):
        if before <= 0:
            share = before / (before - after)
            return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
    return next(iter(ahead))


def draw(found: Sequence[Run], path: Path) -> None:
    """One line a method, with a bar of one standard deviation."""
    figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
    for method in _there(found):
        mine = values(found, method)
        epsilons = sorted(mine)
        deviations = [statistics.stdev(mine[e]) if len(mine[e]) > 1 else 0.0 for e in epsilons]
        heights = [statistics.mean(mine[e]) for e in epsilons]
        axis.errorbar(epsilons, heights, yerr=deviations, marker="o", capsize=3, label=METHODS[method].title)
    if _real(found):
        axis.axhline(_real(found)[0], color="grey", linewidth=1, linestyle=":", label="real rows")
    axis.set(xscale="log", xlabel="epsilon", ylabel="AUC on real test rows", title="Adult, LightGBM, delta = 1 / N")
    axis.legend(fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def values(found: Sequence[Run], method: str) -> dict[float, list[float]]:
    """The scores of a method at each epsilon."""
    mine = select(found, data=DATA, method=method)
    epsilons = sorted({run["epsilon"] for run in mine} - {None})
    return {epsilon: [run["scores"][SCORE] for run in select(mine, epsilon=epsilon)] for epsilon in epsilons}


def _means(found: Sequence[Run], method: str) -> dict[float, float]:
    return {epsilon: statistics.mean(scores) for epsilon, scores in values(found, method).items()}


def _there(found: Sequence[Run]) -> list[str]:
    return [method for method in METHODS if method != REAL and select(found, data=DATA, method=method)]


def _real(found: Sequence[Run]) -> list[float]:
    return [run["scores"][SCORE] for run in select(found, data=DATA, method=REAL)]
