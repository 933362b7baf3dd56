"""A table of any kind as a stream of Arrow batches."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from sfumato.errors import TableError
from sfumato.tables.cells import check_type
from sfumato.text import one_line

BATCH_ROWS = 2**16
NAMES_LISTED = 20
UNKNOWN = 0.0  # the fraction read of a source that does not tell its length

Progress = Callable[[float], None]
Blocks = Iterator[tuple[float, pa.RecordBatch]]


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn a failure to read a file into one line that holds nothing of the file's content."""
    try:
        yield
    except FileNotFoundError:
        raise TableError(f"{path} does not exist") from None
    except TableError:
        raise
    except Exception as error:  # a damaged file can make the readers underneath raise anything
        raise TableError(f"cannot read {path} as {kind}: {type(error).__name__}") from None


@contextmanager
def running(label: str) -> Iterator[None]:
    """Turn whatever a query or a stream raises into one line: its own message may hold cells."""
    try:
        yield
    except TableError:
        raise
    except Exception as error:
        raise TableError(f"cannot read {label}: {type(error).__name__}") from None


class Table(ABC):
    """Named columns of cells, read in batches; as often as one likes, unless it is a stream.

    Args:
        label: What errors call it: a path, or what kind of object it is.
        names: Of its columns, in order.

    Attributes:
        rereadable: Whether it can be read more than once.
    """

    rereadable = True

    def __init__(self, label: str, names: Sequence[str]) -> None:
        self.label = label
        self.names = tuple(names)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.label}>"

    def batches(self, columns: Sequence[str], progress: Progress | None = None) -> Iterator[pa.RecordBatch]:
        """Read the table.

        Args:
            columns: The columns to read.
            progress: Is called after each batch with the fraction of the table that has been read.

        Returns:
            Batches of at most BATCH_ROWS rows, the columns in the order asked for.

        Raises:
            TableError: A column is not there, or the table cannot be read.
        """
        return _cut(self._blocks([self.place(name) for name in columns]), progress)

    def place(self, name: str) -> int:
        """Where a column is.

        Args:
            name: The column.

        Returns:
            Its place among `names`.

        Raises:
            TableError: It is not there, is there twice, or its cells have no reading.
        """
        found = self._places.get(name, [])
        if len(found) > 1:
            raise TableError(f"{self.label} has more than one column {name!r}; rename all but one")
        if not found:
            raise TableError(f"{self.label} has no column {name!r}; {self._hint()}")
        place = found[0]
        check_type(self._type(place), self._column(place))
        return place

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """Where each name stands: looked up once, because wide tables have thousands."""
        found: dict[str, list[int]] = {}
        for place, name in enumerate(self.names):
            found.setdefault(name, []).append(place)
        return found

    def _column(self, place: int) -> str:
        """A column as errors name it."""
        return f"column {self.names[place]!r} of {self.label}"

    def _hint(self) -> str:
        """What to say to someone who asked for a column that is not there."""
        return f"it has: {listed(self.names)}"

    @abstractmethod
    def _type(self, place: int) -> pa.DataType:
        """The declared type of a column."""

    @abstractmethod
    def _blocks(self, places: list[int]) -> Blocks:
        """The columns at these places, in blocks of any size, each with the fraction read so far."""


def listed(names: Sequence[str]) -> str:
    """The first few of some names."""
    more = len(names) - NAMES_LISTED
    return ", ".join(map(one_line, names[:NAMES_LISTED])) + (f" and {more} more" if more > 0 else "")


def _cut(blocks: Blocks, progress: Progress | None) -> Iterator[pa.RecordBatch]:
    for fraction, block in blocks:
        for start in range(0, block.num_rows, BATCH_ROWS):
            yield block.slice(start, BATCH_ROWS)
        if progress is not None:
            progress(fraction)
    if progress is not None:
        progress(1.0)
