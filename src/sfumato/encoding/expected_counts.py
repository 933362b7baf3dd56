"""What noisy counts of categories are expected to be: counts that are never negative, and of which few are large.

Taking negative counts away and the same from all others, as a projection on the simplex does, empties most values that
have fewer rows than noise: people with a rare value are then in no synthetic row. Noise says less than that. Given
noisy counts y_i = n_i + noise, the counts that are expected are E[n_i | y_i], which is above 0 whatever y_i is.

The prior is p(n) proportional to (1 + n)^-a: from no preference (a = 0) over the same weight for every order of
magnitude (a = 1) to lists of codes of which hardly any is used. Nothing about a is chosen: the sum of all counts is
known, and a is where the expected counts add up to it (empirical Bayes by moments). What the noisy counts differ from
that sum is taken off all of them alike before that, which is where their likelihood is largest given the sum.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from sfumato.schema.layout import FloatArray

COUNTS_IN_QUESTION = 64  # of an integral over counts, which spans 16 standard deviations of the noise
OUT_OF_QUESTION = 8.0  # standard deviations, beyond which a count is out of the question
STEEPEST = 60.0  # exponent of the prior: half of the counts are then below 0.01


def expected_counts(noisy: FloatArray, total: float, sd: float) -> FloatArray:
    """Counts that are expected given noisy ones, all above 0 and `total` together.

    Args:
        noisy: The noisy counts.
        total: What the counts add up to.
        sd: The standard deviation of the noise on each.

    Returns:
        The expected counts.

    >>> expected_counts(np.array([61.0, 33.0, -2.0]), 90.0, 5.0).round(1).tolist()
    [59.2, 30.1, 0.7]
    """
    likely = _Likely(noisy + (total - noisy.sum()) / len(noisy), sd)

    def excess(steepness: float) -> float:
        return float(likely.means(steepness).sum()) - total

    if excess(0.0) <= 0.0:
        found = likely.means(0.0)
    elif excess(STEEPEST) >= 0.0:
        found = likely.means(STEEPEST)
    else:
        found = likely.means(brentq(excess, 0.0, STEEPEST, xtol=1e-6))
    return found * (total / found.sum())


class _Likely:
    """Counts that come into question, evenly in log(1 + n), and how well noise explains what was seen by them."""

    def __init__(self, noisy: FloatArray, sd: float) -> None:
        low = np.log1p(np.maximum(noisy - OUT_OF_QUESTION * sd, 0.0))
        high = np.log1p(np.maximum(noisy, 0.0) + OUT_OF_QUESTION * sd)
        share = (np.arange(COUNTS_IN_QUESTION) + 0.5) / COUNTS_IN_QUESTION
        self.logs = low[:, None] + share * (high - low)[:, None]
        self.counts = np.expm1(self.logs)
        self.log_likelihood = -0.5 * ((noisy[:, None] - self.counts) / sd) ** 2

    def means(self, steepness: float) -> FloatArray:
        """The means of the counts given what was seen, under the prior of this exponent."""
        weights = self.log_likelihood + (1.0 - steepness) * self.logs  # dn = (1 + n) d log(1 + n)
        weights = np.exp(weights - weights.max(axis=1, keepdims=True))
        return np.asarray((weights * self.counts).sum(axis=1) / weights.sum(axis=1))
