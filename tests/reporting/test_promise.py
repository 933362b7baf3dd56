"""The sentence under the guarantee is true of its adjacency, its unit, and what the file shows."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.guarantee import Guarantee
from sfumato.private.accounting import Adjacency
from sfumato.reporting.promise import promise

PRESENCE = "whether or not"
COUNT_PUBLIC = "there are is public"
ONLY_LABELS = "only labels are protected"
SHOWN = "every row is in it, with noise"


def guarantee(adjacency: str, unit: str = "row", **changes: Any) -> Guarantee:
    terms: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "mu": 0.23, "secure": True, "spends": ()}
    return Guarantee(adjacency=Adjacency(adjacency), unit=unit, **terms | changes)


@pytest.mark.parametrize(
    ("adjacency", "unit", "shows_rows", "said"),
    [
        ("add-remove", "row", False, "the same whether or not any one row was in the table: no"),
        ("add-remove", "person", False, "the same whether or not the rows of any one person were in the table: no"),
        ("replace-one", "row", False, "the same whatever any one row said (how many rows there are is public): no"),
        (
            "replace-one",
            "row",
            True,
            "the same whatever any one row said (every row is in it, with noise, and how many rows there are is "
            "public): no",
        ),
        (
            "replace-one",
            "person",
            False,
            "the same whatever the rows of any one person said (how many different person there are is public): no",
        ),
        ("label", "row", False, "the same whatever the label of any one row was (only labels are protected: "),
        (
            "label",
            "person",
            False,
            "the same whatever the label of the rows of any one person was (only labels are protected: everything "
            "else counts as public): no",
        ),
    ],
)
def test_each_adjacency_and_unit(adjacency: str, unit: str, shows_rows: bool, said: str) -> None:
    text = promise(guarantee(adjacency, unit), shows_rows=shows_rows)
    assert said in text
    assert "more than exp(1) times the probability that it would have otherwise, plus 1e-06." in text
    # What holds for one adjacency only is said of no other.
    assert (PRESENCE in text) == (adjacency == "add-remove")
    assert (COUNT_PUBLIC in text) == (adjacency == "replace-one")
    assert (ONLY_LABELS in text) == (adjacency == "label")
    assert (SHOWN in text) == shows_rows


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_a_seeded_release_promises_nothing(adjacency: str) -> None:
    text = promise(guarantee(adjacency, secure=False, epsilon=None, delta=None, mu=None), shows_rows=False)
    assert text == "Nothing is promised: whoever has the seed can take the noise away."


def test_a_unit_cannot_write_lines_of_its_own() -> None:
    assert "\n" not in promise(guarantee("add-remove", "a\nb"), shows_rows=False)


def test_epsilon_is_rounded_up() -> None:
    assert "exp(1.01)" in promise(guarantee("label", epsilon=1.0001), shows_rows=False)
