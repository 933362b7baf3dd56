"""Audits of the papers' algorithms as printed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.audit.game import Attack, Claim
from sfumato.bins import FloatArray
from sfumato.private.accounting import Adjacency, calibrate
from sfumato.published.liu2025 import wishart_covariance, wishart_scale

ROWS = 100
COLUMNS = 3
ROUNDING = 1e-9  # of an eigenvalue


def pure_claim(epsilon: float, delta: float) -> Claim:
    """What Lemma 2 of Liu et al. claims for its epsilon: no delta at all, whatever was asked for."""
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
