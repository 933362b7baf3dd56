"""What a generator is trained towards: noisy answers that were bought once, and the noise they carry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp

from sfumato.training.divergence import sliced_divergence
from sfumato.training.settings import RowMatching

Make: TypeAlias = Callable[[jax.Array], jax.Array]  # (classes, rows, dim) normals to (classes, rows, columns)


class WaveTarget(eqx.Module):
    """Class means of cosines and sines at public frequencies, and the noise on each: the central form.

    The loss is chi-square for each number, (g - t)^2 / s^2 on average, with g the means over made rows. One batch's g
    would bias it by its own variance, so the square is the product of two batches: (g_1 - t)(g_2 - t) / s^2. It is
    about 1 where g differs from t by no more than the noise of t; below, noise is learned.
    """

    frequencies: jax.Array  # (F, coordinates), radians a unit
    means: jax.Array  # (classes, 2 F): cosines, then sines
    sd: jax.Array  # (classes,)
    view: eqx.Module

    enough = 1.0

    def loss(self, make: Make, rows: int, dim: int, key: jax.Array) -> jax.Array:
        """The squared distance of made sums from the noisy ones, in units of their noise, without bias."""
        one, two = (self._apart(make, rows, dim, half) for half in jax.random.split(key))
        return (one * two).mean()

    def _apart(self, make: Make, rows: int, dim: int, key: jax.Array) -> jax.Array:
        """How far made rows' means are from the bought ones, in standard deviations of their noise."""
        noise = jax.random.normal(key, (len(self.sd), max(2, rows // len(self.sd)), dim))
        phases = self.view(make(noise)) @ self.frequencies.T  # type: ignore[operator]
        found = jnp.concatenate([jnp.cos(phases).mean(axis=1), jnp.sin(phases).mean(axis=1)], axis=1)
        return (found - self.means) / self.sd[:, None]


class RowTarget(eqx.Module):
    """Noisy projections of every row: the paper's form.

    The loss is the smoothed-sliced divergence between a batch of noisy rows and as many made ones, which get noise of
    their own of the same size (Greenewald et al. 2024), on a few slices at a time. Where rows were not projected,
    slices are fresh orthonormal frames, which leave the noise as it is.
    """

    values: jax.Array  # (rows, projections or coordinates)
    directions: jax.Array | None  # (coordinates, projections)
    weights: jax.Array  # (classes,)
    view: eqx.Module
    sd: float = eqx.field(static=True)
    radius: float = eqx.field(static=True)
    height: float = eqx.field(static=True)
    slice_dim: int = eqx.field(static=True)
    kind: str = eqx.field(static=True)
    matching: RowMatching = eqx.field(static=True, default=RowMatching())

    enough = -jnp.inf

    def loss(self, make: Make, rows: int, dim: int, key: jax.Array) -> jax.Array:
        """The sliced divergence between noisy rows and made ones that get the same noise."""
        picked, classes, drawn, sliced, fresh = jax.random.split(key, 5)
        size = min(rows, self.matching.points, len(self.values))
        real = self.values[jax.random.randint(picked, (size,), 0, len(self.values))]
        labels = jax.random.categorical(classes, jnp.log(self.weights), shape=(size,))
        made = self._vectors(make(jax.random.normal(drawn, (len(self.weights), size, dim))), labels)
        if self.directions is None:
            frames = self._frames(made.shape[1], sliced)
            real, made = (jnp.einsum("nd,dsk->nsk", points, frames) for points in (real, made))
        else:
            count = len(self.directions[0]) // self.slice_dim
            some = jax.random.choice(sliced, count, (min(self.matching.slices, count),), replace=False)
            real, made = (
                points.reshape(size, count, self.slice_dim)[:, some] for points in (real, made @ self.directions)
            )
        return sliced_divergence(real, made, fresh, sigma=self.sd, kind=self.kind, tau=self.matching.tau)

    def _vectors(self, made: jax.Array, labels: jax.Array) -> jax.Array:
        """Made rows of the given classes as the curator's vectors, clipped."""
        seen = self.view(made)[labels, jnp.arange(len(labels))]  # type: ignore[operator]
        if self.height:
            seen = jnp.concatenate([seen, self.height * jnp.eye(len(self.weights))[labels]], axis=1)
        length = jnp.sqrt((seen**2).sum(axis=1, keepdims=True) + 1e-12)
        return seen * jnp.minimum(1.0, self.radius / length)

    def _frames(self, dim: int, key: jax.Array) -> jax.Array:
        """(dim, slices, slice_dim): orthonormal columns in every slice."""
        normals = jax.random.normal(key, (self.matching.slices, dim, min(self.slice_dim, dim)))
        return jnp.moveaxis(jnp.linalg.qr(normals)[0], 0, 1)
