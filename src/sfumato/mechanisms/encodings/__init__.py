"""What an encoding asks first, and what a mechanism then works in.

`scores` (ordinary columns) asks for histograms; `affine` for the same, in data units; `projected` (columns in groups)
for where classes lie and their main directions. A mechanism is written against `Encoding` and `Learned`, and where it
differs by encoding it says so in one place.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from sfumato.encoding.projected import Projected
from sfumato.encoding.scores import Scores
from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.base import Plan, Public
from sfumato.mechanisms.budget import Share
from sfumato.mechanisms.cell_shapes import FoundCells
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.models.labellers import Labeller, QuadraticLabeller
from sfumato.private.queries.base import Image
from sfumato.schema.layout import FloatArray, IntArray, Layout


class Blind(NamedTuple):
    """Cells' means and rows of a model in a space where a row's place does not depend on its label.

    Attributes:
        image: Of a row there.
        means: Of the cells, there.
        rows: Of the model, there.
        scale: What one unit of the cells' own space is worth there.
    """

    image: Image
    means: FloatArray
    rows: FloatArray
    scale: float


class Opening(Protocol):
    """How an encoding divides the budget: its first rounds, what it leaves inside, and its last rounds."""

    @property
    def first(self) -> tuple[Share, ...]:
        """Asked before the mechanism's own rounds."""

    @property
    def inside(self) -> float:
        """The part of the squared budget that is left for the mechanism's own rounds."""

    @property
    def last(self) -> tuple[Share, ...]:
        """Asked after them."""


class Learned(Protocol):
    """What the first rounds told: where to ask on, and how a model is put together."""

    @property
    def layout(self) -> Layout:
        """With the bins that were settled on."""

    @property
    def image(self) -> Image:
        """Of a row, in the latent space."""

    @property
    def counts(self) -> FloatArray:
        """Rows of each class."""

    @property
    def spreads(self) -> FloatArray:
        """Mean square norm of each class's images."""

    def mixture(self, found: FoundCells, shapes: FloatArray) -> GaussianMixture:
        """Cells and the shapes of their classes as a mixture in the encoder's space."""

    def blind(self, found: FoundCells, rows: FloatArray, labels: IntArray) -> Blind:
        """Cells and rows of the mixture, with their labels, seen without the label."""

    def encoder(self, curator: Asker, plan: Plan, mixture: GaussianMixture) -> Scores | Projected:
        """The way back to columns; where that takes a last round, it is asked here."""

    def labels_pay(self, plan: Plan) -> bool:
        """Whether adapted labels tell more than the noise on them."""

    def labels(
        self, curator: Asker, plan: Plan, encoder: Scores | Projected, mixture: GaussianMixture, alpha: float
    ) -> Labeller | QuadraticLabeller:
        """The rounds that adapt labels."""


class Encoding(Protocol):
    """An encoding that cells can be found in."""

    @property
    def name(self) -> str:
        """By which plans and files know it."""

    def rounds(self, public: Public, kept: float) -> Opening:
        """What is asked first, with which shares; `kept` is the part of the budget that is not set aside."""

    def label_budget(self, public: Public) -> tuple[float, int]:
        """The part of the budget that adapted labels take, and in how many rounds."""

    def learn(self, curator: Asker, plan: Plan) -> Learned:
        """Ask the first rounds."""
