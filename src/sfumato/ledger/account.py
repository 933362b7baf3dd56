"""What releases of one data set cost together. Plain arithmetic: `ledger` keeps the books that it works on.

Formal guarantee. A data set has a cap (epsilon, delta). As long as every release `fits`, all of them together are
(epsilon, delta)-DP in the data set's adjacency, also when later releases depend on earlier ones. A release is mu-GDP up
to `slack`, the distance of its sampler from the ideal in total variation, and up to `collision`, the chance that two
ids share a hash. Squares of mu add up, and so do slack and collision, all in exact arithmetic; slack costs
(1 + e^epsilon) times itself of delta. A collision costs itself only: the key of the hash has the same law whatever the
table, so it is a failure that both neighbours share. (epsilon, delta) of single releases are never added.

A release with noisy projections of every row has slices beside its mu, and an entry keeps what describes them, not one
number (`slicing/law`). Slices of all releases are independent, whatever depends on what, because every matrix is drawn
afresh: given all of them the squares add up, and delta is the expectation over their joint law.

Adjacency. If tables that differ by one unit more or less are mu-GDP, tables with one unit replaced are 2 mu-GDP: one
removed, one added; slack and collision are doubled too, which is more than they need. A changed label is a replacement.
Nothing leads back, because the other adjacencies hold more for public. Slices are replace-one: they are never doubled.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property

from sfumato.accounting import Adjacency, add_up, calibrate, epsilon_of, mu_of, room_for, sum_up
from sfumato.errors import ArgumentError, BudgetError, LedgerError
from sfumato.private.accounting import MOST_COORDINATES
from sfumato.private.noise import DISTANCE_PER_COORDINATE
from sfumato.private.slicing.law import Slices
from sfumato.private.units import COLLISION, unit_delta
from sfumato.schema.schema import ROW
from sfumato.text import rounded_down, rounded_up

SAMPLER_SLACK = MOST_COORDINATES * DISTANCE_PER_COORDINATE
GAUSSIAN = "gaussian"
WITH_SLICES = "gaussian and slices"
LAWS = (GAUSSIAN, WITH_SLICES)
SHOWN_DIGITS = 4

# What a release in one adjacency costs in a data set of another, in multiples of its mu.
FACTORS = {
    (Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE): 2,
    (Adjacency.ADD_REMOVE, Adjacency.LABEL): 2,
    (Adjacency.REPLACE_ONE, Adjacency.LABEL): 1,
} | {(each, each): 1 for each in Adjacency}


class State(StrEnum):
    """How far a release got."""

    RESERVED = "reserved"
    """Counted; no noise was drawn yet."""
    DRAWING = "drawing"
    """Counted; noise may have been drawn, so it can never be returned."""
    RELEASED = "released"
    """Counted; the release was handed over."""
    RETURNED = "returned"
    """Not counted; it ended before any noise was drawn."""


STEPS = ((State.RESERVED, State.DRAWING), (State.RESERVED, State.RETURNED), (State.DRAWING, State.RELEASED))
"""Which state may follow which."""


@dataclass(frozen=True)
class Dataset:
    """A data set and its cap."""

    name: str
    opened: str
    epsilon: float
    delta: float
    adjacency: Adjacency
    unit: str

    @property
    def mu(self) -> float:
        """What a single release of the whole cap may spend."""
        return calibrate(self.epsilon, self._delta())

    def most(self, slack: float, collision: float, slices: Sequence[Slices] = ()) -> float:
        """The mu that all releases may have together, beside these slices; 0 if there is no room for any."""
        left = self.delta - collision  # `mu_of` makes up for this rounding, as for its own
        return mu_of(self.epsilon, left, slack, slices) if left > 0.0 else 0.0

    def epsilon_that_fits(self, mu: float) -> float:
        """The largest epsilon in few digits at which a single release, with the data set's delta, spends at most mu."""
        if mu <= 0.0:
            return 0.0
        guess = min(epsilon_of(mu, self._delta()), self.epsilon)
        step = 10.0 ** (int(f"{guess:e}".partition("e")[2]) - SHOWN_DIGITS + 1)
        for steps in range(round(guess / step), 0, -1):
            shown = float(f"{steps * step:.{SHOWN_DIGITS}g}")
            if calibrate(shown, self._delta()) <= mu:
                return shown
        return 0.0

    def _delta(self) -> float:
        return self.delta if self.unit == ROW else unit_delta(self.delta)

    def __str__(self) -> str:
        return (
            f"epsilon {self.epsilon:g}, delta {self.delta:g}, adjacency {self.adjacency}, "
            f"unit {self.unit}, since {self.opened}"
        )


