"""Rows that keep the rules of a schema: drawn from the model given the rules.

Rows that break a rule are drawn again, which alone would draw what the rules speak of too rarely: if the model has
not quite learnt that children have no income, it is children that break the rule. So rows that keep the rules are
also weighed, by a factor for the value of each column that the rules depend on, such that these columns are
distributed as the model has them, who learnt that from noisy answers. Of all distributions that keep the rules and
these marginals it is the nearest to the model's, and as the table has both, no further from the table's than the
model's was (Csiszar 1975: both are linear families, and the I-projection on one that holds the truth comes closer to
it). The factors are found by iterative proportional fitting on rows drawn with a fixed seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd

from sfumato.errors import ArgumentError
from sfumato.models.base import REJECTION
from sfumato.release.conditional import SURE_DRAWS
from sfumato.schema.columns import Category, Column
from sfumato.schema.conditions import Among, ColumnOf, Comparison, Constant, Frame, Mask, Node
from sfumato.schema.layout import FloatArray, IntArray
from sfumato.schema.rules import Modelling

Draw: TypeAlias = Callable[[int], tuple[pd.DataFrame, Mask]]  # rows, and which of them are to be kept


@dataclass(frozen=True)
class Fitting:
    """How the factors of columns are found."""

    rows: int = 1 << 16  # that are drawn for it
    fewest: int = 1000  # of them that must keep the rules
    sweeps: int = 50
    parts: int = 16  # equal ones that an ordered column is cut into, beside the constants of rules
    enough: float = 0.999  # where more rows keep the rules, no group can be off by more than the rest
    heaviest: float = 0.999  # share of rows up to whose weight weights go: a few heavy ones would cost all others


FITTING = Fitting()


@dataclass(frozen=True)
class Parts:
    """A column cut into parts, with a factor for each of them and for what is missing.

    Attributes:
        column: The column.
        cuts: Where its parts begin, or the texts of a category.
        log_factors: One a part, the last for what is missing.
    """

    column: ColumnOf
    cuts: FloatArray | tuple[str, ...]
    log_factors: FloatArray

    def of(self, frame: Frame) -> IntArray:
        """The part that each row's value is in."""
        if isinstance(self.cuts, tuple):
            codes, texts = self.column.coded(frame)
            places = {text: place for place, text in enumerate(self.cuts)}
            return np.array([places.get(text, len(places)) for text in texts])[codes]
        values = self.column.values(frame)
        return np.where(np.isfinite(values), np.searchsorted(self.cuts, values, "right"), len(self.cuts) + 1)


@dataclass(frozen=True)
class Keeping:
    """How rows that keep the rules are weighed, and how many there are.

    Attributes:
        parts: The columns with factors.
        log_most: What the logarithm of a row's weight goes up to.
        log_share: Log of the mean weight of rows that the model draws, 0 for those that break a rule.
    """

    parts: tuple[Parts, ...]
    log_most: float
    log_share: float

    @classmethod
    def of(cls, modelling: Modelling, drawn: Frame, kept: Mask) -> Keeping:
        """The weights, from rows as the model draws them and which of them keep the rules.

        Raises:
            ArgumentError: If none does.
        """
        if not kept.any():
            raise ArgumentError(no_mass(0, len(kept)))
        if kept.mean() >= FITTING.enough or kept.sum() < FITTING.fewest:
            return cls((), 0.0, float(np.log(kept.mean())))
        told = _constants(rule.condition for rule in modelling.rules)
        cut = [
            _cut(ColumnOf(name, modelling.modelled[name].type), modelling.modelled[name], drawn, told)
            for name in modelling.involved
        ]
        parts = _fitted(cut, drawn, kept)
        weights = sum((part.log_factors[part.of(drawn)] for part in parts), np.zeros(len(kept)))[kept]
        order = np.argsort(weights)
        upto = np.cumsum(np.exp(weights[order] - weights.max()))
        most = float(weights[order][np.searchsorted(upto, FITTING.heaviest * upto[-1])])
        share = np.exp(np.minimum(weights - most, 0.0)).sum() / len(kept)
        return cls(parts, most, float(np.log(share)))

    def log_weights(self, columns: Frame, rows: int) -> FloatArray:
        """The log weight of rows, at most 0."""
        total = sum((part.log_factors[part.of(columns)] for part in self.parts), np.zeros(rows))
        return np.minimum(total - self.log_most, 0.0)


