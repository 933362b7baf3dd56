"""The judges measure what they claim."""

from __future__ import annotations

import numpy as np
import pytest
from tests.evaluation.tables import SCHEMA, frame

from sfumato.errors import ArgumentError
from sfumato.evaluation.judges import any_column, boosted_auc, judge_label, median, some, told_apart, weighted_auc
from sfumato.evaluation.typed_rows import typed
from sfumato.schema.schema import Schema

pytest.importorskip("lightgbm")


def test_judges_measure_what_they_learn() -> None:
    """The number tells the label of the first rows and nothing of the second ones'."""
    train, test = typed(frame(1000, 0), SCHEMA), typed(frame(1000, 1), SCHEMA)
    informed, blind = judge_label(train, test), judge_label(train, typed(frame(1000, 1, gap=0.0), SCHEMA))
    assert set(informed) == {"lightgbm", "logistic", "forest"}
    assert all(informed[judge] > 0.85 for judge in informed)
    assert all(0.4 < blind[judge] < 0.6 for judge in blind)
    assert boosted_auc(train, test) > 0.85


def test_constant_labels_teach_nothing() -> None:
    test = typed(frame(300, 1), SCHEMA)
    assert set(judge_label(typed(frame(300, 0).assign(y="p"), SCHEMA), test).values()) == {0.5}


def test_a_schema_without_label_has_no_judges() -> None:
    columns = SCHEMA.dump()["columns"]
    rows = typed(frame(50, 0), Schema.of({"columns": columns}))
    with pytest.raises(ArgumentError, match="no label"):
        judge_label(rows, rows)


def test_any_column_counts_every_column_alike() -> None:
    """The number and the label tell each other; the date, c and b tell nothing."""
    real, test = typed(frame(1000, 0), SCHEMA), typed(frame(1000, 1), SCHEMA)
    score = any_column(real, test, real)
    assert (0.8 + 0.8 + 3 * 0.46) / 5 < score < (1 + 1 + 3 * 0.58) / 5


def test_rows_of_one_kind_are_not_told_apart() -> None:
    real = typed(frame(2000, 0), SCHEMA)
    assert 0.4 < told_apart(real, typed(frame(2000, 1), SCHEMA)) < 0.6
    assert told_apart(real, typed(frame(2000, 1).assign(c=0.0), SCHEMA)) > 0.7


def test_some_of_the_rows_are_of_every_kind() -> None:
    rows = typed(frame(1000, 0).sort_values("y"), SCHEMA)
    kept = some(rows, 200)
    assert kept.size == 200
    assert 60 < kept.codes["y"].sum() < 140
    assert some(rows, 1000) is rows


def test_several_classes_are_weighted_by_their_counts() -> None:
    """Class 0 is told perfectly, 1 and 2 are told from it but not from each other; class 3 has too few rows."""
    truth = np.repeat([0, 1, 2, 3], [60, 30, 30, 5])
    scores = np.zeros((125, 4))
    scores[:60, 0] = 1.0
    scores[60:, 1] = scores[60:, 2] = 0.5
    ones, others = 30 * 60 + 0.5 * 30 * 35, 30 * 95
    assert weighted_auc(truth, scores, np.arange(4)) == pytest.approx((60 * 1.0 + 60 * ones / others) / 120)
    assert np.isnan(weighted_auc(np.zeros(9, dtype=int), np.ones((9, 1)), np.array([0])))


def test_the_median_is_of_known_numbers() -> None:
    rows = typed(frame(100, 0), SCHEMA)
    assert median(rows, "n") == pytest.approx(np.nanmedian(rows.numbers["n"]))
    assert np.isnan(median(rows, "y"))
