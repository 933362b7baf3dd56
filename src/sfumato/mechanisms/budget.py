"""How a budget is divided: the arithmetic that all mechanisms share.

A release whose parts i have noise of standard deviation proportional to 1 / mu_i loses, near the truth, an expected KL
divergence sum of c_i / mu_i^2. Under sum of mu_i^2 = mu^2 that is least at mu_i^2 = mu^2 sqrt(c_i) / sum of sqrt(c_j),
where it is (sum of sqrt(c_i))^2 / mu^2. docs/proofs/mixture.md, section 4, derives the costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.base import Round
from sfumato.private.queries.base import Answer, Query
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import NoisyRows, RowVectors, Whole
from sfumato.schema.layout import FloatArray

LEAST_SHARE = 0.01  # of a question, for each of its parts
FILL_STEPS = 30  # in which `fill` converges


@dataclass(frozen=True)
class Share:
    """A round before the budget is known: its name, its part of the squared mu, and what it is for."""

    name: str
    share: float
    purpose: str
    number: int | None = None


def repeated(name: str, count: int, share: float, purpose: str) -> tuple[Share, ...]:
    """As many rounds of one name, of `share` each. In `purpose`, {i} stands for the number of the round."""
    return tuple(Share(name, share, purpose.format(i=i), i) for i in range(1, count + 1))


def scaled(shares: Iterable[Share], factor: float) -> tuple[Share, ...]:
    """Rounds that have `factor` of the budget between them, and no longer all of it."""
    return tuple(replace(each, share=each.share * factor) for each in shares)


def as_rounds(shares: Iterable[Share], mu: float) -> tuple[Round, ...]:
    """The rounds of a plan."""
    return tuple(Round(s.name, s.share, mu * math.sqrt(s.share), s.purpose, s.number) for s in shares)


@dataclass(frozen=True)
class Reserved:
    """A curator of which a part of the budget is set aside for later rounds."""

    curator: Asker
    kept: float

    @property
    def remaining(self) -> float:
        """The squared mu that is left, less what is kept for later."""
        return max(self.curator.remaining - self.kept, 0.0)

    def total(self, name: str, query: Query, mu_squared: float) -> Answer:
        """What the curator answers."""
        return self.curator.total(name, query, mu_squared)

    def rows(self, name: str, vectors: RowVectors, projection: Whole | Slices) -> NoisyRows:
        """What the curator answers."""
        return self.curator.rows(name, vectors, projection)


def split(costs: Sequence[float] | FloatArray) -> FloatArray:
    """Shares of a squared budget that minimise sum of costs[i] / share[i].

    >>> split([1.0, 4.0, 1.0]).tolist()
    [0.25, 0.5, 0.25]
    """
    roots = np.sqrt(np.asarray(costs, dtype=np.float64))
    return np.asarray(roots / roots.sum())


def fill(costs: FloatArray, losses: FloatArray) -> FloatArray:
    """Shares that minimise the loss of all classes k where part i of each loses losses[k, i] as things stand.

    Spending on it costs costs[k, i] / share[i]; both together make 1 / (share / cost + 1 / loss), so nothing is
    wasted on what is known well or cannot be learnt. At the best shares all slopes are the same: each step multiplies
    a share by the root of its slope, which is `split` where losses are endless. No part gets less than LEAST_SHARE.

    >>> fill(np.array([[1.0, 4.0, 1.0]]), np.full((1, 3), 1e9)).round(6).tolist()
    [0.25, 0.5, 0.25]
    """
    shares = np.full(costs.shape[1], 1.0 / costs.shape[1])
    for _ in range(FILL_STEPS):
        slopes = (1.0 / (costs * (shares / costs + 1.0 / losses) ** 2)).sum(axis=0)
        shares = shares * np.sqrt(slopes)
        shares = np.maximum(shares / shares.sum(), LEAST_SHARE)
    return np.asarray(shares / shares.sum())


def radius(dim: float) -> float:
    """Where to clip: two standard deviations above the mean of a chi-square with `dim` degrees of freedom."""
    return math.sqrt(dim + 2.0 * math.sqrt(2.0 * dim))


def effective_bins(sizes: Sequence[int], rows: float, mu: float, log_slope: float) -> FloatArray:
    """How many bins of each column noise lets through, where a log-density changes by `log_slope` over its range.

    S equally full bins cost S^2 sigma^2 / (2 rows^2) in noise, and smoothing a log-slope c over them
    c^2 / (24 S^2) in bias: S^4 = c^2 rows^2 / (12 sigma^2), with sigma = sqrt(columns) / mu.
    """
    sigma = math.sqrt(len(sizes)) / mu
    finest = max(2.0, math.sqrt(log_slope * rows / (sigma * math.sqrt(12.0))))
    return np.minimum(np.asarray(sizes, dtype=np.float64), finest)


def marginal_cost(resolutions: FloatArray, rows: float, mu: float, hidden_cells: float) -> float:
    """Expected KL at mu = 1 of all columns' histograms in a class of so many rows.

    A cell of probability p costs sigma^2 / (2 rows^2 p). Over cell probabilities uniform on the simplex
    and above the noise floor sigma / rows, the mean of the sum of 1 / p is S^2 log(rows / (S sigma)).
    Cells below the floor, which no second-order formula sees, are allowed for by the factor `hidden_cells`.
    """
    sigma = math.sqrt(len(resolutions)) / mu
    spread = np.log(np.maximum(rows / (resolutions * sigma), math.e))
    return float(hidden_cells * 0.5 * (resolutions * np.sqrt(spread)).sum() ** 2 / rows**2)


@dataclass(frozen=True)
class MomentCosts:
    """Expected KL at mu = 1 from the noise on class counts, means and covariances."""

    count: float
    mean: float
    covariance: float

    @property
    def shares(self) -> tuple[float, float, float]:
        """How the three divide one budget."""
        count, mean, covariance = split([self.count, self.mean, self.covariance])
        return float(count), float(mean), float(covariance)


def moment_costs(counts: FloatArray, dim: int, clip: float) -> MomentCosts:
    """Expected KL at mu = 1 of class counts, means and covariances, in whitened and centred units."""
    share = counts / counts.sum()
    per_class = float((share / counts**2).sum())
    return MomentCosts(
        count=0.5 * float((1.0 / share).sum() - len(share)) / counts.sum() ** 2 + 0.25 * dim * per_class,
        mean=0.5 * dim * clip**2 * per_class,
        covariance=0.25 * dim * (dim + 1) / 2.0 * clip**4 * per_class,
    )
