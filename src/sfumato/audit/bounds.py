"""From how often an attack errs to what the mechanism's mu and epsilon must at least be.

An attack guesses from one run which of two neighbouring tables it saw. If the mechanism is mu-GDP, then (Dong, Roth,
Su 2019) an attack with false positive rate a and false negative rate b has b >= Phi(Phi^-1(1 - a) - mu), so

    mu >= Phi^-1(1 - a) - Phi^-1(b),

and if it is (epsilon, delta)-DP (Kairouz, Oh, Viswanath 2015), epsilon >= log((1 - delta - b) / a), and likewise with
a and b exchanged. The rates are not known; each is put at its upper Clopper-Pearson limit, which makes the right sides
lower bounds that hold with the chosen confidence, whatever the distribution of the scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri

from sfumato.schema.layout import FloatArray

PILOT = 0.25  # of the runs, on which thresholds (and learned statistics) are chosen; the others measure
CANDIDATES = 400  # thresholds tried on the pilot


@dataclass(frozen=True)
class Bound:
    """What one attack shows: lower bounds, and the area under its ROC curve as a plain description."""

    mu: float
    epsilon: float
    auc: float


def rate_limit(errors: FloatArray | int, trials: int, level: float) -> FloatArray:
    """The upper Clopper-Pearson limit of an error rate: too low with probability at most `level`.

    >>> float(rate_limit(0, 100, 0.05).round(4))
    0.0295
    """
    seen = np.asarray(errors, dtype=np.float64)
    room = np.maximum(trials - seen, 1e-300)
    return np.asarray(np.where(seen >= trials, 1.0, betaincinv(seen + 1.0, room, 1.0 - level)))


def mu_bound(false_positive: FloatArray, false_negative: FloatArray) -> FloatArray:
    """The smallest mu whose trade-off curve allows an attack with these error rates."""
    with np.errstate(invalid="ignore"):  # rates of 0 and 1 together say nothing
        gap = -ndtri(false_positive) - ndtri(false_negative)
    return np.asarray(np.where(np.isnan(gap), 0.0, gap))


def epsilon_bound(false_positive: FloatArray, false_negative: FloatArray, delta: float) -> FloatArray:
    """The smallest epsilon that allows an attack with these error rates."""
    rates = np.stack([false_positive, false_negative])
    with np.errstate(divide="ignore", invalid="ignore"):
        both = np.log(np.maximum(1.0 - delta - rates[::-1], 0.0)) - np.log(rates)
    return np.asarray(np.where(np.isnan(both), 0.0, both).max(axis=0).clip(min=0.0))


def bound(without: FloatArray, with_row: FloatArray, delta: float, level: float, known: float | None = None) -> Bound:
    """Lower bounds from the scores of runs on the two tables, larger where the row is thought to be there.

    Both bounds hold together except with probability `level`. Thresholds are chosen on the first runs, which then do
    not count; where theory names the best one for mu, `known`, all runs count for that.
    """
    each = level / 4.0  # two bounds, two error rates
    pilot = round(PILOT * len(without))
    chosen = _thresholds(without[:pilot], with_row[:pilot], delta, each)
    if known is None:
        mu = mu_bound(*_limits(without[pilot:], with_row[pilot:], chosen[0], each))
    else:
        mu = mu_bound(*_limits(without, with_row, known, each))
    epsilon = epsilon_bound(*_limits(without[pilot:], with_row[pilot:], chosen[1], each), delta)
    return Bound(max(float(mu), 0.0), float(epsilon), area(without[pilot:], with_row[pilot:]))


def error_rates(without: FloatArray, with_row: FloatArray, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How often a guess "the row is there" above each threshold errs, on either table."""
    positives = 1.0 - np.searchsorted(np.sort(without), thresholds, side="right") / len(without)
    negatives = np.searchsorted(np.sort(with_row), thresholds, side="right") / len(with_row)
    return positives, negatives


def area(without: FloatArray, with_row: FloatArray) -> float:
    """The chance that a run with the row scores above one without it; ties count half."""
    ordered = np.sort(without)
    below, up_to = (np.searchsorted(ordered, with_row, side=side) for side in ("left", "right"))
    return float((below + up_to).mean() / 2.0 / len(ordered))


def largest_area(mu: float) -> float:
    """The area under the ROC curve of the best attack on a mu-GDP mechanism: Phi(mu / sqrt 2)."""
    return 0.5 * math.erfc(-mu / 2.0)


def _limits(
    without: FloatArray, with_row: FloatArray, thresholds: FloatArray | float, level: float
) -> tuple[FloatArray, FloatArray]:
    positives, negatives = error_rates(without, with_row, np.asarray(thresholds))
    return (
        rate_limit(np.rint(positives * len(without)), len(without), level),
        rate_limit(np.rint(negatives * len(with_row)), len(with_row), level),
    )


def _thresholds(without: FloatArray, with_row: FloatArray, delta: float, level: float) -> tuple[float, float]:
    """The thresholds with the largest bounds, for mu and for epsilon, on the pilot alone: limits as wide as that few
    runs make them keep the choice away from tails that look good by chance.
    """
    both = np.unique(np.concatenate([without, with_row]))
    middles = np.append((both[1:] + both[:-1]) / 2.0, both[-1])
    candidates = middles[np.unique(np.linspace(0, len(middles) - 1, CANDIDATES).round().astype(int))]
    limits = _limits(without, with_row, candidates, level)
    best = np.argmax(mu_bound(*limits)), np.argmax(epsilon_bound(*limits, delta))
    return float(candidates[best[0]]), float(candidates[best[1]])
