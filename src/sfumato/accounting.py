"""What releases cost, and how much noise they need: the arithmetic for planning and reporting.

`private/accounting.py` holds what a release is charged and checked by; this module adds what no promise rests on while
rows are read: epsilon from mu, sums over several releases, and the noise of slices. Every result is rounded to the safe
side: delta, epsilon, sigma and sums up, mu and room down.

Example:
    >>> f"{calibrate(1.0, 1e-5):.5f}"
    '0.26805'
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from numbers import Real

from scipy.special import ndtri

from sfumato.errors import ArgumentError
from sfumato.gaussian_delta import delta_left
from sfumato.private.accounting import (
    LARGEST_MU,
    MOST_COORDINATES,
    Adjacency,
    first_safe,
    joint_delta,
)
from sfumato.private.noise import DISTANCE_PER_COORDINATE
from sfumato.private.slicing.law import Slices

__all__ = [
    "Adjacency",
    "Slices",
    "add_up",
    "calibrate",
    "delta_of",
    "epsilon_of",
    "mu_of",
    "room_for",
    "slicing_sigma",
    "sum_up",
]

METHODS = ("exact", "theorem1")
"""How the noise of slices may be calibrated."""

_ROOT_BITS = 128  # binary digits, at least, to which the square root of a sum of squares is taken
_ROUNDINGS = 1e-12  # outweighs the roundings of a closed formula


def delta_of(epsilon: float, mu: float, slices: Sequence[Slices] = ()) -> float:
    """The smallest delta for which mu-GDP (and slices beside it) implies (epsilon, delta)-DP, rounded up.

    Args:
        epsilon: above 0.
        mu: of all Gaussian queries together.
        slices: noisy projections of every row beside them, fixed in advance; a release takes them once.

    Returns:
        Delta, never below the true value.

    Raises:
        ArgumentError: where epsilon or mu is out of its range, or there are several slices.

    Example:
        >>> f"{delta_of(1.0, 0.26805):.2e}"
        '1.00e-05'
    """
    check_epsilon(epsilon)
    check_mu(mu)
    return joint_delta(epsilon, mu, slices)


def epsilon_of(mu: float, delta: float, distance: float = 0.0, slices: Sequence[Slices] = ()) -> float:
    """The smallest epsilon for which mu-GDP implies (epsilon, delta)-DP, rounded up.

    With a distance, a larger epsilon is not always easier to keep, because (1 + e^epsilon) distance grows with it: the
    search ends where the sum of both parts of delta is least.

    Args:
        mu: of all Gaussian queries together.
        delta: above 0 and below 1.
        distance: how far, in total variation, the law that is really drawn from may be from the one that is mu-GDP.
        slices: noisy projections of every row beside the Gaussian queries, fixed in advance.

    Returns:
        Epsilon; infinite where no epsilon keeps this delta.

    Raises:
        ArgumentError: where mu, delta or distance is out of its range.

    Example:
        >>> f"{epsilon_of(0.26805, 1e-5):.4f} {epsilon_of(0.26805, 1e-5, 1e-6):.4f} {epsilon_of(0.26805, 1e-5, 1e-5)}"
        '1.0000 1.0313 inf'
    """
    check_mu(mu)
    check_delta(delta)
    check_distance(distance)

    def exceeds(epsilon: float) -> bool:
        left = delta_left(epsilon, delta, distance)
        return left <= 0.0 or joint_delta(epsilon, mu, slices) > left

    if not exceeds(0.0):
        return 0.0
    if distance == 0.0:
        return turning_point(exceeds)[1]
    # d/d epsilon of the sum is e^epsilon (distance - Phi(-epsilon / mu - mu / 2)): it falls, then it rises.
    least = mu * (-float(ndtri(distance)) - mu / 2)
    if slices:  # where the distance takes half of delta: any end is safe, and a distance that matters is rare
        least = math.log(delta) - math.log(2.0 * distance)
    if not 0.0 < least < math.inf or exceeds(least):
        return math.inf
    return bisect(exceeds, 0.0, least)[1]


def slicing_sigma(
    epsilon: float,
    delta: float,
    *,
    dim: int,
    projections: int,
    distance: float = 1.0,
    method: str = "exact",
    mu: float = 0.0,
    rounding: float = 0.0,
    rows: int = 1,
) -> float:
    """The smallest noise with which projections of every row are (epsilon, delta)-DP, rounded up.

    Rows of `dim` numbers, one of them replaced by another, are projected by a fresh matrix U with entries N(0, 1/dim),
    which may be published. A U that is not drawn afresh, after the rows are fixed, needs
    distance * sqrt(largest eigenvalue of U U^T) / mu_of(epsilon, delta) instead.

    Args:
        epsilon: above 0.
        delta: above 0 and below 1.
        dim: numbers in a row.
        projections: columns of U.
        distance: how far a replaced row (all rows of a unit together) may move, in L2.
        method: "exact", or "theorem1" for the bound of Greenewald et al. (2024), which asks for more: for one row a
            unit, composed with `mu` in Renyi DP.
        mu: of the Gaussian queries that are asked beside it, together.
        rounding: how much longer than u^T U its published form may be, for a unit vector u.
        rows: of one unit of privacy.

    Returns:
        The standard deviation of the noise on every projection.

    Raises:
        ArgumentError: where an argument is out of its range, or `mu` leaves nothing to the slices.

    Example:
        >>> [round(slicing_sigma(1.0, 1e-5, dim=100, projections=100, method=m), 2) for m in ("exact", "theorem1")]
        [3.84, 5.38]
    """
    check_epsilon(epsilon)
    check_delta(delta)
    check_mu(mu)
    known = Slices(dim, projections, distance, 1.0, rounding, rows)  # refuses what is none
    check_method(method, rows)
    left = delta_left(epsilon, delta, MOST_COORDINATES * DISTANCE_PER_COORDINATE)
    if left <= 0.0 or not _leaves_room(method, epsilon, left, mu):
        by = "" if method == "exact" else f" by {method}"
        raise ArgumentError(
            f"mu {mu:g} beside the slices leaves nothing of epsilon = {epsilon:g}, delta = {delta:g}{by}"
        )

    def exceeds(sigma: float) -> bool:
        slices = replace(known, sigma=sigma)
        if method == "theorem1":
            return theorem_epsilon(left, mu, slices) > epsilon
        return joint_delta(epsilon, mu, [slices]) > left

    return turning_point(exceeds)[1]


def check_method(method: str, rows: int) -> None:
    """Refuse a calibration of slices that is none, or not proved for these."""
    if method not in METHODS:
        raise ArgumentError(f"slices are calibrated by 'exact' or 'theorem1', not {method!r}")
    if method == "theorem1" and rows != 1:
        raise ArgumentError("theorem1 is proved for one row a unit; take 'exact'")


def theorem_epsilon(delta: float, mu: float, slices: Slices) -> float:
    """Theorem 1 of Greenewald et al. for a Gaussian U, beside Gaussian queries of `mu`, which add alpha mu^2 / 2.

    With w = (D / sigma)^2 and gamma = (alpha^2 - alpha) w below d, epsilon = m' alpha w / (2 (d - gamma)) +
    alpha mu^2 / 2 + ln(1 / delta) / (alpha - 1), at its least over alpha. A rounded U has T <= w S + shift.
    """
    weight, dim = slices.weight, slices.dim
    beside = mu * mu + slices.shift
    most = (math.sqrt(1.0 + 4.0 * dim / weight) - 1.0) / 2.0  # alpha - 1 where gamma = d

    def epsilon(log_share: float) -> float:
        more = most * math.exp(log_share)
        left = dim - more * (more + 1.0) * weight
        if left <= 0.0 or more <= 0.0:
            return math.inf
        square = slices.projections * weight / left + beside  # alpha times half of it is the Renyi divergence
        return (more + 1.0) / 2.0 * square - math.log(delta) / more

    low, high = math.log(1e-12), 0.0
    for _ in range(80):  # it falls, then rises; and any alpha would be valid
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, second) if epsilon(first) <= epsilon(second) else (first, high)
    return epsilon(low) * (1.0 + _ROUNDINGS)


def _leaves_room(method: str, epsilon: float, delta: float, mu: float) -> bool:
    """Whether Gaussian queries of `mu` leave anything to slices."""
    if method == "exact":
        return joint_delta(epsilon, mu, ()) < delta
    # alpha mu^2 / 2 + ln(1 / delta) / (alpha - 1) at its least; a hair of epsilon is left, or sigma has no end.
    return mu * (mu / 2 + math.sqrt(-2.0 * math.log(delta))) < epsilon * (1.0 - 1e-9)


def add_up(mus: Iterable[float], squares: Iterable[float] = ()) -> float:
    """The mu of several releases together, which may depend on each other: the root of the sum of squares, rounded up.

    The sum is exact, so that neither many small releases nor their order can make the total too small.

    Args:
        mus: of the releases.
        squares: what else counts, as mu^2: the bounds t of slices in a ledger.

    Returns:
        The smallest float whose square is no less than the exact sum.

    Example:
        >>> add_up([]), add_up([0.3]), add_up([3.0, 4.0]), add_up([3.0], [16.0])
        (0.0, 0.3, 5.0, 5.0)
    """
    return root_up(sum_of_squares(mus, squares))


def root_up(square: Fraction) -> float:
    """The square root, rounded up."""
    root = _root(square)[1]
    return first_safe(float(root), lambda value: value >= root, math.inf)


def sum_up(values: Iterable[float]) -> float:
    """The exact sum, rounded up.

    Args:
        values: any floats.

    Returns:
        The smallest float that is no less than their exact sum.

    Example:
        >>> sum_up([0.1] * 10) > 1.0
        True
    """
    exact = sum(map(Fraction, values), Fraction(0))
    return first_safe(float(exact), lambda value: value >= exact, math.inf)


def room_for(total: float, mus: Iterable[float], squares: Iterable[float] = ()) -> float:
    """The largest mu that can still be added so that all together are at most `total`, rounded down.

    Args:
        total: the mu that all may have together.
        mus: of the releases so far.
        squares: what else counts, as in `add_up`.

    Returns:
        The largest mu that fits; 0 where none does.

    Example:
        >>> room_for(5.0, [3.0]), room_for(5.0, [3.0, 4.0]), room_for(5.0, [6.0]), room_for(5.0, [], [16.0])
        (4.0, 0.0, 0.0, 3.0)
    """
    square = Fraction(total) ** 2 - sum_of_squares(mus, squares)
    if square <= 0:
        return 0.0
    root = _root(square)[0]
    return first_safe(float(root), lambda value: value <= root, 0.0)


def sum_of_squares(mus: Iterable[float], squares: Iterable[float] = ()) -> Fraction:
    """The exact sum."""
    return sum((Fraction(mu) ** 2 for mu in mus), Fraction(0)) + sum(map(Fraction, squares), Fraction(0))


def _root(square: Fraction) -> tuple[Fraction, Fraction]:
    """Two fractions that the square root lies between, the same one twice where it is exact."""
    # A square of floats has a power of two below the line: over step^2 it is whole, with 2 _ROOT_BITS digits or more.
    step = Fraction(1, 1 << ((square.denominator.bit_length() + 1) // 2 + _ROOT_BITS))
    below = math.isqrt(int(square / step**2)) * step
    return below, below if below**2 == square else below + step


def mu_of(epsilon: float, delta: float, distance: float = 0.0) -> float:
    """The largest mu for which mu-GDP implies (epsilon, delta)-DP, rounded down; 0 where there is none.

    If the ideal release is (epsilon, delta')-DP, the real one is (epsilon, delta' + (1 + e^epsilon) distance)-DP.

    Args:
        epsilon: above 0.
        delta: above 0 and below 1.
        distance: how far, in total variation, the law that is really drawn from may be from the one that is mu-GDP.

    Returns:
        Mu, never above the true value.

    Raises:
        ArgumentError: where an argument is out of its range.

    Example:
        >>> f"{mu_of(1.0, 1e-5):.5f} {mu_of(1.0, 1e-6):.5f} {mu_of(1.0, 1e-5, 1e-6):.5f}"
        '0.26805 0.23670 0.26082'
    """
    check_epsilon(epsilon)
    check_delta(delta)
    check_distance(distance)
    left = delta_left(epsilon, delta, distance)
    return turning_point(lambda mu: joint_delta(epsilon, mu, ()) <= left)[0] if left > 0.0 else 0.0


def calibrate(epsilon: float, delta: float) -> float:
    """The mu that a release may spend to be (epsilon, delta)-DP with the sampler that really draws its noise.

    The sampler's law is within DISTANCE_PER_COORDINATE of the ideal Gaussian in total variation, for every noisy number
    of all rounds (see `mu_of`). How many a release will have is not known before its rounds are planned, so a cap is
    taken; its slack is below 1e-200 for any epsilon up to 100.

    Args:
        epsilon: above 0.
        delta: above 0 and below 1.

    Returns:
        Mu, never above the true value.

    Raises:
        ArgumentError: where an argument is out of its range, or the sampler is too coarse for both.

    Example:
        >>> calibrate(1.0, 1e-5) == mu_of(1.0, math.nextafter(1e-5, 0.0))
        True
    """
    mu = mu_of(epsilon, delta, MOST_COORDINATES * DISTANCE_PER_COORDINATE)
    if mu == 0.0:
        raise ArgumentError(
            f"epsilon = {epsilon:g} with delta = {delta:g} is finer than the noise is drawn;"
            f" lower epsilon or raise delta"
        )
    return mu


def turning_point(holds: Callable[[float], bool]) -> tuple[float, float]:
    """Two neighbouring floats, at the first of which the condition holds and at the second not."""
    low = high = 1.0
    while not holds(low):
        low /= 2
    while holds(high):
        high *= 2
    return bisect(holds, low, high)


def bisect(holds: Callable[[float], bool], low: float, high: float) -> tuple[float, float]:
    """The same between two floats, at the first of which it holds and at the second not."""
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def check_epsilon(epsilon: float) -> None:
    if not is_number(epsilon) or not 0 < epsilon < math.inf:
        raise ArgumentError(f"epsilon must be a finite number above 0, not {epsilon!r}")


def check_mu(mu: float) -> None:
    if not 0 <= mu <= LARGEST_MU:
        raise ArgumentError(f"mu must lie between 0 and {LARGEST_MU:g}, not {mu}")


def check_distance(distance: float) -> None:
    if not is_number(distance) or not 0 <= distance < 1:
        raise ArgumentError(f"distance must be at least 0 and below 1, not {distance!r}")


def check_delta(delta: float) -> None:
    if not is_number(delta) or not 0 < delta < 1:
        raise ArgumentError(f"delta must lie inside (0, 1), not {delta!r}")


def check_adjacency(adjacency: object) -> None:
    """Refuse a kind of neighbours that there is not."""
    if adjacency not in tuple(Adjacency):
        allowed = " or ".join(repr(str(each)) for each in Adjacency)
        raise ArgumentError(f"adjacency must be {allowed}, not {adjacency!r}")


def is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