@dataclass(frozen=True)
class Entry:
    """One release of a data set, from the moment its cost was set aside."""

    id: str
    dataset: str
    time: str
    mechanism: str
    state: State
    adjacency: Adjacency
    unit: str
    epsilon: float
    delta: float
    mu: float
    charged_mu: float
    slack: float
    collision: float
    descriptor: str

    @property
    def counts(self) -> bool:
        return self.state is not State.RETURNED

    @property
    def law(self) -> str:
        """How the privacy loss is distributed; a law other than the Gaussian is not one mu."""
        return str(json.loads(self.descriptor)["law"])

    @property
    def slices(self) -> tuple[Slices, ...]:
        """The slices beside mu."""
        return tuple(Slices(**each) for each in json.loads(self.descriptor).get("slices", ()))

    def check(self, dataset: Dataset) -> None:
        """Whether the entry agrees with itself and with its data set, as any that the library wrote does."""
        numbers = (self.epsilon, self.delta, self.mu, self.charged_mu)
        whole = all(isinstance(number, float) and 0.0 < number < math.inf for number in numbers)
        if not whole or not 0.0 <= self.slack < 1.0 or not 0.0 <= self.collision < 1.0 or self.unit != dataset.unit:
            raise ValueError("numbers")
        if self.law not in LAWS:
            return
        if bool(self.slices) != (self.law == WITH_SLICES) or (self.slices and self.adjacency is Adjacency.ADD_REMOVE):
            raise ValueError("slices")
        factor = FACTORS[self.adjacency, dataset.adjacency]
        if json.loads(self.descriptor)["mu"] != self.mu or self.charged_mu != factor * self.mu:
            raise ValueError("mu")


@dataclass(frozen=True)
class Ask:
    """What a release will cost, and in which terms."""

    mechanism: str
    adjacency: Adjacency
    unit: str
    epsilon: float
    delta: float
    mu: float
    slices: tuple[Slices, ...] = ()

    @property
    def descriptor(self) -> str:
        """The law of the release, as an entry keeps it."""
        if not self.slices:
            return json.dumps({"law": GAUSSIAN, "mu": self.mu})
        return json.dumps({"law": WITH_SLICES, "mu": self.mu, "slices": [asdict(each) for each in self.slices]})


