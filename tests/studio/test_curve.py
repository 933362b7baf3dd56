"""The forecast over epsilon."""

from __future__ import annotations

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
