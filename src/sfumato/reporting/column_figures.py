"""What a report says of one column: the share of rows in each of its classes, with error bars, and a few numbers.

Shares are quotients of noisy counts, of the first answer that speaks of the column, with Fieller's interval
(docs/asking.md). Where no answer speaks of it, they are of rows that the model drew, and have none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sfumato.asking.estimate import Estimate
from sfumato.asking.evidence import Axis
from sfumato.asking.ratios import Ratio, ratio
from sfumato.asking.ways import common, piece_of, ways_of
from sfumato.reporting.classes import MISSING_NAME, OrderedClasses
from sfumato.reporting.seen_release import SeenRelease
from sfumato.schema.columns import Number
from sfumato.schema.conditions import Mask

DROWNED = "noise does not tell the number of its rows from none"
GRID_DECIMALS = 9  # more are of binary fractions, not of values
NEARLY = 1e-6  # of a step, by which a value may be off the grid
QUARTILES = {"lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75}


@dataclass(frozen=True)
class Bar:
    """The share of rows in a class.

    Attributes:
        label: What the class is called.
        share: The share.
        interval: Where it lies; None where no answer tells.
    """

    label: str
    share: float
    interval: tuple[float, float] | None

    @property
    def is_lost(self) -> bool:
        """Whether noise does not let it be told from none."""
        return self.interval is not None and not self.interval[0] > 0.0


@dataclass(frozen=True)
class ColumnFigure:
    """All that is told of a column.

    Attributes:
        name: The column.
        bars: The share of each class.
        facts: Its mean and quartiles, by name, where it has numbers.
        reason: Why there are no error bars; '' where there are.
        source: The noisy answers that it rests on, by name.
    """

    name: str
    bars: tuple[Bar, ...]
    facts: dict[str, Estimate]
    reason: str
    source: str

    @property
    def missing(self) -> Bar | None:
        """The share of missing cells; None where none may be missing."""
        return self.bars[-1] if self.bars[-1].label == MISSING_NAME and len(self.bars) > 1 else None

    @property
    def present(self) -> tuple[Bar, ...]:
        """The shares of all classes but that of missing cells."""
        return self.bars if self.missing is None else self.bars[:-1]

    @property
    def lost(self) -> int:
        """How many of its classes drown in noise."""
        return sum(bar.is_lost for bar in self.bars)

    @property
    def is_unreadable(self) -> bool:
        """Whether noise hides all of it, or the classes that do not drown hold less than half of the rows."""
        if self.reason:
            return self.reason == DROWNED
        return sum(bar.share for bar in self.bars if not bar.is_lost) < 0.5


def column_figure(seen: SeenRelease, name: str) -> ColumnFigure:
    """What is told of a column.

    Args:
        seen: The release.
        name: A column of its schema, of no group.

    Returns:
        Shares and numbers.
    """
    reason = seen.why_not(name)
    shares = [] if reason else _from_answers(seen, name)
    if any(each.interval is None for each in shares):
        reason = DROWNED
    shares = _from_model(seen, name) if reason else shares
    labels = seen.classes[name].labels
    bars = tuple(Bar(label, each.estimate, each.interval) for label, each in zip(labels, shares, strict=True))
    source = "" if reason else seen.first(name).name
    return ColumnFigure(name, bars, _facts(seen, name, reason), reason, source)


def _from_model(seen: SeenRelease, name: str) -> list[Ratio]:
    return [Ratio(float(share), np.nan, None) for share in seen.model_shares(name)]


def _from_answers(seen: SeenRelease, name: str) -> list[Ratio]:
    classes, axis = seen.classes[name], seen.first(name).axes[name]
    if isinstance(classes, OrderedClasses):
        found = _of_intervals(seen, classes)
    else:
        found = [_of_levels(seen, name, axis, _holding(axis, levels)) for levels in classes.members]
    if classes.labels[-1] == MISSING_NAME and axis.bins.missing >= 0:
        missing = np.arange(axis.size) == axis.level[axis.bins.missing]
        found.append(_of_levels(seen, name, axis, missing))
    return found


def _of_intervals(seen: SeenRelease, classes: OrderedClasses) -> list[Ratio]:
    found = []
    for condition in classes.conditions:
        ways = ways_of(
            seen.asked.rounds, (classes.name,), condition, lambda region: (None, region.sure, region.possible)
        )
        found.append(common([ratio(each, seen.manner.z(1.0 / len(ways))) for each in ways]))
    return found


def _of_levels(seen: SeenRelease, name: str, axis: Axis, wanted: Mask) -> Ratio:
    return ratio(piece_of(seen.first(name).cells((name,)), (None, wanted, wanted)), seen.manner.z())


def _holding(axis: Axis, levels: tuple[int, ...]) -> Mask:
    """The levels of an axis that some categories are in."""
    return np.isin(np.arange(axis.size), axis.level[list(levels)])


def _facts(seen: SeenRelease, name: str, reason: str) -> dict[str, Estimate]:
    """The mean, and the quartiles where there is time for them; nothing where no answer tells."""
    column = seen.columns[name]
    if reason or not isinstance(column, Number):
        return {}
    found = {"mean": seen.asked.mean(name, None, None, seen.manner)}
    asked = {} if seen.is_wide else QUARTILES
    told = {word: seen.asked.quantile(name, q, None, seen.manner) for word, q in asked.items()}
    known = {word: each for word, each in (found | told).items() if isinstance(each, Estimate)}
    known = {word: each for word, each in known.items() if each.interval is not None}
    return {word: on_grid(each, column) if word in QUARTILES else each for word, each in known.items()}


def on_grid(quantile: Estimate, column: Number) -> Estimate:
    """A quantile as the values of its column are: on their grid, or where there is none with the digits that its
    interval leaves it. Inside of a bin an estimate has more, which say nothing.
    """
    assert quantile.interval is not None
    low, step = column.span.low, column.span.step
    if step is None:
        width = quantile.interval[1] - quantile.interval[0]
        low, step = 0.0, 10.0 ** (math.floor(math.log10(width)) - 1) if width > 0.0 else 0.0
    if not step or not math.isfinite(quantile.estimate):
        return quantile
    first, last = quantile.interval
    inside = round(low + round((quantile.estimate - low) / step) * step, GRID_DECIMALS)
    ends = (math.floor((first - low) / step + NEARLY), math.ceil((last - low) / step - NEARLY))
    around = (round(low + ends[0] * step, GRID_DECIMALS), round(low + ends[1] * step, GRID_DECIMALS))
    return replace(quantile, estimate=inside, interval=around)
