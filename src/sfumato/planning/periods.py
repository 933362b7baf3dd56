"""What people pay who stay in a table that is released again and again, and whether a tree of periods is cheaper.

T periods, a person in k of them at the most. Plain: every period is a release of its own, with noise s on its answers.
A person in k of them pays k (D / s)^2: all together are sqrt(k) mu-GDP. A total over r periods is a sum of r answers,
of variance r s^2.

A tree has a release for every period, every two periods, every four and so on: level l covers 2^l periods at once, and
a person's rows in them are added up. Of k rows at most min(k, 2^l) are in one of its releases, so that the level costs
at most k min(k, 2^l) (D / s)^2. At the cost of the plain releases each of its releases has the variance

    s^2 (sum over levels of min(k, 2^l)),

and a total is the sum of as few of them as cover its periods. On average over all runs of periods the tree has less
noise from about a hundred periods on if nobody comes twice (k = 1), later if some do, and never if all stay.

Rows do not tell who is new: k is what the custodian enforces (a unit column and a limit) or vouches for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sfumato.accounting import epsilon_of
from sfumato.errors import ArgumentError
from sfumato.text import rounded_down, rounded_up

if TYPE_CHECKING:
    from sfumato.mechanisms import Plan

MOST_PERIODS = 1 << 14


@dataclass(frozen=True)
class Periods:
    """Releases of the same kind over several periods.

    Attributes:
        epsilon: Of the release of one period.
        delta: Of the release of one period, and at which those of all are told.
        mu: The same in Gaussian DP.
        periods: How many there are.
        stays: In how many of them one person is, at the most.

    Example:
        >>> yearly = Periods(1.0, 1e-6, 0.2367, periods=10, stays=10)
        >>> f"{yearly.total_mu:.3f} {yearly.total_epsilon:.2f} {yearly.epsilon_each:.2f}"
        '0.749 3.52 0.29'
        >>> yearly.tree_is_better
        False
    """

    epsilon: float
    delta: float
    mu: float
    periods: int
    stays: int

    @classmethod
    def of(cls, plan: Plan, periods: int, stays: int | None = None) -> Periods:
        """What a plan costs that is carried out once a period.

        Args:
            plan: Of the release of one period.
            periods: How many there will be.
            stays: In how many of them one person is, at the most; in all of them, where it is not said.

        Returns:
            The cost.

        Raises:
            ArgumentError: A number is none, or the plan has noisy projections of every row.
        """
        if plan.slices:
            raise ArgumentError("periods are planned for Gaussian queries; noisy projections of every row have no mu")
        _check_number("periods", periods, MOST_PERIODS)
        _check_number("stays", periods if stays is None else stays, periods)
        return cls(plan.epsilon, plan.public.delta_left, plan.mu, periods, periods if stays is None else stays)

    @property
    def total_mu(self) -> float:
        """What a person pays over all periods: squares add up."""
        return math.sqrt(self.stays) * self.mu

    @cached_property
    def total_epsilon(self) -> float:
        """The same as epsilon, at the delta of one release."""
        return epsilon_of(self.total_mu, self.delta)

    @cached_property
    def epsilon_each(self) -> float:
        """What each period may have, so that all of them together are what one release was to be."""
        return epsilon_of(self.mu / math.sqrt(self.stays), self.delta)

    @property
    def tree_variance(self) -> int:
        """How many times the noise of a plain release, in variance, each release of a tree has that costs the same."""
        return sum(min(self.stays, 1 << level) for level in range(self.periods.bit_length()))

    @cached_property
    def tree_total(self) -> float:
        """The variance of a total from the tree, on average over all runs of periods, in that of a plain release."""
        return self.tree_variance * mean_cover(self.periods)

    @property
    def plain_total(self) -> float:
        """The same from plain releases: the mean length of a run."""
        return (self.periods + 2) / 3

    @property
    def tree_is_better(self) -> bool:
        """Whether totals over runs of periods have less noise from a tree of the same cost."""
        return self.tree_total < self.plain_total

    @cached_property
    def better_from(self) -> int | None:
        """The power of two from which on as many periods are better as a tree; None where all stay, or none is found.

        It is for people who stay as long as these, however many periods there are.
        """
        if self.stays == self.periods > 1:
            return None
        counts = (1 << level for level in range(1, MOST_PERIODS.bit_length()))
        longer = (replace(self, periods=count) for count in counts if count >= self.stays)
        return next((each.periods for each in longer if each.tree_is_better), None)

    def data(self) -> dict[str, Any]:
        """The numbers, for JSON.

        Returns:
            Plain values.
        """
        return {
            "periods": self.periods,
            "stays": self.stays,
            "one_period": {"epsilon": self.epsilon, "mu": self.mu},
            "all_periods": {"epsilon": self.total_epsilon, "delta": self.delta, "mu": self.total_mu},
            "epsilon_each_for_the_same_total": self.epsilon_each,
            "tree": {
                "variance_of_a_release": self.tree_variance,
                "variance_of_a_total": self.tree_total,
                "plain_variance_of_a_total": self.plain_total,
                "is_better": self.tree_is_better,
                "better_from": self.better_from,
            },
        }

    def lines(self) -> list[str]:
        """The plan in words.

        Returns:
            A few lines.
        """
        together = f"epsilon {rounded_up(self.total_epsilon)} at delta {self.delta:g}"
        pays = (
            f"{self.periods} periods, a release at epsilon {self.epsilon:g} each: a person in {self.stays} of them "
            f"pays {together} (mu {rounded_up(self.total_mu, 5)})."
        )
        keeps = (
            f"To pay epsilon {self.epsilon:g} over all of them, a period may have epsilon "
            f"{rounded_down(self.epsilon_each)}; intervals are then about {math.sqrt(self.stays):.3g} times as wide."
        )
        most = "one period" if self.stays == 1 else f"{self.stays} periods"
        vouched = (
            f"Rows do not tell who is new: that nobody is in more than {most} is what you enforce (by a unit column "
            "and a limit) or vouch for."
        )
        return [pays, *([keeps] if self.stays > 1 else []), self._tree_line(), vouched]

    def _tree_line(self) -> str:
        tree, plain = self.tree_total, self.plain_total
        if self.tree_is_better:
            return (
                f"For totals over several periods release a tree of them: at the same cost it has "
                f"{math.sqrt(tree / plain):.2g} times the noise of single releases added up; a single period has "
                f"{math.sqrt(self.tree_variance):.2g} times."
            )
        later = "" if self.better_from is None else f"; it pays from about {self.better_from} periods on"
        return (
            f"Release every period by itself and add them up: at the same cost a tree of periods has "
            f"{math.sqrt(tree / plain):.2g} times their noise on totals{later}."
        )


def mean_cover(periods: int) -> float:
    """How few blocks of 1, 2, 4, ... periods, each in its place, cover a run of periods, on average over all runs.

    A block is used by the runs that hold it and not the block that it is a half of.

    >>> mean_cover(2), round(mean_cover(128), 3)
    (1.0, 5.085)
    """

    def runs_with(level: int) -> int:
        """Over all blocks of a level, the runs that hold each: those that begin before it and end after it."""
        size = 1 << level
        return sum((start + 1) * (periods - start - size + 1) for start in range(0, periods - size + 1, size))

    levels = [runs_with(level) for level in range(periods.bit_length())]
    both_halves = 2 * sum(levels[1:])
    return (sum(levels) - both_halves) / (periods * (periods + 1) / 2)


def _check_number(what: str, number: int, most: int) -> None:
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
        raise ArgumentError(f"{what} must be a whole number from 1 to {most}, not {number!r}")
