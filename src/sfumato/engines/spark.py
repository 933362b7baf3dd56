"""Tables in Spark, classic or Connect: `mapInArrow` on every partition, sums on the driver.

No RDD is touched (managed platforms refuse them), no row is collected, and nothing is cached or written. A pass is one
job; each task yields one Arrow row. Large totals are added up on workers first, so that the driver holds few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from sfumato.engines import partitions
from sfumato.engines.partitions import SHUFFLED, ClusterEngine, Partial, Task, needed
from sfumato.errors import TableError
from sfumato.private.queries.base import IntArray, Public, Query
from sfumato.private.units import Units
from sfumato.schema.layout import Layout
from sfumato.tables.cells import unreadable
from sfumato.tables.table import Blocks, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SMALL_TOTAL = 1 << 18  # bytes: of a thousand partitions the driver holds 256 MB, a quarter of what it takes by default
DRIVER_BYTES = 1 << 28  # of larger totals it gets no more than this, as long as one fits
ADDING_TASKS = 8  # in which workers add them up

Batches = Iterator[pa.RecordBatch]
Mapper = Callable[[Batches], Batches]


class SparkTable(Table):
    """What is public of a Spark table: names and declared types of its columns."""

    def __init__(self, frame: DataFrame) -> None:
        self._fields = frame.schema.fields
        super().__init__("the Spark table", [field.name for field in self._fields])

    def _type(self, place: int) -> pa.DataType:
        from pyspark.errors import PySparkException
        from pyspark.sql.pandas.types import to_arrow_type

        kind = self._fields[place].dataType
        try:
            return to_arrow_type(kind)
        except PySparkException:
            raise unreadable(self._column(place), kind.simpleString()) from None

    def _blocks(self, places: list[int]) -> Blocks:
        raise TableError("a Spark table is not read here")


class SparkEngine(ClusterEngine):
    """Adds up a query over the partitions of a Spark table."""

    where = "Spark"

    def __init__(self, frame: DataFrame, layout: Layout, units: Units | None, values: bool) -> None:
        from pyspark.sql import DataFrame

        if not isinstance(frame, DataFrame):
            raise TableError("give a Spark DataFrame; of a pandas-on-Spark frame its to_spark()")
        if frame.isStreaming:
            raise TableError("a Spark stream has no end; give a DataFrame that is not streaming")
        self.public = Public.of(layout, values)
        names = needed(layout)
        table = SparkTable(frame)
        # By place, because Spark takes `a` and `A` for one name, and `a.b` for a field of `a`.
        places = [table.place(name) for name in names]
        numbered = frame.toDF(*(f"c{place}" for place in range(len(table.names))))
        self._frame = numbered.select(*(f"c{place}" for place in places))
        self._task = Task(layout, units, values, names)

    def total(self, query: Query) -> IntArray:
        """The exact total of a query, whatever the partitions, and however often their tasks are run."""
        told = self._task.about(query)
        sums = self._sums(told)
        if 8 * query.size > SMALL_TOTAL:
            sums = _regrouped(sums, query.size)
        return partitions.settled(_collected(sums), query.size, self.where)

    def _sums(self, told: bytes) -> DataFrame:
        """One row a partition: its total."""
        if self._task.units is None:
            return self._frame.mapInArrow(_one(partitions.summed, told), _SUMS)
        coded = self._frame.mapInArrow(
            _many(partitions.coded, self._task.bare()), ", ".join(f"{n} binary" for n in SHUFFLED.names)
        )
        together = coded.repartition("unit").sortWithinPartitions("unit", "content")
        return together.mapInArrow(_one(partitions.summed_units, told), _SUMS)


_SUMS = "rows long, places binary, sums binary"
_SUMS_SCHEMA = pa.schema([("rows", pa.int64()), ("places", pa.binary()), ("sums", pa.binary())])


def _one(work: Callable[[bytes, Iterable[pa.RecordBatch]], Partial], told: bytes) -> Mapper:
    return lambda batches: iter([_row(work(told, batches))])


def _many(work: Callable[[bytes, Iterable[pa.RecordBatch]], Batches], told: bytes) -> Mapper:
    return lambda batches: work(told, batches)


def _regrouped(sums: DataFrame, size: int) -> DataFrame:
    """The totals of partitions, added up in a few tasks. Which go together depends on their places alone, so that a
    task that is run again sends what it sent before.
    """
    from pyspark.sql.functions import spark_partition_id

    groups = max(1, min(ADDING_TASKS, DRIVER_BYTES // (8 * size)))
    spread = sums.withColumn("group", spark_partition_id() % groups).repartition(groups, "group").drop("group")
    return spread.mapInArrow(lambda batches: iter([_row(partitions.added(_partials(batches), size))]), _SUMS)


def _partials(batches: Iterable[pa.RecordBatch]) -> Iterator[Partial]:
    for batch in batches:
        for cells in zip(*batch.columns, strict=True):
            yield Partial(*(cell.as_py() for cell in cells))


def _row(partial: Partial) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([partial._asdict()], _SUMS_SCHEMA)


def _collected(sums: DataFrame) -> Iterator[Partial]:
    """One total a partition. Whatever Spark raises is raised while they are added up."""
    for row in sums.collect():
        yield Partial(row.rows, bytes(row.places), bytes(row.sums))
