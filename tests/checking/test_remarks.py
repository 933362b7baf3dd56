"""What is remarked about columns, units and rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from sfumato.checking.cell_counts import Tally
from sfumato.checking.findings import ColumnCheck, RuleCheck, UnitCheck
from sfumato.checking.hints import Hints
from sfumato.checking.proposal import Remark
from sfumato.checking.remarks import column_remarks, row_remarks, unit_remarks
from sfumato.schema.layout import bins_of
from sfumato.schema.schema import Category, Column, Date, Number

AGE = Number(min=0, max=20, step=1)
PAY = Number(min=0, max=1e6)
BORN = Date(min="2000-01-01", max="2020-12-31")
TOWN = Category(values=("Ulm", "Bonn"))


def remarks(
    column: Column,
    tally: Tally,
    hints: Hints | None = None,
    off_step: float | None = None,
    is_label: bool = False,
    is_grouped: bool = False,
) -> list[Remark]:
    bounds = getattr(bins_of(column), "bounds", None)
    found = ColumnCheck("x", column.type, tally, hints or Hints(), off_step, bounds)
    return column_remarks(found, column, is_label=is_label, is_grouped=is_grouped)


def one(*args: Any, **options: Any) -> Remark:
    (found,) = remarks(*args, **options)
    return found


def test_nothing_to_remark() -> None:
    assert remarks(AGE, Tally(cells=100)) == []
    assert remarks(AGE, Tally(cells=10_000, low=10)) == []  # clamping a few is what bounds are for


def test_a_slip_is_told_and_not_added_to_the_list() -> None:
    tally = Tally(cells=100, unlisted=3, lost=3, examples=Counter({"Bonnn": 1, "Kiel": 2}))
    hints = Hints(slips={"Bonnn": "'Bonnn' (1) beside 'Bonn' (60): a slip?"})
    unlisted = one(TOWN, tally, hints)
    assert unlisted.changes == {"values": ["Ulm", "Bonn", "Kiel"]}
    slip = one(Category(values=("Ulm", "Bonn", "Bonnn")), Tally(cells=100), hints)
    assert (slip.kind, slip.text, slip.changes) == ("slip", "'Bonnn' (1) beside 'Bonn' (60): a slip?", {})


def test_missing_cells() -> None:
    tally = Tally(cells=100, missing=20, lost=20)
    found = one(AGE, tally)
    assert (found.kind, found.changes) == ("missing", {"missing": True})
    assert found.text == "20 cells (20 %) are missing, and fit no bin; say `missing: true`"
    assert remarks(AGE.model_copy(update={"missing": True}), tally) == []


def test_missing_labels_and_cells_of_groups_cannot_be_declared() -> None:
    tally = Tally(cells=100, missing=1, lost=1)
    assert one(TOWN, tally, is_label=True).changes == {}
    assert one(TOWN, tally, is_label=True).text == "1 cell (1 %) is missing, and a row without a label does not count"
    grouped = one(AGE, tally, is_grouped=True)
    assert (grouped.changes, "middle of the range" in grouped.text) == ({}, True)


def test_a_sign_for_no_value() -> None:
    tally = Tally(cells=100, unlisted=10, lost=10, examples=Counter({"?": 10}))
    found = one(TOWN, tally)
    assert (found.kind, found.changes) == ("unlisted", {"missing": True})
    assert "such as '?' (10)" in found.text
    numbers = Tally(cells=100, unreadable=10, lost=10, examples=Counter({"N/A": 10}))
    assert one(AGE, numbers).changes == {"missing": True}


def test_categories_that_are_not_listed_are_added() -> None:
    tally = Tally(cells=100, unlisted=30, lost=30, examples=Counter({"Rome": 20, "?": 1, "Bern": 9}))
    assert one(TOWN, tally).changes == {"missing": True, "values": ["Ulm", "Bonn", "Bern", "Rome"]}
    codes = Tally(cells=100, unlisted=30, lost=30, examples=Counter({"3": 20, "10": 10}))
    assert one(Category(values=(1, 2)), codes).changes == {"values": [1, 2, 3, 10]}
    many = Tally(cells=900, unlisted=300, lost=300, examples=Counter(f"t{i}" for i in range(300)))
    assert one(TOWN, many).changes == {}
    declared = TOWN.model_copy(update={"missing": True})
    assert one(declared, tally).changes == {}
    assert "count as missing" in one(declared, tally).text


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["71,5", "1.234,5", "80,25"], "decimal comma"),
        (["$1,200", "$900", "37.2%", "€ 5"], "percent sign"),
        (["1,200", "12,345", "1,000,000"], "separators"),
        (["-1", "-2"], "fit no bin"),
        (["71;f;Ulm", "80;m;Bonn"], "--delimiter"),
        (["12 years", "old", "n. a."], "fit no bin"),
    ],
)
def test_how_unreadable_numbers_are_written(texts: list[str], told: str) -> None:
    tally = Tally(cells=100, unreadable=100, lost=100, examples=Counter(texts))
    assert told in one(PAY, tally).text


def test_clamped_cells() -> None:
    tally = Tally(cells=100, low=30, high=40, smallest=-7.5, largest=93.0)
    low, high = remarks(AGE, tally)
    assert low.text == "30 cells (30 %) are below min 0, as far as -7.5, and clamped to it"
    assert (low.changes, high.changes) == ({"min": -8}, {"max": 93})
    few = Tally(cells=1000, high=5, largest=93.0)
    assert one(AGE, few).changes == {}
    infinite = Tally(cells=100, high=50, largest=19.0)
    assert one(AGE, infinite).text == "50 cells (50 %) are above max 20, and clamped to it"
    assert one(AGE, infinite).changes == {}


def test_proposed_bounds_are_round() -> None:
    assert one(PAY, Tally(cells=100, high=50, largest=3_189_517.75)).changes == {"max": 3_200_000}


def test_clamped_dates() -> None:
    found = one(BORN, Tally(cells=100, high=50, largest=20_000.0))
    assert found.text == "50 cells (50 %) are above max 2020-12-31, as far as 2024-10-04, and clamped to it"
    assert found.changes == {"max": "2024-12-31"}
    assert one(BORN, Tally(cells=100, low=50, smallest=-1e9)).changes == {"min": "0001-01-01"}


def test_a_step_that_is_not_declared() -> None:
    assert one(PAY, Tally(cells=100), Hints(grid=0.5)).changes == {"step": 0.5}
    odd = Number(min=0.3, max=9)
    assert one(odd, Tally(cells=100), Hints(grid=0.5)).changes == {"step": 0.5, "min": 0.0}


def test_a_step_that_is_not_kept() -> None:
    assert one(AGE, Tally(cells=100), Hints(grid=0.5), off_step=0.4).changes == {"step": 0.5}
    assert one(AGE, Tally(cells=100), Hints(), off_step=0.4).changes == {"step": None}
    assert one(AGE, Tally(cells=100), Hints(), off_step=0.4).text.startswith("40 % of the values are not on the grid")
    assert remarks(AGE, Tally(cells=100), Hints(grid=1.0), off_step=0.0) == []


def test_atoms() -> None:
    hints = Hints(spikes=((0.0, 0.3), (2e6, 0.1)))
    assert one(PAY, Tally(cells=100), hints).changes == {"atoms": [0.0]}
    assert "0 (30 %), 2e+06 (10 %)" in one(PAY, Tally(cells=100), hints).text
    assert remarks(PAY.model_copy(update={"atoms": (0.0, 2e6)}), Tally(cells=100), hints) == []
    assert remarks(AGE, Tally(cells=100), hints) == []  # every value has a bin of its own
    told = "4 % of the values are 19, the largest, and far fewer are just below it; if it stands for all from there on"
    assert one(AGE, Tally(cells=100), Hints(ceiling=(19.0, 0.04))).text.startswith(told)
    assert remarks(AGE, Tally(cells=100), Hints(ceiling=(21.0, 0.04))) == []  # clamped


def test_wide_bounds() -> None:
    assert one(PAY, Tally(cells=100), Hints(middle=(20.0, 800.0))).kind == "wide"
    assert remarks(PAY, Tally(cells=100), Hints(middle=(20.0, 80_000.0))) == []
    log = Number(min=0, max=1e6, scale="log")
    assert remarks(log, Tally(cells=100), Hints(middle=(20.0, 800.0))) == []


def test_ids() -> None:
    found = one(AGE, Tally(cells=100), Hints(is_name=True))
    assert (found.kind, found.drops) == ("id", True)


def test_units() -> None:
    unit = UnitCheck("person", 1, 200, 2000, 30, 1800, 10, 12, 15)
    nameless, over = unit_remarks(unit)
    assert nameless.text == "rows without person, which do not count: 30"
    assert over.changes == {"rows": 12}
    assert over.text.startswith("1,800 rows (90 %) do not count, because their person has more than 1; with rows: 12")
    assert unit_remarks(UnitCheck("person", 1, 2000, 2000, 0, 1, 1, 1, 2)) == []


def test_rows() -> None:
    empty, broken = row_remarks(100, 2, (RuleCheck("a >= b", 7), RuleCheck("c > 0", 0)))
    assert "rows that are empty in every column: 2 (2 %)" in empty.text
    assert broken.text == "rows that break the rule `a >= b`: 7 (7 %)"
