"""What a release carries beside its model: the guarantee it was made under, and the noisy answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.errors import ArgumentError
from sfumato.private.accounting import Adjacency, Spend
from sfumato.private.slicing.law import Slices
from sfumato.schema.layout import SINGLE_ROWS
from sfumato.text import one_line, rounded_up

LONGEST_NAME = 200  # of a mechanism, an answer or a data set
MOST_MERGED = 4096  # parts of a merged release
UNSEEN = "if what was spent on none of them was chosen by seeing another"
ROUNDING = 1e-9  # relative: figures that differ by less are the same, found on other machines

FloatArray = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Guarantee:
    """What a release promises about every unit of the private table.

    It covers this release only: another fit on the same table is another release, and their mu add up in
    squares. A ledger adds them up; `entry` is then the id under which it counts this one.
    A release made with a seed was made with noise that anyone can repeat: it has no epsilon.
    Where noisy projections of every row were asked for (`slices`), mu is that of the other queries; epsilon and delta
    are of all together.

    Attributes:
        epsilon: The epsilon of (epsilon, delta)-DP; None where the noise was seeded.
        delta: The delta of (epsilon, delta)-DP; None where the noise was seeded.
        mu: All queries but slices together are mu-GDP; None where the noise was seeded.
        adjacency: Which tables are neighbours.
        unit: Whose rows are protected together: "row", "row of the query's result" where one row of a stored table
            may be several or decide about others, or the name of the unit column.
        secure: Whether the noise came from a secure source.
        spends: What each query cost, in the order of asking.
        entry: The id of the ledger's entry for this release.
        slices: Noisy projections of every row that were released.
        joint: What a merged release was made of; epsilon, delta and mu are then of someone who is in all of it.

    Example:
        >>> made = Guarantee(1.0, 1e-6, 0.2367, Adjacency.LABEL, "row", True, (Spend("labels", 1.0, 4.3, 0.2326),))
        >>> print(made)
        (1, 1e-06)-differentially private, 0.2367-GDP; neighbours: the label of one row changed (everything else is \
public); covers this release only
    """

    epsilon: float | None
    delta: float | None
    mu: float | None
    adjacency: Adjacency
    unit: str
    secure: bool
    spends: tuple[Spend, ...]
    entry: str | None = None
    slices: tuple[Slices, ...] = ()
    joint: Joint | None = None

    def __str__(self) -> str:
        if not self.secure:
            return "NOT PRIVATE: made with insecure_seed, for tests only"
        if self.joint is not None:
            return f"{self.joint.told(self.promised)}; neighbours: {self.neighbours}; {self.scope}"
        return f"{self.promised}; neighbours: {self.neighbours}; {self.scope}"

    @property
    def promised(self) -> str:
        """Epsilon, delta and mu in words."""
        beside = "noisy projections of every row beside queries that are " if self.slices else ""
        return _promised(self.epsilon, self.delta, self.mu, beside)

    @property
    def neighbours(self) -> str:
        """Which tables are neighbours, in words."""
        one = f"one {self.unit}" if self.unit in SINGLE_ROWS else f"all rows of one {one_line(self.unit)}"
        return {
            Adjacency.ADD_REMOVE: f"{one} added or removed",
            Adjacency.REPLACE_ONE: f"{one} replaced (how many there are is public)",
            Adjacency.LABEL: f"the label of {one} changed (everything else is public)",
        }[self.adjacency]

    @property
    def scope(self) -> str:
        """Whether anyone counts what other releases of the same table tell."""
        if self.joint is not None:
            entries = [part.guarantee.entry for part in self.joint.parts if part.guarantee.entry is not None]
            rest = len(self.joint.parts) - len(entries)
            counted = f"counted in ledgers as {', '.join(entries)}" if entries else ""
            uncounted = f"covers {rest} of these releases only" if entries else "covers these releases only"
            return "; ".join(filter(None, [counted, uncounted if rest else ""]))
        return "covers this release only" if self.entry is None else f"counted in a ledger as {self.entry}"


@dataclass(frozen=True)
class Part:
    """One of the releases that a merged one was made of.

    Attributes:
        id: A digest of its noisy answers: no release is merged twice, nor is one entry of a ledger.
        guarantee: What it promised.
        people: Whose rows it is of: parts of one number are of the same people, of different numbers of different
            people, as whoever merged them said.
    """

    id: str
    guarantee: Guarantee
    people: int


@dataclass(frozen=True)
class Person:
    """What a merged release promises to someone, by where they are in it.

    Attributes:
        epsilon: Of (epsilon, delta)-DP.
        delta: Of (epsilon, delta)-DP.
        mu: Of mu-GDP.
    """

    epsilon: float
    delta: float
    mu: float

    def __str__(self) -> str:
        return _promised(self.epsilon, self.delta, self.mu)


@dataclass(frozen=True)
class Joint:
    """What a merged release was made of, and what it promises to whom. Nobody can see from releases who is in them.

    Attributes:
        parts: The releases.
        own: To whoever is in the releases of one group of people only, at worst; None where a seed was used.
        moved: To someone who moves from one group of people to another, at worst; None where there is one group.
        rules: What tells the people of parts apart, in the words of whoever merged them; nothing where nothing was said
            but that they are different.
    """

    parts: tuple[Part, ...]
    own: Person | None
    moved: Person | None
    rules: tuple[str, ...] = ()

    @property
    def groups(self) -> int:
        """Of how many groups of people the parts are."""
        return len({part.people for part in self.parts})

    def told(self, everywhere: str) -> str:
        """All promises in words; `everywhere` is that to someone who is in all parts."""
        if self.groups == 1:
            return f"merged from {len(self.parts)} releases of the same people: {everywhere}, {UNSEEN}"
        apart = f", told apart by: {'; '.join(map(one_line, self.rules))}" if self.rules else ""
        several = f"{everywhere}, for someone in both"
        if self.groups > 2:
            several = f"{self.moved}, for someone who moves between two of them; {everywhere}, for someone in all"
        return (
            f"merged from releases of {self.groups} groups of different people{apart}: {self.own}, for whoever is in "
            f"one of them; {several}, {UNSEEN}; that they are different people was said by whoever merged them and "
            "cannot be checked"
        )


@dataclass(frozen=True, eq=False)
class NoisyAnswer:
    """What the curator answered once: numbers with Gaussian noise, and the standard deviation of that noise.

    Attributes:
        name: The name of the round, as in the guarantee's spends.
        values: The noisy numbers, flat, in the query's own order.
        sd: The noise's standard deviation: one for each number, or one for all.
        what: A public description of what was asked, of plain JSON values; {} where there is none.

    Raises:
        ArgumentError: If the arrays are not flat and finite, or do not go together.

    Example:
        >>> NoisyAnswer("histograms", [3.2, -0.4], 1.5)
        NoisyAnswer('histograms', 2 numbers)
    """

    name: str
    values: FloatArray
    sd: FloatArray
    what: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        values, sd = (np.array(array, dtype=np.float64).reshape(-1) for array in (self.values, self.sd))
        if not 0 < len(self.name) <= LONGEST_NAME or not self.name.isprintable():
            raise ArgumentError("the name of an answer is missing, too long, or cannot be printed")
        if not _is_json(self.what):
            raise ArgumentError(f"what answer {self.name!r} was asked is not plain JSON")
        if sd.size not in (1, values.size):
            raise ArgumentError(f"answer {self.name!r} has {values.size} numbers and {sd.size} standard deviations")
        if not (np.isfinite(values).all() and np.isfinite(sd).all() and (sd > 0).all()):
            raise ArgumentError(f"answer {self.name!r} has a value that is no number, or noise that is not positive")
        values.flags.writeable = sd.flags.writeable = False
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "sd", sd)

    def __repr__(self) -> str:
        return f"NoisyAnswer({self.name!r}, {self.values.size} numbers)"


def _promised(epsilon: float | None, delta: float | None, mu: float | None, beside: str = "") -> str:
    return f"({rounded_up(epsilon)}, {rounded_up(delta)})-differentially private, {beside}{rounded_up(mu, 5)}-GDP"


def _is_json(data: Any) -> bool:
    try:
        json.dumps(data, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return isinstance(data, Mapping)
