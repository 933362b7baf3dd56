"""Estimates on the screen, as JSON and as a frame."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError

import pytest

from sfumato.asking.estimate import Estimate, Estimates, written

SURE = Estimate(-3.25, 5.0, (-13.05, 6.5), 0.95, "table", ("histograms",), "", "rows", (0.0, math.inf))
UNSURE = Estimate(0.25, None, None, 0.95, "table", (), "no table was bought", "the share", (0.0, 1.0))


def test_only_what_is_printed_is_clipped() -> None:
    assert SURE.interval == (-13.05, 6.5)
    assert str(SURE) == "0 (95 %: 0 to 6.5), of rows"
    assert SURE.data()["interval"] == [-13.05, 6.5]
    assert SURE.width == pytest.approx(19.55)


@pytest.mark.parametrize(
    ("estimate", "interval", "possible", "noisy"),
    [
        (-3109.2, (-5953.3, 5172.0), (0.0, 30_000.0), True),
        (1268.9, (-253.3, 2740.0), (0.0, 5_000.0), True),
        (-67.3, (-67.3, 51.3), (0.0, 5_000.0), False),  # at a bound, and narrow
        (4311.8, (3262.5, 5353.7), (0.0, 30_000.0), False),
        (50.0, (10.0, 90.0), (0.0, 100.0), False),  # wide, and no bound misleads
        (93.0, (85.0, 101.0), (0.0, 100.0), True),
        (-3.0, (-13.0, 7.0), (0.0, math.inf), False),  # next to none is a count
    ],
)
def test_a_number_that_noise_moves_to_a_bound_is_not_printed(
    estimate: float, interval: tuple[float, float], possible: tuple[float, float], noisy: bool
) -> None:
    found = Estimate(estimate, 1.0, interval, 0.95, "table", (), possible=possible)
    assert found.is_too_noisy is noisy
    assert found.shown().startswith("too noisy (95 %: ") is noisy
    assert found.data()["estimate"] == estimate  # all numbers are kept for programs


def test_without_an_interval_the_reason_is_told() -> None:
    assert str(UNSURE) == "0.25 (no interval: no table was bought), of the share"
    assert UNSURE.width == math.inf
    assert UNSURE.data()["interval"] is None
    assert Estimate(math.nan, None, None, 0.9, "table", (), "x").data()["estimate"] is None
    assert "unknown" in str(Estimate(math.nan, None, None, 0.9, "table", (), "x"))


def test_it_is_frozen_and_plain_json() -> None:
    with pytest.raises(FrozenInstanceError):
        SURE.se = 1.0  # type: ignore[misc]
    assert json.loads(json.dumps(SURE.data()))["rests_on"] == ["histograms"]


@pytest.mark.parametrize(
    ("value", "se", "text"),
    [(0.0, None, "0"), (-0.0001, 5.0, "0"), (100.0, None, "100"), (1e9, 1.0, "1000000000"), (math.inf, None, "inf")],
)
def test_numbers_have_the_digits_that_noise_leaves(value: float, se: float | None, text: str) -> None:
    assert written(value, se) == text


def test_a_table_of_estimates() -> None:
    found = Estimates(("sex", "age"), (("f", 40), ("m", "50..59")), (SURE, UNSURE))
    assert found["f", 40] is SURE
    assert found[1] is UNSURE
    assert list(found) == [SURE, UNSURE]
    assert len(found) == 2
    frame = found.frame()
    assert frame.columns.tolist()[:6] == ["sex", "age", "estimate", "se", "low", "high"]
    assert frame.low[0] == -13.05
    assert math.isnan(frame.high[1])
    assert found.data()[0]["group"] == {"sex": "f", "age": "40"}
    assert "f, 40" in str(found)
    assert "no interval" in str(found)


def test_groups_that_are_numbers_are_found_by_name_first() -> None:
    found = Estimates(("age",), ((1,), (0,)), (SURE, UNSURE))
    assert found[1] is SURE
    assert found[0] is UNSURE
    with pytest.raises(KeyError, match="there is no group 'x'"):
        found["x"]
