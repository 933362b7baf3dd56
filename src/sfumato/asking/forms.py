"""What regressions are made of: features of columns, sums of their products, and the noise of such sums."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from sfumato.asking.evidence import Axis, Cells, Columns, Parts, Round, covariance
from sfumato.asking.regions import spread
from sfumato.errors import ArgumentError
from sfumato.schema.columns import Column, Number
from sfumato.schema.conditions import NAME
from sfumato.schema.layout import FloatArray
from sfumato.text import one_line

INTERCEPT = "intercept"


@dataclass(frozen=True)
class Formula:
    """A regression in words: what is explained, and by which columns.

    Example:
        >>> Formula.of("hours ~ age + `home town`")
        Formula(response='hours', terms=('age', 'home town'))
    """

    response: str
    terms: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Formula:
        """Read a formula.

        Raises:
            ArgumentError: If it is none.
        """
        if not isinstance(text, str) or text.count("~") != 1:
            raise ArgumentError(f"a formula looks like 'hours ~ age + sex', not {one_line(str(text))!r}")
        left, right = text.split("~")
        names = [_name(part, text) for part in (left, *right.split("+"))]
        if len(set(names)) < len(names):
            raise ArgumentError(f"formula {one_line(text)!r} has a column twice")
        return cls(names[0], tuple(names[1:]))

    @property
    def columns(self) -> Columns:
        """All columns, in order."""
        return tuple(sorted((self.response, *self.terms)))


def _name(part: str, text: str) -> str:
    bare = part.strip()
    if len(bare) > 2 and bare[0] == bare[-1] == "`":
        return bare[1:-1]
    if NAME.fullmatch(bare) is None:
        hint = "columns with + between, names with signs in back-ticks"
        raise ArgumentError(f"formula {one_line(text)!r}: {one_line(bare)!r} is no column; it has {hint}")
    return bare


@dataclass(frozen=True, eq=False)
class Feature:
    """A number for each level of a column; of no column for the intercept."""

    name: str
    column: str | None
    values: FloatArray


def features_of(axis: Axis, described: Column, centre: float = 0.0) -> list[Feature]:
    """What stands for the numbers of each level, or an indicator of each level of a listed column but the first."""
    if isinstance(described, Number):
        return [Feature(axis.column, axis.column, np.where(axis.known, axis.middles - centre, 0.0))]
    names = axis.names()
    levels = np.flatnonzero(axis.known)
    return [
        Feature(f"{axis.column}[{names[i]}]", axis.column, (np.arange(axis.size) == i).astype(np.float64))
        for i in levels[1:]
    ]


@dataclass(frozen=True, eq=False)
class Sources:
    """Where sums of products of features come from.

    Attributes:
        rounds: For each set of columns that is needed, the round that speaks of it: all columns together, or pairs.
        columns: All columns.
    """

    rounds: dict[Columns, Round]
    columns: Columns

    @classmethod
    def of(cls, rounds: Sequence[Round], columns: Columns) -> Sources | None:
        """One round that speaks of all columns, or the first that speaks of each pair; None where there is a gap."""
        whole = next((each for each in rounds if each.speaks_of(columns)), None)
        if whole is not None:
            return cls({columns: whole}, columns)
        bought = [each for each in rounds if each.kind == "tables"]
        found: dict[Columns, Round] = {}
        for pair in combinations(columns, 2):
            first = next((each for each in bought if each.speaks_of(pair)), None)
            if first is None:
                return None
            found[pair] = first
        return cls(found, columns) if _are_alike(found.values()) else None

    @property
    def is_whole(self) -> bool:
        """Whether all columns are in one table."""
        return self.columns in self.rounds

    def axis(self, column: str) -> Axis:
        """How a column is seen: alike in all rounds of tables."""
        return next(each.axes[column] for some, each in self.rounds.items() if column in some)

    def cells(self, columns: set[str]) -> Cells:
        """The first cells that have these columns."""
        for some, each in self.rounds.items():
            if columns <= set(some):
                return each.cells(some)
        raise KeyError(columns)

    def product(self, one: Feature, other: Feature) -> tuple[Cells, FloatArray]:
        """The coefficients of the sum over rows of the product of two features, of rows whose cells are known."""
        cells = self.cells({name for name in (one.column, other.column) if name is not None})
        found = np.ones(cells.shape)
        for axis in cells.axes.values():
            found = found * spread(axis.known, (axis.column,), cells.columns)
        for each in (one, other):
            if each.column is not None:
                found = found * spread(each.values, (each.column,), cells.columns)
        return cells, found


def _are_alike(rounds: Iterable[Round]) -> bool:
    """Whether rounds see their columns in the same levels."""
    for one, other in pairwise(rounds):
        for name in one.axes.keys() & other.axes.keys():
            mine, its = one.axes[name], other.axes[name]
            seen = ((each.level, *each.ranges, each.middles) for each in (mine, its))
            if not all(map(np.array_equal, *seen)):
                return False
    return True


class Form:
    """A linear form of the counts in several rounds."""

    def __init__(self) -> None:
        self.terms: dict[Cells, FloatArray] = {}

    def add(self, weight: float, cells: Cells, question: FloatArray) -> Form:
        """Add a question with a weight."""
        self.terms[cells] = self.terms.get(cells, 0.0) + weight * question
        return self

    @property
    def value(self) -> float:
        """What it is by the counts."""
        return sum(cells.total(question) for cells, question in self.terms.items())

    def covariance(self, other: Form) -> float:
        """Of the noise on two forms: questions to one round share theirs."""
        mine, its = self._parts(), other._parts()
        return sum(covariance(of, mine[of], its[of]) for of in mine.keys() & its.keys())

    def _parts(self) -> dict[Round, Parts]:
        found: dict[Round, dict[Columns, Any]] = defaultdict(dict)
        for cells, question in self.terms.items():
            mine = found[cells.round]
            for some, part in cells.parts(question).items():
                mine[some] = mine.get(some, 0.0) + part
        return found


@dataclass(frozen=True)
class Coefficient:
    """A number theta that solves I + (estimate - theta) D = 0, for two forms I, whose value is 0, and D.

    Attributes:
        name: The term.
        estimate: The estimate.
        size: The value of D.
        noise: The variance of I, the covariance of both, and the variance of D.
        sampling: What sampling adds to the variance of I.
    """

    name: str
    estimate: float
    size: float
    noise: tuple[float, float, float]
    sampling: float

    @classmethod
    def of(cls, name: str, estimate: float, influence: Form, size: Form, sampling: float) -> Coefficient:
        """From both forms."""
        noise = influence.covariance(influence), influence.covariance(size), size.covariance(size)
        return cls(name, estimate, size.value, noise, sampling)

    def is_clear(self, z: float) -> bool:
        """Whether D stands so many standard deviations above its noise."""
        return self.size > z * math.sqrt(self.noise[2])

    def se(self, sampled: bool) -> float:
        """The standard error, to first order."""
        return math.sqrt(self.noise[0] + (self.sampling if sampled else 0.0)) / self.size

    def interval(self, z: float, sampled: bool) -> tuple[float, float]:
        """All theta for which I + (estimate - theta) D is within noise of 0 (Fieller 1954); D must be clear at z."""
        one, both, two = self.noise
        one += self.sampling if sampled else 0.0
        lead = self.size**2 - z**2 * two
        shift = -(z**2) * both / lead
        reach = math.sqrt(shift**2 + z**2 * one / lead)
        return self.estimate + shift - reach, self.estimate + shift + reach
