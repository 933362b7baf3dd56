"""The forecast over epsilon."""

from __future__ import annotations

import pytest

from sfumato.errors import ArgumentError
from sfumato.studio.curve import CURVE_POINTS, HEIGHT, Curve
from sfumato.studio.work import Choice, Work


def test_risk_grows_and_widths_fall_with_epsilon(drafted: Work) -> None:
    curve = Curve.of(drafted.read_schema(), Choice(0.5, 1e-6, 5000))
    assert len(curve.epsilons) == CURVE_POINTS
    assert abs(curve.epsilons[CURVE_POINTS // 2] - 0.5) < 1e-12
    assert list(curve.advantages) == sorted(curve.advantages)
    assert curve.counts[0] > curve.counts[-1]
    assert curve.outlook.risk.epsilon == 0.5
    lines = [[float(point.split(",")[1]) for point in line.split()] for line in (curve.risk_line, curve.count_line)]
    assert all(0.0 <= y <= HEIGHT for line in lines for y in line)
    assert lines[0][0] > lines[0][-1]  # down is small
    assert lines[1][0] < lines[1][-1]


def test_an_epsilon_near_the_largest_has_a_forecast_too(drafted: Work) -> None:
    curve = Curve.of(drafted.read_schema(), Choice(100.0, 1e-6, 5000))
    assert CURVE_POINTS // 2 < len(curve.advantages) < CURVE_POINTS  # eight times as much is finer than noise is drawn
    assert len(curve.counts) == len(curve.advantages) == len(curve.risk_line.split())
    assert len(curve.marks) == 3


def test_what_is_refused_is_what_was_typed(drafted: Work) -> None:
    with pytest.raises(ArgumentError, match="not -1"):
        Curve.of(drafted.read_schema(), Choice(-1.0, 1e-6, 5000))
