"""A guarantee as plain JSON data, and whether one that was read can be true of a release of its schema.

What is checked is arithmetic: that spends add up, that mu covers them, that epsilon and delta cover mu. A file that was
edited with care passes. Whoever needs to know that a guarantee is true asks who made the file, or fits again.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, FailFast, Field

from sfumato.accounting import delta_of
from sfumato.arrays import Insist
from sfumato.errors import ArgumentError
from sfumato.guarantee import ROUNDING, Guarantee
from sfumato.private.accounting import Adjacency, Spend
from sfumato.private.slicing.law import Slices
from sfumato.schema.layout import ROW, Layout
from sfumato.schema.schema import Schema
from sfumato.text import one_line

_Whole = Annotated[int, Field(strict=True)]


class _Spend(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    name: str
    sensitivity: float = Field(gt=0)
    sigma: float = Field(gt=0)
    mu: float = Field(gt=0)


class _Slices(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    dim: _Whole
    projections: _Whole
    distance: float
    sigma: float
    rounding: float
    rows: _Whole


class GuaranteeData(BaseModel):
    """What a file says of a guarantee."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    epsilon: float | None = Field(gt=0)
    delta: float | None = Field(gt=0, lt=1)
    mu: float | None = Field(gt=0)
    adjacency: Adjacency
    unit: str
    secure: bool
    spends: Annotated[tuple[_Spend, ...], FailFast()]
    entry: str | None = Field(default=None, pattern="^[0-9a-f]{32}$")
    slices: Annotated[tuple[_Slices, ...], FailFast()] = Field(default=(), max_length=1)  # of every row once


def guarantee_data(guarantee: Guarantee) -> dict[str, Any]:
    """A guarantee as plain JSON data."""
    counted: dict[str, Any] = {} if guarantee.entry is None else {"entry": guarantee.entry}
    if guarantee.slices:
        counted["slices"] = [vars(slices) for slices in guarantee.slices]
    return counted | {
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "mu": guarantee.mu,
        "adjacency": str(guarantee.adjacency),
        "unit": guarantee.unit,
        "secure": guarantee.secure,
        "spends": [vars(spend) for spend in guarantee.spends],
    }


def read_guarantee(told: GuaranteeData, schema: Schema, row_spends: tuple[str, ...], insist: Insist) -> Guarantee:
    """The guarantee, checked.

    Args:
        told: What the file says.
        schema: The schema of the file.
        row_spends: Rounds that bought noisy rows, which move by another measure than sums; the model judges them.
        insist: Refuses the file.
    """
    for value in (told.epsilon, told.delta, told.mu):
        insist(told.secure == (value is not None), "a guarantee has epsilon, delta and mu exactly if it is secure")
    found = Guarantee(
        told.epsilon,
        told.delta,
        told.mu,
        told.adjacency,
        told.unit,
        told.secure,
        tuple(Spend(**spend.model_dump()) for spend in told.spends),
        told.entry,
        _slices(told, insist),
    )
    _check_schema(found, schema, insist)
    _check_spends(found, schema, row_spends, insist)
    _check_total(found, insist)
    return found


def _slices(told: GuaranteeData, insist: Insist) -> tuple[Slices, ...]:
    try:
        return tuple(Slices(**each.model_dump()) for each in told.slices)
    except ArgumentError as error:
        insist(False, f"its slices are not valid: {one_line(str(error))}")
        raise


def _check_schema(given: Guarantee, schema: Schema, insist: Insist) -> None:
    """Whether a guarantee speaks of the schema that it came with."""
    insist(not schema.unconfirmed, "its schema is a draft, of which no release can be made")
    insist(given.unit == (ROW if schema.unit is None else schema.unit.column), "its unit is not that of its schema")
    insist(
        schema.label is not None or given.adjacency is not Adjacency.LABEL,
        "label adjacency without a label",
    )
    insist(given.entry is None or given.secure, "a release without a guarantee that a ledger counts")


def _check_spends(given: Guarantee, schema: Schema, row_spends: tuple[str, ...], insist: Insist) -> None:
    """Whether each spend costs at least what its noise and one unit make it."""
    insist(given.spends, "the guarantee has no spends")
    # A row replaced by one of another class moves every sum by sqrt(2); within one class, where counts stay, by less.
    apart = given.adjacency is Adjacency.REPLACE_ONE and Layout.of(schema).classes > 1
    least = math.sqrt(2.0) if apart else 1.0
    least *= 1 if schema.unit is None else schema.unit.rows
    for spend in given.spends:
        insist(spend.name.isprintable(), "a spend's name cannot be printed")
        insist(
            spend.sensitivity >= least or spend.name in row_spends,
            "a spend's sensitivity is less than one unit can move a query",
        )
        insist(
            spend.sensitivity / spend.sigma <= spend.mu * (1.0 + ROUNDING),
            "a spend's mu is less than its noise makes it",
        )


def _check_total(given: Guarantee, insist: Insist) -> None:
    """Whether epsilon and delta cover mu and slices, and mu all spends: mu^2 >= the sum of their squares."""
    if given.epsilon is None or given.delta is None or given.mu is None:
        return
    spent = math.hypot(*(spend.mu for spend in given.spends))
    insist(spent <= given.mu * (1.0 + ROUNDING), "the guarantee's spends add up to more than its mu")
    replaced = given.adjacency is Adjacency.REPLACE_ONE
    insist(not given.slices or replaced, "slices in another adjacency than replace-one")
    room = given.delta * (1.0 + ROUNDING * bool(given.slices))  # of slices the last bits may differ between machines
    covered = delta_of(given.epsilon, given.mu, given.slices) <= room
    insist(covered, "the guarantee's mu is more than its epsilon and delta")
