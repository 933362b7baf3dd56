"""The gradient of a label model's likelihood: how the labels of the private rows differ from what a public model says.

Logits are exact sums of whole numbers, exponentials come from a table that is made of whole numbers too, and what a row
adds to the total is a function of that row alone, bit for bit. docs/proofs/adapt.md has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.errors import insist
from sfumato.private.queries import base
from sfumato.private.queries.base import LATENT_BITS, LATENT_LIMIT, Batch, FloatArray, IntArray, Products, Reach
from sfumato.private.queries.images import ScoreImage
from sfumato.whole_numbers import PROBABILITY_BITS as PROBABILITY_BITS
from sfumato.whole_numbers import softmax

MOST_FEATURES = 1 << 20  # sums of so many whole numbers below 2^32 are exact in float64


@dataclass(frozen=True)
class LabelModel:
    """p(class | row) by public tables: the logit of margin m is intercepts[m] plus evidence[m][c] at the bin of every
    column c, all with LATENT_BITS fractional bits; a cell without a bin has no evidence.

    Two classes have one margin, that of the second class over the first; more have one margin a class.
    """

    intercepts: tuple[int, ...]
    evidence: ScoreImage

    def __post_init__(self) -> None:
        fits = len(self.intercepts) == len(self.evidence.tables) and len(self.intercepts) != 2
        insist(fits, "a label model has one margin for two classes, and as many as classes for more")
        small = max(map(abs, self.intercepts)) <= LATENT_LIMIT and self.evidence.dim <= MOST_FEATURES
        insist(small, "intercepts must be below 16, and columns at most 2^20")

    @property
    def margins(self) -> int:
        """How many margins there are."""
        return len(self.intercepts)

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return 2 if self.margins == 1 else self.margins

    def probabilities(self, batch: Batch) -> IntArray:
        """(classes, rows), with PROBABILITY_BITS fractional bits, rounded down: a row's add up to at most one.

        Sums of whole numbers below 2^16, then a table, then a division of whole numbers.
        """
        everyone = np.ones(len(batch), dtype=bool)
        sums = [self.evidence.rows(batch, everyone, m).sum(axis=0) + b for m, b in enumerate(self.intercepts)]
        logits = np.stack([np.zeros(len(batch)), *sums] if self.margins == 1 else sums).astype(np.int64)
        return softmax(logits)

    def residuals(self, batch: Batch) -> FloatArray:
        """(margins, rows): one-hot label minus probability, as whole numbers held in float64; at most sqrt(2) long."""
        residuals = _residuals(batch.labels, self.probabilities(batch))
        return base.within(residuals[1:] if self.margins == 1 else residuals, 2 << (2 * PROBABILITY_BITS))


@dataclass(frozen=True)
class Gradient(Products):
    """The sum over rows of phi_m(x) (1[y = m] - p_m(x)), for every margin m of a label model p, jointly.

    phi_m(x) is a 1 and the bins' features in tables that do not depend on the row's label, clipped to norm r: `radius`
    is r^2 in the latent grid's units. `total` is in units of 2^-(LATENT_BITS + PROBABILITY_BITS).

    Reach. Let e = onehot(y) - p. As p is non-negative and adds up to at most one, e_y = 1 - p_y, and the squares of the
    others add up to at most (1 - p_y)^2: |e|^2 <= 2. More than two classes, weight 1 / r: a row's contribution
    (phi_m e_m)_m has norm at most max_m |phi_m| |e| / r <= sqrt(2) = D. A changed label leaves phi and p and moves two
    blocks, each by phi_m: L = sqrt(2). Two rows are at most E = 2 D apart. Two classes, weight sqrt(2) / r, because the
    first class's block is minus the second's and not asked: |phi e_1| <= r makes sqrt(2), and so does a changed label,
    which moves the total by phi. There is one group.
    """

    model: LabelModel
    features: ScoreImage
    radius: int

    def __post_init__(self) -> None:
        fits = len(self.features.tables) == self.model.margins and self.features.dim == self.model.evidence.dim
        insist(fits, "features and model must have the same margins and columns")
        insist(1 <= self.radius < base.EXACT, "a squared radius must be at least 1 in the latent grid's units")

    @property
    def classes(self) -> int:  # type: ignore[override]
        """Those of the label model."""
        return self.model.classes

    @property
    def reach(self) -> Reach:
        return Reach(math.sqrt(2.0), math.sqrt(2.0) * 2.0, math.sqrt(2.0), False, 1)

    @cached_property
    def weights(self) -> FloatArray:
        times = math.sqrt(2.0) if self.model.margins == 1 else 1.0
        size = self.model.margins * (1 + self.features.dim)
        return np.full(size, times / math.sqrt(self.radius) * 2.0**-PROBABILITY_BITS)

    def part(self, batch: Batch) -> IntArray:
        # Exact: products of whole numbers below 2^16 and up to 2^16, at most 2^20 of them.
        sums = [self._features(batch, m) @ e for m, e in enumerate(self.model.residuals(batch))]
        return base.in_limbs(np.concatenate(sums))

    def _features(self, batch: Batch, m: int) -> FloatArray:
        bins = self.features.rows(batch, np.ones(len(batch), dtype=bool), m)
        phi = np.concatenate([np.full((1, len(batch)), 2.0**LATENT_BITS), bins])
        return base.within(base.clip_rows(phi, self.radius), self.radius)


@dataclass(frozen=True)
class ClippedGradient(Products):
    """The sum over rows of phi (onehot(y) - p(phi)), for every class, jointly: p is a linear label model's softmax.

    phi are features of norm at most r (`radius` is its square on the integer grid) that do not look at the label, and
    the logits are `slopes` times phi. The residual onehot(y) - p is scaled down to norm `cap` where it is longer, as
    DP-SGD does with gradients: rows that the model has wrong pull as hard as each other, and the noise is smaller by
    the same factor. `total` is in units of 2^-(LATENT_BITS + PROBABILITY_BITS).

    Reach. With weight 1 / (r cap) a row's contribution has norm at most |phi| |residual| / (r cap) <= 1 = D; two rows,
    also if they differ in the label only, are at most twice that apart: E = L = 2. There is one group.
    """

    image: base.Image
    slopes: IntArray  # (classes, features), LATENT_BITS fractional bits
    radius: int
    cap: float

    def __post_init__(self) -> None:
        fits = self.slopes.shape == (len(self.slopes), self.image.dim) and base.largest(self.slopes) <= LATENT_LIMIT
        insist(fits, "there must be one slope below 16 for every class and feature")
        insist(self.image.limit == LATENT_LIMIT and self.image.dim <= MOST_FEATURES, "features must be below 16")
        insist(1 <= self.radius < base.LARGEST_RADIUS, "the radius must be below 16")
        insist(0.0 < self.cap <= 1.0 and self._most >= 1, "the cap must be above 0 and at most 1")

    @property
    def classes(self) -> int:  # type: ignore[override]
        """One for each row of slopes."""
        return len(self.slopes)

    @property
    def reach(self) -> Reach:
        return Reach(1.0, 2.0, 2.0, False, 1)

    @property
    def _most(self) -> int:
        """The square of the cap on the grid of probabilities."""
        return math.floor(self.cap**2 * 4.0**PROBABILITY_BITS)

    @cached_property
    def weights(self) -> FloatArray:
        return np.full(self.slopes.size, 1.0 / (math.sqrt(self.radius) * self.cap * 2.0**PROBABILITY_BITS))

    def part(self, batch: Batch) -> IntArray:
        everyone: base.BoolArray = np.ones(len(batch), dtype=bool)
        phi = base.within(base.clip_rows(self.image.rows(batch, everyone, 0), self.radius), self.radius)
        # Exact: products of whole numbers below 2^16 and of at most 2^16, at most 2^20 of them.
        return base.in_limbs((self._capped(phi, batch.labels) @ phi.T).ravel())

    def _capped(self, phi: FloatArray, labels: IntArray) -> FloatArray:
        """(classes, rows), with PROBABILITY_BITS fractional bits: exact products, a table, a division and a root."""
        logits = np.rint((self.slopes.astype(np.float64) @ phi) / 2.0**LATENT_BITS).astype(np.int64)
        return base.within(base.clip_rows(_residuals(labels, softmax(logits)), self._most), self._most)


def _residuals(labels: IntArray, probabilities: IntArray) -> FloatArray:
    """One-hot labels minus probabilities; a row whose label is none of the classes has zeros."""
    own = labels == np.arange(len(probabilities))[:, None]
    apart = (own.astype(np.int64) << PROBABILITY_BITS) - probabilities
    return np.asarray(apart * own.any(axis=0), dtype=np.float64)


KINDS = (Gradient, ClippedGradient, LabelModel)  # that a question may be made of
