"""A label model on projected rows: logistic in their coordinates and the products of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from sfumato.schema.layout import FloatArray, IntArray

CHUNK_ROWS = 1 << 14


@dataclass(frozen=True)
class QuadraticLabeller:
    """log q(y | z) is linear in a one, t and t t^T over sqrt(dim / 2), scaled down to norm `radius`, with
    t = matrix z - centre. A row's label is drawn from q."""

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
        """log q(y | z), (rows, classes)."""
        starts = range(0, max(len(latent), 1), CHUNK_ROWS)
        parts = [self.features(latent[start : start + CHUNK_ROWS]) @ self.slopes.T for start in starts]
        return np.asarray(log_softmax(np.concatenate(parts), axis=1))

    def relabel(self, latent: FloatArray, rng: np.random.Generator) -> IntArray:
        """Labels for rows of the mixture, drawn anew."""
        rises = np.exp(self.log_probabilities(latent)).cumsum(axis=1)
        return np.asarray((rng.random(len(latent))[:, None] >= rises[:, :-1]).sum(axis=1))
