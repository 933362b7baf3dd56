"""Options that are none: one line each that says what to change."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.errors import ArgumentError
from sfumato.mechanisms.checks import check_components, check_one_of, check_share, check_whole


@pytest.mark.parametrize("value", ["none", "", None, 3, ["a"]])
def test_words(value: Any) -> None:
    check_one_of("form", "a", ("a", "b"))
    with pytest.raises(ArgumentError, match="form must be one of 'a', 'b', not "):
        check_one_of("form", value, ("a", "b"))


@pytest.mark.parametrize("value", [0, -1, 11, 2.0, True, "3", None])
def test_whole_numbers(value: Any) -> None:
    check_whole("slices", 10, 10)
    with pytest.raises(ArgumentError, match="slices must be a whole number from 1 to 10, not "):
        check_whole("slices", value, 10)


@pytest.mark.parametrize("value", [0, 1001, 2.0, True, "many"])
def test_components(value: Any) -> None:
    for good in (None, "auto", 1, 1000):
        check_components(good)
    with pytest.raises(ArgumentError, match="components must be a whole number from 1 to 1000, or 'auto', not "):
        check_components(value)


@pytest.mark.parametrize("value", [-0.1, 1.0, float("nan"), True, "half"])
def test_shares(value: Any) -> None:
    for good in (None, 0, 0.5):
        check_share("alpha", good)
    with pytest.raises(ArgumentError, match="alpha must be a number from 0 to below 1, not "):
        check_share("alpha", value)
