"""What a column's cells are to a schema: counted batch by batch, exactly, in memory that does not grow.

Cells go through the functions of a fit (`tables.coding`), so that a cell is lost here if and only if it is lost there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.schema.layout import NOWHERE, Bins, OrderedBins
from sfumato.tables.cells import is_textual, texts
from sfumato.tables.coding import code_cells
from sfumato.text import WHITESPACE

EXAMPLES_KEPT = 1000  # different cells that fit no bin, of a column
EXAMPLES_A_BATCH = 200
UNDECODABLE = "(bytes that are no text)"

BoolArray = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Tally:
    """How many cells of a column are what.

    Attributes:
        cells: All of them.
        missing: Empty, blank, null or NaN.
        unreadable: Neither missing nor a number (or a date).
        unlisted: Neither missing nor in the list of categories.
        low: Below `min`, and clamped to it.
        high: Above `max`, and clamped to it.
        lost: In no bin: missing, unreadable or unlisted in a column without `missing: true`.
        smallest: The smallest finite value; infinity where there is none.
        largest: The largest.
        examples: Unreadable and unlisted cells, with how often they come; the commonest where there are very many.
    """

    cells: int = 0
    missing: int = 0
    unreadable: int = 0
    unlisted: int = 0
    low: int = 0
    high: int = 0
    lost: int = 0
    smallest: float = np.inf
    largest: float = -np.inf
    examples: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Tally) -> Tally:
        counts = ("cells", "missing", "unreadable", "unlisted", "low", "high", "lost")
        return Tally(
            **{name: getattr(self, name) + getattr(other, name) for name in counts},
            smallest=min(self.smallest, other.smallest),
            largest=max(self.largest, other.largest),
            examples=_capped(self.examples + other.examples),
        )

    @property
    def foreign(self) -> int:
        """Cells that hold something which the schema cannot read."""
        return self.unreadable + self.unlisted

    @cached_property
    def commonest(self) -> tuple[tuple[str, int], ...]:
        """The examples, the commonest first, in an order that does not depend on batches."""
        return tuple(sorted(self.examples.items(), key=lambda item: (-item[1], item[0])))


def tally_cells(cells: pa.Array, bins: Bins) -> tuple[Tally, BoolArray]:
    """Count the cells of one column.

    Args:
        cells: Of one batch.
        bins: Of the column.

    Returns:
        The counts, and which cells are missing.
    """
    coded = code_cells(cells, bins)
    absent = (coded.codes == bins.missing) | (coded.codes == NOWHERE)
    is_missing = np.zeros(len(cells), dtype=bool)
    examples: Counter[str] = Counter()
    if absent.any():
        is_missing[absent], examples = _absent(cells.filter(pa.array(absent)), _signs(bins))
    missing, foreign = int(is_missing.sum()), int(absent.sum() - is_missing.sum())
    listed = not isinstance(bins, OrderedBins)
    found = Tally(
        cells=len(cells),
        missing=missing,
        unreadable=0 if listed else foreign,
        unlisted=foreign if listed else 0,
        lost=int((coded.codes == NOWHERE).sum()),
        examples=examples,
    )
    return found + _bounds(coded.values, bins), is_missing


def _bounds(values: Any, bins: Bins) -> Tally:
    """How many values are outside the bounds, and the extremes of those that are finite."""
    if not isinstance(bins, OrderedBins):
        return Tally()
    low, high = bins.bounds
    finite = values[np.isfinite(values)]
    smallest, largest = (finite.min(), finite.max()) if len(finite) else (np.inf, -np.inf)
    return Tally(
        low=int((values < low).sum()),
        high=int((values > high).sum()),
        smallest=float(smallest),
        largest=float(largest),
    )


def _signs(bins: Bins) -> pa.LargeStringArray:
    """What a missing cell reads as: nothing, or what the schema lists under `missing`."""
    return pa.array(["", *bins.column.sentinel_texts], pa.large_string())


def _absent(cells: pa.Array, signs: pa.LargeStringArray) -> tuple[BoolArray, Counter[str]]:
    """Which of some cells in no ordinary bin are missing, and what the others hold."""
    written = texts(cells)
    undecodable = _undecodable(cells, pc.equal(written, "").to_numpy(zero_copy_only=False))
    is_missing = pc.is_in(written, signs).to_numpy(zero_copy_only=False) & ~undecodable
    examples = Counter({UNDECODABLE: int(undecodable.sum())}) if undecodable.any() else Counter()
    if not is_missing.all():
        told = pc.value_counts(written.filter(pa.array(~is_missing & ~undecodable)))
        counts = dict(zip(told.field("values").to_pylist(), told.field("counts").to_pylist(), strict=True))
        examples += Counter(dict(Counter(counts).most_common(EXAMPLES_A_BATCH)))
    return is_missing, examples


def _undecodable(cells: pa.Array, blank: BoolArray) -> BoolArray:
    """Cells without a text that hold bytes all the same."""
    found = np.zeros(len(cells), dtype=bool)
    if pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    if is_textual(cells.type) and blank.any():
        stored = cells.filter(pa.array(blank)).cast(pa.large_binary())
        distinct = stored.dictionary_encode()
        spoilt = [bool(cell.strip(WHITESPACE.encode())) for cell in distinct.dictionary.to_pylist()]
        places = distinct.indices.fill_null(len(spoilt)).to_numpy()
        found[blank] = np.array([*spoilt, False])[places]
    return found


def _capped(examples: Counter[str]) -> Counter[str]:
    """The commonest of too many; one that is cut off begins anew, and so is told as rarer than it is."""
    return examples if len(examples) <= EXAMPLES_KEPT else Counter(dict(examples.most_common(EXAMPLES_KEPT // 2)))
