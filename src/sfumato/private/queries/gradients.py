"""The gradient of a label model's likelihood: how the labels of the private rows differ from what a public model says.

The model is additive: a row's logit for a class is a sum of numbers looked up by its bins. So logits are exact sums of
whole numbers, exponentials come from a table that is made of whole numbers too, and what a row adds to the total is a
function of that row alone, bit for bit. docs/proofs/adapt.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from sfumato.private.accounting import Adjacency
from sfumato.private.queries.base import (
    BATCH_CAP,
    LATENT_BITS,
    LATENT_LIMIT,
    SLACK,
    Batch,
    BoolArray,
    FloatArray,
    IntArray,
    ScoreImage,
    clip_rows,
    quantise,
)

PROBABILITY_BITS = 16  # fractional bits of a class's probability
EXP_BITS = 30  # fractional bits of an exponential: below 2^-30 it is 0
EXP_STEP_BITS = 62
EXP_STEP = 4_610_560_255_948_314_623  # floor(2^62 exp(-2^-12))
EXP_STEPS = 21 << LATENT_BITS  # exp(-21) < 2^-30
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
        if len(self.intercepts) != len(self.evidence.tables) or len(self.intercepts) == 2:
            raise ValueError("a label model has one margin for two classes, and as many as classes for more")
        if max(map(abs, self.intercepts)) > LATENT_LIMIT or self.evidence.dim > MOST_FEATURES:
            raise ValueError("intercepts must be below 16, and columns at most 2^20")

    @classmethod
    def of(cls, intercepts: FloatArray, evidence: Sequence[Sequence[FloatArray]]) -> LabelModel:
        """Quantise a model of real numbers."""
        whole = quantise(intercepts, LATENT_BITS, LATENT_LIMIT)
        return cls(tuple(int(value) for value in whole), ScoreImage.of(evidence))

    @property
    def margins(self) -> int:
        return len(self.intercepts)

    def probabilities(self, batch: Batch) -> IntArray:
        """(classes, rows), with PROBABILITY_BITS fractional bits, rounded down: a row's add up to at most one.

        Sums of whole numbers below 2^16, then a table, then a division of whole numbers.
        """
        everyone = np.ones(len(batch), dtype=bool)
        sums = [self.evidence.rows(batch, everyone, m).sum(axis=0) + b for m, b in enumerate(self.intercepts)]
        logits = np.stack([np.zeros(len(batch)), *sums] if self.margins == 1 else sums).astype(np.int64)
        return softmax(logits)

    def residuals(self, batch: Batch) -> FloatArray:
        """(margins, rows): one-hot label minus probability, as whole numbers held in float64."""
        probabilities = self.probabilities(batch)
        own = batch.labels == np.arange(len(probabilities))[:, None]
        residuals = (own.astype(np.int64) << PROBABILITY_BITS) - probabilities
        return np.asarray(residuals[1:] if self.margins == 1 else residuals, dtype=np.float64)


@dataclass(frozen=True)
class Gradient:
    """The sum over rows of phi_m(x) (1[y = m] - p_m(x)), for every margin m of a label model p, jointly.

    phi_m(x) is a 1 and the bins' features in tables that do not depend on the row's label, clipped to norm r: `radius`
    is r^2 in the latent grid's units. `total` is in units of 2^-(LATENT_BITS + PROBABILITY_BITS).

    Sensitivity. Let e = onehot(y) - p. As p is non-negative and adds up to at most one, e_y = 1 - p_y, and the squares
    of the others add up to at most (1 - p_y)^2: |e|^2 <= 2. More than two classes, weight 1 / r: a row's contribution
    (phi_m e_m)_m has norm at most max_m |phi_m| |e| / r <= sqrt(2), which bounds add-remove. A changed label leaves phi
    and p and moves two blocks, each by phi_m: sqrt(2). (To or from a label that counts nowhere: add-remove.) A
    replacement is a removal and an addition: 2 sqrt(2). Two classes, weight sqrt(2) / r, because the first class's
    block is minus the second's and not asked: |phi e_1| <= r makes sqrt(2), so does a changed label, which moves the
    total by phi, and a replacement makes twice that.
    """

    model: LabelModel
    features: ScoreImage
    radius: int

    def __post_init__(self) -> None:
        if len(self.features.tables) != self.model.margins or self.features.dim != self.model.evidence.dim:
            raise ValueError("features and model must have the same margins and columns")
        if self.radius < 1:
            raise ValueError("a squared radius must be at least 1 in the latent grid's units")

    @classmethod
    def of(cls, model: LabelModel, features: Sequence[Sequence[FloatArray]], radius: float) -> Gradient:
        """Quantise features and a radius given as real numbers."""
        return cls(model, ScoreImage.of(features), max(1, math.floor(radius * radius * 4.0**LATENT_BITS)))

    @property
    def size(self) -> int:
        return self.model.margins * (1 + self.features.dim)

    @cached_property
    def weights(self) -> FloatArray:
        times = math.sqrt(2.0) if self.model.margins == 1 else 1.0
        return np.full(self.size, times / math.sqrt(self.radius) * 2.0**-PROBABILITY_BITS)

    def total(self, batch: Batch) -> IntArray:
        if len(batch) > BATCH_CAP:
            raise ValueError(f"a batch holds at most {BATCH_CAP} rows")
        # Exact: products of whole numbers below 2^16 and up to 2^16, at most 2^20 of them.
        blocks = [self._features(batch, m) @ e for m, e in enumerate(self.model.residuals(batch))]
        return np.concatenate(blocks).astype(np.int64)

    def _features(self, batch: Batch, m: int) -> FloatArray:
        everyone: BoolArray = np.ones(len(batch), dtype=bool)
        bins = self.features.rows(batch, everyone, m)
        return clip_rows(np.concatenate([np.full((1, len(batch)), 2.0**LATENT_BITS), bins]), self.radius)

    def sensitivity(self, adjacency: Adjacency) -> float:
        return SLACK * math.sqrt(2.0) * (2.0 if adjacency is Adjacency.REPLACE_ONE else 1.0)

    def unpack(self, flat: FloatArray) -> FloatArray:
        """(margins, 1 + columns), in the units of the features; the intercept is first."""
        return flat.reshape(self.model.margins, -1) * 2.0 ** -(LATENT_BITS + PROBABILITY_BITS)


def softmax(logits: IntArray) -> IntArray:
    """(classes, rows): probabilities with PROBABILITY_BITS fractional bits, rounded down, of logits with LATENT_BITS.

    Differences of whole numbers, then a table, then a division of whole numbers.
    """
    below = np.minimum(logits.max(axis=0) - logits, EXP_STEPS)
    risen = exponentials()[below]
    return np.asarray((risen << PROBABILITY_BITS) // risen.sum(axis=0), dtype=np.int64)


@cache
def exponentials() -> IntArray:
    """floor(2^EXP_BITS exp(-d 2^-LATENT_BITS)) for d from 0, to a unit in the last place, and 0 at the end.

    Products of whole numbers, so that the table is the same on every machine.
    """
    values, value = [], 1 << EXP_STEP_BITS
    for _ in range(EXP_STEPS):
        values.append(value >> (EXP_STEP_BITS - EXP_BITS))
        value = value * EXP_STEP >> EXP_STEP_BITS
    return np.array([*values, 0], dtype=np.int64)
