"""Parquet files, and folders of them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.errors import TableError
from sfumato.tables.cells import is_textual
from sfumato.tables.table import BATCH_ROWS, Blocks, Table, reading

SUFFIXES = (".parquet", ".pq")
IGNORED = (".", "_")  # files and folders of such names hold no rows: _SUCCESS, _metadata, .crc


class ParquetTable(Table):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._repetitive: list[str] = []
        with reading(path, "Parquet"), self._open() as file:
            self._schema = file.schema_arrow
            self.rows = file.metadata.num_rows
            names = self._schema.names  # which need not be UTF-8 in a damaged file
        # Text is stored as a dictionary and indices; to leave it so halves the time of reading and parsing.
        self._repetitive = [field.name for field in self._schema if is_textual(field.type)]
        super().__init__(str(path), names)

    def _open(self) -> pq.ParquetFile:
        # INT96 dates far from today do not fit in nanoseconds.
        return pq.ParquetFile(self._path, read_dictionary=self._repetitive, coerce_int96_timestamp_unit="us")

    def _type(self, place: int) -> pa.DataType:
        return self._schema.field(place).type

    def _blocks(self, places: list[int]) -> Blocks:
        names = [self.names[place] for place in places]
        read = 0
        with reading(self._path, "Parquet"), self._open() as file:
            for block in file.iter_batches(BATCH_ROWS, columns=sorted(set(names))):
                read += block.num_rows
                # Asking for `a` also brings `a.b`, so the columns are picked again by their exact names.
                columns = [block.column(name) for name in names]
                yield read / self.rows, pa.RecordBatch.from_arrays(columns, names)


class ParquetFolder(Table):
    """All Parquet files below a folder, in the order of their paths.

    Each file is read by its own schema, so files may store a column in different types. Names of folders,
    such as `year=2020`, make no column.
    """

    def __init__(self, path: Path) -> None:
        with reading(path, "a folder of Parquet files"):
            paths = sorted(found for found in path.rglob("*") if _is_part(found.relative_to(path)) and found.is_file())
        if not paths:
            raise TableError(f"{path} holds no Parquet file; give a folder with *.parquet files, or a file")
        self._parts = [ParquetTable(found) for found in paths]
        super().__init__(str(path), self._parts[0].names)

    def place(self, name: str) -> int:
        """Where a column is in the first file; an error unless every file can give it."""
        places = [part.place(name) for part in self._parts]
        return places[0]

    def _type(self, place: int) -> pa.DataType:
        return self._parts[0]._type(place)

    def _blocks(self, places: list[int]) -> Blocks:
        names = [self.names[place] for place in places]
        rows = sum(part.rows for part in self._parts)
        before = 0
        for part in self._parts:
            for fraction, block in part._blocks([part.place(name) for name in names]):
                yield (before + fraction * part.rows) / rows, block
            before += part.rows


def _is_part(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not any(name.startswith(IGNORED) for name in path.parts)
