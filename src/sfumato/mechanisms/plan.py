"""How a budget is divided before any row is seen: the closed form that minimises expected KL divergence.

A release whose parts i have noise of standard deviation proportional to 1 / mu_i loses, near the truth,
an expected KL divergence sum of c_i / mu_i^2. Under sum of mu_i^2 = mu^2 that is least at
mu_i^2 = mu^2 sqrt(c_i) / sum of sqrt(c_j), where it is (sum of sqrt(c_i))^2 / mu^2.
docs/proofs/mixture.md derives the costs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.bins import FloatArray, Layout
from sfumato.errors import ArgumentError
from sfumato.private.accounting import Adjacency

DEFAULT_ROWS = 10_000  # a public guess, where the user makes none
MOST_ROWS = 1 << 60
LOG_SLOPE = 10.0  # how much a column's log-density is taken to change over its range
HIDDEN_CELLS = 4.0  # how many times the second-order cost of a histogram its hidden cells add up to
AFFINE_HISTOGRAM_SHARE = 0.25  # an affine model's histograms only find centres and scales
LOOKS = 4  # at the moments of an affine model
LEAST_SHARE = 0.01  # of a look, for each of its parts
HALVINGS = 100
PILOT_SHARE = 1.0 / 3.0  # of the moments' budget, for the round that finds their shape


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


@dataclass(frozen=True)
class Round:
    """One question: its name, its part of the squared budget, and what it is for."""

    name: str
    share: float
    mu: float
    purpose: str


@dataclass(frozen=True)
class Plan:
    """What a fit will ask, and the loss to expect: a public function of its arguments."""

    epsilon: float
    delta: float
    mu: float
    adjacency: Adjacency
    rows: int
    classes: int
    columns: int
    cells: int
    encoding: str
    rounds: tuple[Round, ...]
    column_shares: tuple[float, ...]
    moment_shares: tuple[float, float, float]
    cell_sd: float
    expected_kl: dict[str, float]

    @property
    def histogram_share(self) -> float:
        return self.rounds[0].share


def make_plan(
    layout: Layout,
    *,
    epsilon: float,
    delta: float,
    mu: float,
    adjacency: Adjacency,
    rows: int | None,
    unit_rows: int = 1,
    encoding: str = "scores",
) -> Plan:
    """Divide the budget between histograms and moments from public facts alone."""
    guess = DEFAULT_ROWS if rows is None else rows
    if isinstance(guess, bool) or not isinstance(guess, int) or not 1 <= guess <= MOST_ROWS:
        raise ArgumentError(f"rows must be a whole number above 0, a public guess at the number of rows, not {rows!r}")
    classes, columns = layout.classes, len(layout.names)
    per_class = np.full(classes, guess / classes)
    resolutions = effective_bins(layout.sizes, guess / classes, mu / math.sqrt(2.0))
    histogram = marginal_cost(resolutions, guess / classes, mu / math.sqrt(2.0))
    moments = moment_costs(per_class, columns, radius(columns))
    parts = [histogram, moments.count, moments.mean, moments.covariance]
    shares = split(parts)
    if encoding == "affine":
        shares = np.append(AFFINE_HISTOGRAM_SHARE, (1.0 - AFFINE_HISTOGRAM_SHARE) * split(parts[1:]))
    # A replacement or a changed label moves every query of this mechanism by sqrt(2), a unit by its rows.
    reach = (1.0 if adjacency is Adjacency.ADD_REMOVE else 2.0) * unit_rows**2
    names = ["marginals", "class weights", "means", "covariances"]
    loss = {name: float(reach * cost / (share * mu**2)) for name, cost, share in zip(names, parts, shares, strict=True)}
    column_shares = split(resolutions**2)
    share = float(shares[0])
    return Plan(
        epsilon=epsilon,
        delta=delta,
        mu=mu,
        adjacency=adjacency,
        rows=guess,
        classes=classes,
        columns=columns,
        cells=classes * sum(layout.sizes),
        encoding=encoding,
        rounds=_rounds(mu, share, encoding),
        column_shares=tuple(float(s) for s in column_shares),
        moment_shares=moments.shares,
        cell_sd=math.sqrt(reach / share / float(column_shares.max())) / mu,
        expected_kl=loss,
    )


def split(costs: Sequence[float] | FloatArray) -> FloatArray:
    """Shares of a squared budget that minimise sum of costs[i] / share[i].

    >>> split([1.0, 4.0, 1.0]).tolist()
    [0.25, 0.5, 0.25]
    """
    roots = np.sqrt(np.asarray(costs, dtype=np.float64))
    return np.asarray(roots / roots.sum())


def fill(costs: FloatArray, losses: FloatArray) -> FloatArray:
    """Shares of a squared budget where part i costs costs[i] / share[i], or losses[i] if nothing is spent on it.

    Both together make 1 / (share / cost + 1 / loss); its slope is the same for all parts that get anything where
    share = sqrt(cost) level - cost / loss. Every part gets at least LEAST_SHARE.
    """
    low, high = 0.0, (1.0 + (costs / losses).sum()) / np.sqrt(costs).min()
    for _ in range(HALVINGS):
        level = (low + high) / 2.0
        shares = np.maximum(np.sqrt(costs) * level - costs / losses, LEAST_SHARE)
        low, high = (low, level) if shares.sum() > 1.0 else (level, high)
    return np.asarray(shares / shares.sum())


def radius(dim: float) -> float:
    """Where to clip: two standard deviations above the mean of a chi-square with `dim` degrees of freedom."""
    return math.sqrt(dim + 2.0 * math.sqrt(2.0 * dim))


def effective_bins(sizes: Sequence[int], rows: float, mu: float) -> FloatArray:
    """How many bins of each column noise lets through.

    S equally full bins cost S^2 sigma^2 / (2 rows^2) in noise, and smoothing a log-slope c over them
    c^2 / (24 S^2) in bias: S^4 = c^2 rows^2 / (12 sigma^2), with sigma = sqrt(columns) / mu.
    """
    sigma = math.sqrt(len(sizes)) / mu
    finest = max(2.0, math.sqrt(LOG_SLOPE * rows / (sigma * math.sqrt(12.0))))
    return np.minimum(np.asarray(sizes, dtype=np.float64), finest)


def marginal_cost(resolutions: FloatArray, rows: float, mu: float) -> float:
    """Expected KL at mu = 1 of all columns' histograms in a class of so many rows.

    A cell of probability p costs sigma^2 / (2 rows^2 p). Over cell probabilities uniform on the simplex
    and above the noise floor sigma / rows, the mean of the sum of 1 / p is S^2 log(rows / (S sigma)).
    Cells below the floor, which no second-order formula sees, are allowed for by the factor HIDDEN_CELLS.
    """
    sigma = math.sqrt(len(resolutions)) / mu
    spread = np.log(np.maximum(rows / (resolutions * sigma), math.e))
    return float(HIDDEN_CELLS * 0.5 * (resolutions * np.sqrt(spread)).sum() ** 2 / rows**2)


def moment_costs(counts: FloatArray, dim: int, clip: float) -> MomentCosts:
    """Expected KL at mu = 1 of class counts, means and covariances, in whitened and centred units."""
    share = counts / counts.sum()
    per_class = float((share / counts**2).sum())
    return MomentCosts(
        count=0.5 * float((1.0 / share).sum() - len(share)) / counts.sum() ** 2 + 0.25 * dim * per_class,
        mean=0.5 * dim * clip**2 * per_class,
        covariance=0.25 * dim * (dim + 1) / 2.0 * clip**4 * per_class,
    )


def _rounds(mu: float, histogram_share: float, encoding: str) -> tuple[Round, ...]:
    rest = 1.0 - histogram_share
    if encoding == "affine":
        names = ["histograms"] + [f"moments {i + 1}" for i in range(LOOKS)]
        return tuple(Round(name, share, mu * math.sqrt(share), "") for name, share in zip(names, [histogram_share] + [rest / LOOKS] * LOOKS))
    shares = [
        ("histograms", histogram_share, "class counts, every column's distribution, the latent scale"),
        ("moments", rest * PILOT_SHARE, "how the columns go together, a first look"),
        ("moments again", rest * (1.0 - PILOT_SHARE), "the same, in the shape that the first look found"),
    ]
    return tuple(Round(name, share, mu * math.sqrt(share), purpose) for name, share, purpose in shares)
