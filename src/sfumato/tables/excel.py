"""Excel workbooks: a sheet whose first row names the columns, read row by row.

Cells are Python objects, each read alone: its own style says whether a number is a date. Of a formula the value is read
that Excel stored with it. A row that holds nothing at all is no row, because sheets go on in empty rows that somebody
formatted; cells beyond the last name are left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import MissingExtraError, TableError
from sfumato.tables.cells import TEXT
from sfumato.tables.objects import object_texts
from sfumato.tables.table import UNKNOWN, Blocks, Table, listed, reading
from sfumato.text import WHITESPACE

SUFFIXES = (".xlsx", ".xlsm")
ROWS_AT_ONCE = 2**13

Row = tuple[Any, ...]


class ExcelTable(Table):
    """A sheet of a workbook; the name may be left out where there is one sheet only."""

    def __init__(self, path: Path, sheet: str | None = None) -> None:
        self._path = path
        with self._open() as book:
            self._sheet = _chosen([each.title for each in book.worksheets], sheet, path)  # others are charts
            header = next(_rows(book[self._sheet], 1), [()])[0]
        super().__init__(str(path), _header_names(header, path))

    @contextmanager
    def _open(self) -> Iterator[Any]:
        try:
            from openpyxl import load_workbook
        except ImportError:
            raise MissingExtraError(f"reading {self._path} needs an extra: pip install sfumato[excel]") from None
        with reading(self._path, "Excel"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            book = load_workbook(self._path, read_only=True, data_only=True)
        with reading(self._path, "Excel"), closing(book):
            yield book

    def _type(self, place: int) -> pa.DataType:
        return TEXT

    def _blocks(self, places: list[int]) -> Blocks:
        names = [self.names[place] for place in places]
        width = len(self.names)
        with self._open() as book:
            for rows in _rows(book[self._sheet], ROWS_AT_ONCE, skipped=1):
                full = [(*row, *[None] * (width - len(row))) for row in rows if any(cell is not None for cell in row)]
                columns = [object_texts(row[place] for row in full) for place in places]
                yield UNKNOWN, pa.RecordBatch.from_arrays(columns, names)


def _rows(sheet: Any, at_once: int, skipped: int = 0) -> Iterator[list[Row]]:
    """The rows of a sheet, some at once; openpyxl's warnings, which show cells, are kept quiet."""
    sheet.reset_dimensions()  # which others write, and not always right
    rows = islice(sheet.iter_rows(values_only=True), skipped, None)
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = list(islice(rows, at_once))
        if not found:
            return
        yield found


def _chosen(names: list[str], sheet: str | None, path: Path) -> str:
    if sheet is None and len(names) == 1:
        return names[0]
    if sheet is None:
        raise TableError(f"{path} has more than one sheet; choose one with --sheet, in Python sheet=: {listed(names)}")
    if sheet not in names:
        raise TableError(f"{path} has no sheet {sheet!r}; it has: {listed(names)}")
    return sheet


def _header_names(header: Row, path: Path) -> list[str]:
    names = [(text or "").strip(WHITESPACE) for text in object_texts(header).to_pylist()]
    while names and not names[-1]:
        names.pop()
    if not names:
        raise TableError(f"the sheet of {path} is empty; its first row must name the columns")
    if "" in names:
        raise TableError(f"the first row of {path} lacks a name; give every column one")
    return names
