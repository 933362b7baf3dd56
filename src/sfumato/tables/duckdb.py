"""DuckDB relations, and tables of DuckDB files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sfumato.errors import MissingExtraError, TableError
from sfumato.tables.one_table import of_duckdb
from sfumato.tables.table import BATCH_ROWS, UNKNOWN, Blocks, Table, listed, reading, running

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

SUFFIXES = (".duckdb", ".db")
WIDE_TYPES = ("HUGEINT", "UHUGEINT", "BIGNUM", "VARINT", "BIT")  # Arrow has none of them: they go as text

Lease = Callable[[], AbstractContextManager["DuckDBPyRelation"]]


class DuckTable(Table):
    """A relation, run anew at every pass. A connection has one pass open at a time."""

    def __init__(self, label: str, lease: Lease, stored: bool = False) -> None:
        self.lease = lease
        self._stored = stored  # known to be a table, and no view or query
        with running(label), lease() as relation:
            names = relation.columns
            self.types = list(map(str, relation.types))
        self._asked = [
            f"#{place}::VARCHAR" if kind in WIDE_TYPES else f"#{place}"
            for place, kind in enumerate(self.types, start=1)
        ]
        super().__init__(label, names)

    @cached_property
    def one_table(self) -> bool:
        """Whether its rows are those of one stored table, each by itself."""
        if self._stored:
            return True
        with running(self.label), self.lease() as relation:
            return of_duckdb(relation)

    def _type(self, place: int) -> pa.DataType:
        asked = self._asked[place]
        with running(self.label), self.lease() as relation, _reader(relation.project(asked).limit(0)) as reader:
            return reader.schema.field(0).type

    def _blocks(self, places: list[int]) -> Blocks:
        # Columns are asked for by their place, because DuckDB takes `a` and `A` for one name.
        asked = ", ".join(self._asked[place] for place in places)
        names = [self.names[place] for place in places]
        with running(self.label), self.lease() as relation, _reader(relation.project(asked)) as reader:
            for block in reader:
                yield UNKNOWN, pa.RecordBatch.from_arrays(block.columns, names)


def relation_table(relation: DuckDBPyRelation) -> DuckTable:
    """The table of a relation of the caller's own connection."""
    return DuckTable("the relation", lambda: nullcontext(relation))


def file_table(path: Path, table: str | None = None) -> DuckTable:
    """A table or view of a DuckDB file, by name; the name may be left out where there is one table only.

    Nothing but the file is read. A view of it that reads other files is refused: whoever gave the file would choose
    what is opened on this machine. A relation of the caller's own connection may read what the caller likes.
    """
    with _connected(path) as connection, running(str(path)):
        found = connection.sql(
            "SELECT table_schema, table_name, table_type = 'BASE TABLE' FROM information_schema.tables "
            "WHERE table_catalog = current_database() ORDER BY ALL"
        ).fetchall()
    chosen = [each for each in found if (each[2] if table is None else each[1] == table)]
    if len(chosen) != 1:
        names = listed([name for _, name, _ in found]) or "none"
        if table is None:
            raise TableError(
                f"{path} does not hold exactly one table; choose one with --table, in Python table=: {names}"
            )
        if not chosen:
            raise TableError(f"{path} has no table {table!r}; it has: {names}")
        raise TableError(f"{path} has more than one table {table!r}, in different schemas; give a relation")
    *parts, is_base = chosen[0]
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in parts)

    @contextmanager
    def lease() -> Iterator[DuckDBPyRelation]:
        with _connected(path) as connection:
            yield connection.sql(f"FROM {quoted}")

    return DuckTable(str(path), lease, is_base)


@contextmanager
def _connected(path: Path) -> Iterator[DuckDBPyConnection]:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError(f"reading {path} needs an extra: pip install sfumato[sql]") from None
    with reading(path, "DuckDB"):
        path.stat()
    try:
        connection = duckdb.connect(path, read_only=True, config={"enable_external_access": "false"})
    except duckdb.ConnectionException:
        raise TableError(f"{path} is open in this program; close that connection, or give a relation of it") from None
    except duckdb.Error as error:
        raise TableError(f"cannot read {path} as DuckDB: {type(error).__name__}") from None
    with closing(connection):
        try:
            yield connection
        except duckdb.PermissionException:
            raise TableError(
                f"cannot read {path}: the view reads other files; copy it into a table of the file, or give a relation"
            ) from None


def _reader(relation: DuckDBPyRelation) -> pa.RecordBatchReader:
    """The relation's rows; leaving the reader frees the connection for the next query."""
    if hasattr(relation, "to_arrow_reader"):
        return relation.to_arrow_reader(BATCH_ROWS)
    return relation.fetch_record_batch(BATCH_ROWS)  # before DuckDB 1.4
