"""Excel files: each cell alone, by its own style; empty rows are none, and nothing is told of a cell."""

import sys
import warnings
from datetime import date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from tests.tables.helpers import cell_texts, readings

from sfumato.errors import ArgumentError, MissingExtraError, TableError
from sfumato.tables import open_table


def book(path: Path, **sheets: list[list[Any]]) -> Path:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.xlsx"


def test_cells_are_read_one_by_one(path: Path) -> None:
    cells = ["007", 7, 7.0, 0.1, True, None, date(2020, 2, 29), datetime(2020, 1, 1, 6), "#N/A", " b "]
    book(path, people=[["n", "c"], *([place, cell] for place, cell in enumerate(cells))])
    assert cell_texts(path) == ["007", "7", "7", "0.1", "true", "", "2020-02-29", "2020-01-01T06:00:00", "#N/A", "b"]


def test_names_widths_and_empty_rows(path: Path) -> None:
    book(path, people=[[" age ", 2020, None], [1, 2, "beyond"], [], [None, None], [3], [None, 4]])
    table = open_table(path)
    assert table.names == ("age", "2020")
    found = [row for batch in table.batches(["2020", "age"]) for row in batch.to_pylist()]
    assert [(row["age"], row["2020"]) for row in found] == [("1", "2"), ("3", None), (None, "4")]


def test_a_date_that_is_none_is_neither_told_nor_changes_others(path: Path) -> None:
    made = openpyxl.Workbook()
    for cell in ("c", 73_519_735_190, 43_831):
        made.active.append([cell])
    for row in (2, 3):
        made.active.cell(row, 1).number_format = "yyyy-mm-dd"
    made.save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cell_texts(path)
    assert found == ["#VALUE!", "2020-01-01"]


def test_sheets(path: Path) -> None:
    book(path, people=[["c"], [1]], visits=[["c"], [2]])
    assert [text for _, text, _ in readings(open_table(path, sheet="visits"), "c")] == ["2"]
    with pytest.raises(TableError, match=r"choose one with --sheet, in Python sheet=: people, visits$"):
        open_table(path)
    with pytest.raises(TableError, match=r"has no sheet 'x'; it has: people, visits$"):
        open_table(path, sheet="x")
    with pytest.raises(ArgumentError, match="delimiter is for CSV files only"):
        open_table(path, delimiter=";")


@pytest.mark.parametrize(("rows", "message"), [([], "is empty"), ([["a", None, "b"]], "lacks a name")])
def test_bad_headers(path: Path, rows: list[list[Any]], message: str) -> None:
    with pytest.raises(TableError, match=message):
        open_table(book(path, people=rows))


def test_a_column_that_is_there_twice(path: Path) -> None:
    with pytest.raises(TableError, match="more than one column 'a'"):
        open_table(book(path, people=[["a", "a"]])).batches(["a"])


def test_what_is_no_workbook(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04 secret")
    with pytest.raises(TableError, match=r"^cannot read .* as Excel: \w+$"):
        open_table(path)
    with pytest.raises(TableError, match="does not exist"):
        open_table(path.with_name("no.xlsx"))


def test_excel_is_an_extra(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"needs an extra: pip install sfumato\[excel\]$"):
        open_table(path)
