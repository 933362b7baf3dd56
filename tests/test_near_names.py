"""The name that was perhaps meant."""

from __future__ import annotations

import pytest

from sfumato.near_names import LONGEST_TYPED, meant


@pytest.mark.parametrize(
    ("name", "found"),
    [("agee", "age"), ("AGE", "age"), ("Hours-Per-Wek", "hours-per-week"), ("town", None), ("", None), ("nope", None)],
)
def test_the_name_most_alike(name: str, found: str | None) -> None:
    assert meant(name, ["sex", "age", "hours-per-week", "income"]) == found


def test_long_names_are_not_compared() -> None:
    name = "a" * LONGEST_TYPED
    assert meant(name, [name]) == name
    assert meant(name + "a", [name]) is None
    assert meant(name, [name + "a"]) is None
