"""Cells of each class, and the one shape that the cells of a class share: what mixtures are put together from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.budget import moment_costs, radius
from sfumato.mechanisms.clipping import unclipped
from sfumato.mechanisms.questions import cells_at, latent_space, unpack
from sfumato.mechanisms.shrinkage import floor_eigenvalues, shrink_eigenvalues
from sfumato.mechanisms.tuning import NoiseTuning
from sfumato.private.queries.base import Image
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.images import Cells, Within
from sfumato.schema.layout import FloatArray, IntArray


@dataclass(frozen=True)
class FoundCells:
    """The cells that were found: how many rows each holds, where their mean is, and how far they spread around it, in
    units of their class's spread; `within` is the mean square distance that cells leave, class by class.
    """

    cells: Cells
    counts: FloatArray
    means: FloatArray
    scales: FloatArray
    within: FloatArray

    @property
    def classes(self) -> IntArray:
        """The class of each cell."""
        return np.array(self.cells.classes)


def one_cell_each(image: Image, counts: FloatArray, spreads: FloatArray) -> FoundCells:
    """Every class a cell of its own, around the image's origin."""
    origin = np.zeros((len(counts), image.dim))
    return FoundCells(cells_at(image, [row[None] for row in origin]), counts, origin, np.ones(len(counts)), spreads)


def ask_shapes(curator: Asker, found: FoundCells, mu_squared: float, tuning: NoiseTuning) -> FloatArray:
    """The shape of each class's cells, all of them together: (classes, dim, dim), shrunk towards that of all classes,
    and that towards columns that have nothing to do with each other.

    Entries carry noise, and so do eigenvalues: those of a difference are shrunk by what noise of that size does to the
    eigenvalues of anything.
    """
    cells = found.cells
    dim, classes = cells.image.dim, len(cells.centres)
    counts = np.asarray(np.bincount(cells.classes, found.counts, classes), dtype=np.float64)
    radii = [radius(w) for w in found.within]
    query = GroupSums(latent_space(Within(cells), radii), moment_costs(counts, dim, radius(dim)).shares, "outer")
    answer = curator.total("shapes", query, mu_squared)
    _, sums, seconds = unpack(query, answer.values)
    sd = unpack(query, answer.sd)[2][:, 0, 0] / counts
    kept = np.array([unclipped(dim, radius(w), w) for w in found.within])
    means = sums / counts[:, None]
    shapes = seconds / (counts * kept)[:, None, None] - np.einsum("ki,kj->kij", means, means)
    weights = counts / counts.sum()
    pooled = np.einsum("k,kij->ij", weights, shapes)
    apart = np.diag(np.diagonal(pooled))
    pooled = apart + shrink_eigenvalues(pooled - apart, float(np.linalg.norm(weights * sd)), tuning.margin)
    pooled = floor_eigenvalues(pooled, tuning.eigenvalue_floor * float(found.within.mean()) / dim)
    root = np.sqrt(np.diagonal(pooled))
    units = np.outer(root, root)
    around = [
        (pooled + shrink_eigenvalues(own - pooled, s, tuning.margin)) / units for own, s in zip(shapes, sd, strict=True)
    ]
    return np.stack([floor_eigenvalues(each, tuning.eigenvalue_floor) * units for each in around])


def divide_weights(class_weights: FloatArray, classes: IntArray, counts: FloatArray) -> FloatArray:
    """The weight of each component: its class's, divided between the components of that class by their counts."""
    return np.asarray(class_weights[classes] * counts / np.bincount(classes, counts)[classes])
