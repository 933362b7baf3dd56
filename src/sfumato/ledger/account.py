"""What releases of one data set cost together. Plain arithmetic: `ledger` keeps the entries that it works on.

Formal guarantee. A data set has a cap (epsilon, delta). As long as every release `fits`, all of them together are
(epsilon, delta)-DP in the data set's adjacency, also when later releases are chosen after earlier ones were seen, their
matrices of projections among them. (epsilon, delta) of single releases are never added.

At the opening the cap alone fixes mu* and delta* (`Dataset.mu`, `Dataset.chance`) so that

    delta_GDP(epsilon; mu*) + delta* + collisions + (1 + e^epsilon) slack <= delta.

Slack is the distance of the samplers from the ideal in total variation, collisions the chance that two ids share a hash
in some release (a failure that both neighbours share, because the key of the hash has the same law whatever the table);
both are set aside for MOST_RELEASES releases, and no more are let in. Before a release, from the past alone, it is
charged its mu, and for noisy projections of every row a bound t with P(T > t) <= its chance, T the random mu^2 of
`slicing/law`. Refused is what would make the sum of all mu^2 and t exceed mu*^2, or that of all chances delta*.

Proof. Given the past, the law of a matrix ignores the table and the direction in which neighbours differ, so with
probability 1 - delta* on either table no T exceeds its t. Where one would, answer as if the row had not changed: every
step is then sqrt(t)-GDP, and the sum of squares is a filter (docs/proofs/slicing.md, section 6, which also says why the
joint law of all slices so far is none). Nothing is computed anew from what is left of delta.

Adjacency. If tables that differ by one unit more or less are mu-GDP, tables with one unit replaced are 2 mu-GDP: one
removed, one added; slack and collision are doubled too, which is more than they need. A changed label is a replacement.
Nothing leads back, because the other adjacencies hold more for public. Slices are replace-one: they are never doubled,
and an add-remove data set can hold none, so that its delta* is 0.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

from scipy.special import gammaincc, gammainccinv

from sfumato.accounting import (
    Adjacency,
    Slices,
    add_up,
    calibrate,
    epsilon_of,
    mu_of,
    room_for,
    root_up,
    sum_of_squares,
    sum_up,
)
from sfumato.errors import ArgumentError, BudgetError, LedgerError
from sfumato.gaussian_delta import MASS_ERROR, ROUNDINGS
from sfumato.guarantee import LONGEST_NAME
from sfumato.private.accounting import LARGEST_MU, MOST_COORDINATES, MOST_RELEASES
from sfumato.private.noise import DISTANCE_PER_COORDINATE
from sfumato.private.units import COLLISION, unit_delta
from sfumato.schema.layout import SINGLE_ROWS
from sfumato.text import rounded_down, rounded_up

SAMPLER_SLACK = MOST_COORDINATES * DISTANCE_PER_COORDINATE
CHANCE_SHARE = 0.1
"""delta*, of a cap's delta."""
GAUSSIAN = "gaussian"
BOUNDED_SLICES = "gaussian and bounded slices"
OLD_SLICES = "gaussian and slices"
"""Of entries from before slices were charged a bound; they get one by their place in the ledger."""
LAWS = (GAUSSIAN, BOUNDED_SLICES, OLD_SLICES)
BOUND_ERROR = 1e-6
"""By how much a stored bound may differ from what this library finds: another scipy rounds otherwise."""
SHOWN_DIGITS = 4
CAUTION = 0.9
"""Epsilon is about proportional to mu; this much less is told as about what would fit."""

# What a release in one adjacency costs in a data set of another, in multiples of its mu.
ADJACENCY_FACTORS = {
    (Adjacency.ADD_REMOVE, Adjacency.REPLACE_ONE): 2,
    (Adjacency.ADD_REMOVE, Adjacency.LABEL): 2,
    (Adjacency.REPLACE_ONE, Adjacency.LABEL): 1,
} | {(each, each): 1 for each in Adjacency}


class State(StrEnum):
    """How far a release got.

    Attributes:
        RESERVED: Counted; no noise was drawn yet.
        DRAWING: Counted; noise may have been drawn, so it can never be returned.
        RELEASED: Counted; the release was handed over.
        RETURNED: Not counted; it ended before any noise was drawn.
    """

    RESERVED = "reserved"
    DRAWING = "drawing"
    RELEASED = "released"
    RETURNED = "returned"


