"""What a task on a cluster does: the rows of one partition in, one vector of exact whole numbers out.

A task is told public facts, the question's bytes and, where there is a unit of privacy, the key that its hashes are
made with. It draws no noise: what it gives is a function of these and of its rows, so that a task that is run again, or
twice at once, changes nothing as long as each partition's result is taken once. Sums are of integers, so they do not
depend on how rows are spread over partitions.

A task raises nothing: clusters write what a task raises into logs, with the rows that it was given. It hands back a
mark instead, and the driver says one line that is always the same.

Units of privacy take two steps. First every partition codes its rows, by the very code of this machine's engine, and
gives them as whole numbers beside the hash of their unit and that of their content. Then the cluster brings all rows of
a unit together, by that hash, and sorts them; and a pass over them in that order chooses those that count with no more
of a unit's rows at hand than may count.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, NoReturn, TypeAlias

import numpy as np
import pyarrow as pa

from sfumato import __version__
from sfumato.errors import TableError
from sfumato.private.queries.base import ROW_CAP, Batch, FloatArray, IntArray, Public, Query
from sfumato.private.queries.wire import decode
from sfumato.private.slicing.rows import RowVectors
from sfumato.private.source import Source, Tagged
from sfumato.private.units import TagArray, Units
from sfumato.schema.layout import Layout
from sfumato.tables.table import BATCH_ROWS, UNKNOWN, Blocks, Table

JOINED_BYTES = 1 << 28  # of batches that are joined
FAILED = -1  # in the place of a number of rows: the task could not read its partition

SHUFFLED = pa.schema([("unit", pa.binary()), ("content", pa.binary()), ("row", pa.binary())])
"""What travels between workers where there is a unit of privacy; a failed task gives a row of nulls."""

CodedArray: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.int32]]


@dataclass(frozen=True)
class Task:
    """What the tasks of one pass are told.

    Attributes:
        layout: The bins that rows are seen in.
        units: Which rows of a unit count, where a unit is not a row.
        values: Whether the question needs values beside bins.
        names: The columns that a task is handed, in that order.
        request: The question, as bytes.
        version: The driver's.
    """

    layout: Layout
    units: Units | None
    values: bool
    names: tuple[str, ...]
    request: bytes = b""
    version: str = __version__

    def about(self, query: Query) -> bytes:
        """The task for a question, as bytes."""
        from sfumato.mechanisms.asker import encode  # workers need none of what it brings along

        return pickle.dumps(replace(self, request=encode(query)))

    def bare(self) -> bytes:
        """The task of coding rows, which needs no question."""
        return pickle.dumps(self)

    @property
    def query(self) -> Query:
        """The question, made afresh."""
        found = decode(self.request, Query)
        assert isinstance(found, Query)
        return found


class Partial(NamedTuple):
    """What a task gives: how many rows it read, or FAILED, and their total, all of it or what of it is not 0.

    Attributes:
        rows: The number.
        places: Where `sums` stand, as bytes of uint32; empty where they are the whole total.
        sums: Bytes of int64.
    """

    rows: int
    places: bytes = b""
    sums: bytes = b""

    @classmethod
    def of(cls, rows: int, total: IntArray) -> Partial:
        """The shorter one of both forms: a partition's rows are in few of a grid's cells."""
        places = np.flatnonzero(total).astype(np.uint32)
        if 3 * len(places) > 2 * len(total):
            return cls(rows, b"", total.tobytes())
        return cls(rows, places.tobytes(), total[places].tobytes())

    def add_to(self, total: IntArray) -> None:
        """Add it to a total."""
        sums = np.frombuffer(self.sums, dtype=np.int64)
        if self.places:
            total[np.frombuffer(self.places, dtype=np.uint32)] += sums
        elif len(sums):
            total += sums


class ClusterEngine:
    """What the engines of clusters share: rows stay where they are.

    Attributes:
        where: What errors call the cluster.
    """

    where: str

    def refuse_rows(self) -> NoReturn:
        """Say, before anything is spent, that a plan asks for what would bring rows to the driver."""
        raise TableError(
            f"noisy rows are not for tables in {self.where}: bring the table here, or give sf.Slicing another form"
        )

    def rows(self, vectors: RowVectors) -> FloatArray:
        """Refused."""
        self.refuse_rows()


class Partition(Table):
    """The batches that a task is handed, once; it counts their rows."""

    rereadable = False

    def __init__(self, names: Sequence[str], first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> None:
        super().__init__("the partition", names)
        self.rows = 0
        self._schema = first.schema
        self._first = first
        self._rest = rest

    def _type(self, place: int) -> pa.DataType:
        return self._schema.field(place).type

    def _blocks(self, places: list[int]) -> Blocks:
        names = [self.names[place] for place in places]
        for block in _joined(self._first, self._rest):
            self.rows += block.num_rows
            yield UNKNOWN, pa.RecordBatch.from_arrays([block.column(place) for place in places], names)


def needed(layout: Layout) -> tuple[str, ...]:
    """The columns of the table that its rows are coded from: no other leaves the place where it is."""
    return tuple(dict.fromkeys(name for name in (*layout.reads, layout.label, layout.unit) if name is not None))


def summed(told: bytes, batches: Iterable[pa.RecordBatch]) -> Partial:
    """The total of a partition's rows, where a unit is a row."""

    def work(task: Task) -> Partial:
        query, partition = task.query, _opened(task, batches)
        total = np.zeros(query.size, dtype=np.int64)
        for tagged in () if partition is None else _coded(task, partition):
            total += query.total(tagged.batch)
        return Partial.of(0 if partition is None else partition.rows, total)

    return _quietly(told, work)


