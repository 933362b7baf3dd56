"""A table of any kind as a re-iterable stream of Arrow batches; Arrow and Parquet tables."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.errors import TableError
from sfumato.tables.cells import check_type, is_textual

BATCH_ROWS = 2**16
NAMES_LISTED = 20

Progress = Callable[[float], None]


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn a failure to read a file into one line that holds nothing of the file's content."""
    try:
        yield
    except FileNotFoundError:
        raise TableError(f"{path} does not exist") from None
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"cannot read {path} as {kind}: {type(error).__name__}") from None


class Table(ABC):
    """Named columns of cells, read in batches as often as one likes."""

    def __init__(self, label: str, names: Sequence[str]) -> None:
        self.label = label
        self.names = tuple(names)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.label}>"

    def batches(self, columns: Sequence[str], progress: Progress | None = None) -> Iterator[pa.RecordBatch]:
        """Batches of at most BATCH_ROWS rows, the columns in the order asked for.

        `progress` is called after each batch with the fraction of the table that has been read.
        """
        places = [self._place(name) for name in columns]
        for name, place in zip(columns, places, strict=True):
            check_type(self._type(place), f"column {name!r} of {self.label}")
        return self._cut(places, progress)

    def _cut(self, places: list[int], progress: Progress | None) -> Iterator[pa.RecordBatch]:
        for fraction, block in self._blocks(places):
            for start in range(0, block.num_rows, BATCH_ROWS):
                yield block.slice(start, BATCH_ROWS)
            if progress is not None:
                progress(fraction)

    def _place(self, name: str) -> int:
        found = self.names.count(name)
        if found > 1:
            raise TableError(f"{self.label} has more than one column {name!r}; rename all but one")
        if found == 0:
            raise TableError(f"{self.label} has no column {name!r}; {self._hint()}")
        return self.names.index(name)

    def _hint(self) -> str:
        """What to say to someone who asked for a column that is not there."""
        more = len(self.names) - NAMES_LISTED
        return f"it has: {', '.join(self.names[:NAMES_LISTED])}" + (f" and {more} more" if more > 0 else "")

    @abstractmethod
    def _type(self, place: int) -> pa.DataType:
        """The declared type of a column."""

    @abstractmethod
    def _blocks(self, places: list[int]) -> Iterator[tuple[float, pa.RecordBatch]]:
        """The columns at these places, in blocks of any size, each with the fraction read so far."""


class ArrowTable(Table):
    """A table in Arrow's memory."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__("the table", table.column_names)
        self._table = table

    def _type(self, place: int) -> pa.DataType:
        return self._table.schema.field(place).type

    def _blocks(self, places: list[int]) -> Iterator[tuple[float, pa.RecordBatch]]:
        read = 0
        for block in self._table.select(places).to_batches(max_chunksize=BATCH_ROWS):
            read += block.num_rows
            yield read / self._table.num_rows, block


class ParquetTable(Table):
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._repetitive: list[str] = []
        with reading(path, "Parquet"), self._open() as file:
            self._schema = file.schema_arrow
        # Text is stored as a dictionary and indices; to leave it so halves the time of reading and parsing.
        self._repetitive = [field.name for field in self._schema if is_textual(field.type)]
        super().__init__(str(path), self._schema.names)

    def _open(self) -> pq.ParquetFile:
        # INT96 dates far from today do not fit in nanoseconds.
        return pq.ParquetFile(self._path, read_dictionary=self._repetitive, coerce_int96_timestamp_unit="us")

    def _type(self, place: int) -> pa.DataType:
        return self._schema.field(place).type

    def _blocks(self, places: list[int]) -> Iterator[tuple[float, pa.RecordBatch]]:
        names = [self.names[place] for place in places]
        read = 0
        with reading(self._path, "Parquet"), self._open() as file:
            for block in file.iter_batches(BATCH_ROWS, columns=sorted(set(names))):
                read += block.num_rows
                # Asking for `a` also brings `a.b`, so the columns are picked again by their exact names.
                columns = [block.column(name) for name in names]
                yield read / file.metadata.num_rows, pa.RecordBatch.from_arrays(columns, names)
