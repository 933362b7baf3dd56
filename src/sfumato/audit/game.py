"""The game of an audit: a mechanism runs on one of two neighbouring tables, and an attack guesses on which."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sfumato.accounting import calibrate
from sfumato.audit.bounds import PILOT, Bound, bound
from sfumato.schema.layout import FloatArray

BRIGHTEST = 8  # single numbers of a view that are tried beside the learned combination


@dataclass(frozen=True)
class Claim:
    """What the mechanism says of itself; mu is None where it claims (epsilon, delta)-DP alone."""

    epsilon: float
    delta: float
    mu: float | None

    @classmethod
    def gaussian(cls, epsilon: float, delta: float) -> Claim:
        """The claim of whatever spends the whole of (epsilon, delta) on Gaussian queries."""
        return cls(epsilon, delta, calibrate(epsilon, delta))

    def broken_by(self, found: Bound) -> bool:
        return found.epsilon > self.epsilon or found.mu > (math.inf if self.mu is None else self.mu)


@dataclass(frozen=True)
class Attack:
    """A guess from part of a view. `threshold` is where theory puts it, for a score that is known to be best; without
    one the attack learns from the pilot runs which combination of the numbers tells the tables apart."""

    name: str
    part: slice
    threshold: float | None = None


class Game(Protocol):
    """Two neighbouring tables, a mechanism, and the attacks on it."""

    @property
    def pair(self) -> str:
        """What the two tables are, in words."""

    @property
    def attacks(self) -> tuple[Attack, ...]: ...

    def play(self, with_row: bool, seed: int | None) -> FloatArray:
        """One run: what an adversary sees, as numbers. A seed makes the noise repeatable, for tests."""


@dataclass(frozen=True)
class Finding:
    """What one attack on one pair of tables showed, and its scores on the runs that were measured."""

    pair: str
    attack: str
    bound: Bound
    without: FloatArray
    with_row: FloatArray

    def data(self) -> dict[str, Any]:
        return {"pair": self.pair, "attack": self.attack} | vars(self.bound)


def judge(game: Game, attack: Attack, without: FloatArray, with_row: FloatArray, delta: float, level: float) -> Finding:
    """Turn the views of all runs into bounds that fail with probability at most `level`."""
    absent, present = without[:, attack.part], with_row[:, attack.part]
    if attack.threshold is None:
        pilot = round(PILOT * len(absent))
        score = learn(absent[:pilot], present[:pilot], delta)
        absent, present = score(absent), score(present)
    else:
        absent, present = absent[:, 0], present[:, 0]
    found = bound(absent, present, delta, level, attack.threshold)
    return Finding(game.pair, attack.name, found, absent, present)


def learn(without: FloatArray, with_row: FloatArray, delta: float) -> Callable[[FloatArray], FloatArray]:
    """The combination of a view's numbers that tells the pilot runs apart best: Fisher's linear discriminant, or a
    single number where that alone does better (a number that never varies but between the tables is a leak on its
    own, and no covariance shows it)."""
    centre = (without.mean(axis=0) + with_row.mean(axis=0)) / 2.0
    spread = np.sqrt((without.var(axis=0) + with_row.var(axis=0)) / 2.0)
    change = with_row.mean(axis=0) - without.mean(axis=0)
    clear = np.abs(change) / np.maximum(spread, 1e-12 * np.maximum(np.abs(centre), 1e-300))
    brightest = np.argsort(-clear, kind="stable")[:BRIGHTEST]
    directions = [np.sign(change) * (np.arange(len(change)) == i) for i in brightest]
    live = spread > 1e-12 * np.maximum(np.abs(centre), 1e-300)
    if live.any():
        directions.append(_discriminant(without, with_row, spread, change, live))
    half = 0.05  # any level will do to compare
    best = max(directions, key=lambda d: bound(without @ d, with_row @ d, delta, half).mu)
    return lambda view: np.asarray(view @ best)


def _discriminant(
    without: FloatArray, with_row: FloatArray, spread: FloatArray, change: FloatArray, live: Any
) -> FloatArray:
    """Fisher's direction, with the covariance shrunk (Ledoit and Wolf 2004), on numbers that vary."""
    from sklearn.covariance import ledoit_wolf

    unit = spread[live]
    centred = np.vstack([part[:, live] - part[:, live].mean(axis=0) for part in (without, with_row)]) / unit
    covariance = ledoit_wolf(centred, assume_centered=True)[0]
    direction = np.zeros(len(spread))
    direction[live] = np.linalg.solve(covariance, change[live] / unit) / unit
    return direction
