"""A guarantee as plain JSON data, and whether one that was read can be true of a release of its schema.

What is checked is arithmetic: that spends add up, that mu covers them, that epsilon and delta cover mu. A file that was
edited with care passes. Whoever needs to know that a guarantee is true asks who made the file, or fits again.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, FailFast, Field

from sfumato.accounting import add_up, delta_of
from sfumato.arrays import Insist
from sfumato.errors import ArgumentError
from sfumato.guarantee import LONGEST_NAME, MOST_MERGED, ROUNDING, Guarantee, Joint, Part, Person
from sfumato.private.accounting import Adjacency, Spend
from sfumato.private.slicing.law import Slices
from sfumato.schema.layout import SINGLE_ROWS, Layout
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


class PlainData(BaseModel):
    """What a file says of the guarantee of one fit."""

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


class _Person(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    epsilon: float = Field(gt=0)
    delta: float = Field(gt=0, lt=1)
    mu: float = Field(gt=0)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: str = Field(pattern="^[0-9a-f]{32}$")
    guarantee: PlainData
    people: _Whole = Field(ge=0)


class _Joint(BaseModel):
    model_config = ConfigDict(extra="forbid")
    parts: Annotated[tuple[_Part, ...], FailFast()] = Field(min_length=2, max_length=MOST_MERGED)
    own: _Person | None
    moved: _Person | None
    rules: tuple[Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)], ...] = Field(max_length=MOST_MERGED)


class GuaranteeData(PlainData):
    """What a file says of a guarantee."""

    joint: _Joint | None = None


def guarantee_data(guarantee: Guarantee) -> dict[str, Any]:
    """A guarantee as plain JSON data."""
    counted: dict[str, Any] = {} if guarantee.entry is None else {"entry": guarantee.entry}
    if guarantee.slices:
        counted["slices"] = [vars(slices) for slices in guarantee.slices]
    if guarantee.joint is not None:
        counted["joint"] = _joint_data(guarantee.joint)
    return counted | {
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "mu": guarantee.mu,
        "adjacency": str(guarantee.adjacency),
        "unit": guarantee.unit,
        "secure": guarantee.secure,
        "spends": [vars(spend) for spend in guarantee.spends],
    }


def _joint_data(joint: Joint) -> dict[str, Any]:
    return {
        "parts": [
            {"id": part.id, "guarantee": guarantee_data(part.guarantee), "people": part.people} for part in joint.parts
        ],
        "own": None if joint.own is None else vars(joint.own),
        "moved": None if joint.moved is None else vars(joint.moved),
        "rules": list(joint.rules),
    }


def read_guarantee(told: GuaranteeData, schema: Schema, row_spends: tuple[str, ...], insist: Insist) -> Guarantee:
    """The guarantee, checked.

    Args:
        told: What the file says.
        schema: The schema of the file.
        row_spends: Rounds that bought noisy rows, which move by another measure than sums; the model judges them.
        insist: Refuses the file.
    """
    found = _read_plain(told, schema, row_spends, insist)
    if told.joint is None:
        return found
    parts = tuple(
        Part(each.id, _read_plain(each.guarantee, schema, row_spends, insist), each.people) for each in told.joint.parts
    )
    told_own, told_moved = told.joint.own, told.joint.moved
    own, moved = (None if each is None else Person(**each.model_dump()) for each in (told_own, told_moved))
    joint = Joint(parts, own, moved, told.joint.rules)
    _check_joint(found, joint, insist)
    return replace(found, joint=joint)


def _read_plain(told: PlainData, schema: Schema, row_spends: tuple[str, ...], insist: Insist) -> Guarantee:
    """What is checked of a guarantee whether or not it is of a merged release."""
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


def _slices(told: PlainData, insist: Insist) -> tuple[Slices, ...]:
    try:
        return tuple(Slices(**each.model_dump()) for each in told.slices)
    except ArgumentError as error:
        insist(False, f"its slices are not valid: {one_line(str(error))}")
        raise


def _check_schema(given: Guarantee, schema: Schema, insist: Insist) -> None:
    """Whether a guarantee speaks of the schema that it came with."""
    insist(not schema.unconfirmed, "its schema is a draft, of which no release can be made")
    units = SINGLE_ROWS if schema.unit is None else (schema.unit.column,)
    insist(given.unit in units, "its unit is not that of its schema")
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


def _check_joint(given: Guarantee, joint: Joint, insist: Insist) -> None:
    """Whether a merged release promises no more than its parts, each of them once, and is secure only if all are."""
    parts = [part.guarantee for part in joint.parts]
    entries = [each.entry for each in parts if each.entry is not None]
    once = len({part.id for part in joint.parts}) == len(parts) and len(set(entries)) == len(entries)
    insist(once, "a part of its guarantee is there twice")
    groups = {part.people for part in joint.parts}
    insist(groups == set(range(len(groups))), "the people of its parts are not numbered from 0 on")
    insist(all(rule.isprintable() for rule in joint.rules), "what tells its people apart cannot be printed")
    rowwise = any(each.slices for each in (given, *parts))
    insist(given.entry is None and not rowwise, "a merged release is no entry of a ledger, and has no noisy rows")
    alike = all((each.adjacency, each.unit) == (given.adjacency, given.unit) for each in parts)
    insist(alike, "the parts of its guarantee protect other neighbours or units")
    spends = tuple(spend for each in parts for spend in each.spends)
    insist(given.spends == spends, "its guarantee's spends are not those of its parts")
    insist(given.secure == all(each.secure for each in parts), "it is not as secure as its parts")
    insist((joint.own is not None) == given.secure, "a merged release has promises exactly if it is secure")
    insist((joint.moved is not None) == (given.secure and joint.groups > 1), "its promise to who moves does not fit")
    if given.secure:
        _check_promises(given, joint, insist)


def _check_promises(given: Guarantee, joint: Joint, insist: Insist) -> None:
    """Whether what is promised to whom covers what the parts spent, and epsilon and delta cover mu."""
    groups: dict[int, list[float]] = {}
    for part in joint.parts:
        groups.setdefault(part.people, []).append(part.guarantee.mu or math.inf)
    worst = sorted(groups.values(), key=add_up)
    everywhere = Person(given.epsilon or 0.0, given.delta or 0.0, given.mu or 0.0)
    for who, mus in ((joint.own, worst[-1:]), (joint.moved, worst[-2:]), (everywhere, worst)):
        if who is not None:
            spent = add_up(mu for group in mus for mu in group)
            insist(spent <= who.mu * (1.0 + ROUNDING), "a promise of its guarantee is less than its parts spent")
            insist(delta_of(who.epsilon, who.mu) <= who.delta, "a promise's mu is more than its epsilon and delta")
