"""Values that meet in no row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfumato.checking.unmet_values import MOST_CATEGORICAL, MOST_PAIRS, unmet_remarks
from sfumato.schema.columns import Boolean, Category
from sfumato.schema.conditions import parse
from sfumato.schema.layout import CategoryBins
from sfumato.schema.schema import Schema

N = 4000
RNG = np.random.default_rng(0)
WARD = CategoryBins(Category(values=("eye", "birth", "heart")))
SEX = CategoryBins(Category(values=(1, 2), missing=True))
PREGNANT = CategoryBins(Boolean())
WARDS = RNG.choice(3, N, p=[0.5, 0.2, 0.3])
SEXES = np.where(WARDS == 1, 0, RNG.integers(0, 3, N))  # 2: missing


def coded(**columns: tuple[CategoryBins, Any]) -> dict[str, tuple[CategoryBins, Any]]:
    return columns


def test_the_rarer_value_comes_first_and_the_rule_can_be_read() -> None:
    (told,) = unmet_remarks(coded(sex=(SEX, SEXES), ward=(WARD, WARDS)), ())
    rule = "if ward == 'birth' then sex != '2'"
    assert str(told).startswith(
        "no row has ward == 'birth' with sex == '2'; if that is so by its nature, not by chance"
    )
    assert str(told).endswith(f'constraints: ["{rule}"]')
    assert (told.kind, told.changes) == ("rule", {})
    columns = {"ward": WARD.column, "sex": SEX.column}
    assert parse("ward == 'birth' and sex != '2'", columns)
    known = Schema.of({"columns": {name: each.model_dump() for name, each in columns.items()}, "constraints": [rule]})
    assert unmet_remarks(coded(sex=(SEX, SEXES), ward=(WARD, WARDS)), known.modelling.rules) == []


def test_truth_values_and_more_pairs_of_values() -> None:
    pregnant = (WARDS == 1).astype(int)
    (told,) = unmet_remarks(coded(ward=(WARD, WARDS), pregnant=(PREGNANT, pregnant)), ())
    assert "no row has ward == 'birth' with pregnant == false (nor 2 other pairs of their values); if" in str(told)


@pytest.mark.parametrize(
    "sexes",
    [
        np.where(np.arange(N) == np.flatnonzero(WARDS == 1)[0], 1, SEXES),  # once
        np.where(SEXES == 1, 2, SEXES),  # of one value there is no row
        np.where(RNG.random(N) < 0.98, 2, SEXES),  # few rows have both
    ],
)
def test_what_is_no_rule(sexes: Any) -> None:
    assert unmet_remarks(coded(sex=(SEX, sexes), ward=(WARD, WARDS)), ()) == []


def test_many_columns_are_told_in_a_few_lines() -> None:
    many = coded(**{f"c{i}": (WARD, WARDS) for i in range(MOST_CATEGORICAL + 1)})
    assert unmet_remarks(many, ()) == []
    del many["c0"]
    assert len(unmet_remarks(many, ())) == MOST_PAIRS


def test_no_rows() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert unmet_remarks(coded(sex=(SEX, none), ward=(WARD, none)), ()) == []
