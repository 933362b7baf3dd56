"""Slips beside common values."""

from __future__ import annotations

import pytest

from sfumato.drafting.misspelt import alike, misspelt, slips


@pytest.mark.parametrize("rare", ["Cardiolgy", "Cardiollogy", "Cardiolagy", "Cardioolgy", "cardiology"])
def test_a_letter_less_more_other_or_moved_is_a_slip(rare: str) -> None:
    assert misspelt({"Cardiology": 900, rare: 3}) == {rare: "Cardiology"}


@pytest.mark.parametrize(
    ("common", "rare", "cells"),
    [
        ("Cardiology", "Cardiolgy", 46),  # too common
        ("Male", "Female", 1),
        ("ward 1", "ward 2", 1),  # codes
        ("I21", "I2", 1),
        ("Married-civ-spouse", "Married-AF-spouse", 1),
        ("north", "south", 1),
        ("x" * 81, "x" * 82, 1),
    ],
)
def test_what_is_no_slip(common: str, rare: str, cells: int) -> None:
    assert misspelt({common: 900, rare: cells}) == {}


def test_the_commonest_is_meant() -> None:
    assert misspelt({"Bonn": 100, "Bonne": 500, "Bonnn": 1}) == {"Bonnn": "Bonne"}


def test_it_is_asked_in_words() -> None:
    (told,) = slips({"Surgery": 1200, "Surgey": 2, "Ulm": 5}).values()
    assert told == "'Surgey' (2) beside 'Surgery' (1,200): a slip? mend it in the table, or leave it out of the list"


def test_many_different_texts_take_no_time() -> None:
    """Every pair of them is not looked at."""
    counts = {f"{'abcdefghij'[i % 10]}{chr(97 + i // 1000)}town{i}": 1 for i in range(10_000)}
    assert misspelt(counts) == {}


def test_values_that_are_alike_without_a_count() -> None:
    assert alike(["West", "Wset", "east", "East", "Ulm", "Uml", "Ward 1", "Ward 2"]) == [
        ("West", "Wset"),
        ("east", "East"),
    ]
