"""Shares of values for a picture: every kind of column, the few and the missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.evaluation.tables import SCHEMA, frame

from sfumato.evaluation.column_shares import MOST_VALUES, SHARE_BINS, column_shares
from sfumato.evaluation.typed_rows import typed
from sfumato.schema.schema import Schema

STEPPED = {"type": "number", "min": 1, "max": 16, "step": 1}


def test_shares_of_every_kind_add_up() -> None:
    real, ours = typed(frame(400, 0), SCHEMA), [typed(frame(400, seed), SCHEMA) for seed in (1, 2)]
    for name in real.names:
        found = column_shares(name, real, ours)
        assert len(found.values) == len(found.real) == len(found.synthetic)
        assert sum(found.real) == pytest.approx(1.0)
        assert sum(found.synthetic) == pytest.approx(1.0)
    assert column_shares("n", real, ours).values[-1] == "missing"
    assert column_shares("n", real, ours).real[-1] == pytest.approx(0.1)
    assert column_shares("d", real, ours).values[0].startswith("2020-01-0")
    assert column_shares("c", real, ours).values == ("0", "1") or column_shares("c", real, ours).values == ("1", "0")


def test_values_on_a_grid_get_bins_on_it() -> None:
    schema = Schema.of({"columns": {"x": STEPPED, "w": STEPPED | {"max": 100}}})
    rows = typed(pd.DataFrame({"x": np.arange(1600) % 16 + 1, "w": np.arange(1600) % 100 + 1}), schema)
    found = column_shares("x", rows, [rows])
    assert found.values == tuple(map(str, range(1, 17)))
    assert found.real == pytest.approx([1 / 16] * 16)
    wide = column_shares("w", rows, [rows])
    assert wide.values[0] == "1 to 5"
    assert len(wide.values) == SHARE_BINS


def test_of_many_categories_the_most_frequent_are_shown() -> None:
    values = [f"v{place}" for place in range(30)]
    schema = Schema.of({"columns": {"x": {"type": "category", "values": values}, "y": STEPPED}})
    cells = [value for place, value in enumerate(values) for _ in range(place + 1)]
    rows = typed(pd.DataFrame({"x": [*cells, "?"], "y": 1}), schema)
    found = column_shares("x", rows, [rows])
    assert found.values[:2] == ("v29", "v28")
    assert found.values[MOST_VALUES:] == ("other", "missing")
    assert found.real[-1] == pytest.approx(1 / 466)


def test_a_column_without_values_is_no_failure() -> None:
    schema = Schema.of({"columns": {"x": {"type": "number", "min": 0, "max": 1, "missing": True}, "y": STEPPED}})
    rows = typed(pd.DataFrame({"x": [None, None], "y": [1, 1]}), schema)
    assert column_shares("x", rows, [rows]).real[-1] == 1.0
    assert column_shares("y", rows, [rows]).values == ("1",)
