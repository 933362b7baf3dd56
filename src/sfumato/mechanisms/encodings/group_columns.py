"""Columns in groups: every column's mean and variance, for the way back from the projection."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit, logit

from sfumato.encoding.projected import BENDING, Projected, column_variances
from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.encodings.group_shape import Shape
from sfumato.mechanisms.questions import latent_space, unpack
from sfumato.mechanisms.shrinkage import shrinkage_weight
from sfumato.mechanisms.tuning import GroupTuning
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.private.queries.base import FIXED_BITS
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.images import ColumnImage
from sfumato.schema.layout import FloatArray
from sfumato.schema.projections import Projection


def ask_columns(
    curator: Asker,
    projection: Projection,
    shape: Shape,
    mixture: GaussianMixture,
    mu_squared: float,
    tuning: GroupTuning,
) -> Projected:
    """The mean and variance of every column, by class, beside what the mixture makes of them."""
    expected = np.clip(0.5 + mixture.class_means @ projection.back.T, 0.0, 1.0)
    explained = column_variances(projection, mixture)
    image = ColumnImage(np.rint(expected * 2.0**FIXED_BITS).astype(np.int64))
    far = math.sqrt(2.0 * float(explained.sum(axis=1).max()) + 1e-3)
    query = GroupSums(latent_space(image, [far] * len(expected)), tuning.column_shares)
    answer = curator.total("columns", query, mu_squared)
    total, width = shape.counts.sum(), expected.shape[1]
    told = unpack(query, answer.values)[1].sum(axis=0) / total
    noise = float(np.linalg.norm(unpack(query, answer.sd)[1][:, 0])) / total
    weight = shrinkage_weight(width * noise**2, float((told[:width] ** 2).sum()), tuning.noise.margin)
    common = told[:width] * (1.0 - weight)
    before = shape.weights @ expected
    close = min(tuning.snap * noise, tuning.most_snap)
    means = shift(expected, before, np.clip(before + common, 0.0, 1.0), close)
    variances = spread(means, shape.weights, told[width:] - common**2, noise, tuning.noise.margin)
    return Projected.of(projection, means, np.maximum(variances, explained), mixture)


def shift(expected: FloatArray, before: FloatArray, after: FloatArray, close: float) -> FloatArray:
    """Class means moved by the same log-odds in every class, so that the mean of a column goes from `before` to
    `after`. A column whose mean is `close` to a bound is taken to be there in every class.
    """
    low, high = BENDING.least_mean, 1.0 - BENDING.least_mean
    moved = expit(logit(expected.clip(low, high)) + logit(after.clip(low, high)) - logit(before.clip(low, high)))
    moved[:, after < close] = low
    moved[:, after > 1.0 - close] = high
    return np.asarray(moved)


def spread(means: FloatArray, weights: FloatArray, seconds: FloatArray, noise: float, margin: float) -> FloatArray:
    """Class variances: as a share of the largest there can be at the mean they are a column's own, whatever the class,
    shrunk to that of all columns together by the James-Stein weight, and more so where there is little to vary.
    """
    most = means * (1.0 - means)
    pooled = weights @ most
    overall = max(float(seconds.sum()), 0.0) / float(pooled.sum())
    apart = seconds - overall * pooled
    apart *= 1.0 - shrinkage_weight(len(apart) * noise**2, float(apart @ apart), margin)
    return np.asarray(most * np.maximum(overall + apart / (pooled + noise), 0.0))
