"""The encoding of columns in groups, such as images: a public projection, whatever the number of columns.

Asked first: where classes lie, and the second moment of all rows together, whose main directions (private PCA) are
those in which a mechanism asks more. Asked last: the columns' own moments, for the way back. docs/proofs/clustmix.md
has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from sfumato.encoding.projected import Projected
from sfumato.encoding.scores import Scores
from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.base import Plan, Public
from sfumato.mechanisms.budget import Share, radius
from sfumato.mechanisms.cell_shapes import FoundCells, divide_weights
from sfumato.mechanisms.encodings import Blind
from sfumato.mechanisms.encodings.group_columns import ask_columns
from sfumato.mechanisms.encodings.group_shape import Directions, Shape, ask_means, ask_shape, find_directions
from sfumato.mechanisms.encodings.quadratic_labels import fit_quadratic_labels, label_matrix
from sfumato.mechanisms.questions import projected_image
from sfumato.mechanisms.shrinkage import floor_eigenvalues
from sfumato.mechanisms.tuning import GroupTuning
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.models.labellers import QuadraticLabeller
from sfumato.private.queries.images import ProjectedImage
from sfumato.schema.layout import FloatArray, IntArray, Layout
from sfumato.schema.projections import Projection

PURPOSES = {  # of rounds, by name
    "centres": "where each class lies, and how far rows spread",
    "shape": "the second moment of all rows together, for the main directions",
    "shapes": "the shape of each class in these directions",
    "columns": "every column's mean and variance, for the way back",
}


def group_round(name: str, share: float) -> Share:
    """A round that several mechanisms ask of columns in groups."""
    return Share(name, share, PURPOSES[name])


@dataclass(frozen=True)
class GroupOpening:
    """Constant shares, which docs/proofs/clustmix.md accounts for."""

    shares: tuple[float, float, float, float]

    @property
    def first(self) -> tuple[Share, ...]:
        """Where classes lie, and their common shape."""
        return group_round("centres", self.shares[0]), group_round("shape", self.shares[1])

    @property
    def inside(self) -> float:
        """The part that the mechanism's own rounds have."""
        return self.shares[2]

    @property
    def last(self) -> tuple[Share, ...]:
        """The distributions of single columns, for the way back."""
        return (group_round("columns", self.shares[3]),)


@dataclass(frozen=True)
class GroupEncoding:
    """Coordinates of a public projection, in the main directions that noisy answers show."""

    tuning: GroupTuning = GroupTuning()

    name: ClassVar[str] = "projected"

    def rounds(self, public: Public, kept: float = 1.0) -> GroupOpening:
        """The shares: a wide projection has its own."""
        return GroupOpening(self.tuning.wide_shares if self._is_wide(public.layout) else self.tuning.shares)

    def label_budget(self, public: Public) -> tuple[float, int]:
        """Gradients of many features need many rounds."""
        if self._is_wide(public.layout):
            return self.tuning.wide_label_share, self.tuning.wide_label_rounds
        return self.tuning.label_share, self.tuning.label_rounds

    def _is_wide(self, layout: Layout) -> bool:
        """Whether there are so many coordinates that it takes most of the budget to find their main directions."""
        return sum(group.directions for group in layout.groups) > self.tuning.wide

    def learn(self, curator: Asker, plan: Plan) -> LearnedGroups:
        """Ask for the classes' common shape, and find its main directions."""
        projection = Projection.of(plan.layout.groups)
        shape = ask_shape(curator, plan, projection, self.tuning)
        return LearnedGroups(plan.layout, projection, shape, find_directions(shape, self.tuning), self.tuning)


