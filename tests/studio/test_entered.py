"""Numbers as people write them."""

from __future__ import annotations

import pytest

from sfumato.errors import ArgumentError
from sfumato.studio.entered import number, whole


@pytest.mark.parametrize(
    ("text", "value"),
    [("0,5", 0.5), ("0.5", 0.5), (" ,5 ", 0.5), ("1e-6", 1e-6), ("1E−6", 1e-6), ("0,125", 0.125), ("1 000,5", 1000.5)],
)
def test_a_point_and_a_comma_are_the_same(text: str, value: float) -> None:
    assert number("epsilon", text) == value


@pytest.mark.parametrize("text", ["", "a", "1,2,3", "1.000,5", "nan", "inf", "1e999", "٣", "0x1", "1_0"])
def test_what_is_no_number_is_named(text: str) -> None:
    with pytest.raises(ArgumentError, match="epsilon must be a number"):
        number("epsilon", text)


def test_what_may_be_two_numbers_is_refused() -> None:
    with pytest.raises(ArgumentError, match="thousand or a decimal fraction"):
        number("a count", "1,000")


@pytest.mark.parametrize("text", ["30000", "30 000", "30,000", "30.000", "30'000", "30\u202f000"])
def test_thousands_may_stand_apart(text: str) -> None:
    assert whole("rows", text) == 30000


@pytest.mark.parametrize("text", ["", "-1", "1.5", "3,0", "1e3", "9" * 20])
def test_what_is_no_whole_number_is_named(text: str) -> None:
    with pytest.raises(ArgumentError, match="rows must be a whole number"):
        whole("rows", text)
