"""Numbers have the digits that their error leaves them."""

from __future__ import annotations

import math

import pytest

from sfumato.asking.estimate import Estimate
from sfumato.reporting.figures_told import NO_NUMBER, estimate_text, interval_text, number_text, percent_text


def estimate(value: float, se: float | None, interval: tuple[float, float] | None) -> Estimate:
    return Estimate(value, se, interval, 0.95, "table", (), possible=(0.0, math.inf))


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (estimate(38.704, 0.2, (38.3, 39.11)), "38.7 (38.3 to 39.1)"),
        (estimate(-3.0, 5.0, (-13.0, 7.0)), "0 (0 to 7)"),
        (estimate(12345.6, 20.0, (12300.0, 12400.0)), "12,346 (12,300 to 12,400)"),
        (estimate(37.0, None, (37.0, 38.0)), "37 (37 to 38)"),
        (estimate(math.nan, None, None), NO_NUMBER),
        (estimate(3.5, None, None), "3.5"),
    ],
)
def test_an_estimate(found: Estimate, told: str) -> None:
    assert estimate_text(found) == told


def test_numbers_shares_and_intervals() -> None:
    assert number_text(0.000123456) == "0.000123456"
    assert number_text(math.inf) == NO_NUMBER
    assert [percent_text(share) for share in (0.0, 0.001, 0.5, 1.2, math.nan)] == [
        "0.0",
        "0.10",
        "50.0",
        "100.0",
        NO_NUMBER,
    ]
    assert interval_text((0.1, 0.25)) == "10.0 to 25.0"
