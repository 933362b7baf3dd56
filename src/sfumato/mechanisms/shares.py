"""Shares of a squared budget that make the loss least."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.schema.layout import FloatArray

LEAST_SHARE = 0.01  # of a look, for each of its parts
STEPS = 30


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
    for _ in range(STEPS):
        slopes = (1.0 / (costs * (shares / costs + 1.0 / losses) ** 2)).sum(axis=0)
        shares = shares * np.sqrt(slopes)
        shares = np.maximum(shares / shares.sum(), LEAST_SHARE)
    return np.asarray(shares / shares.sum())
