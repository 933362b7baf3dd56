"""A code book's facts are public; where the table differs, that is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.drafting.codebook import Entry, described, read_codebook
from sfumato.drafting.looks import Look
from sfumato.errors import SchemaError

BOOK = """\
column,value,label,min,max,step
sex,1,male,,,
sex,2,female,,,
age,,"years, whole",0,120,
age,0,newborn,,,
age,999,not known,,,
hours,,,0,99,0.5
"""


def book(tmp_path: Path, text: str) -> dict[str, Entry]:
    path = tmp_path / "codes.csv"
    path.write_text(text)
    return read_codebook(path)


def look(cells: Any) -> Look:
    made = Look()
    made.add(pa.array(cells))
    return made


def test_what_it_says(tmp_path: Path) -> None:
    found = book(tmp_path, BOOK)
    assert found["sex"] == Entry(["1", "2"], {})
    assert found["age"] == Entry(["0", "999"], {"min": 0.0, "max": 120.0})
    assert found["hours"].bounds["step"] == 0.5
    assert book(tmp_path, "\ufeff" + BOOK.replace(",", ";").replace("years;", "years,")) == found


def test_categories(tmp_path: Path) -> None:
    sex = book(tmp_path, BOOK)["sex"]
    assert described(sex, look([1, 2, 2])).column == {"type": "category", "values": [1, 2]}
    found = described(sex, look(["1", "2", "?", "3"]))
    assert found.column == {"type": "category", "values": [1, 2], "missing": ["?"]}
    assert found.facts == ("missing",)
    assert found.notes == ("1 different texts are not in the code book, such as '3'",)
    assert described(sex, look(["1", "?"]), is_label=True).column == {"type": "category", "values": [1, 2]}


def test_numbers(tmp_path: Path) -> None:
    found = book(tmp_path, BOOK)
    age = described(found["age"], look([*range(100), 999]))
    assert age.column == {"type": "number", "min": 0, "max": 120, "step": 1, "atoms": [0], "missing": ["999"]} | {
        "missing": [999]
    }
    assert set(age.facts) == {"step", "scale"}
    assert age.notes == ()
    hours = described(found["hours"], look(np.arange(0, 130, 0.25)))
    assert hours.column == {"type": "number", "min": 0, "max": 99, "step": 0.5}
    assert set(hours.facts) == {"scale", "missing"}
    assert hours.notes == ("cells lie above the code book's max 99, and count as 99",)


def test_dates(tmp_path: Path) -> None:
    found = book(tmp_path, "column,min,max\nseen,2020-01-01,2024-12-31\n")["seen"]
    made = described(found, look(["2021-05-05", ""]))
    assert made.column is not None
    assert (made.column["type"], str(made.column["min"]), made.column["missing"]) == ("date", "2020-01-01", True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must name `column`"),
        ("name,value\na,1\n", "must name `column`"),
        ("column,label\na,1\n", "must name `column`"),
        ("column,value\na,1\n,2\n", "line 3: it names no column"),
        ("column,value\na,\n", "line 2: give a value, or min and max"),
        ("column,value\na,1\na, 1.0\n", "line 3: the value '1' is there twice"),
        ("column,min,max\na,1,\n", "gives column 'a' one bound"),
        ("column,min,max\na,1,many\n", "line 2: 'many' is neither a number nor a date"),
    ],
)
def test_what_is_no_code_book(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        book(tmp_path, text)


def test_a_code_book_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="cannot read the code book"):
        read_codebook(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes("column,value\nö,1\n".encode("latin-1"))
    with pytest.raises(SchemaError, match="no CSV file in UTF-8"):
        read_codebook(tmp_path / "latin.csv")
