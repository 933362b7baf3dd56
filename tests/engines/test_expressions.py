"""What a database is told to compare: applied here, it gives the levels that our own coding gives, for any value."""

from __future__ import annotations

from bisect import bisect_right
from datetime import date
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.questions import FLOATS, INTEGERS, TEXTS, WORDS

from sfumato.engines import expressions
from sfumato.engines.expressions import Kind, Runs, Words, battery, coding_of, own_levels
from sfumato.schema.layout import Bins, IntArray, bins_of
from sfumato.schema.schema import Schema
from sfumato.text import WHITESPACE

KINDS = {
    "float": expressions.FLOATS,
    "integer": expressions.INTEGERS,
    "date": expressions.DATES,
    "boolean": expressions.BOOLEANS,
    "text": expressions.TEXTS,
}
COLUMNS: dict[str, dict[str, Any]] = {
    "plain": {"type": "number", "min": -3, "max": 200, "missing": True},
    "stepped": {"type": "number", "min": 0, "max": 120, "step": 1},
    "atoms": {"type": "number", "min": 0, "max": 1e6, "scale": "log", "atoms": [0, 7.3]},
    "sentinels": {"type": "number", "min": 0, "max": 100, "missing": [99, 9007199254740992, 7.5]},
    "huge": {"type": "number", "min": -1e19, "max": 1e19, "bins": 50},
    "fine": {"type": "number", "min": 0, "max": 1, "step": 0.1},
    "date": {"type": "date", "min": "2000-01-01", "max": "2020-12-31", "missing": ["2001-01-01"]},
    "long ago": {"type": "date", "min": "0001-01-01", "max": "9999-12-31", "bins": 20},
    "listed": {"type": "category", "values": WORDS, "missing": True},
    "numbers": {"type": "category", "values": [-5, 0, 7, 7.5, 100, "inf", "9007199254740993", "true", "2001-01-01"]},
    "boolean": {"type": "boolean"},
}
VALUES = {
    "float": st.one_of(st.floats(), st.sampled_from([value for value in FLOATS if value is not None])),
    "integer": st.one_of(st.integers(-(2**63), 2**63 - 1), st.sampled_from([v for v in INTEGERS if v is not None])),
    "date": st.dates(),
    "boolean": st.booleans(),
    "text": st.one_of(
        st.text(),
        st.sampled_from([text for text in TEXTS if text is not None]),
        st.builds(
            "{}{}{}".format, st.sampled_from(["", " ", "\v"]), st.sampled_from(WORDS), st.sampled_from(["", "0", ".0"])
        ),
    ),
}


def bins_named(name: str) -> Bins:
    return bins_of(Schema.of({"columns": {"c": COLUMNS[name]}}).columns["c"])


def in_levels(bins: Bins) -> IntArray:
    """Bins in a few levels, out of order."""
    found = np.random.default_rng(1).integers(0, 9, len(bins.cell_starts))
    return np.append(np.repeat(found, np.diff(bins.cell_starts, append=bins.cells)), 9)


@cache
def made(name: str, kind: str) -> tuple[Bins, IntArray, Runs | Words | None]:
    bins = bins_named(name)
    levels = in_levels(bins)
    return bins, levels, coding_of(KINDS[kind], bins, levels)


def applied(coding: Runs | Words, value: Any) -> int:
    """The level of a value that is there, by comparisons alone."""
    if isinstance(coding, Runs):
        return coding.absent if value != value else coding.levels[bisect_right(coding.cuts, value)]
    trimmed = value.strip(WHITESPACE)
    return coding.words.get(trimmed, coding.stems.get(trimmed.rstrip("0"), coding.other))


def readable(name: str, kind: str) -> bool:
    said = COLUMNS[name]["type"]
    return said in ("category", "boolean") or (kind == "date" if said == "date" else kind not in ("date", "text"))


@pytest.mark.every(4)
@pytest.mark.parametrize(("name", "kind"), [(n, k) for n in COLUMNS for k in KINDS if readable(n, k)])
@settings(max_examples=12)
@given(data=st.data())
def test_comparisons_give_the_levels_of_our_own_coding(name: str, kind: str, data: st.DataObject) -> None:
    bins, levels, coding = made(name, kind)
    assert coding is not None
    values = data.draw(st.lists(VALUES[kind], min_size=1, max_size=30))
    cells = pa.array([*values, None], KINDS[kind].arrow)
    found = [*(applied(coding, value) for value in values), coding.absent]
    assert found == own_levels(cells, bins, levels).tolist()


@pytest.mark.parametrize(
    ("name", "kind"), [("plain", "text"), ("plain", "date"), ("date", "integer"), ("date", "text")]
)
def test_what_only_our_reader_can_read_has_no_comparison(name: str, kind: str) -> None:
    bins = bins_named(name)
    assert coding_of(KINDS[kind], bins, in_levels(bins)) is None


def test_a_declared_format_is_read_here() -> None:
    bins = bins_of(Schema.of({"columns": {"c": COLUMNS["plain"] | {"format": "1.234,5"}}}).columns["c"])
    assert coding_of(expressions.FLOATS, bins, in_levels(bins)) is None


def test_the_battery_meets_both_sides_of_every_cut() -> None:
    bins = bins_named("stepped")
    coding = coding_of(expressions.INTEGERS, bins, in_levels(bins))
    assert isinstance(coding, Runs)
    tried = {int(text) for text in battery(expressions.INTEGERS, coding)}
    assert {each for cut in coding.cuts for each in (cut - 1, cut, cut + 1)} <= tried
    assert {-(2**63), 2**63 - 1} <= tried


def test_dates_at_the_ends_of_the_calendar_have_neighbours() -> None:
    bins = bins_named("long ago")
    kind: Kind = expressions.DATES
    runs = Runs(kind, (date(1, 1, 2), date.max), (0, 1, 2), 3)
    assert {"0001-01-01", "9999-12-30", "9999-12-31", "infinity"} <= set(battery(kind, runs))
    assert coding_of(kind, bins, in_levels(bins)) is not None
