"""Classes cover every value once, are named by what they hold, and are round."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.reporting.classes import ListedClasses, OrderedClasses, classes_of
from sfumato.schema.columns import Boolean, Category, Date, Duration, Number, Time


def numbers(values: object, **column: object) -> OrderedClasses:
    found = classes_of("x", Number(**column), pd.Series(values), 14)  # type: ignore[arg-type]
    assert isinstance(found, OrderedClasses)
    return found


def test_few_values_are_classes_of_their_own() -> None:
    found = numbers([1, 2, 2, 3], min=1, max=3, step=1)
    assert found.labels == ("1", "2", "3")
    assert found.code(pd.Series([1, 2, 3])).tolist() == [0, 1, 2]


def test_many_values_are_put_into_round_intervals() -> None:
    found = numbers(np.arange(0, 100), min=0, max=120, step=1)
    assert found.labels[:2] == ("under 10", "10 to 19")
    assert found.labels[-1] == "90 and over"


def test_a_value_that_many_rows_have_is_a_class_of_its_own() -> None:
    found = numbers([0] * 500 + [*range(1, 1000)], min=0, max=1000, step=1)
    assert found.labels[0] == "0"
    assert found.labels[1].startswith("1 to ")


def test_a_skewed_column_is_cut_in_growing_steps() -> None:
    found = numbers(np.exp(np.linspace(0, 12, 2000)), min=0, max=200_000)
    widths = np.diff(found.edges)
    assert widths[-1] > 100 * widths[0]


@settings(max_examples=30)
@given(st.lists(st.floats(-50, 150), min_size=1, max_size=60), st.booleans(), st.sampled_from([None, 0.5, 1, 7]))
def test_every_value_is_in_the_class_whose_condition_holds(values: list[float], missing: bool, step: float) -> None:
    column = Number(min=-50, max=150, step=step, missing=missing)
    kept = -50 + np.round((np.array(values) + 50) / step) * step if step else np.array(values)
    cells = column.typed(np.clip(kept, -50, 146 if step == 7 else 150), None)
    found = OrderedClasses.of("x", column, cells, 14)
    holds = np.stack([condition.holds({"x": cells}) for condition in found.conditions])
    assert (holds.sum(axis=0) == 1).all()
    assert (holds.argmax(axis=0) == found.code(cells)).all()
    assert len(found.labels) == len(found.conditions) + missing
    assert len(set(found.labels)) == len(found.labels)


@pytest.mark.parametrize(
    ("column", "label"),
    [
        (Date(min="2020-01-01", max="2024-12-31"), "2021-01-01 to 2021-12-31"),
        (Date(min="2020-01-01", max="2020-12-31"), "2020-02-01 to 2020-02-29"),
        (Date(min="2020-01-01", max="2020-12-31"), "before 2020-02-01"),
        (Date(min="2020-01-01", max="2020-12-31"), "2020-12-01 and later"),
        (Time(), "before 02:00:00"),
        (Time(), "06:00:00 to before 08:00:00"),
        (Duration(min=0, max="10 days"), "1 days to under 2 days"),
    ],
)
def test_calendars_and_clocks_have_classes_of_their_own(column: object, label: str) -> None:
    low, high = column.span.low, column.span.high  # type: ignore[attr-defined]
    cells = column.typed(np.linspace(low, high, 500).round(), None)  # type: ignore[attr-defined]
    labels = classes_of("x", column, cells, 14).labels  # type: ignore[arg-type]
    assert label in labels
    assert len(labels) <= 20


def test_rare_categories_are_put_together() -> None:
    values = [f"v{i}" for i in range(40)]
    found = classes_of("c", Category(values=values, missing=True), pd.Series(["v7"] * 9 + ["v3", None]), 14)
    assert isinstance(found, ListedClasses)
    assert found.labels[-2:] == ("all others (27)", "missing")
    assert sorted(i for levels in found.members for i in levels) == list(range(40))
    assert found.labels[found.code(pd.Series(["v7"]))[0]] == "v7"
    assert found.code(pd.Series([None])).tolist() == [len(found.labels) - 1]


def test_categories_that_look_alike_are_told_apart() -> None:
    found = classes_of("c", Category(values=["a  b", "a b"]), pd.Series(["a b"]), 14)
    assert found.labels == ("a b", "a b (2)")
    assert found.code(pd.Series(["a  b", "a b"])).tolist() == [0, 1]


def test_truth_values() -> None:
    found = classes_of("c", Boolean(), pd.Series([True, False]), 14)
    assert found.code(pd.Series([False, True])).tolist() == [0, 1]
    holds = [condition.holds({"c": pd.Series([False, True])}).tolist() for condition in found.conditions]
    assert holds == [[True, False], [False, True]]
