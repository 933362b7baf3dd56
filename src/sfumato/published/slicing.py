"""The slicing mechanism of Greenewald, Yu, Wang and Xu (2024), arXiv 2410.19941, as printed.

Rows x of norm at most 1, m slices of dimension k, m' = m k. U is d by m' with entries N(0, 1/d), V is n by m' with
entries N(0, sigma^2); (U, X U + V) is released. Theorem 1: with gamma = (alpha^2 - alpha) / sigma^2 < d this is
(alpha, m' alpha / (2 sigma^2 (d - gamma)))-RDP, hence (epsilon, delta)-DP with epsilon = m' alpha / (2 sigma^2
(d - gamma)) + ln(1 / delta) / (alpha - 1), for tables in which one row is replaced by another at distance at most 1;
the number of rows is public.

It holds, with ideal arithmetic and a fresh U, and asks for 1.3 to 1.5 times the noise that is needed
(`sf.accounting.slicing_sigma(..., method="exact")`). Three things to know before it is used on people: a row replaced
by *any* other of norm at most 1 may be at distance 2, for which sigma must be doubled (`distance`); U must be drawn
afresh for every release, after the rows are fixed, or the largest eigenvalue of U U^T counts; and this code draws from
a seeded generator and adds floats. It is for experiments; the strict form is the curator's `rows`.

A generator is then trained on what was released, at no further cost: its rows are projected by the same U, get fresh
noise of the same sigma, and the smoothed-sliced divergence between the two is lowered (`sfumato.training.divergence`,
which says how far its estimate is off; as printed it draws the made rows together).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from sfumato.accounting import slicing_sigma
from sfumato.errors import ArgumentError
from sfumato.guarantee import ROUNDING
from sfumato.published.row_generator import STEPS_A_CALL, Encoding, LabelledRows, Made, labelled, trainers
from sfumato.schema.layout import FloatArray, IntArray
from sfumato.training.settings import TAU

SLICES = 50
"""Where none are named: our choice."""

MEDIAN_ROWS = 500
"""Released rows by whose distances the bandwidths of a slice are set, once."""

Loss: TypeAlias = Callable[[Any, Any, Any, Any], Any]
"""Of noisy real projections and clean made ones, each (rows, some slices, slice_dim), a key for the noise, and which
slices these are."""


# --- The private step


@dataclass(frozen=True)
class SlicedRows:
    """What is released: the directions U (d, m'), the noisy projections (n, m'), and the noise's sigma."""

    directions: FloatArray
    values: FloatArray
    sigma: float


def slice_rows(
    x: FloatArray,
    *,
    slices: int,
    slice_dim: int,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    distance: float = 1.0,
) -> SlicedRows:
    """(U, X U + V), with the noise of Theorem 1.

    Claimed: (epsilon, delta)-DP for a row replaced by another at most `distance` away, as printed 1.
    """
    check_ball(x)
    sigma = theorem_sigma(epsilon, delta, dim=x.shape[1], projections=slices * slice_dim, distance=distance)
    return release_slices(x, slices * slice_dim, sigma, rng)


def check_ball(x: FloatArray) -> None:
    """Refuse rows outside the unit ball."""
    if len(x) and np.linalg.norm(x, axis=1).max() > 1.0 + ROUNDING:
        raise ArgumentError("rows must have a norm of at most 1: scale them by a public bound")


def theorem_sigma(epsilon: float, delta: float, *, dim: int, projections: int, distance: float = 1.0) -> float:
    """The smallest sigma of Theorem 1, at the best alpha."""
    return slicing_sigma(epsilon, delta, dim=dim, projections=projections, distance=distance, method="theorem1")


def release_slices(x: FloatArray, projections: int, sigma: float, rng: np.random.Generator) -> SlicedRows:
    """(U, X U + V) with noise of this sigma."""
    directions = rng.normal(size=(x.shape[1], projections)) / np.sqrt(x.shape[1])
    return SlicedRows(directions, x @ directions + rng.normal(scale=sigma, size=(len(x), projections)), sigma)


# --- Rows in the unit ball


@dataclass(frozen=True)
class Ball:
    """Encoded rows about their centre, divided by a public radius, and shortened to norm 1 where they are longer."""

    encoding: Encoding
    radius: float

    @classmethod
    def of(cls, encoding: Encoding, radius: float | None = None) -> Ball:
        """Without a radius it is one that no row exceeds."""
        widest = math.sqrt(len(encoding.low) / 4.0 + sum(1.0 - 1.0 / n for n in encoding.levels))
        return cls(encoding, widest if radius is None else radius)

    def __call__(self, encoded: Any) -> Any:
        """Of NumPy or of JAX."""
        blocks = [np.full(len(self.encoding.low), 0.5)] + [np.full(n, 1.0 / n) for n in self.encoding.levels]
        rows = (encoded - np.concatenate(blocks)) / self.radius
        return rows / ((rows * rows).sum(axis=1, keepdims=True).clip(1.0)) ** 0.5


# --- The generator


