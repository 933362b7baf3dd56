"""Kernel inducing points: labelled points moved so that a kernel regression on them does on the private rows what it
would if trained on these (Nguyen, Chen and Lee 2020; eq. 6 of Madl et al. 2023).

The private rows enter by one Gaussian query: the second moment of random features of the neural tangent kernel, and
their sums by class. Any number of steps is then free.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.plan import Plan
from sfumato.mechanisms.questions import feature_image, feature_matrices, feature_moments, unpack
from sfumato.private.queries.base import Image
from sfumato.schema.layout import FloatArray, IntArray

BIAS = 1.0  # of the network, as one more input
RADIUS = 1.45  # of the features: just above sqrt(2) times the bias, the norm of a row of ordinary size
SHARES = (0.5, 0.5)  # of the query, between the second moment and the sums
WEIGHT = 3.0  # ridge, in units of the kernel's mean
NOISIEST = 50.0  # of the noise's edge, as a share of the rows: how many features pay
FEWEST, MOST = 40, 400  # features
STEPS = 300  # at most
SHORT = 0.1  # of the noise's edge: the ridge of the regression that is fallen back on
SEED = 0  # of the features and of training: free choices, the same for every table


OnStep: TypeAlias = Callable[[int, int, float], None]  # hears the step, how many there are at most, and the loss


def features_that_pay(rows: float, mu: float) -> int:
    """As many features as keep the edge of the noise on their second moment at a few percent of it."""
    paying = SHARES[0] * (rows * mu / NOISIEST) ** 2 / 2.0
    return 2 * int(np.clip(paying, FEWEST, MOST) // 2)


def move_points(
    curator: Asker,
    plan: Plan,
    image: Image,
    points: FloatArray,
    classes: IntArray,
    synthetic: tuple[FloatArray, IntArray],
    rows: float,
    on_step: OnStep = lambda step, steps, loss: None,
) -> FloatArray:
    """Ask for the features' moments, then move the points; `synthetic` rows and labels of the model so far are what
    the regression falls back on where noise drowns the answer. `image` must not look at the label."""
    import jax.numpy as jnp

    from sfumato.training.inducing import adapt_points, noise_edge
    from sfumato.training.ntk import RandomFeatures

    share = plan.budget("features", curator.remaining)
    count = int(classes.max()) + 1
    width = features_that_pay(rows, math.sqrt(share / plan.reach)) // 2
    drawn = RandomFeatures.draw(SEED, image.dim, width, depth=1, bias=BIAS)
    gates, values = (np.asarray(matrix) for matrix in drawn.layers[0])
    asked = feature_image(image, gates, values, BIAS)
    query = feature_moments(asked, RADIUS, count, SHARES)
    answer = curator.total("features", query, share)
    gram, cross = unpack(query, answer.values)
    sd = float(unpack(query, answer.sd)[0][0, 0])
    gates, values = feature_matrices(asked, BIAS)  # as quantised, which is what was applied
    features = RandomFeatures(((jnp.asarray(gates), jnp.asarray(values)),), BIAS, RADIUS)
    moved = adapt_points(
        points,
        np.eye(count)[classes],
        gram,
        cross,
        features,
        rows=rows,
        alpha=plan.alpha,
        gram_sd=sd,
        fallback=_regress(
            np.asarray(features(synthetic[0])), np.eye(count)[synthetic[1]], rows, noise_edge(sd, 2 * width)
        ),
        ridge=WEIGHT,
        steps=STEPS,
        seed=SEED,
        on_step=lambda step, loss: on_step(step, STEPS, loss),
    )
    return np.asarray(moved.points, dtype=np.float64)


def _regress(phi: FloatArray, labels: FloatArray, rows: float, edge: float) -> FloatArray:
    """The weights of a ridge regression on drawn rows, as if there were as many as private ones. They are kept short,
    because noise is multiplied by them."""
    scale = rows / len(phi)
    return np.asarray(
        np.linalg.solve(phi.T @ phi * scale + SHORT * edge * np.eye(phi.shape[1]), phi.T @ labels * scale)
    )
