"""The private table as batches of bin numbers: the first thing that happens to a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import TableError
from sfumato.private.queries.base import FIXED_BITS, ROW_CAP, Batch, BoolArray, IntArray, Public
from sfumato.private.units import TagArray, Units
from sfumato.schema.layout import NOWHERE, Layout, OrderedBins
from sfumato.schema.projections import Projection
from sfumato.spilling import Spill, joined
from sfumato.tables.cells import numbers, texts
from sfumato.tables.coding import cells_of, code_label, find_cells, read_batches, values_of
from sfumato.tables.table import BATCH_ROWS, Table

BATCH_CELLS = 1 << 22  # a wide table gets shorter batches
TURN_BYTES = 1 << 28  # of rows of units that are in memory to be chosen from, some five times over

_NO_TAGS: TagArray = np.zeros((0, 4), dtype=np.uint64)


class Tagged(NamedTuple):
    """Rows with the hashes of their units and contents; and of rows that count nowhere the hashes of their units, where
    units have a name.
    """

    batch: Batch
    tags: TagArray
    strays: TagArray


class Source:
    """A table seen through a schema's bins, with the rows that count for each unit of privacy."""

    def __init__(self, table: Table, layout: Layout, units: Units | None = None, values: bool = False) -> None:
        for name in (*layout.reads, layout.label, layout.unit):
            if name is not None:
                table.place(name)  # a column that is not there is found before any budget is spent
        self._table = table
        self._layout = layout
        self._units = units
        self._projection = Projection.of(layout.groups) if layout.groups else None
        self._dtype = np.int16 if max(layout.cells) < np.iinfo(np.int16).max else np.int32
        self.public = Public.of(layout, values)
        self._step = min(BATCH_ROWS, max(1, BATCH_CELLS // len(layout.names)))  # rows of a batch
        # How many rows are wanting so that their number tells how many units there are, and no more: rows that count
        # nowhere, or those by which units have fewer than they may have.
        self.missing = 0

    def jobs(self) -> Iterator[Callable[[], Tagged]]:
        """One piece of work per batch: reading is in order, coding may run anywhere."""
        rows = 0  # that have been read, whether they count or not
        for batch in read_batches(self._table, self._layout, self._layout.label, self._layout.unit):
            rows += batch.num_rows
            if rows > ROW_CAP:
                raise TableError(f"a table may have at most {ROW_CAP} rows; split it")
            for start in range(0, batch.num_rows, self._step):
                yield partial(self._code, batch.slice(start, self._step))

    def choose(self, read: Iterable[Tagged]) -> Iterator[Batch]:
        """Of all rows read, those that count; with them, how many are missing."""
        self.missing, every = 0, ((each.batch, len(each.strays)) for each in read)
        for batch, missing in every if self._units is None else self._chosen(read, self._units):
            self.missing += missing
            yield from (batch.only(slice(i, i + self._step)) for i in range(0, len(batch) or 1, self._step))

    def _chosen(self, read: Iterable[Tagged], units: Units) -> Iterator[tuple[Batch, int]]:
        """Rows of a unit have one turn, and no others decide which of them count: those of a turn fit into memory."""
        spill = Spill(TURN_BYTES)
        kept = [spill.put([strays.T, tags.T, *batch.arrays]) for batch, tags, strays in read]
        turns = 1 + spill.size // TURN_BYTES
        for turn in range(turns if kept else 0):
            names, parts = [], []
            for strays, *arrays in (part() for part in kept):
                names.append(strays[:, strays[0] % turns == turn])
                parts.append([array[..., arrays[0][0] % turns == turn] for array in arrays])
            tags, *arrays = joined(parts)
            chosen = Batch(*arrays).only(units.choose(tags.T))
            everyone = np.unique(np.hstack([tags[:2], *names]), axis=1)
            yield chosen, units.rows * everyone.shape[1] - len(chosen)

    def _code(self, batch: pa.RecordBatch) -> Tagged:
        labels = code_label(batch, self._layout)
        coded = self._coded(batch, labels)
        counted = labels >= 0  # a row with a bad label counts nowhere
        if self._units is None:
            strays = np.zeros((int((~counted).sum()), 2), dtype=np.uint64)
            return Tagged(_only(coded, counted), _NO_TAGS, strays)
        ids = texts(batch.column(self._layout.unit))
        named = pc.not_equal(ids, "").to_numpy(zero_copy_only=False)
        kept = _only(coded, counted & named)  # nor does a row without an id
        tags = self._units.tags(ids.filter(pa.array(counted & named)), kept)
        return Tagged(kept, tags, self._units.names(ids.filter(pa.array(~counted & named))))

    def _coded(self, batch: pa.RecordBatch, labels: IntArray) -> Batch:
        """Rows as bin numbers, with values where they are wanted; of columns in groups, which are numbers, values and
        their public projection.
        """
        shape = len(self._layout.names), batch.num_rows
        codes = np.empty(shape if self._projection is None else (0, shape[1]), dtype=self._dtype)
        fixed = np.full(shape, NOWHERE, dtype=np.int32) if self.public.values else None
        for c, (name, bins) in enumerate(zip(self._layout.names, self._layout.bins, strict=True)):
            if fixed is None or not isinstance(bins, OrderedBins):
                codes[c] = find_cells(cells_of(batch, name, self._layout), bins)
            elif self._projection is not None:
                fixed[c] = bins.fixed(numbers(batch.column(name)), FIXED_BITS)
            else:
                values = values_of(cells_of(batch, name, self._layout), bins)
                codes[c], fixed[c] = bins.cell(values), bins.fixed(values, FIXED_BITS)
        projected = None if self._projection is None or fixed is None else self._projection.apply(fixed)
        return Batch(codes, labels, fixed, projected)


def _only(batch: Batch, kept: BoolArray) -> Batch:
    return batch if kept.all() else batch.only(kept)
