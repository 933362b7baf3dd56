"""What the curator would have seen of rows that a network made, so that like is compared with like.

Private rows are seen in bins, or projected. A network's rows go the same way; where that way is flat, the slope that
training follows is that of a smoothed one.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

GRID = 512  # places at which slopes are tabled, between -REACH and REACH
REACH = 5.0
LARGEST_SCORE = 16.0  # a score that the curator sees


class Staircase(eqx.Module):
    """Latent rows as the scores of the bins that they fall in: (classes, rows, columns) to the same.

    Forward the staircase as it is; backward the slope of the staircase smoothed by a normal of width `blur`, which is
    what moving many rows a little does on average. A constant slope in its place is wrong wherever a column has few
    bins: training on slices along single columns then diverged.
    """

    thresholds: jax.Array  # (classes, columns, bins - 1), filled up with infinity
    values: jax.Array  # (classes, columns, bins)
    slopes: jax.Array  # (classes, columns, GRID)

    @classmethod
    def of(cls, edges: list[np.ndarray], values: list[np.ndarray], blur: float = 0.3) -> Staircase:
        """From each column's thresholds (classes, bins - 1) and values (classes, bins), in rising order; `blur` is in
        latent units.
        """
        classes, most = len(values[0]), max(v.shape[1] for v in values)
        thresholds = np.full((classes, len(values), max(most - 1, 1)), np.inf)
        table = np.zeros((classes, len(values), most))
        slopes = np.zeros((classes, len(values), GRID))
        grid = np.linspace(-REACH, REACH, GRID)
        for c, (e, far) in enumerate(zip(edges, values, strict=True)):
            v = np.clip(far, -LARGEST_SCORE, LARGEST_SCORE)  # a bin of next to no mass has an infinite score
            thresholds[:, c, : e.shape[1]] = e
            table[:, c, : v.shape[1]] = v
            apart = (grid[None, :, None] - np.where(np.isfinite(e), e, 1e3)[:, None, :]) / blur
            bumps = np.exp(-(apart**2) / 2.0) / (blur * np.sqrt(2.0 * np.pi))
            slopes[:, c] = np.einsum("kgb,kb->kg", bumps, np.diff(v, axis=1))
        return cls(*(jnp.asarray(a, dtype=jnp.float32) for a in (thresholds, table, slopes)))

    def __call__(self, made: jax.Array) -> jax.Array:
        columns = jax.lax.stop_gradient(jnp.swapaxes(made, 1, 2))
        place = jax.vmap(jax.vmap(lambda t, x: jnp.searchsorted(t, x, side="right")))(self.thresholds, columns)
        stair = jnp.take_along_axis(self.values, place, axis=2)
        near = jnp.clip(jnp.round((columns + REACH) * ((GRID - 1) / (2.0 * REACH))), 0, GRID - 1).astype(jnp.int32)
        slope = jnp.take_along_axis(self.slopes, near, axis=2)
        stair, slope = jnp.swapaxes(stair, 1, 2), jnp.swapaxes(slope, 1, 2)
        return stair + slope * (made - jax.lax.stop_gradient(made))


class Mapped(eqx.Module):
    """Rows of columns in groups where they were asked: (classes, rows, dim) to (classes, rows, coordinates)."""

    matrix: jax.Array  # (dim, coordinates)
    offsets: jax.Array  # (classes, coordinates)

    @classmethod
    def of(cls, matrix: np.ndarray, offsets: np.ndarray) -> Mapped:
        """The map in JAX's arrays."""
        return cls(jnp.asarray(matrix, dtype=jnp.float32), jnp.asarray(offsets, dtype=jnp.float32))

    def __call__(self, made: jax.Array) -> jax.Array:
        return made @ self.matrix + self.offsets[:, None]
