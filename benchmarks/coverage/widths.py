"""The best linear combination of noisy answers, by brute force, to hold the widths of intervals against.

What is asked is a sum over the cells of one or two columns. Every answer that counts rows in tables tells sums of these
cells, with independent noise: what a table says of columns that nobody asked about is summed out. Generalised least
squares over the finest cells that any answer tells apart has the smallest variance that a linear, unbiased estimate can
have. Once with all answers, though some of them decided what others were asked, so that putting them together is not
unbiased; and once with the answers of the first round that speaks about the columns, which is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.release.release import Release
from sfumato.schema.layout import IntArray

Question = Callable[..., np.ndarray[Any, Any]]
SMALL = 1e-9  # of the largest precision: nothing is known of such a combination


@dataclass(frozen=True)
class Told:
    """A table of an answer: the round, its columns, the level of every cell of each (the last: fits nowhere), noise."""

    number: int
    levels: dict[str, IntArray]
    sd: float

    def sizes(self, columns: Sequence[str]) -> int:
        """How many cells its table of some columns has."""
        return math.prod(int(self.levels[name].max()) + 1 for name in columns)


def told_by(release: Release) -> Iterator[Told]:
    """The tables of all answers that count rows."""
    layout = release.asked
    for number, answer in enumerate(release.answers):
        what = answer.what
        if what["kind"] not in ("histograms", "tables"):
            continue
        places = list(what.get("columns", range(len(layout.names))))
        cells = [layout.cells[place] for place in places]
        starts = what.get("starts") or [range(n) for n in cells]
        own = what.get("levels") or [[*range(1, n + 1), 0] for n in what["bins"]]
        levels = {
            layout.names[place]: _of_cells(*each) for place, *each in zip(places, starts, own, cells, strict=True)
        }
        levels[layout.label or ""] = np.arange(layout.classes)
        names = [*levels]
        tables = what.get("tables") or [[i, len(places)] for i in range(len(places))]
        sds = np.broadcast_to(answer.sd, answer.values.shape)
        at = 0
        for table in tables:
            mine = {names[i]: levels[names[i]] for i in table}
            told = Told(number, mine, 0.0)
            size = told.sizes(list(mine))
            # Histograms are answered class by class: the noise of a column is at the place of its first class.
            yield Told(number, mine, float(sds[at]))
            at += size if what["kind"] == "tables" else size // layout.classes


def _of_cells(starts: Sequence[int], levels: Sequence[int], cells: int) -> IntArray:
    """The level of each cell of a grid, and of what fits nowhere, last."""
    bins = np.searchsorted(np.asarray(starts), np.arange(cells), "right") - 1
    return np.append(np.asarray(levels)[bins], levels[-1])


def best_sd(release: Release, columns: Sequence[str], question: Question) -> tuple[float, float]:
    """The least noise on a sum over rows: of all answers, and of those of the first round about the columns.

    Args:
        release: The release.
        columns: One or two columns.
        question: What a row counts for, given arrays of cells of each column; they broadcast. The cell after the last
            is what fits nowhere.

    Returns:
        The standard deviations.
    """
    told = list(told_by(release))
    first = next(each.number for each in told if set(columns) <= set(each.levels))
    alone = [each for each in told if each.number == first]
    return _least(told, columns, question), _least(alone, columns, question)


def _least(told: Sequence[Told], columns: Sequence[str], question: Question) -> float:
    atoms = [_atoms(told, name) for name in columns]
    sizes = [len(each) for each in atoms]
    asked = np.broadcast_to(np.asarray(question(*np.ix_(*atoms)), dtype=np.float64), sizes).ravel()
    normal = np.zeros((asked.size, asked.size))
    for each in told:
        common = [i for i, name in enumerate(columns) if name in each.levels]
        others = [name for name in each.levels if name not in columns]
        place = np.zeros(sizes, dtype=np.int64)
        for i in common:
            level = each.levels[columns[i]][atoms[i]]
            shape = [1] * len(sizes)
            shape[i] = -1
            place = place * (int(each.levels[columns[i]].max()) + 1) + level.reshape(shape)
        flat = np.broadcast_to(place, sizes).ravel()
        normal += (flat[:, None] == flat[None, :]) / (each.sd**2 * each.sizes(others))
    values, vectors = np.linalg.eigh(normal)
    known = values > SMALL * values.max()
    along = vectors.T @ asked
    if (np.abs(along[~known]) > 1e-6 * np.abs(along).max()).any():
        return math.inf
    return float(np.sqrt((along[known] ** 2 / values[known]).sum()))


def _atoms(told: Sequence[Told], column: str) -> IntArray:
    """One cell of every kind that some answer tells apart."""
    levels = np.stack([each.levels[column] for each in told if column in each.levels], axis=1)
    return np.sort(np.unique(levels, axis=0, return_index=True)[1])


# --- what is compared


def ratios(release: Release, compared: Sequence[Compared]) -> dict[str, tuple[float, float]]:
    """For each question the stated standard error over the best, of the first round alone and of all rounds."""
    found = {}
    rows = release.count().estimate
    for each in compared:
        estimate = each.ask(release)
        if estimate.se is not None and estimate.rests_on:
            all_rounds, first = best_sd(release, each.columns, each.form(estimate.estimate, rows))
            found[each.name] = estimate.se / first, estimate.se / all_rounds
    return found


@dataclass(frozen=True)
class Compared:
    """A question whose cells are numbered as its values are: how it is asked, and what it adds up to first order."""

    name: str
    columns: tuple[str, ...]
    ask: Callable[[Release], Any]
    form: Callable[[float, float], Question]


def count(where: str, columns: tuple[str, ...], holds: Question) -> Compared:
    """A count."""
    return Compared(f"count of {where}", columns, lambda release: release.count(where), lambda *_: holds)


def mean(column: str, low: float, values: int) -> Compared:
    """A mean: to first order the sum of (value - mean) / rows."""
    return Compared(
        f"mean of {column}",
        (column,),
        lambda release: release.mean(column),
        lambda found, rows: lambda cell: np.where(cell < values, (cell + low - found) / rows, 0.0),
    )


def pair_cell(one: str, other: str) -> Compared:
    """The first cell of a table."""
    return Compared(
        f"a cell of {one} and {other}",
        (one, other),
        lambda release: next(iter(release.table(one, other))),
        lambda *_: lambda a, b: (a == 0) & (b == 0),
    )


COMPARED = {
    "simulated": (
        count("ill == 'yes'", ("ill",), lambda c: c == 1),
        count("visits <= 3", ("visits",), lambda c: c <= 3),
        count("sex == 'f' and ill == 'yes'", ("sex", "ill"), lambda a, b: (a == 0) & (b == 1)),
        mean("visits", 0, 13),
        mean("age", 18, 73),
        pair_cell("visits", "score"),
    ),
    "adult": (
        count("income == '>50K'", ("income",), lambda c: c == 1),
        count("sex == 'Female'", ("sex",), lambda c: c == 0),
        mean("age", 16, 85),
        mean("hours_per_week", 1, 99),
        pair_cell("relationship", "sex"),
    ),
}
