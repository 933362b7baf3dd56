"""What is said about slices: refused in one line where it cannot be meant, and chosen where nothing is said."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.configs import asked

import sfumato as sf
from sfumato.accounting import calibrate, delta_of
from sfumato.errors import ArgumentError
from sfumato.mechanisms.slicing.slicing_mechanism import MOST_SLICE_DIM, SlicingTuning

NUMBER: dict[str, Any] = {"type": "number", "min": -4, "max": 4, "bins": 16}
COLUMNS: dict[str, Any] = {f"x{i}": NUMBER for i in range(6)}
TWO = {"label": "y", "columns": COLUMNS | {"y": {"type": "category", "values": ["no", "yes"]}}}
ONE = {"columns": COLUMNS}
DIM = 8  # six columns and two classes
EPSILON, DELTA = 1.0, 1e-6


def plan(schema: dict[str, Any] = TWO, **options: Any) -> sf.Plan:
    given = {"epsilon": EPSILON, "delta": DELTA, "mechanism": "slicing"} | options
    return sf.plan(schema, **asked(**given))


def rows(schema: dict[str, Any] = TWO, **options: Any) -> sf.Plan:
    return plan(schema, form="rows", adjacency="replace-one", **options)


ROWS: dict[str, Any] = {"form": "rows", "adjacency": "replace-one"}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"form": "sums"}, "form must be one of 'central', 'rows', not 'sums'"),
    ({"form": "rows"}, "form 'rows' tells how many rows there are: it needs adjacency 'replace-one'"),
    ({"form": "rows", "adjacency": "label"}, "form 'rows' tells how many rows there are"),
    ({"slices": 3}, "slices is for form 'rows'"),
    ({"form": "central", "slices": 3}, "slices is for form 'rows'"),
    ({"calibration": "theorem1"}, "calibration is for form 'rows'"),
    (ROWS | {"calibration": "loose"}, "calibration must be one of 'exact', 'theorem1', not 'loose'"),
    (ROWS | {"slices": 0}, "slices must be a whole number from 1 to"),
    (ROWS | {"slices": 2.0}, "slices must be a whole number from 1 to"),
    (ROWS | {"slices": True}, "slices must be a whole number from 1 to"),
    ({"slice_dim": 0}, f"slice_dim must be a whole number from 1 to {MOST_SLICE_DIM}, not 0"),
    ({"slice_dim": MOST_SLICE_DIM + 1}, "slice_dim must be a whole number"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=lambda each: str(each)[:60])
def test_what_cannot_be_meant_is_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        plan(**options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_unit_of_several_rows_has_no_theorem() -> None:
    unit = TWO | {"unit": {"column": "who", "rows": 3}}
    with pytest.raises(ArgumentError, match="theorem1 is proved for one row a unit"):
        rows(unit, slices=1, calibration="theorem1")


def test_sums_are_the_form_where_nothing_is_said() -> None:
    made = plan()
    assert (made.details.form, made.details.slice_dim, made.details.slices) == ("central", 2, ())
    assert [each.title for each in made.rounds] == ["histograms", "waves"]
    assert sum(each.share for each in made.rounds) == pytest.approx(1.0)
    assert made.mu == calibrate(EPSILON, DELTA)
    assert str(plan(slice_dim=3).details) == "class sums of waves on random slices of 3 dimensions"


@pytest.mark.parametrize(
    ("options", "projections"),
    [
        ({}, None),
        ({"slices": 4}, None),
        ({"slices": 100}, None),
        ({"slices": 3}, 6),
        ({"slices": 7, "slice_dim": 1}, 7),
        ({"slices": 8, "slice_dim": 1}, None),
        ({"slices": 1, "slice_dim": 8}, None),
    ],
    ids=str,
)
def test_noisy_rows_are_chosen_from_as_many_projections_as_coordinates_on(
    options: dict[str, Any], projections: int | None
) -> None:
    made = rows(**options)
    if projections is None:
        assert made.details.slices == ()
        assert "noisy rows, which tell more" in str(made.details)
        assert [each.title for each in made.rounds] == ["histograms", "rows"]
        assert made.mu == calibrate(EPSILON, DELTA)
    else:
        (one,) = made.details.slices
        assert (one.dim, one.projections) == (DIM, projections)
        assert f"{projections} noisy projections of every row (slices of " in str(made.details)
        assert [each.title for each in made.rounds] == ["histograms"]
        assert made.mu < calibrate(EPSILON, DELTA)
    assert sum(each.share for each in made.rounds) == pytest.approx(1.0)


def test_slices_and_queries_together_are_within_epsilon_and_delta() -> None:
    made = rows(slices=2)
    (one,) = made.slices
    assert made.details.slices == made.slices
    assert 0.98 * DELTA < delta_of(EPSILON, made.mu, made.details.slices) <= DELTA
    reach = math.hypot(made.details.far, SlicingTuning().class_height)
    assert one.distance == pytest.approx(2 * reach, rel=1e-3), "a row replaced by another of the same ball"


def test_the_papers_theorem_asks_for_more_noise() -> None:
    exact, printed = (rows(slices=2, calibration=each).details for each in ("exact", "theorem1"))
    assert printed.slices[0].sigma > 1.1 * exact.slices[0].sigma


def test_without_a_label_there_is_no_class_in_a_row() -> None:
    made = rows(ONE, slices=2)
    assert made.details.slices[0].dim == 6
    assert made.details.slices[0].distance == pytest.approx(2 * made.details.far, rel=1e-3)


def test_a_unit_moves_its_rows_one_by_one() -> None:
    alone, unit = (rows(TWO | extra, slices=2).details for extra in ({}, {"unit": {"column": "who", "rows": 4}}))
    assert unit.slices[0].rows == 4
    assert unit.slices[0].distance == pytest.approx(2 * alone.slices[0].distance, rel=1e-6)
