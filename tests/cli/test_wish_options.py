"""Wishes on the command line, and the slips that people make."""

from __future__ import annotations

import pytest

from sfumato.cli.wish_options import Wanted, named_numbers, number
from sfumato.errors import ArgumentError


def test_wishes_are_read() -> None:
    found = Wanted("0.1", "0.01=0.05", "200", "age=0.5,hours=1", "age=40").wishes
    assert found is not None
    assert (found.max_advantage, found.tpr_at, found.count_within) == (0.1, (0.01, 0.05), 200.0)
    assert (found.mean, found.guesses) == ({"age": 0.5, "hours": 1.0}, {"age": 40.0})
    assert Wanted(guess="age=40", periods=3).wishes is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0,1", "--x must be a number with a decimal point, not '0,1'; write 0.1"),
        ("a tenth", "--x must be a number with a decimal point, not 'a tenth'"),
        ("", "--x must be a number with a decimal point, not ''"),
    ],
)
def test_a_decimal_comma_is_told(text: str, said: str) -> None:
    with pytest.raises(ArgumentError) as refusal:
        number("--x", text)
    assert str(refusal.value) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("age", "--mean takes COLUMN=NUMBER, such as age=0.5, not 'age'"),
        ("=0.5", "--mean takes COLUMN=NUMBER, such as age=0.5, not '=0.5'"),
        ("age=0,5", "--mean age must be a number with a decimal point, not '0,5'; write 0.5"),
        ("hours=1,age=0,5", "--mean age must be a number with a decimal point, not '0,5'; write 0.5"),
        ("age=1,age=2", "--mean names 'age' twice"),
        ("age=", "--mean age must be a number with a decimal point, not ''"),
    ],
)
def test_a_column_and_a_number(text: str, said: str) -> None:
    with pytest.raises(ArgumentError) as refusal:
        named_numbers("--mean", text)
    assert str(refusal.value) == said


@pytest.mark.parametrize("word", ["0.05", "0,01=0,05", "0.01=0.05=1", ""])
def test_rates_are_two_numbers(word: str) -> None:
    with pytest.raises(ArgumentError, match=r"^--tpr-at "):
        Wanted(tpr_at=word).wishes  # noqa: B018