@dataclass(frozen=True)
class LearnedGroups:
    """What classes have in common, and the directions to ask in."""

    layout: Layout
    projection: Projection
    shape: Shape
    directions: Directions
    tuning: GroupTuning = GroupTuning()

    @cached_property
    def image(self) -> ProjectedImage:
        """Rows in the main directions, seen from the mean of their class."""
        matrix = self.directions.matrix
        return projected_image(self.shape.means @ matrix.T, matrix)

    @property
    def counts(self) -> FloatArray:
        """Rows of each class."""
        return self.shape.counts

    @property
    def spreads(self) -> FloatArray:
        """Mean square norm of each class's images."""
        return np.asarray(self.shape.widths * self.directions.spread)

    def shapes_pay(self, plan: Plan) -> bool:
        """Whether what is planned for them tells the shapes of most classes: where the largest eigenvalue that noise
        alone gives a shape of whitened rows, 2 sqrt(dim) times the noise on an entry, is below that of the shape.
        """
        dim, mu_squared = len(self.directions.matrix), plan.budget("shapes") / plan.public.noise_factor
        entry = radius(dim) ** 2 / (float(np.median(self.counts)) * math.sqrt(mu_squared))
        return 2.0 * math.sqrt(dim) * entry < self.tuning.noisiest_shape

    def nearer(self, curator: Asker, mu_squared: float) -> LearnedGroups:
        """The means of classes asked once more, instead of their shapes."""
        shape = ask_means(curator, self.shape, mu_squared, self.tuning)
        return replace(self, shape=shape, directions=find_directions(shape, self.tuning))

    @property
    def alike(self) -> FloatArray:
        """The shape that all classes share, as wide as each: (classes, dim, dim)."""
        matrix = self.directions.matrix
        least = self.tuning.noise.eigenvalue_floor * self.directions.spread / len(matrix)
        shared = floor_eigenvalues(matrix @ self.shape.within @ matrix.T, least)
        return np.asarray(self.shape.widths[:, None, None] * shared)

    def mixture(self, found: FoundCells, shapes: FloatArray) -> GaussianMixture:
        """Cells and shapes taken back to the projected coordinates, with what lies outside the main directions."""
        back, classes = self.directions.back, found.classes
        means = self.shape.means[classes] + found.means @ back.T
        covariances = np.stack([back @ s @ back.T + self.directions.rest for s in shapes])
        weights = divide_weights(self.shape.weights, classes, found.counts)
        return GaussianMixture(weights, means, (covariances + covariances.swapaxes(1, 2)) / 2.0, classes, found.scales)

    def blind(self, found: FoundCells, rows: FloatArray, labels: IntArray) -> Blind:
        """In the main directions, seen from the mean of all classes; stretched so that a coordinate's mean square,
        within classes and between them, is about 1.
        """
        matrix, centre = self.directions.matrix, self.shape.weights @ self.shape.means
        apart = (self.shape.means - centre) @ matrix.T
        square = self.shape.weights @ (self.spreads + (apart**2).sum(axis=1))
        scale = math.sqrt(len(matrix) / square)
        image = projected_image(np.tile(scale * centre @ matrix.T, (len(apart), 1)), scale * matrix)
        means, seen = apart[found.classes] + found.means, (rows - centre) @ matrix.T
        return Blind(image, scale * means, scale * seen, scale)

    def encoder(self, curator: Asker, plan: Plan, mixture: GaussianMixture) -> Projected:
        """Ask for the columns' moments, with all that is left."""
        return ask_columns(curator, self.projection, self.shape, mixture, curator.remaining, self.tuning)

    def labels_pay(self, plan: Plan) -> bool:
        """As shapes do: a label model tells of classes what their means do not."""
        return self.shapes_pay(plan)

    def labels(
        self, curator: Asker, plan: Plan, encoder: Scores | Projected, mixture: GaussianMixture, alpha: float
    ) -> QuadraticLabeller:
        """Labels are all the label model's: `alpha` is for columns outside groups, and plans refuse it here."""
        wanted = label_matrix(self.shape, self.directions, self.tuning)
        return fit_quadratic_labels(curator, plan, self.shape, wanted, mixture, self.tuning)
