"""Releases with slices, chosen after earlier matrices were seen: the best strategy that a search finds keeps the cap,
and the rule that the ledger had before, the joint law of all slices so far, is convicted by the same search.

Who sees the matrix U_1 knows S_1, and may choose what to ask next by it. The two rules below say what a ledger would
still accept; neither depends on what was drawn. Against releases that show as much as they were charged for, the true
delta of a strategy is E[delta_GDP(epsilon; sqrt T)], T the sum of all mu^2 and D_i^2 S_i / sigma_i^2, by quadrature.
The search takes, at every T, the best of what is accepted: all that is left as a Gaussian query, or slices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest
from scipy import stats

from sfumato.accounting import Adjacency, calibrate, delta_of
from sfumato.errors import BudgetError
from sfumato.ledger.account import Account, Ask, Dataset, State
from sfumato.ledger.ledger import Ledger
from sfumato.private.slicing.law import Slices
from sfumato.schema.layout import ROW

DELTA, DIM = 1e-6, 20
ROOTS = np.concatenate([np.linspace(1e-3, 2.0, 1500), np.linspace(2.0, 12.0, 500)[1:]])  # of T
REPLACE = Adjacency.REPLACE_ONE


# What is accepted after some slices


class Rule(Protocol):
    epsilon: float

    def left(self) -> float:
        """The largest mu of a Gaussian query."""

    def most(self, projections: int) -> float:
        """The largest (D / sigma)^2 of slices."""

    def after(self, projections: int, weight: float) -> Rule:
        """The same once these slices were taken."""


def slices_of(projections: int, weight: float) -> Slices:
    return Slices(DIM, projections, 1.0, 1.0 / math.sqrt(weight))


@dataclass(frozen=True)
class JointLaw:
    """What the ledger did: delta of the joint law of all slices so far, as if they had been fixed in advance."""

    epsilon: float
    taken: tuple[Slices, ...] = ()

    def left(self) -> float:
        """Where the delta at T = mu^2 is the cap's."""
        return float(np.interp(DELTA, joint_deltas(self.epsilon, self.taken), ROOTS))

    def most(self, projections: int) -> float:
        low, high = 1e-6, self.left() ** 2 * DIM
        for _ in range(16):
            middle = math.sqrt(low * high)
            fits = joint_deltas(self.epsilon, (*self.taken, slices_of(projections, middle)))[0] <= DELTA
            low, high = (middle, high) if fits else (low, middle)
        return low

    def after(self, projections: int, weight: float) -> JointLaw:
        return JointLaw(self.epsilon, (*self.taken, slices_of(projections, weight)))


@dataclass(frozen=True)
class Book:
    """What the ledger does, by its own account."""

    account: Account

    @classmethod
    def of(cls, epsilon: float) -> Book:
        return cls(Account(Dataset("pupils", "now", epsilon, DELTA, REPLACE, ROW), ()))

    @property
    def epsilon(self) -> float:
        return self.account.dataset.epsilon

    def left(self) -> float:
        return self.account.left()

    def most(self, projections: int) -> float:
        """The bound t is proportional to the weight; beside them the smallest mu of a Gaussian query is asked."""
        t = self.account.charge_for((slices_of(projections, 1.0),)).t
        return self.account.left() ** 2 / t * (1.0 - 1e-9)

    def after(self, projections: int, weight: float) -> Book:
        asked = Ask("slicing", REPLACE, ROW, self.epsilon, DELTA, 1e-12, (slices_of(projections, weight),))
        entry = self.account.price("a" * 32, "now", asked)
        return Book(Account(self.account.dataset, (*self.account.entries, entry)))


# The best strategy


def gaussian_deltas(epsilon: float, squares: Any) -> Any:
    mu = np.sqrt(squares)
    logs = stats.norm.logcdf(-epsilon / mu + mu / 2), epsilon + stats.norm.logcdf(-epsilon / mu - mu / 2)
    return np.maximum(np.exp(logs[0]) * -np.expm1(logs[1] - logs[0]), 1e-300)


@lru_cache
def chi_squares(projections: int, nodes: int = 160) -> tuple[Any, Any]:
    """Nodes and weights of a chi-square, by its root, up to where 1e-18 are left."""
    end = math.sqrt(stats.chi2(projections).isf(1e-18))
    at, weights = np.polynomial.legendre.leggauss(nodes)
    root = (at + 1.0) * end / 2
    return root**2, weights * end / 2 * stats.chi(projections).pdf(root)


