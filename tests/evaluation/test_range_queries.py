"""Shares of rows in ranges and sets."""

from __future__ import annotations

import numpy as np
import pytest
from tests.evaluation.tables import SCHEMA, frame

from sfumato.evaluation.range_queries import Query, random_query, range_query_error
from sfumato.evaluation.typed_rows import typed


def test_a_query_counts_rows_for_which_all_conditions_hold() -> None:
    table = frame(400, 0)
    wanted = table["n"].between(4, 6) & (table["y"] == "q")
    query = Query({"n": (4.0, 6.0)}, {"y": np.array([False, True, False])})
    assert query.share(typed(table, SCHEMA)) == pytest.approx(wanted.mean())


def test_queries_are_of_one_to_three_columns() -> None:
    rng, rows = np.random.default_rng(0), typed(frame(100, 0), SCHEMA)
    sizes = {len(query.ranges) + len(query.sets) for query in (random_query(rows, rng) for _ in range(50))}
    assert sizes == {1, 2, 3}


def test_equal_rows_answer_alike_and_others_do_not() -> None:
    real = typed(frame(300, 0), SCHEMA)
    assert range_query_error(real, real) == 0.0
    assert range_query_error(real, typed(frame(300, 0).assign(y="p", c=1.0), SCHEMA)) > 0.05