def coded(told: bytes, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A partition's rows as whole numbers, each with the hashes of its unit and its content."""
    try:
        task = _understood(told)
        partition = _opened(task, batches)
        for tagged in () if partition is None else _coded(task, partition):
            yield pa.RecordBatch.from_arrays(
                [_binary(part) for part in (tagged.tags[:, :2], tagged.tags[:, 2:], _packed(tagged.batch))],
                schema=SHUFFLED,
            )
    except Exception:
        yield pa.RecordBatch.from_pylist([{}], schema=SHUFFLED)


def summed_units(told: bytes, batches: Iterable[pa.RecordBatch]) -> Partial:
    """The total of the rows that count, of `coded` rows sorted by unit and content: all rows of some units."""

    def work(task: Task) -> Partial:
        query, public = task.query, Public.of(task.layout, task.values)
        total, read = np.zeros(query.size, dtype=np.int64), [0]
        assert task.units is not None
        for rows in chosen(task.units, _unpacked(batches, read)):
            total += query.total(_batch(rows, task.layout, public))
        return Partial.of(sum(read), total)

    return _quietly(told, work)


def chosen(units: Units, blocks: Iterable[tuple[TagArray, CodedArray]]) -> Iterator[CodedArray]:
    """Of rows sorted by their tags, those that `units.choose` takes of all of them; of a unit that is not at its end
    no more are held than may count.

    Copies of a row are numbered here, over blocks, as `choose` numbers them over the table. From then on no two rows
    are the same, and the smallest hashes of a unit are the smallest of those of its parts.

    Args:
        units: The rule, and its key.
        blocks: Tags and rows of all rows of some units.

    Returns:
        The rows that count.

    Raises:
        TableError: The rows are not sorted.
    """
    before = np.zeros((0, 4), dtype=np.uint64)  # the last row of the block before
    copies = 0  # how many rows up to it are the same
    held_tags, held_rows = before, np.zeros((0, 0), dtype=np.int32)
    for tags, rows in blocks:
        if not len(tags):
            continue
        _check_sorted(np.vstack([before, tags]))
        numbers = _copies(np.vstack([before, tags]), copies)[len(before) :]
        before, copies = tags[-1:], int(numbers[-1]) + 1
        tags = _told_apart(units, tags, numbers)
        if len(held_tags):
            tags, rows = np.vstack([held_tags, tags]), np.vstack([held_rows, rows])
        counted = units.choose(tags)
        last = counted & (tags[:, :2] == tags[-1, :2]).all(axis=1)  # its unit may go on in the next block
        held_tags, held_rows = tags[last], rows[last]
        yield rows[counted & ~last]
    if len(held_rows):  # of no rows not even the width is known
        yield held_rows


def added(partials: Iterable[Partial], size: int) -> Partial:
    """What several tasks give together; if one failed, the mark of it."""
    try:
        return Partial.of(*_sum(partials, size))
    except Exception:
        return Partial(FAILED)


def settled(partials: Iterable[Partial], size: int, where: str) -> IntArray:
    """What all tasks give together, as a total.

    Args:
        partials: Of all partitions, each once.
        size: How many numbers the total has.
        where: What errors call the cluster.

    Returns:
        The total.

    Raises:
        TableError: The job or a task failed, or there are too many rows.
    """
    try:
        rows, total = _sum(partials, size)
    except Exception:  # what a cluster raises may hold cells
        rows, total = FAILED, np.zeros(0, dtype=np.int64)
    if rows < 0:
        raise TableError(
            f"{where} did not read the table to its end; its own log, which may hold rows, says why (workers need "
            f"sfumato {__version__})"
        )
    if rows > ROW_CAP:
        raise TableError(f"a table may have at most {ROW_CAP} rows; split it")
    return total


def _sum(partials: Iterable[Partial], size: int) -> tuple[int, IntArray]:
    rows, total = 0, np.zeros(size, dtype=np.int64)
    for partial in partials:
        if partial.rows < 0:
            raise TableError("a task failed")
        rows += partial.rows
        partial.add_to(total)
    return rows, total


def _understood(told: bytes) -> Task:
    task = pickle.loads(told)
    if task.version != __version__:  # it might code rows in another way
        raise TableError(f"workers need sfumato {task.version}")
    assert isinstance(task, Task)
    return task


def _quietly(told: bytes, work: Callable[[Task], Partial]) -> Partial:
    try:
        return work(_understood(told))
    except Exception:
        return Partial(FAILED)


def _opened(task: Task, batches: Iterable[pa.RecordBatch]) -> Partition | None:
    rest = iter(batches)
    first = next(rest, None)
    return None if first is None else Partition(task.names, first, rest)


def _coded(task: Task, partition: Partition) -> Iterator[Tagged]:
    return (job() for job in Source(partition, task.layout, task.units, task.values).jobs())


def _joined(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of BATCH_ROWS or more, unless they are long: what is done once a batch costs most."""
    held = [first]
    for batch in rest:
        if sum(each.num_rows for each in held) >= BATCH_ROWS or sum(each.nbytes for each in held) >= JOINED_BYTES:
            yield _one(held)
            held = []
        held.append(batch)
    yield _one(held)


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _packed(batch: Batch) -> CodedArray:
    """One row of whole numbers a row: bins, class, values, projection; `_batch` is the way back."""
    parts = (batch.codes, batch.labels[None, :], batch.fixed, batch.projected)
    return np.ascontiguousarray(np.vstack([part for part in parts if part is not None]).T, dtype=np.int32)


def _batch(rows: CodedArray, layout: Layout, public: Public) -> Batch:
    columns = len(layout.names)
    sizes = 0 if public.coordinates else columns, 1, columns if public.values else 0, public.coordinates
    codes, labels, fixed, projected = np.split(np.ascontiguousarray(rows.T), np.cumsum(sizes)[:-1])
    return Batch(
        codes,
        labels[0].astype(np.int64),
        fixed if public.values else None,
        projected if public.coordinates else None,
    )


def _binary(words: TagArray | CodedArray) -> pa.Array:
    """One cell of bytes a row."""
    packed = np.ascontiguousarray(words)
    kind = pa.binary(packed.shape[1] * packed.itemsize)
    return pa.Array.from_buffers(kind, len(packed), [None, pa.py_buffer(packed)]).cast(pa.binary())


def _bytes(cells: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """The bytes of all cells, one after the other."""
    if cells.null_count:
        raise TableError("a task failed")
    stored = cells.cast(pa.large_binary())
    _, ends, content = stored.buffers()
    places = np.frombuffer(ends, dtype=np.int64)[stored.offset : stored.offset + len(stored) + 1]
    return np.frombuffer(content, dtype=np.uint8)[places[0] : places[-1]]


def _unpacked(batches: Iterable[pa.RecordBatch], read: list[int]) -> Iterator[tuple[TagArray, CodedArray]]:
    """Tags and rows of `coded` batches; how many were read is noted."""
    for batch in batches:
        if batch.num_rows:
            read.append(batch.num_rows)
            unit, content, row = (_bytes(cells).reshape(batch.num_rows, -1) for cells in batch.columns)
            yield np.hstack([unit, content]).view(np.uint64), np.ascontiguousarray(row).view(np.int32)


def _check_sorted(tags: TagArray) -> None:
    """Rows come in the order of their bytes: a unit that came in two parts would have too many rows that count."""
    words = tags.view(">u8")  # the first byte counts most
    one, two = words[:-1], words[1:]
    differ = one != two
    place = differ.argmax(axis=1)
    each = np.arange(len(place))
    if (differ.any(axis=1) & (one[each, place] > two[each, place])).any():
        raise TableError("the rows are not sorted")


def _copies(tags: TagArray, carried: int) -> IntArray:
    """Of sorted rows, how many before each one are the same; the first is copy `carried` - 1 where there is one."""
    place = np.arange(len(tags))
    new = np.append(True, (tags[1:] != tags[:-1]).any(axis=1))
    start = np.maximum.accumulate(np.where(new, place, 0))
    return place - start + np.where(start == 0, max(carried - 1, 0), 0)


def _told_apart(units: Units, tags: TagArray, copies: IntArray) -> TagArray:
    """Copies of a row with hashes of their own, as `Units.choose` gives them."""
    again = copies > 0
    apart = tags.copy()
    hashed = units._hashes(np.column_stack([tags[again], copies[again].astype(np.uint64)]), b"copy")
    apart[again, 2:] = hashed
    return apart
