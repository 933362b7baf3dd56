"""Cells are read as a fit reads them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from tests.evaluation.tables import SCHEMA, frame

from sfumato.evaluation.typed_rows import typed
from sfumato.schema.schema import Schema


def test_categories_compare_as_the_schema_compares_them() -> None:
    """1.0 is 1 and True is true, so no mass is lost."""
    rows = typed(frame(500, 0), SCHEMA)
    for name in ("c", "b", "y"):
        assert rows.codes[name].max() < 2


def test_what_is_no_level_has_a_place_of_its_own() -> None:
    rows = typed(frame(20, 0).assign(y="r"), SCHEMA)
    assert rows.codes["y"].tolist() == [2] * 20
    assert rows.features(["y"])["y"].isna().all()


def test_dates_and_missing_numbers_become_features() -> None:
    found = typed(frame(500, 0), SCHEMA).features(SCHEMA.features)
    assert list(found) == ["n", "d", "c", "b"]
    assert found["d"].isna().sum() == found["n"].isna().sum() == 50
    assert found["d"].min() >= 18_262  # days since 1970
    assert found["d"].max() <= 18_262 + 365
    assert isinstance(found["c"].dtype, pd.CategoricalDtype)


def test_some_rows_are_taken_from_every_column() -> None:
    rows = typed(frame(100, 0), SCHEMA)
    kept = rows.take(np.arange(100) % 2 == 1)
    assert (rows.size, kept.size) == (100, 50)
    assert kept.codes["y"].tolist() == rows.codes["y"][1::2].tolist()


def test_the_same_rows_in_another_order_are_the_same() -> None:
    schema = Schema.of({"columns": {"age": {"type": "number", "min": 0, "max": 9}, "sex": {"type": "boolean"}}})
    some = pd.DataFrame({"age": [1, 2, 2, None], "sex": [True, False, True, None]})
    rows = typed(some, schema)
    assert rows.is_same(typed(some[::-1], schema))
    for other in (some.assign(age=[1, 2, 2, 3]), some[1:], some.assign(sex=[True, True, True, None])):
        assert not rows.is_same(typed(other, schema))
