"""What noisy projections of every row cost: a law, not one mu.

Rows are projected by a random matrix U that is published with the answer. Given U, replacing a row by one at distance D
moves the answer by D sqrt(S), S = |u^T U|^2 for the unit vector u between the two: a Gaussian mechanism with
mu = D sqrt(S) / sigma. U is drawn after u is fixed and has the same law whatever the table, so with other Gaussian
queries of mu_0 together (Greenewald et al. 2024, arXiv 2410.19941, give a bound; this is exact)

    delta(epsilon) = E_S[ delta_GDP(epsilon; sqrt(mu_0^2 + D^2 S / sigma^2)) ].

The law of S does not depend on u: U has entries N(0, 1/d), so it is chi-square with m' degrees of freedom, over d.
A release takes slices once.

A unit of m rows, each of which moves by at most D, has T at most (m D^2 / sigma^2) times the largest of m such S,
whatever the directions: P(S > s) is then at most m times that of one.

`expected_delta` takes the expectation, on the safe side: docs/proofs/slicing.md, section 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sfumato.errors import insist
from sfumato.gaussian_delta import expected_delta

MOST = 1 << 20  # coordinates, projections, rows of a unit


@dataclass(frozen=True)
class Slices:
    """Noisy projections of every row: all that has to be known to say what they cost.

    Attributes:
        dim: d, the numbers in a row.
        projections: m', the columns of U.
        distance: how far one unit's rows can move together, in L2.
        sigma: the noise on every projection.
        rounding: U as published is rounded: |u^T published U| <= |u^T U| + rounding for a unit vector u.
        rows: of one unit that may move.

    Raises:
        ArgumentError: where one of them is out of its range.

    Example:
        >>> Slices(dim=100, projections=100, distance=1.0, sigma=3.85)
        Slices(dim=100, projections=100, distance=1.0, sigma=3.85, rounding=0.0, rows=1)
    """

    dim: int
    projections: int
    distance: float
    sigma: float
    rounding: float = 0.0
    rows: int = 1

    def __post_init__(self) -> None:
        for name in ("dim", "projections", "rows"):
            _check(name, getattr(self, name), int, 1, MOST)
        for name in ("distance", "sigma"):
            _check(name, getattr(self, name), (int, float), 1e-30, 1e30)
        _check("rounding", self.rounding, (int, float), 0.0, 1.0)

    @property
    def slack(self) -> float:
        """eta: sqrt(S) + rounding <= (1 + eta) sqrt(S), or else S < (rounding / eta)^2. It makes both terms small."""
        return math.pow(self.rounding * math.sqrt(self.dim / self.projections), 2 / 3)

    @property
    def weight(self) -> float:
        """T is at most weight * S + shift."""
        return ((1.0 + self.slack) * self.distance / self.sigma) ** 2

    @property
    def shift(self) -> float:
        """What rounding adds to T at most."""
        if self.rounding == 0.0:
            return 0.0
        return (self.distance / self.sigma * self.rounding * (1.0 + 1.0 / self.slack)) ** 2


def sliced_delta(epsilon: float, mu: float, slices: Slices) -> float:
    """delta(epsilon) of these slices with Gaussian queries of `mu` together, never below the true value."""
    base, scale = mu * mu + slices.shift, slices.weight / slices.dim
    return expected_delta(epsilon, base, scale, slices.projections, slices.rows)


def _check(name: str, value: Any, kinds: Any, least: float, most: float) -> None:
    fits = isinstance(value, kinds) and not isinstance(value, bool) and least <= value <= most
    insist(fits, f"{name} must be a {'whole ' if kinds is int else ''}number from {least} to {most}, not {value!r}")


KINDS = (Slices,)  # that a question may be made of
