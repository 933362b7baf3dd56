"""Kernel inducing points from noisy moments of the private features: the Adapt step of 3A (Madl et al. 2023, eq. 6).

Points X with labels y are moved so that kernel ridge regression on them predicts the private rows' labels y_t, and
stays near where they began:

    alpha |X - X0|^2 / |X0|^2 + (1 - alpha) / 2 * |y_t - K_tX (K_XX + lambda I)^-1 y|^2 / n.

The kernel is that of random features, on both sides: then the prediction is linear, K_tX (..)^-1 y = Phi_t W with
W = (Phi_X^T Phi_X + lambda I)^-1 Phi_X^T y, and the square needs no more of the rows than Phi_t^T Phi_t and
Phi_t^T y_t, which are asked once, with noise; every step after that is free. The closed kernel for K_XX would not be
that of K_tX: W would no longer be a ridge regression, and the cost would grow with the cube of the points. One-hot
labels have |y_t|^2 = n, so nothing has to be left out. The square is divided by n, so that alpha means the same at
every size, and lambda is in units of tr(K_XX) / s, as in Nguyen, Chen and Lee (2020).

Noise on the moments hides directions in which the rows' features vary little. There a prediction costs nothing by what
is left of the second moment, and noisy labels would be followed without bound. So the second moment is made positive
semi-definite and e |W - W0|^2 is added, with e the largest eigenvalue that noise alone has, and W0 a regression that
is known without the rows, such as that on rows of a released mixture. W0 should be short, because noise is multiplied
by it: a ridge of e / 10 on as many rows as the private ones does.

Points are moved in blocks, with the others held where they are: each step follows the gradient of the whole loss, at a
cost that does not depend on how many points there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax  # type: ignore[import-untyped]

from sfumato.training.fitting import ADAM

FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
FeatureMap: TypeAlias = Callable[[jax.Array], jax.Array]


@dataclass(frozen=True)
class Adapted:
    """Where the points ended, their labels, and the loss before the first pass and after every one."""

    points: FloatArray
    labels: FloatArray
    losses: tuple[float, ...]


class Target(NamedTuple):
    """What is known of the private rows, for one row on average; where the points began; the loss's weights."""

    gram: jax.Array
    cross: jax.Array
    fallback: jax.Array
    edge: jax.Array
    origin: jax.Array
    alpha: jax.Array
    ridge: jax.Array


class Moving(NamedTuple):
    """What a step may change."""

    points: jax.Array
    labels: jax.Array


class Sums(NamedTuple):
    """All that the loss needs of the points, a sum over them: the features' second moment, features times labels, and
    the squared distance moved.
    """

    gram: jax.Array
    cross: jax.Array
    moved: jax.Array


def adapt_points(
    points: FloatArray,
    labels: FloatArray,
    gram: FloatArray,
    cross: FloatArray,
    features: FeatureMap,
    *,
    rows: float,
    alpha: float,
    gram_sd: float = 0.0,
    fallback: FloatArray | None = None,
    ridge: float = 1.0,
    steps: int = 300,
    learning_rate: float = 0.02,
    block: int = 500,
    patience: int = 20,
    progress: float = 1e-4,
    seed: int = 0,
    learn_labels: bool = False,
    on_step: Callable[[int, float], bool | None] = lambda step, loss: None,
) -> Adapted:
    """Move points, and their labels (a row of numbers for each) if these are to be learned, to lower the loss.

    `gram` and `cross` are the noisy Phi^T Phi and Phi^T Y of about `rows` private rows, and `gram_sd` is the noise on
    the first one's diagonal; `fallback` are the weights to keep where noise hides the rows, 0 if there are none. Where
    labels were drawn, ridge is about 1 or more; next to nothing fits their noise. A step is a pass over all points,
    of which `block` are moved together. It is the last when `patience` of them lowered the loss by less than `progress`
    of it, or when `on_step(step, loss)` says True. The best points seen are returned, the same ones for the same seed.
    """
    with jax.enable_x64(True):
        now = best = Moving(jnp.asarray(points, dtype=jnp.float64), jnp.asarray(labels, dtype=jnp.float64))
        target = Target(
            gram=jnp.asarray(nearest_gram(gram) / rows),
            cross=jnp.asarray(cross / rows),
            fallback=jnp.asarray(np.zeros(cross.shape) if fallback is None else fallback),
            edge=jnp.asarray(noise_edge(gram_sd, len(gram)) / rows),
            origin=now.points,
            alpha=jnp.asarray(float(alpha)),
            ridge=jnp.asarray(float(ridge)),
        )
        rate = jnp.asarray([learning_rate, learning_rate * learn_labels])
        memory = ADAM.init(now)
        sums = _sums(now, target.origin, features)
        losses = [float(_loss(sums, target, len(points)))]
        rng = np.random.default_rng(seed)
        for step in range(steps):
            for mine in np.array_split(rng.permutation(len(points)), math.ceil(len(points) / block)):
                now, memory, sums = _move(now, memory, sums, jnp.asarray(mine), target, features, rate)
            memory = jax.tree.map(lambda leaf: leaf if leaf.ndim else leaf + 1, memory)
            sums = _sums(now, target.origin, features)  # afresh: roundings do not add up
            losses.append(float(_loss(sums, target, len(points))))
            if losses[-1] == min(losses):
                best = now
            if on_step(step + 1, losses[-1]) or _stalled(losses, patience, progress):
                break
        return Adapted(np.asarray(best.points), np.asarray(best.labels), tuple(losses))


