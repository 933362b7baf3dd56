"""What a release lets the best attacker know about one person, in words that people decide by.

The attacker knows every other row, all noisy answers and the mechanism, and asks whether one person's rows are in the
table (under replace-one or label adjacency: which of two versions of them is). A release that is mu-GDP is no easier to
tell from its neighbour than N(0, 1) is from N(mu, 1) (Dong, Roth, Su 2019, arXiv 1905.02383), so

    true positives at a false alarms   Phi(Phi^-1(a) + mu)
    advantage                          the largest difference of both, 2 Phi(mu / 2) - 1

and a belief p becomes p / (p + (1 - p) e^-L) with L ~ N(mu^2 / 2, mu^2) where the person is in the table; L exceeds
mu^2 / 2 + mu Phi^-1(1 - delta) with probability delta. (That is more than epsilon: of an (epsilon, delta)-DP release L
may exceed epsilon with a probability of more than delta.) Noisy projections of every row beside the queries have no
such law: what (epsilon, delta) alone allows is told instead, which is more. There L exceeds epsilon + log 2 with
probability 2 delta at the most, because delta is at least (1 - e^-t) P(L > epsilon + t).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from sfumato.errors import ArgumentError

if TYPE_CHECKING:
    from sfumato.mechanisms import Plan

PRIORS = (0.01, 0.1, 0.5)
FALSE_ALARMS = 0.01
QUADRATURE = 64  # points of the mean over a Gaussian


@dataclass(frozen=True)
class Risk:
    """The most that a release tells an attacker about one person.

    Attributes:
        epsilon: Of the release.
        delta: Of the release.
        mu: Of its Gaussian queries; None where noisy projections of every row are released beside them.

    Example:
        >>> risk = Risk(1.0, 1e-6, 0.2367)
        >>> f"{risk.advantage:.3f} {risk.true_positives(0.01):.3f}"
        '0.094 0.018'
        >>> f"{risk.belief(0.5):.3f} {risk.largest_belief(0.5):.3f}"
        '0.507 0.760'
    """

    epsilon: float
    delta: float
    mu: float | None

    @classmethod
    def of(cls, plan: Plan) -> Risk:
        """The risk of what a plan would release.

        Args:
            plan: Any plan.

        Returns:
            Its risk.
        """
        return cls(plan.epsilon, plan.delta, None if plan.slices else plan.mu)

    @property
    def advantage(self) -> float:
        """By how much the attacker's true positives exceed the false alarms at the most: 0 is guessing, 1 knowing."""
        if self.mu is None:
            return (math.expm1(self.epsilon) + 2.0 * self.delta) / (math.exp(self.epsilon) + 1.0)
        return float(2.0 * ndtr(self.mu / 2.0) - 1.0)

    def true_positives(self, false_alarms: float = FALSE_ALARMS) -> float:
        """How many of those in the table the attacker finds, who wrongly accuses this share of the others.

        Args:
            false_alarms: Between 0 and 1.

        Returns:
            The share at the most.

        Raises:
            ArgumentError: The share is none.
        """
        check_share("false alarms", false_alarms)
        if self.mu is None:
            near = math.exp(self.epsilon) * false_alarms + self.delta
            far = 1.0 - math.exp(-self.epsilon) * (1.0 - self.delta - false_alarms)
            return min(near, far, 1.0)
        return float(ndtr(ndtri(false_alarms) + self.mu))

    def belief(self, prior: float) -> float | None:
        """What an attacker comes to believe of a person who is in the table, on average.

        Args:
            prior: What was believed before, between 0 and 1.

        Returns:
            The mean; None where there is no Gaussian law.

        Raises:
            ArgumentError: The prior is none.
        """
        check_share("a prior", prior)
        if self.mu is None:
            return None
        points, weights = np.polynomial.hermite_e.hermegauss(QUADRATURE)
        evidence = self.mu**2 / 2.0 + self.mu * points
        return float(weights @ expit(logit(prior) + evidence) / weights.sum())

    def largest_belief(self, prior: float) -> float:
        """What an attacker comes to believe at the most, but with probability delta (2 delta without a Gaussian law).

        Args:
            prior: What was believed before, between 0 and 1.

        Returns:
            The bound.

        Raises:
            ArgumentError: The prior is none.
        """
        check_share("a prior", prior)
        if self.mu is None:
            return float(expit(logit(prior) + self.epsilon + math.log(2.0)))
        return float(expit(logit(prior) + self.mu**2 / 2.0 - self.mu * ndtri(self.delta)))


def check_share(what: str, share: float) -> None:
    """Refuse what does not lie between 0 and 1."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0.0 < share < 1.0:
        raise ArgumentError(f"{what} must lie between 0 and 1, not {share!r}")