@dataclass(frozen=True)
class Account:
    """A data set and all its entries, in the order in which they were made."""

    dataset: Dataset
    entries: tuple[Entry, ...]

    @cached_property
    def counted(self) -> tuple[Entry, ...]:
        """All but the returned ones."""
        found = tuple(entry for entry in self.entries if entry.counts)
        for entry in found:
            if entry.law not in LAWS:
                raise LedgerError(
                    f"entry {entry.id} of {self.dataset.name!r} follows the law {entry.law!r}, "
                    "which this library cannot add up: upgrade it"
                )
        return found

    @cached_property
    def mu(self) -> float:
        """What all Gaussian queries cost together, rounded up."""
        return add_up(entry.charged_mu for entry in self.counted)

    @cached_property
    def slices(self) -> tuple[Slices, ...]:
        """The slices of all releases."""
        return tuple(each for entry in self.counted for each in entry.slices)

    @cached_property
    def epsilon(self) -> float:
        """What all releases cost together, as epsilon at the data set's delta."""
        return self._epsilon(self.mu, self._slack(), self._collision(), self.slices)

    def left(self, factor: int = 1) -> float:
        """The largest mu that another release may have; `factor` is what its adjacency costs here."""
        most = self.dataset.most(*self._with_another(factor), self.slices)
        return room_for(most, [entry.charged_mu for entry in self.counted]) / factor

    @cached_property
    def left_epsilon(self) -> float:
        """The same as epsilon at the data set's delta, in few digits: asking for it would fit."""
        return self.dataset.epsilon_that_fits(self.left())

    def fits(self, charged_mu: float, factor: int = 1, slices: Sequence[Slices] = ()) -> bool:
        """Whether one more release keeps the cap. Its mu is above 0, so there is no room where there is room for 0."""
        together = add_up([*(entry.charged_mu for entry in self.counted), charged_mu])
        return together <= self.dataset.most(*self._with_another(factor), (*self.slices, *slices))

    def price(self, entry: str, time: str, asked: Ask) -> Entry:
        """The entry of a release that fits under the cap."""
        factor = _factor(asked, self.dataset)
        slack, collision = _imperfections(self.dataset.unit, factor)
        made = Entry(
            id=entry,
            dataset=self.dataset.name,
            time=time,
            mechanism=asked.mechanism,
            state=State.RESERVED,
            adjacency=asked.adjacency,
            unit=asked.unit,
            epsilon=asked.epsilon,
            delta=asked.delta,
            mu=asked.mu,
            charged_mu=factor * asked.mu,
            slack=slack,
            collision=collision,
            descriptor=asked.descriptor,
        )
        try:
            made.check(self.dataset)
        except ValueError:
            raise ArgumentError(
                f"mu {asked.mu!r}, epsilon {asked.epsilon!r} and delta {asked.delta!r} are not the cost of a release"
            ) from None
        if not self.fits(made.charged_mu, factor, asked.slices):
            raise BudgetError(self._refusal(asked, factor))
        return made

    def running(self) -> list[float]:
        """After each entry, what was spent until then, as epsilon at the data set's delta."""
        mu = slack = collision = 0.0
        slices: tuple[Slices, ...] = ()
        found = []
        for entry in self.entries:
            if entry.counts:
                mu = add_up([mu, entry.charged_mu])
                slack, collision = sum_up([slack, entry.slack]), sum_up([collision, entry.collision])
                slices += entry.slices
            found.append(self._epsilon(mu, slack, collision, slices))
        return found

    def _epsilon(self, mu: float, slack: float, collision: float, slices: tuple[Slices, ...]) -> float:
        left = self.dataset.delta - collision
        found = epsilon_of(mu, left, slack, slices) if left > 0.0 else float("inf")
        # Two searches may end an ulp apart: what keeps the cap is not shown as more than it.
        return min(found, self.dataset.epsilon) if mu <= self.dataset.most(slack, collision, slices) else found

    def _slack(self) -> float:
        return sum_up(entry.slack for entry in self.counted)

    def _collision(self) -> float:
        return sum_up(entry.collision for entry in self.counted)

    def _refusal(self, asked: Ask, factor: int) -> str:
        left, own = self.left(factor), self.dataset
        epsilon = own.epsilon_that_fits(left)
        counted = "" if factor == 1 else f", counted {factor} times in a data set of adjacency {own.adjacency}"
        sliced = " with slices" if asked.slices else ""
        return (
            f"{own.name!r} has too little left for mu {rounded_up(asked.mu, 5)}{sliced} (epsilon {asked.epsilon:g}, "
            f"delta {asked.delta:g}){counted}: ask for at most mu {rounded_down(left, 5)}, "
            f"which is epsilon {epsilon:g} at delta {own.delta:g}"
        )

    def _with_another(self, factor: int) -> tuple[float, float]:
        slack, collision = _imperfections(self.dataset.unit, factor)
        return sum_up([self._slack(), slack]), sum_up([self._collision(), collision])


def _factor(asked: Ask, dataset: Dataset) -> int:
    """What the release costs here, in multiples of its mu."""
    if asked.unit != dataset.unit:
        raise LedgerError(
            f"{dataset.name!r} counts what is told about one {dataset.unit}, this release protects one {asked.unit}: "
            "the two do not add up"
        )
    factor = FACTORS.get((asked.adjacency, dataset.adjacency))
    if factor is None:
        raise LedgerError(
            f"{dataset.name!r} has adjacency {dataset.adjacency}; a release of adjacency {asked.adjacency} holds more "
            "for public, so it has no cost there"
        )
    return factor


def _imperfections(unit: str, factor: int) -> tuple[float, float]:
    """Slack and collision of a release."""
    return factor * SAMPLER_SLACK, 0.0 if unit == ROW else factor * COLLISION
