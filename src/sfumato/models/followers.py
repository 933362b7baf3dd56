"""Columns that all but follow from another: each is drawn given the level of its leader.

Two columns may say the same in two ways (a degree and its number), or one in detail what the other says in groups (an
occupation and its major group). No Gaussian ties two coordinates so closely, and a tilt that has to makes rows that
cannot be. So such a column leaves the mixture, whose Gaussians are integrated over its coordinate, and has a law of its
own: P(bin b | leader's bin a) = chances[level of a, level of b] x (share of b among the bins of its level). Every
chance is above 0, so that no row is impossible. A leader follows nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.models.tilt import Int32Array
from sfumato.schema.layout import Bins, CategoryBins, FloatArray, IntArray


def can_follow(bins: Bins) -> bool:
    """Whether a column has one value in each of its bins, so that its bin is all there is to tell."""
    if isinstance(bins, CategoryBins):
        return True
    return bins.step is not None and bool((bins.high - bins.low < bins.step / 2.0).all())


@dataclass(frozen=True, eq=False)
class Follower:
    """What a file keeps of a column that follows another.

    Attributes:
        column: The feature that follows.
        leader: The feature that it follows.
        chances: (levels of the leader, levels of the column), rows that add up to 1.
    """

    column: int
    leader: int
    chances: FloatArray


@dataclass(frozen=True, eq=False)
class FollowerLaw:
    """A follower's law on bins.

    Attributes:
        follower: Who follows whom.
        leader_levels: The level of every bin of the leader.
        chances: (levels of the leader, bins of the follower).
    """

    follower: Follower
    leader_levels: IntArray
    chances: FloatArray

    @classmethod
    def of(cls, follower: Follower, levels: Sequence[IntArray], shares: FloatArray) -> FollowerLaw:
        """The law, with the share of each bin in all rows, by which those of one level are told apart.

        >>> follower = Follower(1, 0, np.array([[0.9, 0.1]]))
        >>> levels = [np.array([0, 0]), np.array([0, 1, 1])]
        >>> FollowerLaw.of(follower, levels, np.array([0.5, 0.3, 0.1])).chances.round(3)
        array([[0.9  , 0.075, 0.025]])

        Args:
            follower: Who follows whom.
            levels: For each feature the level of every bin.
            shares: How often each bin of the follower comes.

        Returns:
            The law.
        """
        own = levels[follower.column]
        positive = np.maximum(shares, np.finfo(float).tiny)
        within = positive / np.bincount(own, positive)[own]
        chances = follower.chances[:, own] * within
        return cls(follower, levels[follower.leader], chances / chances.sum(axis=1, keepdims=True))

    @cached_property
    def _rises(self) -> FloatArray:
        """The distribution functions of all levels, one after the other, each above the last."""
        rises = np.minimum(np.cumsum(self.chances, axis=1), 1.0)
        rises[:, -1] = 1.0
        return np.asarray((rises + np.arange(len(rises))[:, None]).ravel())

    def draw(self, leaders: IntArray | Int32Array, rng: np.random.Generator) -> Int32Array:
        """Bins of the follower for rows whose leader has these."""
        level, size = self.leader_levels.take(leaders), self.chances.shape[1]
        places = np.searchsorted(self._rises, level + rng.random(len(leaders)), "right")
        return (places - level * size).clip(0, size - 1).astype(np.int32)

    @cached_property
    def _log_chances(self) -> FloatArray:
        return np.log(np.maximum(self.chances, np.finfo(float).tiny))

    def log_chance(self, leaders: IntArray, codes: IntArray, masses: FloatArray) -> FloatArray:
        """log P(bin | leader's bin) of rows; 0 where the bin is not known, and over all leaders by their masses where
        the leader is not.
        """
        known = self._log_chances[self.leader_levels[leaders.clip(0)], codes.clip(0)]
        anyhow = np.log(np.maximum(masses @ self.chances[self.leader_levels], np.finfo(float).tiny))
        return np.where(codes < 0, 0.0, np.where(leaders < 0, anyhow[codes.clip(0)], known))