def keep_rules(draw: Draw, n: int, share: float) -> pd.DataFrame:
    """Rows that are to be kept, by rejection; about this share of those that are drawn."""
    frames: list[pd.DataFrame] = []
    kept = drawn = 0
    while kept < n or not frames:
        if drawn >= SURE_DRAWS and 2 * kept * REJECTION.draws_a_row < drawn:
            raise ArgumentError(no_mass(kept, drawn))
        # Where all rows are kept, as many are drawn as are wanted: of some models a batch is more than its rows.
        size = n if share == 1.0 and not drawn else REJECTION.size(n - kept, max(kept, 1) / drawn if drawn else share)
        frame, keeps = draw(size)
        frames.append(frame[keeps].iloc[: n - kept])
        drawn, kept = drawn + size, kept + len(frames[-1])
    return pd.concat(frames, ignore_index=True)


def no_mass(kept: int, drawn: int) -> str:
    """What to tell where the model draws next to no rows that keep the rules."""
    return f"{kept} of {drawn} rows drawn keep the constraints of the schema: the model gives them no mass"


def _cut(column: ColumnOf, described: Column, drawn: Frame, told: Mapping[str, list[float]]) -> Parts:
    """A column cut at the constants of rules, and into equal parts of the rows."""
    if isinstance(described, Category):
        return Parts(column, described.texts, np.zeros(len(described.texts) + 1))
    values = column.values(drawn)
    known = values[np.isfinite(values)]
    even = np.quantile(known, np.linspace(0, 1, FITTING.parts + 1)[1:-1]) if len(known) else np.zeros(0)
    at = np.array(told.get(column.name, []))
    cuts = np.unique(np.concatenate([even, at, np.nextafter(at, np.inf)]))
    return Parts(column, cuts, np.zeros(len(cuts) + 2))


def _constants(conditions: Iterable[Node]) -> dict[str, list[float]]:
    """What columns are compared with, if it has an order."""
    found: dict[str, list[float]] = {}
    waiting = list(conditions)
    while waiting:
        node = waiting.pop()
        waiting += node.parts()
        sides = node.parts() if isinstance(node, Comparison | Among) else ()
        constants = [side for side in sides if isinstance(side, Constant) and side.kind not in ("category", "boolean")]
        for side in sides:
            if isinstance(side, ColumnOf):
                found.setdefault(side.name, []).extend(float(constant.values({})) for constant in constants)
    return found


def _fitted(parts: list[Parts], drawn: Frame, kept: Mask) -> tuple[Parts, ...]:
    """Parts with the factors by which rows that are kept have the distributions of all rows."""
    places = [part.of(drawn) for part in parts]
    sizes = [len(part.log_factors) for part in parts]
    wanted = [np.bincount(place, minlength=size) / len(kept) for place, size in zip(places, sizes, strict=True)]
    places = [place[kept] for place in places]
    factors = [np.ones(size) for size in sizes]
    weights = np.ones(int(kept.sum()))
    for _ in range(FITTING.sweeps):
        for c, place in enumerate(places):
            found = np.bincount(place, weights, minlength=sizes[c]) / weights.sum()
            change = np.where(found > 0, wanted[c] / np.where(found > 0, found, 1.0), 1.0)
            change = np.where(change > 0, change, 1.0)
            factors[c] *= change
            weights *= change[place]
    made = zip(parts, factors, strict=True)
    return tuple(Parts(part.column, part.cuts, np.log(factor)) for part, factor in made)
