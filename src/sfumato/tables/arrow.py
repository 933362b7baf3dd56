"""Arrow tables, streams, data sets and files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import TableError
from sfumato.tables.table import BATCH_ROWS, UNKNOWN, Blocks, Table, reading, running

SUFFIXES = (".arrow", ".feather")
AS_BYTES = {  # types whose cells are found by offsets, and the same without a claim to be UTF-8
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
    **{kind: kind for kind in (pa.binary(), pa.large_binary(), pa.binary_view())},
}
FILE_MAGIC = b"ARROW1"  # of the file format; the stream format has none


class ArrowTable(Table):
    """A table in Arrow's memory."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__("the table", table.column_names)
        self._table = table

    def _type(self, place: int) -> pa.DataType:
        return self._table.schema.field(place).type

    def _blocks(self, places: list[int]) -> Blocks:
        read = 0
        for block in self._table.select(places).to_batches(max_chunksize=BATCH_ROWS):
            read += block.num_rows
            yield read / self._table.num_rows, block


class StreamTable(Table):
    """Anything with Arrow's stream protocol, read batch by batch.

    A reader can be read once. Any other object is asked for a new stream at every pass.
    """

    rereadable = False  # nobody promises that the next stream gives the same rows

    def __init__(self, source: Any) -> None:
        self._source = source
        with running("the stream"):
            self._fresh: pa.RecordBatchReader | None = pa.RecordBatchReader.from_stream(source)
            self._schema = self._fresh.schema
        self._had_rows = False
        super().__init__("the stream", self._schema.names)

    def _type(self, place: int) -> pa.DataType:
        return self._schema.field(place).type

    def _blocks(self, places: list[int]) -> Blocks:
        reader, self._fresh = self._fresh or self._ask_again(), None
        return self._read(reader, places)

    def _ask_again(self) -> pa.RecordBatchReader:
        if isinstance(self._source, pa.RecordBatchReader):
            raise _already_read()
        try:
            return pa.RecordBatchReader.from_stream(self._source)
        except Exception:
            raise _already_read() from None

    def _read(self, reader: pa.RecordBatchReader, places: list[int]) -> Blocks:
        empty = True
        with running(self.label), reader:
            for block in reader:
                empty = empty and block.num_rows == 0
                yield UNKNOWN, block.select(places)
        if empty and self._had_rows:
            raise _already_read()
        self._had_rows = not empty


def _already_read() -> TableError:
    return TableError("this stream was already read; give a table, a path, or a new stream")


class DatasetTable(Table):
    """A pyarrow data set."""

    def __init__(self, dataset: Any) -> None:
        super().__init__("the data set", dataset.schema.names)
        self._dataset = dataset

    def _type(self, place: int) -> pa.DataType:
        return self._dataset.schema.field(place).type

    def _blocks(self, places: list[int]) -> Blocks:
        columns = {str(order): pc.field(self.names[place]) for order, place in enumerate(places)}
        with running(self.label):
            for block in self._dataset.scanner(columns=columns, batch_size=BATCH_ROWS).to_batches():
                yield UNKNOWN, block.rename_columns([self.names[place] for place in places])


class IpcTable(Table):
    """An Arrow file, in the file format (which Feather is) or the stream format."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._open() as reader:
            self._schema = reader.schema
            names = self._schema.names  # which need not be UTF-8 in a damaged file
        super().__init__(str(path), names)

    @contextmanager
    def _open(self) -> Iterator[pa.RecordBatchFileReader | pa.RecordBatchStreamReader]:
        # Mapped, because a file may hold all its rows in one batch.
        with reading(self._path, "Arrow"), pa.memory_map(str(self._path)) as file:
            is_file = file.read(len(FILE_MAGIC)) == FILE_MAGIC
            file.seek(0)
            with (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file) as reader:
                yield reader

    def _type(self, place: int) -> pa.DataType:
        return self._schema.field(place).type

    def _blocks(self, places: list[int]) -> Blocks:
        with self._open() as reader:
            for fraction, block in _ipc_blocks(reader):
                chosen = block.select(places)
                for column in chosen.columns:
                    check_sound(column)
                yield fraction, chosen


def check_sound(cells: pa.Array) -> None:
    """Raise unless every offset and index of an array from a file points into that array.

    Arrow reads them unchecked. Its own full validation also looks at the cells (whether texts are UTF-8, decimals in
    their precision), and what a cell holds must not raise.
    """
    cells.validate()
    kind = cells.type
    if isinstance(kind, pa.BaseExtensionType):
        check_sound(cells.storage)
    elif pa.types.is_dictionary(kind):
        check_sound(cells.dictionary)
        low, high = pc.min_max(cells.indices).as_py().values()
        if low is not None and not 0 <= low <= high < len(cells.dictionary):
            raise pa.ArrowInvalid("an index points outside its dictionary")
    elif pa.types.is_run_end_encoded(kind):
        cells.validate(full=True)
        check_sound(cells.values)
    elif kind in AS_BYTES:
        cells.view(AS_BYTES[kind]).validate(full=True)


def _ipc_blocks(reader: pa.RecordBatchFileReader | pa.RecordBatchStreamReader) -> Blocks:
    if isinstance(reader, pa.RecordBatchReader):
        yield from ((UNKNOWN, block) for block in reader)
    else:
        count = reader.num_record_batches
        yield from (((place + 1) / count, reader.get_batch(place)) for place in range(count))
