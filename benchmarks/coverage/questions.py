"""What releases are asked, and what is true of a table or of a population.

Truths are found from the rows themselves, not by the code that is measured. Where an answer is of levels that a release
put together, as tables of pairs are, the truth is of the rows in these levels, by the public description of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from sfumato.asking.evidence import read_rounds
from sfumato.private.queries.base import Batch
from sfumato.release.release import Release
from sfumato.schema.layout import FloatArray, IntArray, Layout, OrderedBins

About = Literal["table", "population"]
Kind = Literal[
    "count", "share", "pair table", "mean", "group mean", "cut bins", "correlation", "quantile", "regression"
]
EXACT: tuple[Kind, ...] = ("count", "share", "pair table")  # 95 % within three standard errors
AT_LEAST: tuple[Kind, ...] = ("mean", "group mean", "cut bins")
BETWEEN: tuple[Kind, ...] = ("correlation", "quantile", "regression")  # 92 to 98 %
COUNTED = ("count", "pair table")  # that a population has none of


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of which something is true, a table or a population: as they are, and as cells of public grids."""

    frame: pd.DataFrame
    batch: Batch
    known: dict[Any, Any] = field(default_factory=dict)

    def once(self, key: Any, find: Callable[[], Any]) -> Any:
        """What was found before, or is now."""
        if key not in self.known:
            self.known[key] = find()
        return self.known[key]

    def joint(self, layout: Layout, one: str, other: str) -> FloatArray:
        """How many rows there are in each pair of cells of two columns."""

        def find() -> FloatArray:
            codes, sizes = zip(*(self._cells(layout, name) for name in (one, other)), strict=True)
            found = np.bincount(codes[0] * sizes[1] + codes[1], minlength=sizes[0] * sizes[1])
            return found.reshape(sizes).astype(np.float64)

        return np.asarray(self.once((one, other), find))

    def _cells(self, layout: Layout, name: str) -> tuple[IntArray, int]:
        if name == layout.label:
            return np.asarray(self.batch.labels, np.int64), layout.classes
        place = layout.names.index(name)
        return self.batch.codes[place].astype(np.int64), layout.cells[place]


@dataclass(frozen=True)
class Question:
    """Something to ask: its kind, how it is asked, and what is true.

    Attributes:
        kind: What bar it is held to.
        name: What it is called on the page.
        ask: The estimates of a release, about the table or the population.
        truth: As many numbers, true of rows, given the release whose levels they may be about.
    """

    kind: Kind
    name: str
    ask: Callable[[Release, About], Sequence[Any]]
    truth: Callable[[Rows, Release], Sequence[float]]

    @property
    def abouts(self) -> tuple[About, ...]:
        """What it can be asked about."""
        return ("table",) if self.kind in COUNTED or "count" in self.name else ("table", "population")


# --- questions by what they are true of


def plain(kind: Kind, name: str, ask: Any, truth: Callable[[pd.DataFrame], float]) -> Question:
    """A question whose truth is that of the rows as they are."""
    return Question(kind, name, ask, lambda rows, _: [rows.once(name, lambda: float(truth(rows.frame)))])


def count(where: str, kind: Kind = "count") -> Question:
    """How many rows a condition holds for."""
    return plain(kind, f"count of {where}", lambda r, about: [r.count(where)], lambda frame: frame.eval(where).sum())


def share(where: str, kind: Kind = "share") -> Question:
    """The share of rows that a condition holds for."""
    return plain(
        kind,
        f"share of {where}",
        lambda release, about: [release.share(where, about=about)],
        lambda frame: frame.eval(where).mean(),
    )


def mean(column: str, where: str | None = None) -> Question:
    """The mean of a column, of all rows or of some."""
    return plain(
        "mean" if where is None else "cut bins",
        f"mean of {column}" + ("" if where is None else f" where {where}"),
        lambda release, about: [release.mean(column, where=where, about=about)],
        lambda frame: (frame if where is None else frame[frame.eval(where)])[column].mean(),
    )


def quantile(column: str, at: float) -> Question:
    """A quantile of a column: the smallest value that so many rows are at or below."""
    return plain(
        "quantile",
        f"quantile {at:g} of {column}",
        lambda release, about: [release.quantile(column, at, about=about)],
        lambda frame: np.quantile(frame[column], at, method="inverted_cdf"),
    )


def group_mean(column: str, by: str) -> Question:
    """The mean of a column in each group of a listed column."""
    name = f"mean of {column} by {by}"

    def truth(rows: Rows, release: Release) -> list[float]:
        found = rows.once(name, lambda: rows.frame.groupby(by, observed=True)[column].mean())
        listed: Any = release.schema.columns[by]
        return [float(found.get(value, np.nan)) for value in listed.levels]

    return Question("group mean", name, lambda r, about: list(r.mean(column, by=by, about=about)), truth)


def pair_table(one: str, other: str) -> Question:
    """All cells of the table of two columns."""
    return Question(
        "pair table",
        f"table of {one} and {other}",
        lambda release, about: list(release.table(one, other)),
        lambda rows, release: binned(rows, release, one, other).ravel().tolist(),
    )


def correlation(one: str, other: str) -> Question:
    """The correlation of two columns, as binned."""

    def truth(rows: Rows, release: Release) -> list[float]:
        _, _, moments = second_moments(rows, release, one, other)
        return [float(moments[0, 1] / np.sqrt(moments[0, 0] * moments[1, 1]))]

    return Question(
        "correlation",
        f"correlation of {one} and {other}",
        lambda release, about: [release.correlation(one, other, about=about)],
        truth,
    )


