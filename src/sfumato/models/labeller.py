"""A label model on top of a mixture: rows keep the mixture's distribution, labels are drawn from both.

p(y | x) = alpha p_mixture(y | x) + (1 - alpha) q(y | x), where q is logistic in a sum of numbers looked up by bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, logsumexp

from sfumato.schema.layout import FloatArray, IntArray

MOST_EVIDENCE = 16.0  # of one cell, in a logit


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
        """log q(y | x), (rows, classes), for rows given by their bins, column by column."""
        logits = np.tile(self.intercepts[:, None], len(codes[0]))
        for table, code in zip(self.evidence, codes, strict=True):
            logits += np.pad(table, ((0, 0), (0, 1)))[:, code]  # -1 is the last entry, 0
        if len(logits) == 1:
            logits = np.concatenate([np.zeros_like(logits), logits])
        return np.asarray(log_softmax(logits.T, axis=1))

    def blend(self, codes: Sequence[IntArray], log_joint: FloatArray) -> FloatArray:
        """log p(x, y) from the mixture's: p(x) stays, p(y | x) is a mean of both models'."""
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
