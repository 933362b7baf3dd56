"""Kernel inducing points: labelled points moved so that a kernel regression on them does on the private rows what it
would if trained on these (Nguyen, Chen and Lee 2020; eq. 6 of Madl et al. 2023).

The private rows enter by one Gaussian query: the second moment of random features of the neural tangent kernel, and
their sums by class. Any number of steps is then free.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.base import Plan
from sfumato.mechanisms.clustmix.clustmix_mechanism import PointTuning
from sfumato.mechanisms.encodings import Blind
from sfumato.mechanisms.questions import feature_image, feature_matrices, feature_moments, unpack
from sfumato.progress import Step, tell
from sfumato.schema.layout import FloatArray, IntArray


def features_that_pay(rows: float, mu: float, tuning: PointTuning) -> int:
    """As many features as keep the edge of the noise on their second moment at a few percent of it."""
    paying = tuning.shares[0] * (rows * mu / tuning.noisiest) ** 2 / 2.0
    return 2 * int(np.clip(paying, tuning.fewest_features, tuning.most_features) // 2)


def move_points(
    curator: Asker,
    plan: Plan,
    blind: Blind,
    classes: IntArray,
    labels: IntArray,
    rows: float,
    alpha: float,
    tuning: PointTuning,
) -> FloatArray:
    """Ask for the features' moments, then move the cells' means, which are of these classes; the model's own rows, with
    their labels, are what the regression falls back on where noise drowns the answer.
    """
    import jax.numpy as jnp

    from sfumato.training.inducing import adapt_points, noise_edge
    from sfumato.training.ntk import RandomFeatures

    share = plan.budget("features", curator.remaining)
    count = int(classes.max()) + 1
    width = features_that_pay(rows, math.sqrt(share / plan.public.noise_factor), tuning) // 2
    drawn = RandomFeatures.draw(tuning.seed, blind.image.dim, width, depth=1, bias=tuning.bias)
    gates, values = (np.asarray(matrix) for matrix in drawn.layers[0])
    asked = feature_image(blind.image, gates, values, tuning.bias)
    query = feature_moments(asked, tuning.radius, count, tuning.shares)
    answer = curator.total("features", query, share)
    gram, cross = unpack(query, answer.values)
    sd = float(unpack(query, answer.sd)[0][0, 0])
    gates, values = feature_matrices(asked, tuning.bias)  # as quantised, which is what was applied
    features = RandomFeatures(((jnp.asarray(gates), jnp.asarray(values)),), tuning.bias, tuning.radius, tuning.blur)
    drawn_features, drawn_labels = np.asarray(features(blind.rows)), np.eye(count)[labels]
    fallback = _regress(drawn_features, drawn_labels, rows, tuning.fallback_ridge * noise_edge(sd, 2 * width))
    moved = adapt_points(
        blind.means,
        np.eye(count)[classes],
        gram,
        cross,
        features,
        rows=rows,
        alpha=alpha,
        gram_sd=sd,
        fallback=fallback,
        ridge=tuning.ridge,
        steps=tuning.steps,
        learning_rate=tuning.rate,
        block=tuning.block,
        patience=tuning.patience,
        progress=tuning.progress,
        seed=tuning.seed,
        on_step=lambda step, loss: tell(Step(step, tuning.steps, loss)),
    )
    return np.asarray(moved.points, dtype=np.float64)


def _regress(phi: FloatArray, labels: FloatArray, rows: float, ridge: float) -> FloatArray:
    """The weights of a ridge regression on drawn rows, as if there were as many as private ones.

    They are kept short, because noise is multiplied by them.
    """
    scale = rows / len(phi)
    gram = phi.T @ phi * scale + ridge * np.eye(phi.shape[1])
    return np.asarray(np.linalg.solve(gram, phi.T @ labels * scale))
