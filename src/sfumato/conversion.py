"""A table of any kind written as a file of another: every cell as it reads, none interpreted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import TableError
from sfumato.rows_file import write_rows
from sfumato.tables.cells import TEXT
from sfumato.tables.csv import CsvTable
from sfumato.tables.table import Progress, Table

MARK = "\v"  # behind the text of an object that was none; white space to every reader


@dataclass
class Conversion:
    """What came of a conversion: private, as the rows are.

    Attributes:
        rows: How many rows were written.
        lost_rows: Those of a CSV file that hold nothing because their line has not as many fields as the header.
        lost_cells: Other cells of a CSV file whose bytes are no text in its encoding.
    """

    rows: int = 0
    lost_rows: int = 0
    lost_cells: int = 0

    def count(self, batch: pa.RecordBatch, is_csv: bool) -> None:
        """Add some rows. An empty cell of a CSV file is an empty text, so a null is one that was not read."""
        self.rows += batch.num_rows
        if is_csv and any(column.null_count for column in batch.columns):
            nulls = sum(pc.is_null(column).to_numpy(zero_copy_only=False).astype(int) for column in batch.columns)
            whole = nulls == batch.num_columns
            self.lost_rows += int(whole.sum())
            self.lost_cells += int(nulls[~whole].sum())


def convert(
    table: Table,
    path: str | Path,
    kind: str | None = None,
    progress: Progress | None = None,
) -> Conversion:
    """Write all columns of a table to a file. Records of a CSV file may go on over line breaks in quotes.

    Args:
        table: The table.
        path: Where to write; "-" is stdout.
        kind: The format, by default what the path ends in.
        progress: Hears of the fraction of the table that has been read.

    Returns:
        How many rows were written, and what could not be read.

    Raises:
        TableError: The table cannot be read, or a column is not stored in one type.
        OutputError: The file cannot be written.
    """
    is_csv = isinstance(table, CsvTable)
    found = Conversion()
    source = table.over_lines() if isinstance(table, CsvTable) else table

    def batches() -> Iterator[pa.RecordBatch]:
        schema = None
        for batch in source.batches(source.names, progress):
            plain = _plain(batch)
            schema = schema or plain.schema
            if plain.schema != schema:
                raise TableError(f"{table.label} stores a column in several types; convert its files one by one")
            found.count(plain, is_csv)
            yield plain
        if schema is None:
            yield pa.RecordBatch.from_pydict({name: pa.array([], TEXT) for name in source.names})

    write_rows(batches(), path, kind=kind)
    return found


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch without dictionaries, which not every format has, and without marks that readers put behind cells."""
    return pa.RecordBatch.from_arrays([_plain_cells(column) for column in batch.columns], batch.schema.names)


def _plain_cells(cells: pa.Array) -> pa.Array:
    plain = cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells
    return pc.utf8_rtrim(plain, characters=MARK) if plain.type == TEXT else plain