def expected(values: Any, weight: float, projections: int) -> Any:
    """E[value(T + weight chi-square / d)] at every T; the logarithm of a value is nearly straight in the root of T."""
    drawn, chances = chi_squares(projections)
    roots = np.sqrt(ROOTS[:, None] ** 2 + weight / DIM * drawn)
    return np.exp(np.interp(roots, ROOTS, np.log(values))) @ chances


def joint_deltas(epsilon: float, taken: tuple[Slices, ...]) -> Any:
    """E[delta] over the law of all slices together, beside Gaussian queries of every mu = sqrt T."""
    values = gaussian_deltas(epsilon, ROOTS**2)
    for each in taken:
        values = expected(values, each.sigma**-2, each.projections)
    return values


def best(rule: Rule, releases: int, projections: Sequence[int] = (1,), shares: Sequence[float] = (0.3, 0.6)) -> Any:
    """The largest delta, at every T so far, that so many releases can reach."""
    values = [gaussian_deltas(rule.epsilon, ROOTS**2 + rule.left() ** 2)]
    for count in projections:
        most = rule.most(count)
        for share in shares if releases > 1 else (1.0,):
            if releases > 1:
                later = best(rule.after(count, share * most), releases - 1, projections, shares)
            else:
                later = gaussian_deltas(rule.epsilon, ROOTS**2)
            values.append(expected(later, share * most, count))
    return np.max(values, axis=0)


CASES = [(1.0, 2), (1.0, 3), (3.0, 4)]
CONVICTED = {(1.0, 2): 1.5, (1.0, 3): 1.6, (3.0, 4): 1.85}


@pytest.mark.every(2)
@pytest.mark.parametrize(("epsilon", "releases"), CASES)
def test_the_best_adaptive_strategy_keeps_the_cap(epsilon: float, releases: int) -> None:
    found = best(Book.of(epsilon), releases, projections=(1, 8), shares=(0.3, 0.6, 0.9) if releases < 4 else (0.3, 0.6))
    assert 0.8 * DELTA < found[0] <= DELTA


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "releases"), CASES)
def test_the_joint_law_is_no_filter(epsilon: float, releases: int) -> None:
    """The twin: the search sees a rule that is wrong."""
    assert best(JointLaw(epsilon), releases)[0] > CONVICTED[epsilon, releases] * DELTA


# One strategy by name, on a ledger that is written


FIRST, SECOND, MU, THRESHOLD = slices_of(1, 2.844**-2), slices_of(1, 2.338**-2), 0.19049, 3.97


def test_the_strategy_is_accepted_by_the_joint_law_and_above_the_cap() -> None:
    assert delta_of(1.0, MU, [FIRST]) == pytest.approx(DELTA, rel=3e-3)  # to the digits in which it is written down
    assert joint_deltas(1.0, (FIRST, SECOND))[0] == pytest.approx(DELTA, rel=3e-3)
    drawn, chances = chi_squares(1, nodes=300)
    first, second = (drawn / (DIM * each.sigma**2) for each in (FIRST, SECOND))
    as_gaussian = gaussian_deltas(1.0, first + MU**2)
    as_slice = gaussian_deltas(1.0, first[:, None] + second) @ chances
    assert chances @ np.where(drawn > THRESHOLD, as_gaussian, as_slice) == pytest.approx(1.579e-6, rel=1e-3)


def test_the_ledger_refuses_it(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("pupils", 1.0, DELTA, REPLACE)
    asks = [
        Ask("slicing", REPLACE, ROW, 1.0, DELTA, 1e-12, (FIRST,)),
        Ask("mixture", REPLACE, ROW, 1.0, DELTA, MU),
        Ask("slicing", REPLACE, ROW, 1.0, DELTA, 1e-12, (SECOND,)),
    ]
    refused = 0
    for ask in asks:
        try:
            with ledger.reserve("pupils", ask) as entry:
                entry.draw()
        except BudgetError:
            refused += 1
    assert refused == 2
    (account,) = ledger.accounts()
    assert [entry.state for entry in account.entries] == [State.RELEASED]
    assert account.mu <= account.dataset.mu < calibrate(1.0, DELTA)
