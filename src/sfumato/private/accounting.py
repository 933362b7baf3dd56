"""Privacy accounting in Gaussian differential privacy (GDP).

A query with L2 sensitivity D and noise sigma is mu-GDP with mu = D / sigma. Over queries chosen adaptively
the squares of mu add up (Dong, Roth, Su 2019, arXiv 1905.02383), and a release that is
mu-GDP is (epsilon, delta)-DP for every epsilon with (the same paper)

    delta = Phi(-epsilon / mu + mu / 2) - e^epsilon Phi(-epsilon / mu - mu / 2).

Noisy projections of every row have no mu of their own, but a law of it (`slicing/law`). Wherever `slices` are given
below, mu is that of the Gaussian queries beside them, and delta is the expectation over the slices' law.

Every result is rounded to the safe side: delta up, mu down, sigma up. The arithmetic of delta is in
`sfumato/gaussian_delta.py`, which a guarantee rests on as it does on this module.
"""

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from sfumato.errors import BudgetError, insist
from sfumato.gaussian_delta import gaussian_delta
from sfumato.private.slicing.law import Slices, sliced_delta

MOST_COORDINATES = 2**40
"""A public cap on the noisy numbers in one release, far above any that fits into memory."""

MOST_RELEASES = 2**16
"""A public cap on the releases of one data set that a ledger counts: what they fall short of the ideal is set aside for
all of them at the opening."""

LARGEST_MU = 1e50
"""No privacy at all; it keeps the formulas away from overflow."""


class Adjacency(StrEnum):
    """Which two tables a guarantee cannot tell apart.

    Attributes:
        ADD_REMOVE: One has a row more. The number of rows is private.
        REPLACE_ONE: One row is another. The number of rows is public.
        LABEL: One row has another label; its other columns and the number of rows are public.
    """

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"
    LABEL = "label"


@dataclass(frozen=True)
class Spend:
    """What was charged once: a query, its L2 sensitivity, its noise, and the mu that it cost.

    A query with weights has noise of sd sigma / weight_j on coordinate j; its sensitivity is that of the
    weighted answer, so mu = sensitivity / sigma as for any other.
    """

    name: str
    sensitivity: float
    sigma: float
    mu: float


class Budget:
    """A privacy filter: queries of any kind, in any order, until the sum of mu^2 reaches total^2.

    Formal guarantee. Whatever was charged, the answers together are total-GDP. The size of a charge may
    depend on earlier noisy answers, because the sum of squares is a valid filter as long as the total is
    fixed in advance (Smith and Thakurta 2022, arXiv 2210.17520). Slices are fixed in advance too, each to be taken
    once; together with the total they cost what `joint_delta(epsilon, total, slices)` says.

    >>> budget = Budget(0.5)
    >>> budget.charge("histograms", sensitivity=2.0, mu_squared=0.0625)
    Spend(name='histograms', sensitivity=2.0, sigma=8.0, mu=0.25)
    >>> spend = budget.charge("moments", sensitivity=1.0, mu_squared=budget.remaining)
    >>> budget.remaining
    0.0
    """

    def __init__(self, total: float, slices: Sequence[Slices] = ()) -> None:
        insist(0 < total <= LARGEST_MU, f"the total mu must be above 0 and at most {LARGEST_MU:g}, not {total}")
        # What slices cost is computed by the class, not by a subclass.
        insist(all(type(each) is Slices for each in slices), "slices must be plain Slices")
        self.total = float(total)  # the mu of everything together
        self._remaining = first_safe(self.total**2, lambda square: square <= Fraction(self.total) ** 2, 0.0)
        self._spends: tuple[Spend, ...] = ()
        self.slices = tuple(slices)  # that were set aside, taken or not
        self._taken = 0
        self._lock = threading.Lock()

    @property
    def remaining(self) -> float:
        """The mu^2 that is left. Asking for exactly this much succeeds and leaves 0."""
        return self._remaining

    @property
    def spends(self) -> tuple[Spend, ...]:
        """What was charged, in order."""
        return self._spends

    def take(self, slices: Slices) -> None:
        """Take the slices that were set aside next. Call it before the rows are read; each are taken once."""
        with self._lock:
            if self.slices[self._taken : self._taken + 1] != (slices,):
                raise BudgetError(f"{slices} are not the slices that were set aside next; plan them in advance")
            self._taken += 1

    def charge(self, name: str, sensitivity: float, mu_squared: float) -> Spend:
        """Pay mu_squared for a query, and return the noise it must be answered with.

        Call it before the rows are read. A charge that does not fit raises BudgetError and changes nothing.
        """
        insist(type(name) is str and name.isprintable() and 0 < len(name) <= 100, "a question needs a short name")
        for what, value in (("sensitivity", sensitivity), ("mu_squared", mu_squared)):
            insist(0 < value < math.inf, f"{what} of {name!r} must be a finite number above 0, not {value}")
        with self._lock:  # of two threads only one may have the rest
            left = self._remaining
            if mu_squared > left:
                raise BudgetError(f"{name!r} asks for mu^2 = {mu_squared:.6g} but {left:.6g} is left; ask for less")
            spend = _spend(name, float(sensitivity), float(mu_squared))
            rest = Fraction(left) - Fraction(float(mu_squared))
            self._remaining = first_safe(float(rest), lambda value: value <= rest, 0.0)
            self._spends += (spend,)
            return spend


def _spend(name: str, sensitivity: float, mu_squared: float) -> Spend:
    """mu^2 <= mu_squared and sensitivity / sigma <= mu, both exactly."""
    mu = first_safe(math.sqrt(mu_squared), lambda root: root**2 <= Fraction(mu_squared), 0.0)
    sigma = first_safe(sensitivity / mu, lambda quotient: quotient * Fraction(mu) >= sensitivity, math.inf)
    return Spend(name, sensitivity, sigma, mu)


def first_safe(value: float, is_safe: Callable[[Fraction], bool], towards: float) -> float:
    """The first float, from value on in the direction given, that is safe in exact arithmetic."""
    while not is_safe(Fraction(value)):
        value = math.nextafter(value, towards)
    return value


def joint_delta(epsilon: float, mu: float, slices: Sequence[Slices]) -> float:
    """delta(epsilon) of Gaussian queries and slices, never below the true value."""
    if not slices:
        return gaussian_delta(epsilon, mu)
    insist(len(slices) == 1, "a release takes slices of every row once")
    return sliced_delta(epsilon, mu, slices[0])
