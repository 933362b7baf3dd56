"""Tables in Dask: a task on every partition, sums by a tree, on threads, processes or a `distributed` cluster.

Which of them, Dask says: the client that is active, or its configuration. Partitions are pandas frames, read cell by
cell as any other frame is. Dask lets the type of a partition follow its rows in one case: a column of NumPy integers
with a missing cell becomes floats. A plain number or a category reads the same either way; what does not is refused by
its declared type, which is public.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.engines import partitions
from sfumato.engines.partitions import SHUFFLED, ClusterEngine, Partial, Task, needed
from sfumato.errors import TableError
from sfumato.private.queries.base import EXACT, IntArray, Public, Query
from sfumato.private.units import Units
from sfumato.schema.layout import Bins, CategoryBins, Layout
from sfumato.tables.cells import parse_numbers
from sfumato.tables.frame import FrameTable
from sfumato.tables.table import BATCH_ROWS

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

FAN_IN = 8  # totals that one task adds up
BUCKET = "bucket"  # by which rows of a unit come together

_META = pd.DataFrame(
    {BUCKET: pd.Series(dtype="int64")} | {n: pd.Series(dtype=pd.ArrowDtype(pa.binary())) for n in SHUFFLED.names}
)


class DaskTable(FrameTable):
    """What is public of a Dask table: names and declared types of its columns."""

    def __init__(self, frame: DataFrame) -> None:
        super().__init__(frame._meta)
        self.label = "the Dask table"


class DaskEngine(ClusterEngine):
    """Adds up a query over the partitions of a Dask table."""

    where = "Dask"

    def __init__(self, frame: DataFrame, layout: Layout, units: Units | None, values: bool) -> None:
        from dask.dataframe import DataFrame

        if not isinstance(frame, DataFrame):
            raise TableError(f"give a Dask DataFrame, not a {type(frame).__name__}")
        self.public = Public.of(layout, values)
        names, table = needed(layout), DaskTable(frame)
        labels = [frame._meta.columns[table.place(name)] for name in names]
        self._frame = frame[labels]
        for name, kind in zip(names, self._frame._meta.dtypes, strict=True):
            if _is_followed(kind) and name in _exactly_read(layout):
                raise TableError(
                    f"column {name!r} of the Dask table is {kind}, which Dask makes floats where a cell is missing; "
                    "read it with dtype_backend='pyarrow', or make it text"
                )
        self._task = Task(layout, units, values, names)

    def total(self, query: Query) -> IntArray:
        """The exact total of a query, whatever the partitions, and however often their tasks are run."""
        from dask import delayed

        told = delayed(self._task.about(query))
        add_up = delayed(_summed if self._task.units is None else _summed_units, pure=False)
        totals = [add_up(told, part) for part in self._parts()]
        add = delayed(partitions.added, pure=False)
        while len(totals) > 1:
            totals = [add(totals[start : start + FAN_IN], query.size) for start in range(0, len(totals), FAN_IN)]
        return partitions.settled((each.compute() for each in totals), query.size, self.where)

    def _parts(self) -> list[Any]:
        """The partitions; where a unit is not a row, of coded rows, with all rows of a unit in one."""
        if self._task.units is None:
            return list(self._frame.to_delayed())
        coded = self._frame.map_partitions(_coded, self._task.bare(), meta=_META, enforce_metadata=False)
        return list(coded.shuffle(BUCKET, npartitions=self._frame.npartitions).to_delayed())


def _is_followed(kind: Any) -> bool:
    """Whether partitions of this declared type may have another, by their rows."""
    return isinstance(kind, pd.CategoricalDtype) or (isinstance(kind, np.dtype) and kind.kind in "iu")


def _exactly_read(layout: Layout) -> set[str]:
    """The columns of which 1 and 1.0, or neighbours beyond 2^53, do not read the same."""
    ends = [end for apart in layout.differences.values() for end in (*apart.uppers, *apart.lowers)]
    known = [*zip(layout.names, layout.bins, strict=True), *ends, (layout.label, layout.label_bins)]
    found = {layout.unit, *(name for name, bins in known if bins is not None and _is_exact(bins))}
    return {name for name in found if name is not None}


def _is_exact(bins: Bins) -> bool:
    if isinstance(bins, CategoryBins):
        values = parse_numbers(pa.array(bins.column.texts, type=pa.large_string()))
        return bool((np.abs(values) >= EXACT).any())
    return getattr(bins.column, "format", None) is not None


def _summed(told: bytes, part: pd.DataFrame) -> Partial:
    return partitions.summed(told, _batches(part))


def _coded(part: pd.DataFrame, told: bytes) -> pd.DataFrame:
    found = pa.Table.from_batches(partitions.coded(told, _batches(part)), SHUFFLED)
    columns = {name: pd.Series(pd.arrays.ArrowExtensionArray(found[name])) for name in SHUFFLED.names}
    places = [int.from_bytes((unit or b"")[:7], "little") for unit in found["unit"].to_pylist()]
    return pd.DataFrame({BUCKET: pd.Series(places, dtype="int64")} | columns)


def _summed_units(told: bytes, part: pd.DataFrame) -> Partial:
    return partitions.summed_units(told, _sorted(part))


def _batches(part: pd.DataFrame) -> Iterator[pa.RecordBatch]:
    """Lazily, so that whatever fails does so inside of the task."""
    table = FrameTable(part)
    yield from table.batches(table.names)


def _sorted(part: pd.DataFrame) -> Iterator[pa.RecordBatch]:
    table = pa.table({name: pa.array(part[name]) for name in SHUFFLED.names}).cast(SHUFFLED)
    yield from table.sort_by([("unit", "ascending"), ("content", "ascending")]).to_batches(max_chunksize=BATCH_ROWS)
