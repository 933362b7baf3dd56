"""A guarantee there and back; what its arithmetic shows, and what it cannot."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import sfumato as sf
from sfumato.accounting import calibrate, epsilon_of
from sfumato.guarantee import Guarantee
from sfumato.private.accounting import Adjacency, Spend
from sfumato.private.slicing.law import Slices
from sfumato.release.guarantee import GuaranteeData, guarantee_data, read_guarantee

X = {"x": {"type": "number", "min": 0, "max": 1}}
Y = {"y": {"type": "category", "values": ["no", "yes"]}}
SCHEMA = sf.Schema.of({"label": "y", "columns": X | Y})
MU = calibrate(1.0, 1e-6)
SLICES = Slices(dim=20, projections=5, distance=2.0, sigma=30.0, rounding=1e-6, rows=1)
PLAIN = Guarantee(1.0, 1e-6, MU, Adjacency.ADD_REMOVE, "row", True, (Spend("histograms", 2.0, 2.0 / MU, MU),))
REPLACED = replace(PLAIN, adjacency=Adjacency.REPLACE_ONE)


class Refused(Exception):
    """What a file is refused with."""


def insist(holds: Any, what: str) -> None:
    if not holds:
        raise Refused(what)


def there_and_back(made: Guarantee, schema: sf.Schema = SCHEMA, row_spends: tuple[str, ...] = ()) -> Guarantee:
    told = GuaranteeData.model_validate(json.loads(json.dumps(guarantee_data(made))))
    return read_guarantee(told, schema, row_spends, insist)


GOOD = {
    "plain": PLAIN,
    "replace-one": REPLACED,
    "label": replace(PLAIN, adjacency=Adjacency.LABEL),
    "counted": replace(PLAIN, entry="0123456789abcdef" * 2),
    "seeded": replace(PLAIN, epsilon=None, delta=None, mu=None, secure=False),
    "with slices": replace(REPLACED, epsilon=epsilon_of(MU, 1e-6, slices=[SLICES]), slices=(SLICES,)),
}


@pytest.mark.parametrize("name", GOOD)
def test_it_comes_back(name: str) -> None:
    assert there_and_back(GOOD[name]) == GOOD[name]


BAD = {
    "a smaller epsilon": (replace(PLAIN, epsilon=0.999), "mu is more than its epsilon and delta"),
    "a smaller delta": (replace(PLAIN, delta=0.999e-6), "mu is more than its epsilon and delta"),
    "slices for nothing": (replace(REPLACED, slices=(SLICES,)), "mu is more than its epsilon and delta"),
    "slices in add-remove": (replace(PLAIN, delta=0.5, slices=(SLICES,)), "slices in another adjacency"),
    "two spends for one": (replace(PLAIN, spends=PLAIN.spends * 2), "spends add up to more than its mu"),
    "a spend for less": (replace(PLAIN, spends=(Spend("a", 2.0, 2.0, MU),)), "mu is less than its noise makes it"),
    "a small move": (replace(PLAIN, spends=(Spend("a", 0.9, 9.0, MU),)), "less than one unit can move a query"),
    "a small replacement": (replace(REPLACED, spends=(Spend("a", 1.2, 9.0, MU),)), "less than one unit can move"),
    "no spends": (replace(PLAIN, spends=()), "the guarantee has no spends"),
    "another unit": (replace(PLAIN, unit="patient"), "its unit is not that of its schema"),
    "a promise of what was seeded": (replace(PLAIN, secure=False), "exactly if it is secure"),
    "no promise": (replace(PLAIN, epsilon=None), "exactly if it is secure"),
    "a counted seed": (replace(GOOD["seeded"], entry="0" * 32), "without a guarantee that a ledger counts"),
    "a name on two lines": (replace(PLAIN, spends=(Spend("a\nb", 2.0, 2.0 / MU, MU),)), "name cannot be printed"),
}


@pytest.mark.parametrize("name", BAD)
def test_arithmetic_that_does_not_add_up(name: str) -> None:
    made, words = BAD[name]
    with pytest.raises(Refused, match=words):
        there_and_back(made)


def test_label_adjacency_needs_a_label() -> None:
    with pytest.raises(Refused, match="label adjacency without a label"):
        there_and_back(replace(PLAIN, adjacency=Adjacency.LABEL), sf.Schema.of({"columns": X}))


def test_rows_of_units_move_sums_further() -> None:
    schema = sf.Schema.of({"columns": X, "unit": {"column": "who", "rows": 3}})
    made = replace(PLAIN, unit="who")
    with pytest.raises(Refused, match="less than one unit can move a query"):
        there_and_back(made, schema)
    three = replace(made, spends=(Spend("histograms", 3.0, 3.0 / MU, MU),))
    assert there_and_back(three, schema) == three


def test_a_replacement_within_one_class_may_move_sums_by_less() -> None:
    """Counts stay as they are: moments of tables without a label move by less than sqrt(2)."""
    made = replace(REPLACED, spends=(Spend("moments", 1.2, 1.2 / MU, MU),))
    only = sf.Schema.of({"label": "y", "columns": X | {"y": {"type": "category", "values": ["yes"]}}})
    for schema in (sf.Schema.of({"columns": X}), only):
        assert there_and_back(made, schema) == made
        with pytest.raises(Refused, match="less than one unit can move a query"):
            there_and_back(replace(made, spends=(Spend("moments", 0.9, 0.9 / MU, MU),)), schema)


def test_noisy_rows_are_judged_by_their_model() -> None:
    made = replace(REPLACED, spends=(Spend("rows", 0.1, 0.1 / MU, MU),))
    with pytest.raises(Refused, match="less than one unit can move a query"):
        there_and_back(made)
    assert there_and_back(made, row_spends=("rows",)) == made


def test_an_edit_with_care_passes() -> None:
    """More noise claimed than there was, all numbers in step: nothing in a file shows it, and `load` says so."""
    mu = calibrate(0.01, 1e-6)
    edited = replace(PLAIN, epsilon=0.01, mu=mu, spends=(Spend("histograms", 2.0, 2.0 / mu, mu),))
    assert there_and_back(edited) == edited
    assert "false" in str(sf.load.__doc__)
