"""Wishes on the command line, and the slips that people make."""

from __future__ import annotations

import pytest

from sfumato.cli.wish_options import named_numbers, number, wishes_of
from sfumato.errors import ArgumentError


def test_wishes_are_read() -> None:
    found = wishes_of("0.1", "0.01=0.05", "200", ["age=0.5"], {"age": 40.0})
    assert found is not None
    assert (found.max_advantage, found.tpr_at, found.count_within) == (0.1, (0.01, 0.05), 200.0)
    assert (found.mean, found.guesses) == ({"age": 0.5}, {"age": 40.0})
    assert wishes_of(None, None, None, None, {}) is None


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
    ("words", "said"),
    [
        (["age"], "--mean takes COLUMN=NUMBER, such as age=0.5, not 'age'"),
        (["=0.5"], "--mean takes COLUMN=NUMBER, such as age=0.5, not '=0.5'"),
        (["age=0,5"], "--mean age= must be a number with a decimal point, not '0,5'; write 0.5"),
        (["age=1", "age=2"], "--mean names 'age' twice"),
    ],
)
def test_a_column_and_a_number(words: list[str], said: str) -> None:
    with pytest.raises(ArgumentError) as refusal:
        named_numbers("--mean", words)
    assert str(refusal.value) == said


@pytest.mark.parametrize("word", ["0.05", "0,01=0,05", "0.01=0.05=1"])
def test_rates_are_two_numbers(word: str) -> None:
    with pytest.raises(ArgumentError, match=r"^--tpr-at "):
        wishes_of(None, word, None, None, {})
