"""Tables for tests of what reads them, and all that a cell can be read as."""

import math
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.tables import Table, days, numbers, open_table, texts

Reading = tuple[int, str, int]


def readings(table: Table, column: str) -> list[Reading]:
    found: list[Reading] = []
    for batch in table.batches([column]):
        cells = batch.column(0)
        floats = [numbers(cells).view(np.int64).tolist(), days(cells).view(np.int64).tolist()]
        found += zip(floats[0], texts(cells).to_pylist(), floats[1], strict=True)
    return found


COLUMNS: dict[str, tuple[list[Any], list[str]]] = {
    "count": ([3, None, -7, 2**53 + 1], ["3", "", "-7", str(2**53 + 1)]),
    "amount": ([0.1, 1.0, None, 2.5e-10], ["0.1", "1.0", "", "2.5e-10"]),
    "member": ([True, False, None, True], ["True", "FALSE", "", "true"]),
    "grade": (["A", " b ", None, "1.0"], ["A", " b ", "", "1.0"]),
    "price": ([Decimal("1.50"), Decimal(2), None, Decimal("-3.25")], ["1.50", "2.00", "", "-3.25"]),
    "day": (
        [date(2020, 2, 29), None, date(1969, 12, 31), date(1, 1, 1)],
        ["2020-02-29", "", "1969-12-31", "0001-01-01"],
    ),
    "time": (
        [datetime(2020, 1, 1), None, datetime(2020, 1, 1, 6), datetime(1960, 5, 5, 1, 2, 3, 456)],
        ["2020-01-01", "", "2020-01-01T06:00:00", "1960-05-05T01:02:03.000456"],
    ),
}


def stored_table() -> pa.Table:
    return pa.table({name: pa.array(stored) for name, (stored, _) in COLUMNS.items()})


def parquet_file(tmp_path: Path, table: pa.Table, **options: Any) -> Path:
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, **options)
    return path


ODD: list[Any] = ["12 years", "", "9" * 400, "2021-02-30", "true", "1e999", '5"', "NaN", "x\ny", "\x00", "٣"]


ODD_OBJECTS: list[Any] = [
    *ODD,
    10**400,
    10**5000,
    0.5,
    math.nan,
    None,
    pd.NA,
    pd.NaT,
    True,
    b"\xff",
    "\ud800",
    [1, 2],
    {"a": 1},
    object(),
    Decimal("NaN"),
    Decimal("1E+999999999"),
    np.float32(0.1),
    np.datetime64("NaT"),
    timedelta(1),
    1j,
]


def one_column(kind: str, column: Sequence[Any], tmp_path: Path) -> Any:
    if kind == "csv":
        path = tmp_path / "odd.csv"
        path.write_text("id,c\n" + "".join(f"0,{cell}\n" for cell in column), newline="")
        return path
    if kind == "parquet":
        return parquet_file(tmp_path, pa.table({"c": pa.array(column, pa.string())}))
    if kind == "excel":
        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet()
        for place, cell in enumerate(["c", *column]):
            sheet.append([cell, place])
        book.save(tmp_path / "odd.xlsx")
        return tmp_path / "odd.xlsx"
    if kind == "sqlite":
        path = tmp_path / "odd.sqlite"
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE odd (c)")
            connection.executemany("INSERT INTO odd VALUES (?)", ((cell,) for cell in column))
        return path
    return pd.DataFrame({"c": pd.Series(column, dtype=object)})


def cell_texts(source: Any, column: str = "c") -> list[str]:
    return [text for _, text, _ in readings(open_table(source), column)]
