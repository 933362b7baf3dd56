"""Label models on top of a mixture: rows keep the mixture's distribution, labels follow a logistic model q.

On bins, p(y | x) = alpha p_mixture(y | x) + (1 - alpha) q(y | x), and q is logistic in a sum of numbers looked up by
bins. On projected rows q is logistic in their coordinates and the products of them, and all labels are drawn from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, logsumexp

from sfumato.schema.layout import FloatArray, IntArray

MOST_EVIDENCE = 16.0  # of one cell, in a logit
LABELLED_AT_ONCE = 1 << 14  # rows


@dataclass(frozen=True)
class Labeller:
    """The logistic model q, and how much is left to the mixture.

    The logit of margin m is intercepts[m] plus evidence[c][m] at the bin of every column c; a cell without a bin has no
    evidence. Two classes have one margin, that of the second over the first; more have one each.
    """

    alpha: float
    intercepts: FloatArray
    evidence: tuple[FloatArray, ...]  # for each column (margins, bins)

    def log_probabilities(self, codes: Sequence[IntArray]) -> FloatArray:
        """The log probabilities log q(y | x), (rows, classes), for rows given by their bins, column by column."""
        logits = np.tile(self.intercepts[:, None], len(codes[0]))
        for table, code in zip(self.evidence, codes, strict=True):
            logits += np.pad(table, ((0, 0), (0, 1)))[:, code]  # -1 is the last entry, 0
        if len(logits) == 1:
            logits = np.concatenate([np.zeros_like(logits), logits])
        return np.asarray(log_softmax(logits.T, axis=1))

    def blend(self, codes: Sequence[IntArray], log_joint: FloatArray) -> FloatArray:
        """The log density log p(x, y) from the mixture's: p(x) stays, p(y | x) is a mean of both models'."""
        log_row = logsumexp(log_joint, axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            ours, theirs = np.log(1.0 - self.alpha), np.log(self.alpha)
        blended = np.logaddexp(theirs + log_joint - log_row, ours + self.log_probabilities(codes))
        return np.asarray(log_row + blended)

    def relabel(self, codes: Sequence[IntArray], labels: IntArray, rng: np.random.Generator) -> IntArray:
        """Labels for rows that the mixture drew with the given ones: each is kept with probability alpha."""
        rises = np.exp(self.log_probabilities(codes)).cumsum(axis=1)
        drawn = (rng.random(len(labels))[:, None] >= rises[:, :-1]).sum(axis=1)
        return np.where(rng.random(len(labels)) < self.alpha, labels, drawn)


@dataclass(frozen=True)
class QuadraticLabeller:
    """The model q of projected rows, from which a row's label is drawn.

    log q(y | z) is linear in a one, t and t t^T over sqrt(dim / 2), scaled down to norm `radius`, with
    t = matrix z - centre.
    """

    matrix: FloatArray  # (dim, coordinates)
    centre: FloatArray
    slopes: FloatArray  # (classes, 1 + dim + dim (dim + 1) / 2)
    radius: float

    alpha = 0.0  # of the labels are the mixture's own

    def features(self, latent: FloatArray) -> FloatArray:
        """What the logits are linear in, one row each."""
        t = latent @ self.matrix.T - self.centre
        left, right = np.triu_indices(t.shape[1])
        products = t[:, left] * t[:, right] * np.sqrt(2.0 / t.shape[1])
        phi = np.concatenate([np.ones((len(t), 1)), t, products], axis=1)
        phi *= np.minimum(1.0, self.radius / np.linalg.norm(phi, axis=1, keepdims=True))
        return phi

    def log_probabilities(self, latent: FloatArray) -> FloatArray:
        """The log probabilities log q(y | z), (rows, classes)."""
        starts = range(0, max(len(latent), 1), LABELLED_AT_ONCE)
        parts = [self.features(latent[start : start + LABELLED_AT_ONCE]) @ self.slopes.T for start in starts]
        return np.asarray(log_softmax(np.concatenate(parts), axis=1))

    def relabel(self, latent: FloatArray, rng: np.random.Generator) -> IntArray:
        """Labels for rows of the mixture, drawn anew."""
        rises = np.exp(self.log_probabilities(latent)).cumsum(axis=1)
        return np.asarray((rng.random(len(latent))[:, None] >= rises[:, :-1]).sum(axis=1))
