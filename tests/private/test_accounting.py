"""The accounting against mpmath and against dp-accounting, and the budget as a filter."""

import copy
import math
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from dp_accounting import gaussian_mechanism
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import some

from sfumato.accounting import calibrate, delta_of, mu_of
from sfumato.errors import ArgumentError, BudgetError
from sfumato.private import accounting
from sfumato.private.accounting import Adjacency, Budget, Spend
from sfumato.private.noise import DISTANCE_PER_COORDINATE
from sfumato.private.slicing.law import Slices

EPSILONS = [0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0, 50.0]
DELTAS = [1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2]
GRID = [(e, d) for e in EPSILONS for d in DELTAS]
EXTREMES = [(e, d) for e in (1e-4, 1e-3, 0.1, 200.0, 1000.0) for d in (1e-300, 1e-100, 1e-12, 0.3, 0.99)]

epsilons = st.floats(-9.0, 7.0).map(math.exp)
deltas = st.floats(-690.0, -0.01).map(math.exp)
mus = st.floats(-12.0, 4.0).map(math.exp)


def exact_delta(epsilon: float, mu: float) -> mpmath.mpf:
    """Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2), digits to spare for the difference."""
    with mpmath.workdps(120):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)

        def upper(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.erfc(x / mpmath.sqrt(2)) / 2

        return upper(e / m - m / 2) - mpmath.exp(e) * upper(e / m + m / 2)


@pytest.mark.parametrize(("delta", "mu"), [(1e-5, 0.26805), (1e-6, 0.23670)])
def test_known_values(delta: float, mu: float) -> None:
    assert mu_of(1.0, delta) == pytest.approx(mu, abs=5e-6)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_agrees_with_dp_accounting(epsilon: float, delta: float) -> None:
    mu = mu_of(epsilon, delta)
    assert 1 / mu == pytest.approx(gaussian_mechanism.get_sigma_gaussian(epsilon, delta), rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), GRID + EXTREMES)
def test_mu_is_safe_and_nearly_the_largest(epsilon: float, delta: float) -> None:
    mu = mu_of(epsilon, delta)
    assert exact_delta(epsilon, mu) <= delta
    assert exact_delta(epsilon, mu * (1 + 1e-8)) > delta


@given(epsilons, mus)
@settings(max_examples=some(300), deadline=None)
def test_delta_is_never_below_the_truth(epsilon: float, mu: float) -> None:
    exact = exact_delta(epsilon, mu)
    assert exact <= delta_of(epsilon, mu) <= exact * (1 + 1e-4) + 1e-307


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_delta_is_accurate_where_it_is_used(epsilon: float, delta: float) -> None:
    mu = mu_of(epsilon, delta)
    assert delta_of(epsilon, mu) <= exact_delta(epsilon, mu) * (1 + 1e-9)


def test_no_noise_to_speak_of_and_nothing_spent() -> None:
    assert delta_of(1.0, 0.0) == 0.0
    assert 0.0 < delta_of(1.0, 5e-324) < 1e-300
    assert delta_of(1.0, accounting.LARGEST_MU) == 1.0


# The slack of the sampler


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 50.0, 500.0])
def test_calibrate_pays_for_the_sampler(epsilon: float) -> None:
    delta = 1e-30
    mu = calibrate(epsilon, delta)
    slack = (1 + mpmath.exp(epsilon)) * accounting.MOST_COORDINATES * mpmath.mpf(DISTANCE_PER_COORDINATE)
    assert exact_delta(epsilon, mu) + slack <= delta
    assert mu == pytest.approx(mu_of(epsilon, delta), rel=1e-9)


def test_calibrate_refuses_what_the_sampler_cannot_give() -> None:
    for epsilon, delta in [(700.0, 1e-5), (1000.0, 1e-5), (1.0, 1e-270)]:
        with pytest.raises(ArgumentError, match="finer than the noise is drawn"):
            calibrate(epsilon, delta)


def test_calibrate_near_its_limit_keeps_the_slack() -> None:
    """An epsilon at which the slack takes a good part of delta."""
    delta = 1e-5
    epsilon = math.log(delta / 2**40) - math.log(DISTANCE_PER_COORDINATE) - 1.1
    slack = (1 + mpmath.exp(epsilon)) * 2**40 * mpmath.mpf(DISTANCE_PER_COORDINATE)
    assert slack > 0.3 * delta
    assert exact_delta(epsilon, calibrate(epsilon, delta)) + slack <= delta


# The budget


def exact_cost(spends: tuple[Spend, ...]) -> Fraction:
    return sum(((Fraction(s.sensitivity) / Fraction(s.sigma)) ** 2 for s in spends), Fraction(0))