def regression(outcome: str, feature: str) -> Question:
    """The intercept and the slope of a linear regression on one number, as binned."""

    def truth(rows: Rows, release: Release) -> list[float]:
        y, x, moments = second_moments(rows, release, outcome, feature)
        slope = float(moments[0, 1] / moments[1, 1])
        return [y - slope * x, slope]

    return Question(
        "regression",
        f"{outcome} ~ {feature}",
        lambda release, about: list(release.regress(f"{outcome} ~ {feature}", kind="linear", about=about)),
        truth,
    )


# --- rows in the levels of an answer, by its public description


def binned(rows: Rows, release: Release, one: str, other: str) -> FloatArray:
    """How many rows there are in each pair of levels of the first answer about two columns together."""
    layout = release.asked
    joint = rows.joint(layout, one, other)
    for axis, name in enumerate((one, other)):
        if name != layout.label:
            levels = level_of_cells(release, name, (one, other))
            summed = np.zeros((levels.max() + 1, joint.shape[1 - axis]))
            np.add.at(summed, levels, joint if axis == 0 else joint.T)
            joint = summed if axis == 0 else summed.T
    return joint


def level_of_cells(release: Release, column: str, together: tuple[str, str]) -> IntArray:
    """The level of each cell of a column's grid in the first answer about two columns together."""
    layout = release.asked
    place, names = layout.names.index(column), [*layout.names, layout.label]
    for answer in release.answers:
        what = answer.what
        if what["kind"] == "histograms" and set(together) == {column, layout.label}:
            own = list(what.get("columns", range(len(layout.names)))).index(place)
            starts = np.array(what["starts"][own]) if "starts" in what else np.arange(what["bins"][own])
            return _spread(starts, np.arange(len(starts)), layout.cells[place])
        if what["kind"] == "tables" and any(set(together) <= {names[j] for j in table} for table in what["tables"]):
            levels = np.array(what["levels"][place][:-1])
            starts = np.array(what["starts"][place]) if "starts" in what else np.arange(len(levels))
            return _spread(starts, levels, layout.cells[place])
    raise NotAsked(f"no answer about {one_of(together)}")


class NotAsked(Exception):
    """No answer of a release is about some columns together."""


def one_of(names: Sequence[str]) -> str:
    """Names in a line."""
    return " and ".join(names)


def _spread(starts: IntArray, levels: IntArray, cells: int) -> IntArray:
    return np.asarray(levels[np.searchsorted(starts, np.arange(cells), "right") - 1])


def second_moments(rows: Rows, release: Release, one: str, other: str) -> tuple[float, float, FloatArray]:
    """The means and the covariance of two columns of numbers, each row in the middle of its levels."""
    counts = binned(rows, release, one, other)
    values = [middles(release, name, (one, other)) for name in (one, other)]
    shares = counts / counts.sum()
    first, second = shares.sum(axis=1) @ values[0], shares.sum(axis=0) @ values[1]
    apart = values[0] - first, values[1] - second
    mixed = apart[0] @ shares @ apart[1]
    own = shares.sum(axis=1) @ apart[0] ** 2, shares.sum(axis=0) @ apart[1] ** 2
    return float(first), float(second), np.array([[own[0], mixed], [mixed, own[1]]])


def middles(release: Release, column: str, together: tuple[str, str]) -> FloatArray:
    """The number that stands for each level: where a level has more than one, that which the release says."""
    layout = release.asked
    bins = layout.bins[layout.names.index(column)]
    assert isinstance(bins, OrderedBins)
    assert bins.missing < 0
    level = level_of_cells(release, column, together)[bins.cell_starts]
    if len(set(level)) == len(bins.low) and (bins.low == bins.high).all():
        return np.asarray(bins.low)
    found = next(each for each in read_rounds(release.answers, layout) if each.speaks_of(together))
    return np.asarray(found.axes[column].middles[: level.max() + 1])


SIMULATED = (
    count("ill == 'yes'"),
    count("region == 'east'"),
    count("visits <= 3"),
    count("sex == 'f' and ill == 'yes'"),
    share("region == 'east'"),
    share("score >= 6"),
    share("age >= 65"),
    pair_table("sex", "ill"),
    pair_table("visits", "score"),
    pair_table("age", "visits"),
    mean("visits"),
    mean("age"),
    mean("income"),
    group_mean("visits", "ill"),
    group_mean("age", "ill"),
    group_mean("income", "sex"),
    count("income > 33333", "cut bins"),
    share("income > 33333", "cut bins"),
    share("age > 40 and visits > 2", "cut bins"),
    mean("visits", "age > 40"),
    correlation("visits", "score"),
    correlation("age", "visits"),
    quantile("age", 0.5),
    quantile("income", 0.9),
    regression("score", "visits"),
    regression("visits", "age"),
)
ADULT = (
    count("income == '>50K'"),
    count("sex == 'Female'"),
    count("education_num >= 13"),
    share("sex == 'Female'"),
    share("age >= 65"),
    share("hours_per_week > 40"),
    pair_table("sex", "income"),
    pair_table("relationship", "sex"),
    pair_table("education", "education_num"),
    mean("age"),
    mean("hours_per_week"),
    mean("capital_gain"),
    mean("fnlwgt"),
    group_mean("age", "income"),
    group_mean("hours_per_week", "income"),
    group_mean("hours_per_week", "sex"),
    count("capital_gain > 5000", "cut bins"),
    share("fnlwgt > 200000", "cut bins"),
    share("age > 40 and hours_per_week > 40", "cut bins"),
    mean("hours_per_week", "age > 40"),
    correlation("age", "hours_per_week"),
    correlation("education_num", "hours_per_week"),
    quantile("age", 0.5),
    quantile("hours_per_week", 0.9),
    regression("hours_per_week", "age"),
    regression("hours_per_week", "education_num"),
)
QUESTIONS = {"simulated": SIMULATED, "adult": ADULT}
