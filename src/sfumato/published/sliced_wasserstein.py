"""The differentially private sliced Wasserstein distance of Rakotomamonjy and Ralaivola (2021), as a baseline.

Rows in the unit ball are projected on m directions, uniform on the sphere, and get noise N(0, sigma^2). A row replaced
by another at distance 1 moves the projections by S, the sum of m independent Beta(1/2, (d - 1) / 2) variables, squared.
Each is in [0, 1], with mean 1 / d and variance 2 (d - 1) / (d^2 (d + 2)), so by Bernstein's inequality S is, but for a
probability delta, at most (their lemma)

    w(m, delta) = m / d + (2 / 3) ln(1 / delta) + (2 / d) sqrt(m (d - 1) / (d + 2) ln(1 / delta)).

Half of delta is for that, half for the Gaussian mechanism of sensitivity sqrt(w). It holds for rows at distance at most
1, with ideal arithmetic and fresh directions; the number of rows is public. The exact calibration of the Gaussian
mechanism is ours: the authors go by Renyi divergences, over random batches that each ask anew. Their published code
counts m twice under the root, which is more noise, and offers a normal quantile in place of w, which is no proof. This
code draws from a seeded generator and adds floats: for experiments, not for releases.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.accounting import mu_of
from sfumato.published.row_generator import LabelledRows, Made, labelled, trainers
from sfumato.published.slicing import (
    SLICES,
    Ball,
    Generator,
    SlicedRows,
    Training,
    check_ball,
    lower,
)
from sfumato.schema.layout import FloatArray


def project_rows(
    x: FloatArray, *, slices: int, epsilon: float, delta: float, rng: np.random.Generator, distance: float = 1.0
) -> SlicedRows:
    """Noisy projections on uniform directions.

    Claimed: (epsilon, delta)-DP for a row replaced by another at most `distance` away, as printed 1.
    """
    check_ball(x)
    directions = rng.normal(size=(x.shape[1], slices))
    directions /= np.linalg.norm(directions, axis=0)
    sigma = distance * lemma_sigma(epsilon, delta, dim=x.shape[1], slices=slices)
    return SlicedRows(directions, x @ directions + rng.normal(scale=sigma, size=(len(x), slices)), sigma)


def lemma_sigma(epsilon: float, delta: float, *, dim: int, slices: int) -> float:
    """The noise for rows at distance 1."""
    return math.sqrt(lemma_bound(slices, delta / 2.0, dim)) / mu_of(epsilon, delta / 2.0)


def lemma_bound(slices: int, delta: float, dim: int) -> float:
    """w(m, delta)."""
    tail = math.log(1.0 / delta)
    return slices / dim + 2.0 / 3.0 * tail + 2.0 / dim * math.sqrt(slices * (dim - 1) / (dim + 2) * tail)


def train_generator(
    released: SlicedRows, ball: Ball, *, rng: np.random.Generator, power: float = 2.0, training: Training | None = None
) -> Generator:
    """A generator trained on the smoothed sliced Wasserstein distance."""
    (_, _, module) = trainers("the sliced Wasserstein generator", "sfumato.training.sliced_wasserstein")

    def loss(real: Any, made: Any, key: Any, chosen: Any) -> Any:
        return module.sliced_wasserstein(real[..., 0], made[..., 0], key, sigma=released.sigma, power=power)

    return lower(loss, released, ball, slice_dim=1, rng=rng, training=training or Training())


def sliced_wasserstein(
    table: LabelledRows,
    *,
    epsilon: float,
    delta: float,
    rows: int,
    rng: np.random.Generator,
    slices: int = SLICES,
    radius: float | None = None,
    distance: float = 1.0,
    power: float = 2.0,
    training: Training | None = None,
) -> Made:
    """`rows` synthetic rows as numbers, category codes and classes, as `slicing.synthesize` makes them.

    The claim is that of `project_rows`, on rows in the unit ball. The projections are asked once, not in every batch.
    """
    ball = Ball.of(table.encoding, radius)
    x = ball(table.encoded)
    released = project_rows(x, slices=slices, epsilon=epsilon, delta=delta, rng=rng, distance=distance)
    return labelled(*train_generator(released, ball, rng=rng, power=power, training=training).sample(rows, rng))