@dataclass(frozen=True)
class Training:
    """A network of two hidden layers, trained by Adam in batches, each compared with as many made rows.

    The authors name batches of 128 to 400 and 100 to 200 epochs; the network and the rate are ours. A step looks at
    all slices, or at `slices` random ones.
    """

    width: int = 128
    noise: int = 16
    epochs: int = 100
    batch: int = 256
    rate: float = 1e-3
    slices: int | None = None


@dataclass(frozen=True)
class Generator:
    """A trained network. It knows of the private rows what was released of them."""

    encoding: Encoding
    weights: Any
    noise: int

    def sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Numbers in data units, and category codes."""
        made = self.encoding.generate(self.weights, rng.standard_normal((n, self.noise), dtype=np.float32))
        return self.encoding.decode(np.asarray(made, dtype=np.float64), rng)


def train_generator(
    released: SlicedRows,
    ball: Ball,
    *,
    slice_dim: int,
    rng: np.random.Generator,
    kind: str = "r-log-r",
    tau: float = TAU,
    training: Training | None = None,
) -> Generator:
    """The authors' generator: trained on the kernel estimate of the smoothed-sliced divergence, f = r log r."""
    (jax, _, module) = trainers("the slicing mechanism's generator", "sfumato.training.divergence")
    some = released.values[:MEDIAN_ROWS].astype(np.float32)
    widths = jax.lax.map(module.median_bandwidths, some.reshape(len(some), -1, slice_dim).swapaxes(0, 1))

    def loss(real: Any, made: Any, key: Any, chosen: Any) -> Any:
        known = {"sigma": released.sigma, "kind": kind, "tau": tau, "bandwidths": widths[chosen]}
        return module.sliced_divergence(real, made, key, **known)

    return lower(loss, released, ball, slice_dim=slice_dim, rng=rng, training=training or Training())


def lower(
    loss: Loss, released: SlicedRows, ball: Ball, *, slice_dim: int, rng: np.random.Generator, training: Training
) -> Generator:
    """A generator whose rows have a small loss against the released projections."""
    jax, optax = trainers("a generator")
    shape = (-1, released.values.shape[1] // slice_dim, slice_dim)
    known = tuple(jax.numpy.asarray(part.reshape(shape), "float32") for part in (released.values, released.directions))
    optimiser = optax.adam(training.rate)

    def loss_of(weights: Any, real: Any, directions: Any, chosen: Any, key: Any) -> Any:
        inputs, noise = jax.random.split(key)
        made = ball(ball.encoding.generate(weights, jax.random.normal(inputs, (len(real), training.noise))))
        return loss(real, jax.numpy.einsum("nd,dsk->nsk", made, directions), noise, chosen)

    def steps(carry: Any, known: Any, batches: Any) -> Any:
        values, directions = known

        def step(carry: Any, batch: Any) -> Any:
            (weights, state), (rows, chosen, key) = carry, batch
            slopes = jax.grad(loss_of)(weights, values[rows[:, None], chosen], directions[:, chosen], chosen, key)
            change, state = optimiser.update(slopes, state)
            return (optax.apply_updates(weights, change), state), None

        return jax.lax.scan(step, carry, batches)[0]

    run = jax.jit(steps)
    weights = ball.encoding.weights(training.noise, training.width, rng)
    carry, key = (weights, optimiser.init(weights)), jax.random.key(int(rng.integers(2**32)))
    batches, done = _batches(len(released.values), shape[1], training, rng), 0
    while some := list(islice(batches, STEPS_A_CALL)):
        keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(np.arange(done, done + len(some)))
        carry = run(carry, known, (*map(np.stack, zip(*some, strict=True)), keys))
        done += len(some)
    return Generator(ball.encoding, carry[0], training.noise)


def _batches(
    rows: int, slices: int, training: Training, rng: np.random.Generator
) -> Iterator[tuple[IntArray, IntArray]]:
    """Which rows and which slices each step looks at. What is left of an epoch's rows waits for the next."""
    size, some = min(training.batch, rows), min(training.slices or slices, slices)
    for _ in range(training.epochs):
        order = rng.permutation(rows)
        for start in range(0, rows - size + 1, size):
            yield order[start : start + size], rng.permutation(slices)[:some]


# --- From a table to a table


def synthesize(
    table: LabelledRows,
    *,
    epsilon: float,
    delta: float,
    rows: int,
    rng: np.random.Generator,
    slices: int = SLICES,
    slice_dim: int = 1,
    radius: float | None = None,
    distance: float = 1.0,
    kind: str = "r-log-r",
    tau: float = TAU,
    training: Training | None = None,
) -> Made:
    """`rows` synthetic rows as numbers, category codes and classes, by the mechanism as printed.

    The class is one category more. The claim is that of `slice_rows`, on rows in the unit ball; with distance=2 it is
    one for any replaced row.
    """
    ball = Ball.of(table.encoding, radius)
    x = ball(table.encoded)
    released = slice_rows(
        x, slices=slices, slice_dim=slice_dim, epsilon=epsilon, delta=delta, rng=rng, distance=distance
    )
    generator = train_generator(released, ball, slice_dim=slice_dim, rng=rng, kind=kind, tau=tau, training=training)
    return labelled(*generator.sample(rows, rng))
