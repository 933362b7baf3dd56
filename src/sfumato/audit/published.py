"""Audits of the papers' algorithms as printed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.audit.game import Attack, Claim
from sfumato.bins import FloatArray
from sfumato.private.accounting import Adjacency, calibrate
from sfumato.published.liu2025 import fit_labelled, output_law, settle_noise, wishart_covariance, wishart_scale

ROWS = 100
COLUMNS = 3
CLASSES = 3
ROUNDING = 1e-9  # of an eigenvalue
ANY_DELTA = 1e-5  # it shapes the noise on means, which is not looked at


def pure_claim(epsilon: float, delta: float) -> Claim:
    """What Lemma 2 and (11) of Liu et al. claim for their epsilon: no delta at all, whatever was asked for."""
    calibrate(epsilon, delta)  # refuses what is no epsilon, or no delta
    return Claim(epsilon, 0.0, None)


@dataclass(frozen=True)
class WishartGame:
    """A class of rows within the unit ball, all at the origin but one of norm 1, which is replaced by zero."""

    claim: Claim

    pair = "a row of norm 1 replaced by zero"
    attacks = (Attack("an output that the table with the row cannot give", slice(0, 1), threshold=0.5),)

    @cached_property
    def _covariances(self) -> tuple[FloatArray, FloatArray]:
        """Equation (2) of the two tables."""
        rows = np.zeros((ROWS, COLUMNS))
        rows[0, 0] = 1.0
        return np.zeros((COLUMNS, COLUMNS)), np.cov(rows.T, bias=True)

    def play(self, with_row: bool, seed: int | None) -> FloatArray:
        """1 where the output dominates the covariance of the table with the row, as all outputs on that table do."""
        gamma = wishart_scale(self.claim.epsilon, ROWS)
        released = wishart_covariance(self._covariances[with_row], gamma, np.random.default_rng(seed))
        room = np.linalg.eigvalsh((released - self._covariances[True]) * gamma)[0]
        return np.array([float(room > -ROUNDING)])


def wishart(claim: Claim, adjacency: Adjacency) -> list[WishartGame]:
    """The Wishart noise on covariances."""
    return [WishartGame(claim)]


@dataclass(frozen=True)
class WeightsGame:
    """Three classes of two-dimensional rows, and the label of one row flipped: the paper's own adjacency."""

    claim: Claim

    pair = "one label flipped"
    attacks = (Attack("weights that the other table cannot give", slice(0, 1), threshold=0.5),)

    @cached_property
    def _worlds(self) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
        """For each table the weights that may come out, and their law."""
        rng = np.random.default_rng(0)
        labels = np.repeat(np.arange(CLASSES), ROWS)
        rows = rng.normal(size=(len(labels), 2)) + 5.0 * labels[:, None]
        worlds = []
        for first in (0, 1):
            labels[0] = first
            fit = fit_labelled(rows, labels, CLASSES)
            noise = settle_noise(rows, labels, fit, epsilon=self.claim.epsilon, delta=ANY_DELTA)
            worlds.append((noise.weight_outputs, output_law(noise.weight_map)))
        return worlds[0], worlds[1]

    def play(self, with_row: bool, seed: int | None) -> FloatArray:
        """1 where the weights drawn are among those that the flipped table can give."""
        outputs, law = self._worlds[with_row]
        drawn = outputs[np.random.default_rng(seed).choice(len(law), p=law)]
        return np.array([float(np.isclose(self._worlds[True][0], drawn).all(axis=1).any())])


def weights(claim: Claim, adjacency: Adjacency) -> list[WeightsGame]:
    """The random map of weights."""
    return [WeightsGame(claim)]
