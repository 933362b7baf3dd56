"""How texts are read: what they look like decides, most cells win."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sfumato.drafting.readings import Reading, choose_reading


def reading_of(*cells: str) -> tuple[Reading | None, list[float]]:
    texts = pa.array(cells, pa.large_string())
    found = choose_reading(texts, np.ones(len(cells)))
    return found, [] if found is None else found.read(texts).tolist()


@pytest.mark.parametrize(
    ("cells", "form", "values"),
    [
        (("12", "3.5", "-7e2"), None, [12, 3.5, -700]),
        (("$1,200", "$37"), "$1,234", [1200, 37]),
        (("$1,200.50", "-$3"), "$1,234.5", [1200.5, -3]),
        (("(1,200)", "5,300"), "(1,234)", [-1200, 5300]),
        (("37.2%", "5%"), "1234.5%", [37.2, 5]),
        (("1.234,5", "3,25"), "1.234,5", [1234.5, 3.25]),
        (("3,25", "2,0"), "1234,5", [3.25, 2]),
        (("1 234,5", "7"), "1 234,5", [1234.5, 7]),
        (("1'234.5", "7"), "1'234.5", [1234.5, 7]),
        (("1.234.567 €", "12 €"), "1.234 €", [1234567, 12]),
    ],
)
def test_numbers(cells: tuple[str, ...], form: str | None, values: list[float]) -> None:
    found, read = reading_of(*cells)
    assert found is not None
    assert (found.kind, found.format) == ("number", form)
    assert read == values


@pytest.mark.parametrize(
    ("cells", "form", "days"),
    [
        (("1970-01-02", "1970-01-11"), None, [1, 10]),
        (("31.01.1970", "02.01.1970"), "%d.%m.%Y", [30, 1]),
        (("01/31/1970", "1/2/1970"), "%m/%d/%Y", [30, 1]),
        (("31/01/1970", "01/02/1970"), "%d/%m/%Y", [30, 31]),
        (("01/31/1970 12:00 PM", "01/02/1970 6:00 AM"), "%m/%d/%Y %I:%M %p", [30.5, 1.25]),
        (("19700131", "19700102"), "%Y%m%d", [30, 1]),
        (("02-Jan-1970", "03-Feb-1970"), "%d-%b-%Y", [1, 33]),
    ],
)
def test_dates(cells: tuple[str, ...], form: str | None, days: list[float]) -> None:
    found, read = reading_of(*cells)
    assert found is not None
    assert (found.kind, found.format) == ("date", form)
    assert read == days


def test_times_and_durations() -> None:
    found, read = reading_of("8:30", "23:15:10")
    assert found is not None
    assert (found.kind, read) == ("time", [30600, 83710])
    found, read = reading_of("PT8H", "P1DT1H30M", "-PT1.5S")
    assert found is not None
    assert (found.kind, read) == ("duration", [28800, 91800, -1.5])


@pytest.mark.parametrize(
    "cells",
    [
        ("No", "Up"),
        ("[0-10)", "[10-20)"),
        ("E11.9", "V27"),
        ("555-1234", "555-9999"),
        ("true", "false"),
        ("inf", "-inf"),
        ("P", "PT"),
        ("9:99", "12:61"),
        ("31.02.2020", "30.02.2021"),
    ],
)
def test_texts_that_are_nothing_of_it(cells: tuple[str, ...]) -> None:
    assert reading_of(*cells) == (None, [])


def test_stored_cells_are_what_they_are() -> None:
    texts, counts = pa.array(["1:30:00", "0:10:00"], pa.large_string()), np.ones(2)
    kinds = [choose_reading(texts, counts, stored) for stored in (None, "time", "duration", "number")]
    assert [None if each is None else each.kind for each in kinds] == ["time", "time", "duration", None]
    compact = pa.array(["20200131", "20210201"], pa.large_string())
    found = choose_reading(compact, counts, "number")
    assert found is not None
    assert (found.kind, found.format) == ("number", None)


def test_most_cells_decide() -> None:
    found, read = reading_of("1", "2", "3", "N")
    assert found is not None
    assert found.kind == "number"
    assert np.isnan(read[3])
    assert reading_of("1", "N", "M", "O") == (None, [])
