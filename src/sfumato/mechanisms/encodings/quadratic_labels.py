"""A label model of columns in groups: quadratic in what it sees, moved by noisy gradients of the private labels.

docs/proofs/clustmix.md has the sensitivity of its query, and section 6 how its constants came about.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.base import Plan
from sfumato.mechanisms.encodings.group_shape import Directions, Shape
from sfumato.mechanisms.questions import clipped_gradient, projected_image, unpack
from sfumato.mechanisms.tuning import GroupTuning
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.models.labellers import QuadraticLabeller
from sfumato.private.queries.base import LATENT_BITS, MAP_BITS
from sfumato.private.queries.features import QuadraticImage
from sfumato.schema.layout import FloatArray, IntArray

LONGEST_FEATURES = 15.0  # a radius on the latent grid is below 16


def label_matrix(shape: Shape, directions: Directions, tuning: GroupTuning) -> FloatArray:
    """What the label model sees: the coordinates of largest variance, standardised, where more of them stand out of
    the noise than there are main directions and they hold most of the variance; the main directions otherwise.
    """
    variances = np.diagonal(shape.within + shape.between)
    order = np.argsort(-variances)[: tuning.label_coordinates]
    order = order[variances[order] > tuning.label_signal * shape.edge / math.sqrt(2.0 * len(variances))]
    if len(order) < len(directions.matrix) or 2.0 * variances[order].sum() < variances.sum():
        return directions.matrix
    scales = np.maximum(np.sqrt(variances[order]), 1.0 / tuning.steepest)
    return np.asarray(np.eye(len(variances))[order] / scales[:, None])


def fit_quadratic_labels(
    curator: Asker, plan: Plan, shape: Shape, wanted: FloatArray, mixture: GaussianMixture, tuning: GroupTuning
) -> QuadraticLabeller:
    """A label model fitted to rows of the mixture, which is free, then moved by noisy gradients of private rows."""
    classes = len(shape.means)
    image = projected_image(np.tile(wanted @ (shape.weights @ shape.means), (classes, 1)), wanted)
    assert image.matrix is not None
    matrix = np.asarray(image.matrix * 2.0**-MAP_BITS, dtype=np.float64)  # as it is applied, and so the centre
    centre = np.asarray(image.centres[0] * 2.0**-LATENT_BITS, dtype=np.float64)
    rng = np.random.default_rng(0)  # free choices: the same for every table
    components = mixture.sample_components(tuning.label_drawn, rng)
    labels = mixture.component_class[components]
    latent = mixture.sample(components, rng)
    plain = QuadraticLabeller(matrix, centre, np.zeros((classes, 0)), math.inf)
    features = plain.features(latent)
    norms = np.linalg.norm(features, axis=1)
    reach = min(float(np.quantile(norms, tuning.label_unclipped)), LONGEST_FEATURES)
    features *= np.minimum(1.0, reach / norms[:, None])
    slopes = _regress(features, labels, classes, reach, tuning)
    velocity = np.zeros_like(slopes)
    rounds = plan.repeats("labels")
    for each in rounds:
        query = clipped_gradient(QuadraticImage(image), slopes, reach, tuning.residual_cap)
        answer = curator.total(each.title, query, curator.remaining if each is rounds[-1] else plan.spend(each))
        velocity = tuning.momentum * velocity + unpack(query, answer.values) / shape.counts.sum()
        slopes = slopes + tuning.rate / reach**2 * velocity
    return QuadraticLabeller(matrix, centre, slopes * tuning.sharpen, reach)


def _regress(features: FloatArray, labels: IntArray, classes: int, reach: float, tuning: GroupTuning) -> FloatArray:
    """Slopes that make the labels of drawn rows likelier, by descent with momentum."""
    own = np.eye(classes)[labels]
    slopes = np.zeros((classes, features.shape[1]))
    velocity = np.zeros_like(slopes)
    for _ in range(tuning.free_steps):
        logits = features @ slopes.T
        rises = np.exp(logits - logits.max(axis=1, keepdims=True))
        residuals = own - rises / rises.sum(axis=1, keepdims=True)
        velocity = tuning.momentum * velocity + residuals.T @ features / len(features)
        slopes = slopes + tuning.free_rate / reach**2 * velocity
    return slopes