STEPS = ((State.RESERVED, State.DRAWING), (State.RESERVED, State.RETURNED), (State.DRAWING, State.RELEASED))
"""Which state may follow which."""


@dataclass(frozen=True)
class Charge:
    """What slices are charged: their T, the mu^2 that their matrix makes of them, exceeds `t` with at most `chance`."""

    t: float = 0.0
    chance: float = 0.0


NOTHING = Charge()


@dataclass(frozen=True)
class OldFrames:
    """Orthonormal frames, in entries from when there were some: each shows at most all of a vector, so S <= frames."""

    like: Slices
    frames: int

    @property
    def bound(self) -> float:
        """T is never more than this."""
        return (self.like.weight * self.frames + self.like.shift) * (1.0 + BOUND_ERROR)

    @classmethod
    def of(cls, kept: dict[str, Any]) -> Slices | OldFrames:
        """Slices as an entry keeps them."""
        known = {name: value for name, value in kept.items() if name not in ("law", "slice_dim")}
        law, columns = kept.get("law", GAUSSIAN), kept.get("slice_dim", 1)
        if law == GAUSSIAN:
            return Slices(**known)
        if law != "orthonormal" or not isinstance(columns, int) or columns < 1:
            raise ValueError("law")
        return cls(Slices(**known), -(-known["projections"] // columns))


@dataclass(frozen=True)
class Dataset:
    """A data set and its cap.

    Attributes:
        name: of the data set.
        opened: when, in UTC.
        epsilon: of all its releases together.
        delta: of all its releases together.
        adjacency: in which terms its cost is counted.
        unit: of privacy.
    """

    name: str
    opened: str
    epsilon: float
    delta: float
    adjacency: Adjacency
    unit: str

    @property
    def chance(self) -> float:
        """delta*: how likely it may be that slices of any release show more than they were charged for."""
        return 0.0 if self.adjacency is Adjacency.ADD_REMOVE else CHANCE_SHARE * self.delta

    @property
    def mu(self) -> float:
        """mu*: what all releases may spend together, fixed by the cap alone; 0 where that leaves nothing."""
        left, slack = self._set_aside()
        return mu_of(self.epsilon, left, slack) if left > 0.0 else 0.0

    def epsilon_at(self, mu: float) -> float:
        """What releases cost together, as epsilon.

        Args:
            mu: Of all of them together.

        Returns:
            Epsilon at the data set's delta less what is set aside; infinite where there is none.
        """
        left, slack = self._set_aside()
        found = epsilon_of(mu, left, slack) if left > 0.0 else math.inf
        # Two searches may end an ulp apart: what keeps the cap is not shown as more than it.
        return min(found, self.epsilon) if mu <= self.mu else found

    def epsilon_that_fits(self, mu: float) -> float:
        """The largest epsilon that a single release may ask for.

        Args:
            mu: What it may spend.

        Returns:
            Epsilon in few digits, for a release with the data set's delta; 0 where nothing fits.
        """
        if mu <= 0.0:
            return 0.0
        guess = min(epsilon_of(mu, self._delta()), self.epsilon)
        step = 10.0 ** (int(f"{guess:e}".partition("e")[2]) - SHOWN_DIGITS + 1)
        for steps in range(round(guess / step), 0, -1):
            shown = float(f"{steps * step:.{SHOWN_DIGITS}g}")
            if calibrate(shown, self._delta()) <= mu:
                return shown
        return 0.0

    def factor(self, adjacency: Adjacency, unit: str) -> int:
        """What a release costs here.

        Args:
            adjacency: Of the release.
            unit: Whose rows it protects together.

        Returns:
            The cost, in multiples of its mu.

        Raises:
            LedgerError: It has none here.
        """
        if unit != self.unit:
            raise LedgerError(
                f"{self.name!r} counts what is told about one {self.unit}, this release protects one {unit}: "
                "the two do not add up"
            )
        factor = ADJACENCY_FACTORS.get((adjacency, self.adjacency))
        if factor is None:
            raise LedgerError(
                f"{self.name!r} has adjacency {self.adjacency}; a release of adjacency {adjacency} holds more "
                "for public, so it has no cost there"
            )
        return factor

    def charge(self, slices: tuple[Slices | OldFrames, ...], number: int) -> Charge:
        """What a release with slices is charged. The shares 1 / (n (n + 1)) of delta* add up to 1.

        Args:
            slices: All that it takes.
            number: n, from 1: how many releases with slices there are up to it.

        Returns:
            The bound on their squared mu, and the chance that it fails.
        """
        if not slices:
            return NOTHING
        chance = self.chance / (number * (number + 1)) * (1.0 - 2.0**-40)  # outweighs the rounding
        return Charge(_bound(slices, chance), chance)

    def _set_aside(self) -> tuple[float, float]:
        """What is left of delta for mu*, beside the slack of all samplers."""
        factor = max(factor for (_, own), factor in ADJACENCY_FACTORS.items() if own is self.adjacency)
        slack, collision = _imperfections(self.unit, factor)
        # `mu_of` makes up for this rounding, as for its own.
        return self.delta - MOST_RELEASES * collision - self.chance, MOST_RELEASES * slack

    def _delta(self) -> float:
        return self.delta if self.unit in SINGLE_ROWS else unit_delta(self.delta)

    def __str__(self) -> str:
        return (
            f"epsilon {self.epsilon:g}, delta {self.delta:g}, adjacency {self.adjacency}, "
            f"unit {self.unit}, since {self.opened}"
        )


@dataclass(frozen=True)
class Entry:
    """One release of a data set, from the moment its cost was set aside.

    Attributes:
        id: 32 random hexadecimal digits, which the release names too.
        dataset: its name.
        time: when it was reserved, in UTC.
        mechanism: which makes the release.
        state: how far it got.
        adjacency: of the release.
        unit: of privacy.
        epsilon: that was asked for.
        delta: that was asked for.
        mu: of its Gaussian queries together.
        charged_mu: the same in the data set's adjacency.
        slack: the distance of its sampler from the ideal.
        collision: the chance that two ids share a hash.
        descriptor: its law, in JSON, with what its slices are charged, and who asked for it and why.
    """

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
        """Whether it is counted: all but returned ones are."""
        return self.state is not State.RETURNED

    @property
    def law(self) -> str:
        """How the privacy loss is distributed; a law other than the Gaussian is not one mu."""
        return str(json.loads(self.descriptor)["law"])

    @property
    def sliced(self) -> bool:
        """Whether it has noisy projections of every row."""
        return self.law in (BOUNDED_SLICES, OLD_SLICES)

    @property
    def slices(self) -> tuple[Slices | OldFrames, ...]:
        """The slices beside mu."""
        return tuple(OldFrames.of(each) for each in json.loads(self.descriptor).get("slices", ()))

    @property
    def charge(self) -> Charge | None:
        """What its slices were charged; None for an entry from before they were charged a bound."""
        if not self.sliced:
            return NOTHING
        kept = json.loads(self.descriptor)
        return None if self.law == OLD_SLICES else Charge(kept["t"], kept["chance"])

    @property
    def who(self) -> str | None:
        """Who asked for it, as they said; None where nobody did."""
        return json.loads(self.descriptor).get("who")

    @property
    def why(self) -> str | None:
        """What it was asked for, as they said; None where nobody did."""
        return json.loads(self.descriptor).get("why")

    def check(self, dataset: Dataset) -> None:
        """Refuse an entry that does not agree with itself and with its data set, as any that the library wrote does.

        Args:
            dataset: Its data set.

        Raises:
            ValueError: It does not.
        """
        numbers = (self.epsilon, self.delta, self.mu, self.charged_mu)
        if not all(map(_is_cost, numbers)) or not 0.0 <= self.slack < 1.0 or not 0.0 <= self.collision < 1.0:
            raise ValueError("numbers")
        if self.unit != dataset.unit:
            raise ValueError("unit")
        if self.law not in LAWS:
            return
        if not all(note is None or is_one_line(note) for note in (self.who, self.why)):
            raise ValueError("note")
        factor = ADJACENCY_FACTORS[self.adjacency, dataset.adjacency]
        if json.loads(self.descriptor)["mu"] != self.mu or self.charged_mu != factor * self.mu:
            raise ValueError("mu")
        if bool(self.slices) != self.sliced or (self.slices and self.adjacency is Adjacency.ADD_REMOVE):
            raise ValueError("slices")
        charge = self.charge
        if charge and self.slices and not (_is_cost(charge.t) and _is_cost(charge.chance) and charge.chance < 1.0):
            raise ValueError("bound")
        if charge and self.slices and charge.t < _bound(self.slices, charge.chance) * (1.0 - BOUND_ERROR):
            raise ValueError("bound")


@dataclass(frozen=True)
class Ask:
    """What a release will cost, and in which terms; and who asks for it and why, if they say so."""

    mechanism: str
    adjacency: Adjacency
    unit: str
    epsilon: float
    delta: float
    mu: float
    slices: tuple[Slices, ...] = ()
    who: str | None = None
    why: str | None = None

    def descriptor(self, charge: Charge) -> str:
        """The law of the release, what its slices are charged, and who and why, as an entry keeps them."""
        notes = {name: note for name, note in (("who", self.who), ("why", self.why)) if note is not None}
        if not self.slices:
            return json.dumps({"law": GAUSSIAN, "mu": self.mu} | notes)
        slices = [asdict(each) for each in self.slices]
        return json.dumps({"law": BOUNDED_SLICES, "mu": self.mu, "slices": slices} | asdict(charge) | notes)


@dataclass(frozen=True)
class Account:
    """A data set and all its entries, in the order in which they were made.

    Attributes:
        dataset: with its cap.
        entries: all of them, returned ones too.
    """

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
    def charges(self) -> tuple[Charge, ...]:
        """What the slices of each entry are charged: as it says, or by how many with slices came before it, counted or
        not, so that what is given back later changes nothing.
        """
        pairs = zip(self.entries, accumulate(entry.sliced for entry in self.entries), strict=True)
        return tuple(entry.charge or self.dataset.charge(entry.slices, number) for entry, number in pairs)

    @cached_property
    def mu(self) -> float:
        """What all releases cost together, slices by their bounds, rounded up."""
        return add_up((entry.charged_mu for entry in self.counted), (each.t for each in self._charged))

    @cached_property
    def chance(self) -> float:
        """The chance that slices show more than they were charged for, of all releases together, rounded up."""
        return sum_up(each.chance for each in self._charged)

    @cached_property
    def epsilon(self) -> float:
        """What all releases cost together, as epsilon at the data set's delta: that of a cap which mu would use up."""
        return self._epsilon(self.mu, self.chance, len(self.counted))

    @property
    def over(self) -> str:
        """One line where the releases cost more than the cap allows, as they may in an older ledger; else nothing."""
        if self.chance <= self.dataset.chance and self.mu <= self.dataset.mu and len(self.counted) <= MOST_RELEASES:
            return ""
        return (
            f"{self.dataset.name!r} is over its cap: its releases count as mu {rounded_up(self.mu, 5)} together, and "
            f"mu {rounded_down(self.dataset.mu, 5)} may be spent; nothing more can be released"
        )

    def left(self, factor: int = 1) -> float:
        """The largest mu that another release may have.

        Args:
            factor: what the release's adjacency costs here, in multiples of its mu.

        Returns:
            Mu, rounded down; 0 where nothing more fits.
        """
        if self.over or len(self.counted) >= MOST_RELEASES:
            return 0.0
        spent = [entry.charged_mu for entry in self.counted]
        return room_for(self.dataset.mu, spent, (each.t for each in self._charged)) / factor

    @cached_property
    def left_epsilon(self) -> float:
        """The same as epsilon at the data set's delta, in few digits: asking for it would fit."""
        return self.dataset.epsilon_that_fits(self.left())

    def charge_for(self, slices: tuple[Slices, ...]) -> Charge:
        """What the next release would be charged for slices.

        Args:
            slices: All that it would take.

        Returns:
            The bound on their squared mu, and the chance that it fails.
        """
        return self.dataset.charge(slices, 1 + sum(entry.sliced for entry in self.entries))

    def fits(self, charged_mu: float, charge: Charge = NOTHING) -> bool:
        """Whether one more release keeps the cap. Its mu is above 0, so there is no room where there is room for 0.

        Args:
            charged_mu: of its Gaussian queries, in the data set's adjacency.
            charge: for its slices, by `charge_for`.

        Returns:
            True where it would be let in.
        """
        if self.over or len(self.counted) >= MOST_RELEASES or not charge.t < math.inf:
            return False
        mus, charges = (*(entry.charged_mu for entry in self.counted), charged_mu), (*self._charged, charge)
        together = add_up(mus, (each.t for each in charges))
        return together <= self.dataset.mu and sum_up(each.chance for each in charges) <= self.dataset.chance

    def price(self, entry: str, time: str, asked: Ask) -> Entry:
        """The entry of a release that fits under the cap.

        Args:
            entry: Its id.
            time: When it was asked for, in UTC.
            asked: What it will cost.

        Returns:
            The entry, reserved.

        Raises:
            BudgetError: It does not fit.
            LedgerError: Its adjacency or unit has no cost here.
            ArgumentError: What it asks for is not the cost of a release.
        """
        factor = self.dataset.factor(asked.adjacency, asked.unit)
        slack, collision = _imperfections(self.dataset.unit, factor)
        charge = self.charge_for(asked.slices)
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
            descriptor=asked.descriptor(charge),
        )
        try:
            made.check(self.dataset)
        except ValueError:
            raise ArgumentError(
                f"mu {asked.mu!r}, epsilon {asked.epsilon!r} and delta {asked.delta!r} are not the cost of a release"
            ) from None
        if not self.fits(made.charged_mu, charge):
            raise BudgetError(self._refusal(asked, factor, charge))
        return made

    def running(self) -> list[float]:
        """What was spent until each entry.

        Returns:
            One epsilon an entry, at the data set's delta.
        """
        square, chance, count = Fraction(0), Fraction(0), 0
        found = []
        for entry, charge in zip(self.entries, self.charges, strict=True):
            if entry.counts:
                square += sum_of_squares([entry.charged_mu], [charge.t])
                chance, count = chance + Fraction(charge.chance), count + 1
            found.append(self._epsilon(root_up(square), chance, count))
        return found

    @cached_property
    def _charged(self) -> tuple[Charge, ...]:
        return tuple(charge for entry, charge in zip(self.entries, self.charges, strict=True) if entry.counts)

    def _epsilon(self, mu: float, chance: float | Fraction, count: int) -> float:
        if chance > self.dataset.chance or count > MOST_RELEASES:
            return math.inf
        return self.dataset.epsilon_at(mu)

    def _refusal(self, asked: Ask, factor: int, charge: Charge) -> str:
        left, own = self.left(factor), self.dataset
        if self.over:
            return self.over
        if len(self.counted) >= MOST_RELEASES:
            return f"{own.name!r} has {MOST_RELEASES} releases, as many as one data set may have"
        epsilon = own.epsilon_that_fits(left)
        counted = "" if factor == 1 else f", counted {factor} times in a data set of adjacency {own.adjacency}"
        refused = f"{own.name!r} has too little left for mu {rounded_up(asked.mu, 5)}"
        terms = f"(epsilon {asked.epsilon:g}, delta {asked.delta:g})"
        if asked.slices:
            bound = min(charge.t, LARGEST_MU)  # an infinite one has no digits
            together = add_up([asked.mu], [bound])
            return (
                f"{refused} with slices that count as mu {rounded_up(add_up([], [bound]), 5)} {terms}: "
                f"mu {rounded_down(left, 5)} is left, about epsilon {CAUTION * left / together * asked.epsilon:.1g} "
                "with as many projections"
            )
        return (
            f"{refused} {terms}{counted}: ask for at most mu {rounded_down(left, 5)}, "
            f"which is epsilon {epsilon:g} at delta {own.delta:g}"
        )


def _bound(slices: tuple[Slices | OldFrames, ...], chance: float) -> float:
    """A t that the T of all slices together exceeds with probability at most `chance`, rounded up."""
    share = chance / len(slices)
    tails = [tail(each, share) if isinstance(each, Slices) else each.bound for each in slices]
    return sum_up(tails) if max(tails) < math.inf else math.inf


def tail(slices: Slices, chance: float) -> float:
    """A t that T exceeds with probability at most `chance`, rounded up: P(S* > s) <= rows P(S > s)."""
    half, share = slices.projections / 2, chance / slices.rows * (1.0 - MASS_ERROR)
    place = float(gammainccinv(half, share))
    while place < math.inf and gammaincc(half, place) > share:  # what is relied on is gammaincc alone
        place *= 1.0 + MASS_ERROR
    return (slices.weight * 2.0 * place / slices.dim + slices.shift) * (1.0 + ROUNDINGS)


def is_one_line(text: object) -> bool:
    """Whether it is a name or a note as a ledger keeps them: printable, short, without blanks at its ends."""
    return isinstance(text, str) and text.isprintable() and 0 < len(text) <= LONGEST_NAME and text == text.strip()


def _is_cost(number: object) -> bool:
    return isinstance(number, float) and 0.0 < number < math.inf


def _imperfections(unit: str, factor: int) -> tuple[float, float]:
    """Slack and collision of a release."""
    return factor * SAMPLER_SLACK, 0.0 if unit in SINGLE_ROWS else factor * COLLISION
