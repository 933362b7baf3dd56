"""The arithmetic of an account: what counts together keeps the cap, for every adjacency and unit."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ledger.helpers import ask, insist_on_cap

from sfumato.accounting import Adjacency, calibrate
from sfumato.errors import ArgumentError, BudgetError, LedgerError
from sfumato.ledger import account as account_module
from sfumato.ledger import ledger as ledger_module
from sfumato.ledger.account import ADJACENCY_FACTORS, SAMPLER_SLACK, Account, Dataset, State
from sfumato.ledger.ledger import Ledger
from sfumato.private.accounting import MOST_RELEASES
from sfumato.schema.layout import ROW


def cap(epsilon: float = 1.0, delta: float = 1e-6, adjacency: Adjacency = Adjacency.ADD_REMOVE, unit: str = ROW) -> Any:
    return Dataset("patients", "2030-01-01T00:00:00+00:00", epsilon, delta, adjacency, unit)


CAPS = st.tuples(st.floats(0.01, 30.0), st.floats(-12.0, -1.0).map(lambda x: 10.0**x), st.sampled_from([ROW, "person"]))


@given(CAPS)
def test_one_release_at_the_cap_fits_and_then_nothing(given_cap: tuple[float, float, str]) -> None:
    epsilon, delta, unit = given_cap
    asked = ask(epsilon, delta, unit=unit)
    dataset = cap(epsilon, delta, unit=unit)
    assert dataset.mu == asked.mu
    empty = Account(dataset, ())
    assert empty.left() == asked.mu
    full = Account(dataset, (empty.price("a" * 32, "now", asked),))
    insist_on_cap(dataset, list(full.entries))
    assert full.mu == asked.mu
    assert full.epsilon <= epsilon == pytest.approx(full.epsilon, rel=1e-6)
    with pytest.raises(BudgetError):
        full.price("b" * 32, "now", replace(asked, mu=asked.mu / 1000))


def test_what_all_releases_may_fall_short_of_the_ideal_is_set_aside_at_the_opening(tmp_path: Path) -> None:
    delta = 1e-5
    last = math.log(delta) - math.log(MOST_RELEASES * SAMPLER_SLACK)
    dataset = cap(last - 1.1, delta)  # the slack takes a third of delta
    assert 0.0 < dataset.mu < calibrate(dataset.epsilon, delta)
    full = Account(dataset, (Account(dataset, ()).price("a" * 32, "now", replace(ask(), mu=dataset.mu)),))
    insist_on_cap(dataset, list(full.entries) * MOST_RELEASES, square=dataset.mu**2)
    assert full.left() == 0.0
    with pytest.raises(ArgumentError, match="leaves nothing at epsilon"):
        Ledger(tmp_path / "ledger.db").open("patients", last + 0.1, delta)


def test_no_more_releases_are_let_in_than_was_set_aside_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account_module, "MOST_RELEASES", 3)
    account = Account(cap(), ())
    for _ in range(3):
        account = Account(cap(), (*account.entries, account.price("a" * 32, "now", replace(ask(), mu=0.01))))
    assert account.left() == 0.0
    assert not account.over
    with pytest.raises(BudgetError, match="'patients' has 3 releases, as many as one data set may have"):
        account.price("a" * 32, "now", replace(ask(), mu=0.01))
    returned = replace(account.entries[0], state=State.RETURNED)
    assert Account(cap(), (returned, *account.entries[1:])).fits(0.01)
    more = Account(cap(), (*account.entries, account.entries[0]))
    assert (more.over != "", more.left(), more.epsilon) == (True, 0.0, math.inf)


@given(CAPS, st.lists(st.floats(0.01, 1.2), max_size=5), st.sampled_from(Adjacency), st.sampled_from(Adjacency))
def test_the_value_that_is_shown_as_left_would_fit(
    given_cap: tuple[float, float, str], shares: list[float], own: Adjacency, other: Adjacency
) -> None:
    dataset = replace(cap(*given_cap[:2], unit=given_cap[2]), adjacency=own)
    account = Account(dataset, ())
    for share in shares:
        asked = replace(ask(*given_cap[:2], own, given_cap[2]), mu=dataset.mu * share)
        if account.fits(asked.mu):
            account = Account(dataset, (*account.entries, account.price("a" * 32, "now", asked)))
        else:
            with pytest.raises(BudgetError, match="'patients' has too little left"):
                account.price("a" * 32, "now", asked)
    insist_on_cap(dataset, list(account.entries))
    assert account.left() == 0 or account.fits(account.left())
    assert not account.fits(math.nextafter(account.left(), math.inf))
    shown = account.left_epsilon
    if shown > 0:
        again = ask(shown, dataset.delta, own, dataset.unit)
        insist_on_cap(dataset, [*account.entries, account.price("b" * 32, "now", again)])
    if (other, own) in ADJACENCY_FACTORS and (
        shown := dataset.epsilon_that_fits(account.left(ADJACENCY_FACTORS[other, own]))
    ) > 0:
        account.price("b" * 32, "now", ask(shown, dataset.delta, other, dataset.unit))
    assert account.running() == sorted(account.running())
    assert account.epsilon <= dataset.epsilon


def test_many_small_releases_add_up_in_squares() -> None:
    dataset = cap(1.0, 1e-6)
    account = Account(dataset, ())
    tenth = replace(ask(), mu=dataset.mu / 10)
    for _ in range(100):
        if not account.fits(tenth.mu):
            break
        account = Account(dataset, (*account.entries, account.price("a" * 32, "now", tenth)))
    assert len(account.entries) in (99, 100)  # a hundredth of the square each, rounded down or up
    assert account.epsilon == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("own", Adjacency)
@pytest.mark.parametrize("other", Adjacency)
def test_every_adjacency_costs_what_it_tells(own: Adjacency, other: Adjacency) -> None:
    expected = {
        ("add-remove", "replace-one"): 2,
        ("add-remove", "label"): 2,
        ("replace-one", "label"): 1,
        ("add-remove", "add-remove"): 1,
        ("replace-one", "replace-one"): 1,
        ("label", "label"): 1,
    }
    account = Account(cap(4.0, 1e-6, own), ())
    asked = ask(1.0, 1e-6, other)
    if (other, own) not in expected:
        with pytest.raises(LedgerError, match="holds more for public"):
            account.price("a" * 32, "now", asked)
        return
    entry = account.price("a" * 32, "now", asked)
    assert entry.charged_mu == expected[other, own] * asked.mu
    assert entry.slack == expected[other, own] * SAMPLER_SLACK
    assert (entry.adjacency, entry.mu) == (other, asked.mu)


@pytest.mark.parametrize(("own", "other"), [(ROW, "person"), ("person", ROW), ("person", "household")])
def test_units_do_not_add_up_with_others(own: str, other: str) -> None:
    with pytest.raises(LedgerError, match=f"about one {own}, this release protects one {other}"):
        Account(cap(unit=own), ()).price("a" * 32, "now", ask(0.1, unit=other))


def test_a_refusal_counts_a_release_twice_where_it_has_to() -> None:
    account = Account(cap(1.0, 1e-6, Adjacency.REPLACE_ONE), ())
    with pytest.raises(BudgetError, match="counted 2 times in a data set of adjacency replace-one") as refusal:
        account.price("a" * 32, "now", ask(1.0))
    assert "epsilon 0.4726 at delta 1e-06" in str(refusal.value)
    account.price("a" * 32, "now", ask(0.4726))


def test_the_arithmetic_stands_apart_from_the_database() -> None:
    names = Path(account_module.__file__).read_text() + Path(ledger_module.__file__).read_text()
    assert "    import sqlalchemy as sa\n" in names  # for types only
    assert "\nimport sqlalchemy" not in names
