"""The sliced Wasserstein distance between noisy projections, as a loss.

On a line the best transport keeps the order: W_p^p is the mean of |x - w|^p over pairs at the same quantile. With as
many real points as made ones these are the sorted points, one by one; otherwise a point is shared by those whose
quantiles it overlaps. The gradient is that of the pairs. Noise of the same sigma on both sides makes it the smoothed
distance of Rakotomamonjy and Ralaivola (2021).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

IntArray: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


def sliced_wasserstein(
    real: ArrayLike, made: ArrayLike, key: jax.Array, *, sigma: float, power: float = 2.0
) -> jax.Array:
    """The mean over slices of W_p^p: the distance to its p-th power, which is smooth where the distance is 0.

    `real` is (n, slices) and carries its noise already; `made` is (m, slices) without noise and gets fresh noise of the
    same sigma by `key`.
    """
    x, clean = jnp.asarray(real), jnp.asarray(made)
    noisy = clean + sigma * jax.random.normal(key, clean.shape, clean.dtype)
    i, j, shared = _pairs(len(x), len(clean))
    gaps = jnp.abs(jnp.sort(x, axis=0)[i] - jnp.sort(noisy, axis=0)[j])
    weights = jnp.asarray(shared / shared.sum(), dtype=gaps.dtype)
    return (weights @ gaps**power).mean()


def _pairs(n: int, m: int) -> tuple[IntArray, IntArray, IntArray]:
    """Which ranks of n and of m points overlap, and for how much, in parts of n m."""
    cuts = np.union1d(np.arange(n + 1) * m, np.arange(m + 1) * n)
    return cuts[:-1] // m, cuts[:-1] // n, np.diff(cuts)
