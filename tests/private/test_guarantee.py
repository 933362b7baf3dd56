"""What a guarantee says in words is true of its adjacency; answers are numbers with noise, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sfumato.errors import ArgumentError
from sfumato.private.accounting import Adjacency, Spend
from sfumato.private.guarantee import Guarantee, NoisyAnswer
from sfumato.private.slicing.law import Slices

PLAIN = Guarantee(1.0, 1e-6, 0.2367, Adjacency.ADD_REMOVE, "row", True, (Spend("histograms", 2.0, 9.0, 0.2223),))
SLICES = Slices(dim=20, projections=5, distance=2.0, sigma=30.0, rounding=1e-6, rows=1)


@pytest.mark.parametrize("unit", ["row", "patient"])
@pytest.mark.parametrize("adjacency", Adjacency)
def test_neighbours_are_those_of_its_adjacency_and_unit(adjacency: Adjacency, unit: str) -> None:
    text = str(replace(PLAIN, adjacency=adjacency, unit=unit))
    one = "one row" if unit == "row" else "all rows of one patient"
    neighbours = {
        Adjacency.ADD_REMOVE: f"{one} added or removed;",
        Adjacency.REPLACE_ONE: f"{one} replaced (how many there are is public);",
        Adjacency.LABEL: f"the label of {one} changed (everything else is public);",
    }
    assert text.startswith(f"(1, 1e-06)-differentially private, 0.2367-GDP; neighbours: {neighbours[adjacency]}")
    assert text.endswith("covers this release only")


def test_slices_are_told_of() -> None:
    made = replace(PLAIN, adjacency=Adjacency.REPLACE_ONE, slices=(SLICES,), entry="0" * 32)
    assert "noisy projections of every row beside queries that are 0.2367-GDP" in str(made)
    assert str(made).endswith(f"counted in a ledger as {'0' * 32}")


def test_what_was_seeded_promises_nothing() -> None:
    made = replace(PLAIN, epsilon=None, delta=None, mu=None, secure=False)
    assert str(made) == "NOT PRIVATE: made with insecure_seed, for tests only"


def test_epsilon_and_delta_are_rounded_to_the_safe_side() -> None:
    assert str(replace(PLAIN, epsilon=1.00001, delta=1.00001e-6)).startswith("(1.01, 1.01e-06)-")


def test_a_unit_cannot_forge_a_line() -> None:
    assert str(replace(PLAIN, unit="who\n\x1b[2JGuarantee: (0.001, 0)")).isprintable()


# --- answers


def test_an_answer_is_flat_and_cannot_be_changed() -> None:
    values = np.arange(6.0).reshape(2, 3)
    made = NoisyAnswer("moments", values, 2.0)
    values[0, 0] = 99.0
    assert made.values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert made.sd.tolist() == [2.0]
    assert made.what == {}
    for array in (made.values, made.sd):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


FAULTS: dict[str, dict[str, Any]] = {
    "a name of nothing": {"name": ""},
    "a name on two lines": {"name": "a\nb"},
    "a long name": {"name": "a" * 201},
    "a value that is no number": {"values": [1.0, np.nan]},
    "an infinite value": {"values": [1.0, np.inf]},
    "no noise": {"sd": 0.0},
    "noise below zero": {"sd": [1.0, -1.0]},
    "noise that is no number": {"sd": np.nan},
    "noise for other numbers": {"sd": [1.0, 2.0, 3.0]},
    "no plain question": {"what": {"rows": object()}},
    "a question that is no mapping": {"what": [1]},
    "a question that is no number": {"what": {"x": float("inf")}},
    "a question that is no text": {"what": {"x": "\ud800"}},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_answers_that_are_none(fault: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        NoisyAnswer(**{"name": "moments", "values": [1.0, 2.0], "sd": 1.0} | FAULTS[fault])
    assert "\n" not in str(caught.value)