@given(
    st.floats(1e-6, 1e3),
    st.lists(st.tuples(st.floats(1e-6, 1e6), st.floats(1e-9, 1.0)), max_size=12),
)
@settings(deadline=None)
def test_adaptive_charges_never_cost_more_than_the_total(total: float, shares: list[tuple[float, float]]) -> None:
    budget = Budget(total)
    for sensitivity, share in shares:
        if budget.remaining * share > 0:
            asked = budget.remaining * share
            before = Fraction(budget.remaining)
            spend = budget.charge("query", sensitivity, asked)
            assert Fraction(budget.remaining) <= before - Fraction(asked)
            assert (Fraction(sensitivity) / Fraction(spend.sigma)) <= Fraction(spend.mu)
            assert Fraction(spend.mu) ** 2 <= Fraction(asked)
            assert spend.mu == pytest.approx(math.sqrt(asked), rel=1e-12)
            assert spend.sigma == pytest.approx(sensitivity / spend.mu, rel=1e-12)
    if budget.remaining > 0:
        budget.charge("all that is left", 1.0, budget.remaining)
    assert budget.remaining == 0.0
    booked = sum(Fraction(spend.mu) ** 2 for spend in budget.spends)
    assert exact_cost(budget.spends) <= booked <= Fraction(total) ** 2


@given(st.floats(1e-6, 1e3), st.floats(1e-6, 0.999))
@settings(deadline=None)
def test_overspending_is_refused_and_changes_nothing(total: float, share: float) -> None:
    budget = Budget(total)
    budget.charge("first", 1.0, budget.remaining * share)
    remaining, spends = budget.remaining, budget.spends
    with pytest.raises(BudgetError, match="'second' asks for"):
        budget.charge("second", 1.0, math.nextafter(remaining, math.inf))
    assert (budget.remaining, budget.spends) == (remaining, spends)
    budget.charge("second", 1.0, remaining)
    assert [spend.name for spend in budget.spends] == ["first", "second"]


def test_nothing_can_be_charged_to_a_spent_budget() -> None:
    budget = Budget(1.0)
    budget.charge("everything", 1.0, budget.remaining)
    with pytest.raises(BudgetError):
        budget.charge("one more", 1.0, 5e-324)


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def charged_at_once(budget: Budget, threads: int = 4) -> int:
    """How many threads get nine tenths of a budget."""
    barrier, got = threading.Barrier(threads), []

    def charge() -> None:
        barrier.wait()
        with suppress(BudgetError):
            got.append(budget.charge("query", 1.0, 0.9))

    crew = [threading.Thread(target=charge) for _ in range(threads)]
    for each in crew:
        each.start()
    for each in crew:
        each.join()
    return len(got)


def test_of_threads_that_charge_at_once_one_gets_the_rest(hasty: None) -> None:
    assert {charged_at_once(Budget(1.0)) for _ in range(50)} == {1}


def test_a_budget_without_a_lock_would_be_seen(hasty: None) -> None:
    def unlocked() -> Budget:
        budget: Any = Budget(1.0)
        budget._lock = nullcontext()
        return budget

    assert any(charged_at_once(unlocked()) > 1 for _ in range(2000))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, pickle.dumps])
def test_a_budget_is_not_duplicated(duplicate: Callable[[Budget], object]) -> None:
    """What is left could be spent in both."""
    with pytest.raises(TypeError):
        duplicate(Budget(1.0))


# Arguments


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_a_bad_epsilon_is_refused(epsilon: float) -> None:
    functions: list[Callable[[float, float], float]] = [mu_of, delta_of, calibrate]
    for function in functions:
        with pytest.raises(ArgumentError, match="epsilon must be a finite number above 0"):
            function(epsilon, 1e-5)


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-5, math.nan, math.inf])
def test_a_bad_delta_is_refused(delta: float) -> None:
    functions: list[Callable[[float, float], float]] = [mu_of, calibrate]
    for function in functions:
        with pytest.raises(ArgumentError, match=r"delta must lie inside \(0, 1\)"):
            function(1.0, delta)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_bad_charges_and_budgets_are_refused(bad: float) -> None:
    budget = Budget(1.0)
    with pytest.raises(ArgumentError, match="sensitivity"):
        budget.charge("query", bad, 0.5)
    with pytest.raises(ArgumentError, match="mu_squared"):
        budget.charge("query", 1.0, bad)
    with pytest.raises(ArgumentError, match="total mu"):
        Budget(bad)
    assert budget.remaining == 1.0


def test_adjacencies_are_their_names() -> None:
    assert [str(a) for a in Adjacency] == ["add-remove", "replace-one", "label"]
    assert Adjacency("label") is Adjacency.LABEL


def test_slices_that_would_tell_their_own_cost_are_refused() -> None:
    """A plan is an object of a mechanism: one of a subclass could claim to cost nothing, and to equal any other."""

    class Cheap(Slices):
        weight = property(lambda self: 1e-30)

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None

    cheap = Cheap(4, 2, 1.0, 1.0)
    assert delta_of(1.0, 0.2, [cheap]) < delta_of(1.0, 0.2, [Slices(4, 2, 1.0, 1.0)]) / 1e3
    with pytest.raises(ArgumentError, match="plain"):
        Budget(0.2, (cheap,))
