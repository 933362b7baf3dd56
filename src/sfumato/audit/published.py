"""Audits of the papers' algorithms as printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.accounting import calibrate
from sfumato.audit.game import Attack, Claim
from sfumato.guarantee import ROUNDING
from sfumato.private.accounting import Adjacency
from sfumato.published import clustmix as printed
from sfumato.published.liu2025 import fit_labelled, output_law, settle_noise, wishart_covariance, wishart_scale
from sfumato.schema.layout import FloatArray, IntArray

ROWS = 100
COLUMNS = 3
CLASSES = 3
ANY_DELTA = 1e-5  # it shapes the noise on means, which is not looked at

CLUSTER_ROWS = 20  # l_min of ClustMix: sigma_max is chosen so
RESTARTS = 4  # the largest likelihood is what the paper asks for
OUTLIER = 10.0

Rows = tuple[FloatArray, IntArray]


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


@dataclass(frozen=True)
class ClustmixGame:
    """ClustMix with two classes and one region, on rows that are in [0, 1] already but for the outlier.

    The centroids are not adapted, as with alpha = 1: the faults shown lie in the other steps. Clusters have
    CLUSTER_ROWS rows or more, so a row is claimed to move one point by at most sqrt(D) / CLUSTER_ROWS.
    """

    pair: str
    claim: Claim
    tables: tuple[Rows, Rows]
    attack: Attack
    score: Callable[[FloatArray, IntArray], float]
    restarts: int = 1

    @property
    def attacks(self) -> tuple[Attack, ...]:
        """The one attack of this game."""
        return (self.attack,)

    @property
    def sigma(self) -> float:
        """(8) for a cluster of CLUSTER_ROWS rows."""
        columns = self.tables[0][0].shape[1]
        return printed.noise_sd(self.claim.epsilon, self.claim.delta, CLUSTER_ROWS, classes=2, columns=columns)

    def play(self, with_row: bool, seed: int | None) -> FloatArray:
        """One run of the game: what the attacker sees, as numbers."""
        x, y = self.tables[with_row]
        released = printed.release(
            x,
            y,
            classes=2,
            epsilon=self.claim.epsilon,
            delta=self.claim.delta,
            sigma_max=self.sigma * (1.0 + ROUNDING),
            rng=np.random.default_rng(seed),
            adapt=False,
            cuts=0,
            restarts=self.restarts,
        )
        return np.array([self.score(released.scaled, released.y)])


def clustmix(claim: Claim, adjacency: Adjacency) -> list[ClustmixGame]:
    """ClustMix where a row is replaced: by one of the other class, by an outlier, and by one in the same range."""
    return [_other_class(claim), _outlier(claim), _tipping_row(claim)]


def _line() -> Rows:
    """In each class CLUSTER_ROWS rows at 0 and as many at 1; the last row is of class 1, at 1."""
    return np.tile(np.repeat([0.0, 1.0], CLUSTER_ROWS), 2)[:, None], np.repeat([0, 1], 2 * CLUSTER_ROWS)


def _other_class(claim: Claim) -> ClustmixGame:
    """Class 1 has rows for two clusters, and without one of them for one only."""
    x, y = _line()
    flipped = y.copy()
    flipped[-1] = 0
    attack = Attack("the number of synthetic points of its class", slice(0, 1), threshold=0.5)
    return ClustmixGame("a row replaced by one of the other class", claim, ((x, y), (x, flipped)), attack, _one_point)


def _one_point(points: FloatArray, labels: IntArray) -> float:
    return float((labels == 1).sum() < 2)


def _outlier(claim: Claim) -> ClustmixGame:
    """Min-max scaling moves the points of class 0, whose rows are untouched: their mean is 1/2, then 1/20."""
    x, y = _line()
    far = x.copy()
    far[-1] = OUTLIER
    middle = -(0.5 + 0.5 / OUTLIER) / 2.0
    attack = Attack("the mean of the other class's points", slice(0, 1), threshold=middle)
    return ClustmixGame("a row replaced by an outlier", claim, ((x, y), (far, y)), attack, _class_0)


def _class_0(points: FloatArray, labels: IntArray) -> float:
    return -float(points[labels == 0].mean())


def _tipping_row(claim: Claim) -> ClustmixGame:
    """Class 0 sits on the corners of a square.

    Two clusters can be its left and right or its lower and upper half, equally good but for one row: half way up the
    left side, or half way along the lower one.
    """
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    x = np.vstack([np.repeat(corners, CLUSTER_ROWS // 2, axis=0), np.full((CLUSTER_ROWS, 2), 0.5)])
    y = np.repeat([0, 1], [2 * CLUSTER_ROWS, CLUSTER_ROWS])
    along, up = x.copy(), x.copy()
    along[0], up[0] = (0.5, 0.0), (0.0, 0.5)
    attack = Attack("which halves the class is cut into", slice(0, 1), threshold=0.0)
    pair = "a row replaced by one in the same range and class"
    return ClustmixGame(pair, claim, ((along, y), (up, y)), attack, _left_and_right, RESTARTS)


def _left_and_right(points: FloatArray, labels: IntArray) -> float:
    first, second = points[labels == 0]
    return float(abs(first[0] - second[0]) - abs(first[1] - second[1]))
