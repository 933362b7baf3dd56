"""Gaussians in latent space, one or several a class: sampling, and probabilities of boxes and points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import solve_triangular

from sfumato.encoding.boxes import LOG_SQRT_2PI, Boxes
from sfumato.models.box_integrals import between, drawn_log_masses, sobol_points
from sfumato.models.matched_masses import matched_log_masses
from sfumato.schema.layout import FloatArray, IntArray

BoolArray: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

MATCHED = range(5, 101)  # coordinates of a box whose moments are matched: of fewer, points are better for their time
FEW_LOG2 = 5  # 32 points for the integral over a box of fewer coordinates
MANY_LOG2 = 4  # 16 for a box of more, where matching would cost the cube of their number
GIBBS_SWEEPS = 25


@dataclass(frozen=True)
class GaussianMixture:
    """Gaussians, each of one class.

    Component c has the latent distribution N(means[c], covariances[c]). Where there are as many covariances as
    classes, and more components, the components of a class share theirs.

    Attributes:
        weights: The weight of each component.
        means: The mean of each component.
        covariances: The covariance of each component, or of each class.
        component_class: The class of each component; where it is not given, each is a class of its own.
        scales: How many times as wide as the shared covariance each component is.
    """

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray
    component_class: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    scales: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if len(self.component_class) == 0:
            object.__setattr__(self, "component_class", np.arange(len(self.weights)))
        if len(self.scales) == 0:
            object.__setattr__(self, "scales", np.ones(len(self.weights)))

    @property
    def components(self) -> int:
        """How many Gaussians there are."""
        return len(self.weights)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.component_class.max()) + 1

    @property
    def class_weights(self) -> FloatArray:
        """The weight of each class."""
        return np.asarray(np.bincount(self.component_class, self.weights, self.classes), dtype=np.float64)

    @property
    def is_simple(self) -> bool:
        """Whether each class is one Gaussian."""
        return self.components == self.classes

    @property
    def is_tied(self) -> bool:
        """Whether the components of a class share one covariance."""
        return len(self.covariances) != self.components

    def _shape(self, c: int) -> int:
        return int(self.component_class[c]) if self.is_tied else c

    def covariance(self, c: int) -> FloatArray:
        """The covariance of component c."""
        return np.asarray(self.covariances[self._shape(c)] * self.scales[c] ** 2)

    @property
    def class_means(self) -> FloatArray:
        """(classes, dim): the mean of each class."""
        share = self.weights / self.class_weights[self.component_class]
        return np.stack([share[m] @ self.means[m] for m in map(self.members, range(self.classes))])

    def members(self, k: int) -> IntArray:
        """The components of class k."""
        return np.flatnonzero(self.component_class == k)

    @property
    def dim(self) -> int:
        """How many latent coordinates there are."""
        return int(self.means.shape[1])

    @cached_property
    def factors(self) -> FloatArray:
        """Lower Cholesky factors of the covariances."""
        return np.asarray(np.linalg.cholesky(self.covariances), dtype=np.float64)

    def sample_components(self, n: int, rng: np.random.Generator) -> IntArray:
        """The components of n rows."""
        return rng.choice(self.components, size=n, p=self.weights / self.weights.sum())

    def sample(self, components: IntArray, rng: np.random.Generator) -> FloatArray:
        """One latent row for each given component."""
        order, ordered = self.sample_in_order(components, rng)
        found = np.empty_like(ordered, order="C")
        found[order] = ordered
        return found

    def sample_in_order(self, components: IntArray, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """The same rows by component: which row each one is, and the rows, whose columns lie together in memory."""
        z = rng.standard_normal((len(components), self.dim))
        order = np.argsort(components, kind="stable")
        ends = np.searchsorted(components[order], np.arange(self.components + 1))
        found = np.empty_like(z, order="F")
        for c, (start, end) in enumerate(pairwise(ends)):
            mine = z[order[start:end]] @ self.factors[self._shape(c)].T
            mine *= self.scales[c]
            np.add(mine, self.means[c], out=found[start:end])
        return order, found

    def log_joint(self, latent: FloatArray) -> FloatArray:
        """(rows, classes): the log density of latent rows together with each class."""
        found = np.full((len(latent), self.classes), -np.inf)
        for c, k in enumerate(self.component_class):
            factor = self.scales[c] * self.factors[self._shape(c)]
            apart = solve_triangular(factor, (latent - self.means[c]).T, lower=True)
            height = np.log(self.weights[c]) - np.log(np.diagonal(factor)).sum() - self.dim * LOG_SQRT_2PI
            found[:, k] = np.logaddexp(found[:, k], height - 0.5 * (apart**2).sum(axis=0))
        return found

    def sample_inside(self, c: int, n: int, boxes: Boxes, rng: np.random.Generator) -> FloatArray:
        """Draw n latent rows of component c that lie in the one box (or on the point) that `boxes` holds."""
        low, high = boxes.low[0], np.where(boxes.is_point[0], boxes.low[0], boxes.high[0])
        held = np.isfinite(low) | np.isfinite(high)
        mean, covariance = self.means[c], self.covariance(c)
        z = np.empty((n, self.dim))
        z[:, held] = mean[held] + _sample_box(
            covariance[np.ix_(held, held)], low[held] - mean[held], high[held] - mean[held], n, rng
        )
        z[:, held] = np.clip(z[:, held], low[held], high[held])
        # The free coordinates, given the held ones: a normal with known mean and covariance.
        slope = np.linalg.solve(covariance[np.ix_(held, held)], covariance[np.ix_(held, ~held)]).T
        spread = covariance[np.ix_(~held, ~held)] - slope @ covariance[np.ix_(held, ~held)]
        noise = rng.standard_normal((n, int((~held).sum()))) @ np.linalg.cholesky(spread).T
        z[:, ~held] = mean[~held] + (z[:, held] - mean[held]) @ slope.T + noise
        return z

    def log_boxes(self, c: int, boxes: Boxes, draws_log2: int | None = None) -> FloatArray:
        """Log probability under component c of a box for each row (a density in the point coordinates).

        Points are conditioned on and coordinates without bounds left out, which is exact. The box that is left is
        integrated by matching moments; where it has few or very many coordinates, or somebody says on how many points,
        by drawing on a fixed set of quasi-random ones. So the answer is the same each time, and no row's depends on the
        others.

        Args:
            c: The component.
            boxes: The boxes.
            draws_log2: The logarithm of the number of points, to the base 2.

        Returns:
            One number a row.
        """
        found = np.empty(len(boxes.low))
        is_free = np.isinf(boxes.low) & np.isinf(boxes.high)
        for pattern, mine in alike(np.hstack([boxes.is_point, is_free])):
            point, free = np.split(pattern[np.append(boxes.order, self.dim + boxes.order)], 2)
            order, points = np.append(boxes.order[point], boxes.order[~point & ~free]), int(point.sum())
            factor = np.asarray(np.linalg.cholesky(self.covariance(c)[np.ix_(order, order)]), dtype=np.float64)
            starts, ends = ((edge[mine] - self.means[c])[:, order].T for edge in (boxes.low, boxes.high))
            apart = solve_triangular(factor[:points, :points], starts[:points], lower=True)
            centre = factor[points:, :points] @ apart
            left = factor[points:, points:], starts[points:] - centre, ends[points:] - centre
            found[mine] = _log_masses(*left, draws_log2)
            height = np.log(np.diagonal(factor)[:points]).sum() + points * LOG_SQRT_2PI
            found[mine] -= height + 0.5 * (apart**2).sum(axis=0)
        return found


def _log_masses(factor: FloatArray, low: FloatArray, high: FloatArray, draws_log2: int | None) -> FloatArray:
    dim = len(low)
    if draws_log2 is None and dim in MATCHED:
        return matched_log_masses(factor, low, high)
    usual = FEW_LOG2 if dim < MATCHED.start else MANY_LOG2
    return drawn_log_masses(factor, low, high, sobol_points(max(1, dim), usual if draws_log2 is None else draws_log2))


def alike(marks: BoolArray) -> Iterator[tuple[BoolArray, IntArray | slice]]:
    """The rows that have the same columns marked: which columns, and which rows."""
    if not marks.any():
        yield np.zeros(marks.shape[1], dtype=bool), slice(None)
        return
    patterns, which = np.unique(np.packbits(marks, axis=1), axis=0, return_inverse=True)
    for p, packed in enumerate(patterns):
        yield np.unpackbits(packed, count=marks.shape[1]).astype(bool), np.flatnonzero(which.ravel() == p)


def _sample_box(
    covariance: FloatArray, low: FloatArray, high: FloatArray, n: int, rng: np.random.Generator
) -> FloatArray:
    """Draw a centred normal inside a box n times: one by one, then Gibbs sweeps (one coordinate needs none)."""
    dim = len(low)
    factor = np.linalg.cholesky(covariance)
    e = np.empty((n, dim))
    for j in range(dim):
        centre = e[:, :j] @ factor[j, :j]
        e[:, j] = between((low[j] - centre) / factor[j, j], (high[j] - centre) / factor[j, j], rng.random(n))
    z = e @ factor.T
    precision = np.linalg.inv(covariance)
    for _ in range(GIBBS_SWEEPS if dim > 1 else 0):
        for j in range(dim):
            scale = 1.0 / np.sqrt(precision[j, j])
            centre = z[:, j] - z @ precision[j] / precision[j, j]
            z[:, j] = centre + scale * between((low[j] - centre) / scale, (high[j] - centre) / scale, rng.random(n))
    return z
