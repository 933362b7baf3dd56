"""Which tables to buy: those whose noisy distance from the model is more than their noise would add.

A model expects M_c rows in cell c of a table. The answer to a question of `Distances` is sum |n_c - M_c| with noise;
rows scatter about any model, and the pool that M_c comes from does too, so sum E|scatter| is taken off first. What is
left, D, says by how much the model is wrong: on average by the share r = D / N of each cell. Told counts with noise s,
a model that is trusted to err by so much follows them by the weight w_c = v_c / (v_c + s^2), v_c = M_c + (r M_c)^2,
and gains about sum of w_c (r M_c - s sqrt(2 / pi)) rows, over cells where that is positive. The more tables are bought
at once, the more noise: of all numbers of tables the one with the largest gain is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from sfumato.mechanisms.pairs.pair_tuning import PairTuning
from sfumato.schema.layout import FloatArray

MEAN_ABSOLUTE = np.sqrt(2.0 / np.pi)  # of a standard normal
NUMBERS = 24  # of tables that are tried, from one to all, evenly in their logarithm


@dataclass(frozen=True)
class Candidate:
    """A table that may be bought, what the model expects of it, in rows, and how wrong that is."""

    columns: tuple[int, ...]
    expected: FloatArray
    distance: float
    bought_sd: float = np.inf  # its noise, where it was bought before


def scatter(expected: FloatArray, spread: float) -> float:
    """Sum of E|n - M| over cells where counts scatter with variance M times `spread`, 1 for rows alone."""
    # |Poisson(M) - M| is about 2 M for small M, and that of a normal for large M: the smaller of both is near enough.
    wide = MEAN_ABSOLUTE * np.sqrt(expected * spread)
    return float(np.minimum(2.0 * expected, wide).sum())


def gain(candidate: Candidate, sd: float, rows: float) -> float:
    """Rows that a table of such noise would set right, about."""
    wrong = max(candidate.distance, 0.0) / rows * candidate.expected
    variance = candidate.expected + wrong**2
    better = np.maximum(wrong - MEAN_ABSOLUTE * sd, 0.0)
    return float((variance / (variance + sd**2) * better).sum())


def choose(
    candidates: Sequence[Candidate], mu_squared: float, noise: float, rows: float, tuning: PairTuning
) -> list[int]:
    """The tables to buy at once for so much; `noise` is the sensitivity of one table at mu = 1."""
    most = min(len(candidates), tuning.most_tables)
    best, chosen = -1.0, [int(np.argmax([each.distance for each in candidates]))]
    for number in np.unique(np.geomspace(1, most, NUMBERS).round().astype(int)):
        sd = noise * float(np.sqrt(number / mu_squared))
        gains = np.array([gain(c, sd, rows) if sd < tuning.again * c.bought_sd else 0.0 for c in candidates])
        top = np.argsort(-gains, kind="stable")[:number]
        if gains[top].sum() > best and gains[top[0]] > 0.0:
            best, chosen = float(gains[top].sum()), [int(i) for i in top if gains[i] > 0.0]
    return chosen


def pairs_of(columns: int, most: int, ties: FloatArray) -> list[tuple[int, ...]]:
    """All pairs of features, or as many as noise allows to look at, those first that the mixture ties most."""
    pairs = list(combinations(range(columns), 2))
    if len(pairs) <= most:
        return list[tuple[int, ...]](pairs)
    strength = np.array([ties[a, b] for a, b in pairs])
    return [pairs[i] for i in np.sort(np.argsort(-strength, kind="stable")[:most])]


def joint_of(sizes: Sequence[int], rows: float, tuning: PairTuning, *, labelled: bool) -> tuple[int, ...] | None:
    """The table of the columns with the fewest levels, as many as leave its cells enough rows on average: what no pair
    says, such as a parity. None where that is a pair or less.
    """
    features = len(sizes) - 1
    chosen = [features] if labelled else []
    cells = sizes[features] if labelled else 1
    for j in sorted(range(features), key=lambda j: sizes[j]):
        if sizes[j] < 2:
            continue
        if len(chosen) == tuning.joint_columns or cells * sizes[j] * tuning.joint_rows > rows:
            break
        chosen.append(j)
        cells *= sizes[j]
    return tuple(sorted(chosen)) if len(chosen) - labelled > 2 else None