def regression(points: FloatArray, labels: FloatArray, features: FeatureMap, ridge: float = 1.0) -> FloatArray:
    """The weights W of ridge regression on the points."""
    with jax.enable_x64(True):
        moving = Moving(jnp.asarray(points, dtype=jnp.float64), jnp.asarray(labels, dtype=jnp.float64))
        return np.asarray(_weights(_sums(moving, moving.points, features), jnp.asarray(float(ridge)), len(points)))


def nearest_gram(gram: FloatArray) -> FloatArray:
    """The nearest positive semi-definite matrix."""
    values, vectors = np.linalg.eigh((gram + gram.T) / 2.0)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def noise_edge(sd: float, size: int) -> float:
    """The largest eigenvalue of symmetric noise with variance sd^2 on the diagonal and half of that off it (Wigner)."""
    return sd * math.sqrt(2.0 * size)


def _stalled(losses: list[float], patience: int, progress: float) -> bool:
    if len(losses) <= patience:
        return False
    before = min(losses[:-patience])
    return min(losses[-patience:]) >= before - progress * abs(before)


@eqx.filter_jit
def _sums(moving: Moving, origin: jax.Array, features: FeatureMap) -> Sums:
    phi = features(moving.points)
    return Sums(phi.T @ phi, phi.T @ moving.labels, ((moving.points - origin) ** 2).sum())


def _weights(sums: Sums, ridge: jax.Array, size: int) -> jax.Array:
    shrink = ridge * jnp.trace(sums.gram) / size * jnp.eye(len(sums.gram))
    return jax.scipy.linalg.solve(sums.gram + shrink, sums.cross, assume_a="pos")


@eqx.filter_jit
def _loss(sums: Sums, target: Target, size: int) -> jax.Array:
    """Equation (6), with the square multiplied out: |y_t|^2 = n, W^T Phi_t^T y_t and W^T Phi_t^T Phi_t W."""
    w = _weights(sums, target.ridge, size)
    square = 1.0 - 2.0 * (w * target.cross).sum() + (w * (target.gram @ w)).sum()
    square += target.edge * ((w - target.fallback) ** 2).sum()
    distance = sums.moved / (target.origin**2).sum()
    return target.alpha * distance + (1.0 - target.alpha) / 2.0 * square


@eqx.filter_jit
def _move(
    now: Moving,
    memory: optax.OptState,
    sums: Sums,
    block: jax.Array,
    target: Target,
    features: FeatureMap,
    rate: jax.Array,
) -> tuple[Moving, optax.OptState, Sums]:
    """One step of Adam for the points of a block. Their memory is theirs alone; the count in it is of passes."""

    def pick(tree: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf[block] if leaf.ndim else leaf, tree)

    def put(tree: Any, part: Any) -> Any:
        return jax.tree.map(lambda leaf, new: leaf.at[block].set(new) if leaf.ndim else leaf, tree, part)

    mine, origin = pick(now), target.origin[block]
    others = jax.tree.map(jnp.subtract, sums, _sums(mine, origin, features))

    def together(mine: Moving) -> Sums:
        return jax.tree.map(jnp.add, others, _sums(mine, origin, features))

    gradient = jax.grad(lambda mine: _loss(together(mine), target, len(target.origin)))(mine)
    change, kept = ADAM.update(gradient, pick(memory))
    mine = Moving(mine.points - rate[0] * change.points, mine.labels - rate[1] * change.labels)
    return put(now, mine), put(memory, kept), together(mine)
