"""Settings of a training say in one line what is wrong with them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from sfumato.training.settings import ARCHITECTURES, DIVERGENCES, Training


def test_the_defaults_and_every_choice_are_fine() -> None:
    assert Training().problem() is None
    assert all(Training(divergence=each).problem() is None for each in DIVERGENCES)
    assert all(Training(architecture=each).problem() is None for each in ARCHITECTURES)


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("steps", 1, 10**7),
        ("rows", 2, 10**6),
        ("width", 1, 4096),
        ("depth", 1, 16),
        ("channels", 1, 256),
        ("seed", 0, 2**31 - 1),
    ],
)
def test_whole_numbers_have_bounds(name: str, least: int, most: int) -> None:
    for good in (least, most):
        assert replace(Training(), **{name: good}).problem() is None
    for bad in (least - 1, most + 1, float(most), True, "1", None):
        said = replace(Training(), **{name: bad}).problem()
        assert said == f"{name} must be a whole number from {least} to {most}, not {bad!r}"


@pytest.mark.parametrize("rate", [0, -0.1, 1.5, math.nan, math.inf, True, "0.1", None])
def test_a_rate_is_above_0_and_at_most_1(rate: Any) -> None:
    assert Training(rate=1).problem() is None
    assert Training(rate=rate).problem() == f"rate must be a number above 0 and at most 1, not {rate!r}"


@pytest.mark.parametrize("name", ["architecture", "divergence"])
def test_a_name_that_is_not_known_is_answered_with_those_that_are(name: str) -> None:
    said = replace(Training(), **{name: "wgan"}).problem()
    assert said is not None
    assert said.startswith(f"{name} must be one of '")
    assert said.endswith("not 'wgan'")
