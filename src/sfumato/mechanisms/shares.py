"""Shares of a squared budget that make the loss least."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.bins import FloatArray

LEAST_SHARE = 0.01  # of a look, for each of its parts
HALVINGS = 60


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
