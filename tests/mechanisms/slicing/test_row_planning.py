"""How (epsilon, delta) is divided between Gaussian queries and noisy projections of every row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfumato.accounting import delta_of
from sfumato.errors import ArgumentError
from sfumato.mechanisms.questions import row_question, score_image
from sfumato.mechanisms.slicing.row_planning import RowPlan, plan_rows
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import Whole

TABLES = np.random.default_rng(4)
VECTORS = row_question(score_image([[TABLES.normal(size=9) for _ in range(12)]]), 1, radius=2.0)


def plan(projections: int = 6, **more: Any) -> RowPlan:
    return plan_rows(1.0, 1e-5, VECTORS, mu=0.1, projections=projections, **more)


@pytest.mark.parametrize("calibration", ["exact", "theorem1"])
def test_theorem_one_asks_for_more_and_is_charged_by_the_law(calibration: str) -> None:
    made, exact = plan(calibration=calibration), plan()
    assert isinstance(made.projection, Slices)
    assert isinstance(exact.projection, Slices)
    more = made.projection.sigma / exact.projection.sigma
    assert 1.3 < more < 2.0 if calibration == "theorem1" else more == 1.0
    assert made.projection.rounding == exact.projection.rounding
    assert delta_of(1.0, made.mu, made.slices) <= (1e-6 if calibration == "theorem1" else 1e-5)


@pytest.mark.parametrize("more", [{}, {"calibration": "theorem1"}])
def test_as_many_projections_as_coordinates_are_whole_rows(more: dict[str, Any]) -> None:
    assert isinstance(plan(24, **more).projection, Whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"calibration": "theorem1", "unit_rows": 2}, "theorem1 is proved for one row a unit"),
        ({"calibration": "theorem1", "unit_rows": 2, "projections": 12}, "theorem1 is proved for one row a unit"),
        ({"calibration": "rdp"}, "slices are calibrated by 'exact' or 'theorem1', not 'rdp'"),
    ],
)
def test_plans_that_are_none_get_one_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        plan(**change)
