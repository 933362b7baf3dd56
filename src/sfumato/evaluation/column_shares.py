"""What share of rows has which value of a column: for a picture of real beside synthetic rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.evaluation.typed_rows import TypedRows, listed
from sfumato.schema.columns import Number, Ordered, Span
from sfumato.schema.layout import FloatArray, IntArray
from sfumato.text import one_line

SHARE_BINS = 20  # of an ordered column
MOST_VALUES = 12  # of a listed column, the most frequent first; the rest is one more
TAILS = 0.005  # of the real rows on either side, in the outermost bins with whatever is beyond


@dataclass(frozen=True)
class Shares:
    """The shares of values, of the real and of the synthetic rows.

    Attributes:
        values: What each value, or range of values, is called.
        real: Their shares among real rows.
        synthetic: Their mean shares among synthetic rows.
    """

    values: tuple[str, ...]
    real: tuple[float, ...]
    synthetic: tuple[float, ...]


def column_shares(name: str, real: TypedRows, samples: Sequence[TypedRows]) -> Shares:
    """The shares of a column's values.

    Args:
        name: The column.
        real: Real rows, which say what is frequent and how far ranges go.
        samples: Synthetic rows, some samples of them.

    Returns:
        Twelve values and the rest of a category, twenty ranges of an ordered column; missing cells where there are any.
    """
    values, codes = _listed(name, real) if name in real.codes else _ordered(name, real)
    shares = [np.bincount(codes(rows), minlength=len(values)) / max(rows.size, 1) for rows in (real, *samples)]
    ours = np.mean(shares[1:], axis=0)
    kept = [place for place in range(len(values)) if place < len(values) - 2 or shares[0][place] + ours[place] > 0]
    return Shares(
        tuple(values[place] for place in kept),
        tuple(float(shares[0][place]) for place in kept),
        tuple(float(ours[place]) for place in kept),
    )


def _listed(name: str, real: TypedRows) -> tuple[list[str], Callable[[TypedRows], IntArray]]:
    """Values by their frequency, then the rest and what is missing."""
    levels = listed(real.schema.columns[name]).levels
    order = np.argsort(-np.bincount(real.codes[name], minlength=len(levels) + 1)[: len(levels)], kind="stable")
    shown = order[:MOST_VALUES]
    places = np.full(len(levels) + 1, len(shown))
    places[shown] = np.arange(len(shown))
    places[-1] = len(shown) + 1
    return [*(one_line(str(levels[each])) for each in shown), "other", "missing"], lambda rows: places[rows.codes[name]]


def _ordered(name: str, real: TypedRows) -> tuple[list[str], Callable[[TypedRows], IntArray]]:
    """Equal ranges, then nothing and what is missing."""
    column = real.schema.columns[name]
    assert isinstance(column, Ordered)
    lows, highs = _ranges(real.numbers[name], column.span)
    cuts = (highs[:-1] + lows[1:]) / 2

    def codes(rows: TypedRows) -> IntArray:
        values = rows.numbers[name]
        return np.where(np.isnan(values), len(lows) + 1, np.searchsorted(cuts, values, side="right"))

    ends = zip(_words(column, lows), _words(column, highs), strict=True)
    return [*(low if low == high else f"{low} to {high}" for low, high in ends), "other", "missing"], codes


def _ranges(values: FloatArray, span: Span) -> tuple[FloatArray, FloatArray]:
    """Where ranges begin and end: on the grid of a column that has one."""
    known = values[~np.isnan(values)]
    low, high = np.quantile(known, [TAILS, 1 - TAILS]) if len(known) else (span.low, span.high)
    if span.step is None:
        edges = np.linspace(low, high if high > low else low + 1.0, SHARE_BINS + 1)
        return edges[:-1], edges[1:]
    first, last = (round((end - span.low) / span.step) for end in (low, high))
    wide = -(-(last - first + 1) // SHARE_BINS)
    starts = span.low + span.step * np.arange(first, last + 1, wide)
    return starts, starts + span.step * (wide - 1)


def _words(column: Ordered, values: FloatArray) -> list[str]:
    """Values as the column writes them."""
    return [f"{each:.6g}" if isinstance(column, Number) else str(each) for each in column.typed(values, None)]
