"""The ledger: it never counts too little, never forgets, and lets nobody draw noise that it has not written down."""

from __future__ import annotations

import copy
import json
import math
import multiprocessing
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import unicodedata
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import mpmath
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.accounting import Adjacency, add_up, calibrate
from sfumato.errors import ArgumentError, BudgetError, LedgerError, MissingExtraError, OutputError, TableError
from sfumato.files import check_writable
from sfumato.ledger import account as account_module
from sfumato.ledger import ledger as ledger_module
from sfumato.ledger import store as ledger_store
from sfumato.ledger.account import ADJACENCY_FACTORS, SAMPLER_SLACK, Account, Ask, Dataset, Entry, State
from sfumato.ledger.ledger import Ledger, Reservation
from sfumato.private import curator as curator_module
from sfumato.private.accounting import MOST_RELEASES
from sfumato.private.units import COLLISION, unit_delta
from sfumato.schema.layout import ROW

POSTGRES = os.environ.get("SFUMATO_TEST_POSTGRES", "")
FORK = multiprocessing.get_context("fork")  # spawning would import pandas anew in every process
FRAME = pd.DataFrame({"age": [float(i % 90) for i in range(300)]})
SCHEMA: dict[str, Any] = {"columns": {"age": {"type": "number", "min": 0, "max": 100, "bins": 16}}}

mus = st.floats(1e-9, 50.0)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty place for a ledger."""
    if request.param == "sqlite":
        yield str(tmp_path / "ledger.db")
        return
    if not POSTGRES:
        pytest.skip("SFUMATO_TEST_POSTGRES names no PostgreSQL server")
    import sqlalchemy as sa

    name = f"sfumato_{uuid.uuid4().hex}"
    engine = sa.create_engine(ledger_store.Place.of(POSTGRES).url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    yield f"{POSTGRES}?options=-csearch_path%3D{name}"
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def ask(epsilon: float = 1.0, delta: float = 1e-6, adjacency: Adjacency = Adjacency.ADD_REMOVE, unit: str = ROW) -> Ask:
    mu = calibrate(epsilon, delta if unit == ROW else unit_delta(delta))
    return Ask("mixture", adjacency, unit, epsilon, delta, mu)


def cap(epsilon: float = 1.0, delta: float = 1e-6, adjacency: Adjacency = Adjacency.ADD_REMOVE, unit: str = ROW) -> Any:
    return Dataset("patients", "2030-01-01T00:00:00+00:00", epsilon, delta, adjacency, unit)


def fit(ledger: Any, epsilon: float = 1.0, delta: float = 1e-6, **options: Any) -> sf.Release:
    return sf.fit(FRAME, SCHEMA, epsilon=epsilon, delta=delta, ledger=ledger, dataset="patients", **options)


def only(ledger: Ledger) -> Entry:
    (entry,) = ledger.accounts("patients")[0].entries
    return entry


def states(ledger: Ledger) -> list[str]:
    return [str(entry.state) for entry in ledger.accounts("patients")[0].entries]


def true_delta(epsilon: float, square: Fraction) -> Any:
    """delta(epsilon) of sqrt(square)-GDP, by the definition, in 60 digits."""
    with mpmath.workdps(60):
        mu = mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator)
        if mu == 0:
            return mpmath.mpf(0)
        e = mpmath.mpf(epsilon)
        return mpmath.ncdf(-e / mu + mu / 2) - mpmath.exp(e) * mpmath.ncdf(-e / mu - mu / 2)


def insist_on_cap(dataset: Dataset, entries: list[Entry], square: float | None = None) -> None:
    """All that counts together keeps the cap. Nothing in it is taken from the library but the entries' own mu."""
    counted = [entry for entry in entries if entry.state != "returned"]
    twice = {("add-remove", "replace-one"), ("add-remove", "label")}
    factors = [2 if (e.adjacency, dataset.adjacency) in twice else 1 for e in counted]
    squares = (Fraction(f * e.mu) ** 2 for f, e in zip(factors, counted, strict=True))
    together = sum(squares, Fraction(0)) if square is None else Fraction(square)
    with mpmath.workdps(60):
        slack = len(counted) * mpmath.mpf(SAMPLER_SLACK) * (1 + mpmath.exp(dataset.epsilon))
        slack += 0 if dataset.unit == ROW else len(counted) * mpmath.mpf(COLLISION)
        assert true_delta(dataset.epsilon, together) + slack <= dataset.delta


# --- the arithmetic


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


# --- adjacency and unit


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


# --- sequences, and what a wrong implementation would do

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "reserve", "draw", "confirm", "fail", "give back"]),
        st.floats(0.05, 1.5),
        st.floats(-8.0, -2.0).map(lambda x: 10.0**x),
        st.integers(0, 5),
        st.sampled_from(["add-remove", "replace-one"]),
    ),
    min_size=1,
    max_size=14,
)


def play(folder: Path, steps: list[Any], guarded: bool = True) -> None:
    """Any order of steps keeps the cap; what counted once counts for ever, unless it was returned undrawn."""
    path = folder / f"{uuid.uuid4().hex}.db"
    ledger = Ledger(path)
    dataset = ledger.open("patients", 2.0, 1e-5, "replace-one")
    if not guarded:
        unguard(path)
    open_ones: list[Reservation] = []
    drawn: set[str] = set()
    for step, epsilon, delta, which, adjacency in steps:
        chosen = open_ones[which % len(open_ones)] if open_ones else None
        try:
            if step == "reserve":
                one = ledger.reserve("patients", ask(epsilon, delta, Adjacency(adjacency)))
                open_ones.append(one.__enter__())
            elif chosen is not None and step == "draw":
                chosen.draw()
                drawn.add(chosen.id)
            elif chosen is not None and step == "confirm":
                chosen.__exit__(None, None, None)
            elif chosen is not None and step == "fail":
                chosen.__exit__(KeyboardInterrupt, None, None)
            elif chosen is not None:
                ledger.give_back(chosen.id)
        except (BudgetError, LedgerError):
            pass
        entries = list(ledger.accounts("patients")[0].entries)
        insist_on_cap(dataset, entries)
        assert drawn <= {entry.id for entry in entries if entry.state in ("drawing", "released")}


slow = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@slow
@given(STEPS)
def test_any_sequence_keeps_the_cap(tmp_path: Path, steps: list[Any]) -> None:
    play(tmp_path, steps)


def adds_epsilons(account: Account, charged_mu: float, charge: Any = None) -> bool:
    epsilons = [entry.epsilon for entry in account.counted]
    return sum(epsilons) + 0.5 <= account.dataset.epsilon


def counts_released_only(account: Account, charged_mu: float, charge: Any = None) -> bool:
    released = [entry.charged_mu for entry in account.counted if entry.state is State.RELEASED]
    return add_up([*released, charged_mu]) <= account.dataset.mu


def counts_the_largest(account: Account, charged_mu: float, charge: Any = None) -> bool:
    return max([charged_mu, *(entry.charged_mu for entry in account.counted)]) <= account.dataset.mu


def forgets_the_factor(account: Account, charged_mu: float, charge: Any = None) -> bool:
    return add_up([*(entry.mu for entry in account.counted), charged_mu / 2]) <= account.dataset.mu


# Reservations of which three together exceed the cap, one of a large delta.
TOO_MUCH = [("reserve", 1.5, 1e-2, 0, "add-remove")] + [("reserve", 1.4, 1e-5, 0, "replace-one")] * 3
DOUBLE = [("reserve", 1.9, 1e-5, 0, "add-remove")]


@pytest.mark.parametrize("fault", [adds_epsilons, counts_released_only, counts_the_largest, forgets_the_factor])
def test_a_wrong_rule_would_be_seen(fault: Callable[..., bool], tmp_path: Path) -> None:
    steps = DOUBLE if fault is forgets_the_factor else TOO_MUCH
    play(tmp_path, steps)
    with mock.patch.object(Account, "fits", fault), pytest.raises(AssertionError):
        play(tmp_path, steps)


def test_a_return_of_what_was_drawn_would_be_seen(tmp_path: Path) -> None:
    steps = [("reserve", 0.1, 1e-5, 0, "add-remove"), ("draw", 1.0, 1e-5, 0, "label"), ("fail", 1.0, 1e-5, 0, "label")]
    play(tmp_path, steps)

    def anyway(self: Ledger, entry: str, old: State, new: State, seconds: float | None = None) -> bool:
        mine = ledger_store.entries.c.id == entry
        with ledger_store.writing(self._place) as connection:
            return connection.execute(ledger_store.entries.update().where(mine).values(state=str(new))).rowcount == 1

    with mock.patch.object(Ledger, "_moved", anyway):
        play(tmp_path, steps)  # the database refuses it
        with pytest.raises(AssertionError):
            play(tmp_path, steps, guarded=False)


# --- a fit that is counted


def test_a_fit_is_counted(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("patients", 1.0, 1e-6)
    release = fit(ledger)
    entry = only(ledger)
    assert entry.state is State.RELEASED
    assert release.guarantee.entry == entry.id
    assert f"counted in a ledger as {entry.id}" in str(release.guarantee)
    assert (entry.epsilon, entry.delta, entry.mu) == (1.0, 1e-6, release.guarantee.mu)
    assert json.loads(entry.descriptor) == {"law": "gaussian", "mu": entry.mu}
    with pytest.raises(BudgetError, match="ask for at most mu 0, which is epsilon 0 at delta 1e-06"):
        fit(place)
    assert len(ledger.accounts()[0].entries) == 1


def test_a_fit_without_a_ledger_says_so() -> None:
    release = sf.fit(FRAME, SCHEMA, epsilon=1, delta=1e-6)
    assert release.guarantee.entry is None
    assert str(release.guarantee).endswith("covers this release only")


def test_a_unit_is_counted_by_its_column(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("patients", 1.0, 1e-6, unit="person")
    schema = SCHEMA | {"unit": {"column": "person", "rows": 2}}
    frame = FRAME.assign(person=[f"p{i // 3}" for i in range(len(FRAME))])
    release = sf.fit(frame, schema, epsilon=1, delta=1e-6, ledger=ledger, dataset="patients")
    assert only(ledger).unit == "person" == release.guarantee.unit
    assert only(ledger).collision == COLLISION
    with pytest.raises(LedgerError, match="do not add up"):
        fit(ledger, 0.1)


def test_the_estimator_and_its_clones_are_counted(path: Path) -> None:
    from sklearn.base import clone

    ledger = sf.Ledger(path)
    ledger.open("patients", 1.0, 1e-5)
    model = sf.PrivateMixture(epsilon=0.6, delta=1e-5, bounds=(0, 100), ledger=ledger, dataset="patients")
    clone(model).fit(FRAME.to_numpy())
    model.fit(FRAME.to_numpy())
    assert model.guarantee_.entry in {entry.id for entry in ledger.accounts()[0].entries}
    with pytest.raises(BudgetError):
        model.fit(FRAME.to_numpy())
    assert len(ledger.accounts()[0].entries) == 2


def test_the_release_file_keeps_the_entry(path: Path, tmp_path: Path) -> None:
    Ledger(path).open("patients", 1.0, 1e-6)
    release = fit(path)
    release.save(tmp_path / "r.sfumato")
    assert sf.load(tmp_path / "r.sfumato").guarantee == release.guarantee


@pytest.mark.parametrize("options", [{"ledger": "a.db"}, {"dataset": "patients"}])
def test_ledger_and_dataset_belong_together(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match="belong together"):
        sf.fit(FRAME, SCHEMA, epsilon=1, delta=1e-6, **options)


def test_a_seeded_release_is_not_counted(path: Path) -> None:
    Ledger(path).open("patients", 1.0, 1e-6)
    with pytest.raises(ArgumentError, match="insecure_seed"):
        fit(path, insecure_seed=1)
    assert Ledger(path).accounts()[0].entries == ()


def test_a_data_set_that_was_not_opened_is_told_how(path: Path) -> None:
    Ledger(path).open("others", 1.0, 1e-6)
    with pytest.raises(LedgerError) as refusal:
        fit(path, adjacency="replace-one")
    command = f"sfumato ledger {path} --open patients --epsilon E --delta D --adjacency replace-one"
    assert str(refusal.value) == f"{path} has no data set 'patients'; to open it: {command}"
    with pytest.raises(LedgerError, match="has no data set 'patients'"):
        Ledger(path).accounts("patients")


def test_nothing_about_the_table_is_kept(path: Path, tmp_path: Path) -> None:
    Ledger(path).open("patients", 1.0, 1e-6)
    FRAME.to_csv(tmp_path / "secretname.csv", index=False)
    sf.fit(tmp_path / "secretname.csv", SCHEMA, epsilon=1, delta=1e-6, ledger=path, dataset="patients")
    names = set(ledger_store.entries.c.keys())
    assert names == {"number"} | set(Entry.__dataclass_fields__)
    stored = path.read_bytes()
    assert b"patients" in stored
    assert b"secretname" not in stored
    assert b"age" not in stored


# --- opening


def test_a_cap_is_final(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("patients", 1, 1e-6)
    for epsilon in (0.5, 1, 2):
        with pytest.raises(
            LedgerError, match="has 'patients' already, with a cap that is final: epsilon 1, delta 1e-06"
        ):
            ledger.open("patients", epsilon, 1e-6)
    ledger.open("others", 3, 1e-9, "label", "person")
    assert {account.dataset.name: account.dataset.epsilon for account in ledger.accounts()} == {
        "patients": 1.0,
        "others": 3.0,
    }


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("", 1, 1e-6), "name"),
        ((" patients", 1, 1e-6), "name"),
        (("two\nlines", 1, 1e-6), "name"),
        (("x" * 201, 1, 1e-6), "name"),
        ((3, 1, 1e-6), "name"),
        (("patients", 0, 1e-6), "epsilon"),
        (("patients", math.nan, 1e-6), "epsilon"),
        (("patients", True, 1e-6), "epsilon"),
        (("patients", 1, 0), "delta"),
        (("patients", 1, 1), "delta"),
        (("patients", 1e12, 1e-6), "finer"),
        (("patients", 1, 1e-6, "cousin"), "adjacency"),
        (("patients", 1, 1e-6, "label", ""), "unit"),
        (("patients", 1, 1e-21, "label", "person"), "delta"),
    ],
)
def test_what_is_no_cap_is_refused_and_no_file_made(arguments: tuple[Any, ...], match: str, path: Path) -> None:
    with pytest.raises(ArgumentError, match=match):
        Ledger(path).open(*arguments)
    assert not path.exists()


COMPOSED, APART = (unicodedata.normalize(form, "Klinik Köln") for form in ("NFC", "NFD"))


def test_two_spellings_of_a_letter_are_one_name(place: str) -> None:
    ledger = Ledger(place)
    assert ledger.open(APART, 1, 1e-6).name == COMPOSED
    for name in (COMPOSED, APART):
        with pytest.raises(LedgerError, match="already, with a cap that is final"):
            ledger.open(name, 1, 1e-6)
        assert [account.dataset.name for account in ledger.accounts(name)] == [COMPOSED]
    sf.fit(FRAME, SCHEMA, epsilon=0.5, delta=1e-6, ledger=ledger, dataset=APART)
    with ledger.reserve(APART, ask(0.5)) as entry:
        entry.draw()
    assert len(ledger.accounts(COMPOSED)[0].entries) == 2


@pytest.mark.parametrize(
    "name", ["Straße 1  Ost", "STRASSE 1 OST", "straße  1 ost", "Straße １ Ost", "Straße ① Ost", "ﬆraße 1 Ost"]
)
def test_names_that_read_alike_are_not_opened_side_by_side(name: str, place: str) -> None:
    ledger = Ledger(place)
    ledger.open("Straße 1 Ost", 1, 1e-6)
    with pytest.raises(LedgerError, match=f"has 'Straße 1 Ost' already, which reads like '{name}'"):
        ledger.open(name, 1, 1e-6)
    ledger.open("Straße 2 Ost", 1, 1e-6)
    assert len(ledger.accounts()) == 2


@pytest.mark.parametrize("name", ["", "a\nb", "\udcff", "a\0b", 7])
def test_a_name_that_no_data_set_can_have(name: Any, path: Path) -> None:
    Ledger(path).open("patients", 1, 1e-6)
    with pytest.raises(ArgumentError, match="name must be one line"):
        Ledger(path).accounts(name)
    with pytest.raises(ArgumentError, match="name must be one line"):
        sf.fit(FRAME, SCHEMA, epsilon=1, delta=1e-6, ledger=path, dataset=name)
    with pytest.raises(LedgerError, match="has no entry"):
        Ledger(path).give_back(str(name))


@pytest.mark.parametrize("meddle", [False, True])
def test_looking_at_a_ledger_does_not_drop_the_lock_of_another_thread(meddle: bool, path: Path) -> None:
    # Closing any handle of a file drops all locks that the process holds on it; SQLite takes care of its own handles.
    Ledger(path).open("patients", 1, 1e-6)
    change(path, "PRAGMA journal_mode = DELETE")  # where the lock is on the file itself
    with ledger_store.writing(ledger_store.Place.of(str(path))):
        assert len(Ledger(path).accounts()) == 1
        if meddle:
            path.open("rb").close()
        assert another_program_gets_the_lock(path) == meddle


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_asking_whether_a_file_is_a_database_does_not_drop_a_lock(mode: str, path: Path) -> None:
    Ledger(path).open("patients", 1, 1e-6)
    change(path, f"PRAGMA journal_mode = {mode}")
    with ledger_store.writing(ledger_store.Place.of(str(path))):
        for name in (path, f"{path}-wal", f"{path}-shm", f"{path}-journal"):
            with pytest.raises(OutputError, match="SQLite database"):
                check_writable(name)
        assert not another_program_gets_the_lock(path)
        assert not another_program_is_alone(path)
    assert another_program_gets_the_lock(path)


def another_program_is_alone(path: Path) -> bool:
    """Whether nobody is seen to have the file open, so that its log could be taken away."""
    code = (
        f"import sqlite3; c = sqlite3.connect({str(path)!r}, timeout=0); c.execute('PRAGMA locking_mode = EXCLUSIVE')"
    )
    code += "; c.execute('BEGIN EXCLUSIVE')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60).returncode == 0


def another_program_gets_the_lock(path: Path) -> bool:
    code = f"import sqlite3; sqlite3.connect({str(path)!r}, timeout=0).execute('BEGIN IMMEDIATE')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60).returncode == 0


def test_nothing_but_open_makes_a_file(path: Path) -> None:
    ledger = Ledger(path)
    for attempt in (ledger.accounts, lambda: fit(path), lambda: ledger.give_back("a" * 32)):
        with pytest.raises(LedgerError, match="does not exist; to make it: sfumato ledger"):
            attempt()
    assert not path.exists()
    with pytest.raises(OutputError, match="does not exist"):
        Ledger(path.parent / "nowhere" / "l.db").open("patients", 1, 1e-6)
    with pytest.raises(LedgerError, match="is a folder"):
        Ledger(path.parent).open("patients", 1, 1e-6)


def test_the_file_is_kept_with_care(path: Path) -> None:
    Ledger(path).open("patients", 1, 1e-6)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with ledger_store.writing(ledger_store.Place.of(str(path))) as connected:
        assert connected.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert connected.exec_driver_sql("PRAGMA busy_timeout").scalar() == 60_000
        with closing(sqlite3.connect(path, timeout=0)) as other, pytest.raises(sqlite3.OperationalError, match="lock"):
            other.execute("BEGIN IMMEDIATE")


def test_a_file_with_two_names_is_refused(path: Path, tmp_path: Path) -> None:
    # Each name would have a log and locks of its own.
    ledger = Ledger(path)
    ledger.open("patients", 1, 1e-6)
    other = tmp_path / "other.db"
    os.link(path, other)
    for place in (path, other):
        attempts = [Ledger(place).accounts, lambda place=place: fit(place), lambda: ledger.give_back("a" * 32)]
        for attempt in [*attempts, lambda place=place: Ledger(place).open("others", 1, 1e-6)]:
            with pytest.raises(
                LedgerError, match=r"has 2 names \(hard links\), which would be counted apart: keep one"
            ):
                attempt()
    other.unlink()
    fit(path)


def test_a_second_name_that_appears_during_a_fit_is_seen(path: Path, tmp_path: Path) -> None:
    ledger = Ledger(path)
    ledger.open("patients", 1, 1e-6)
    drawn = mock.Mock(side_effect=AssertionError("drawn"))
    with mock.patch.object(curator_module, "noisy", drawn), pytest.raises(LedgerError, match="hard links"):
        fit(ledger, progress=lambda spend: os.link(path, tmp_path / "other.db"))
    (tmp_path / "other.db").unlink()
    assert states(ledger) == ["reserved"]


def test_symbolic_links_lead_to_one_ledger(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "link.db").symlink_to("b/ledger.db")
    names = [tmp_path / "link.db", tmp_path / "a" / "ledger.db", tmp_path / "b" / ".." / "b" / "ledger.db"]
    Ledger(names[0]).open("patients", 1, 1e-6)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "b", "link.db"]
    assert len({ledger_store.Place.of(str(name)).real().path for name in names}) == 1
    fit(names[1])
    for name in names:
        assert states(Ledger(name)) == ["released"]
        with pytest.raises(BudgetError):
            fit(name)


MOUNTINFO = rb"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
36 22 98:0 /mnt1 /srv/with\040blank\011tab\134slash/l.db rw,noatime master:1 - ext3 /dev/root rw,errors=continue
37 22 0:5 / /proc rw shared:2 - proc proc rw
too short
"""


def test_mount_points_are_read_as_linux_writes_them() -> None:
    assert ledger_store.mount_points(MOUNTINFO) == {b"/", b"/srv/with blank\ttab\\slash/l.db", b"/proc"}


def test_a_file_that_is_a_mount_point_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a ledger.db"
    Ledger(path).open("patients", 1, 1e-6)
    told = tmp_path / "mountinfo"
    monkeypatch.setattr(ledger_store, "MOUNTS", told)
    escaped = os.fsencode(path).replace(b" ", rb"\040")
    told.write_bytes(MOUNTINFO + b"40 22 254:0 /x " + escaped + b" rw - ext4 /dev/vda rw\n")
    (tmp_path / "link.db").symlink_to(path)
    for place in (path, tmp_path / "link.db"):
        for attempt in (Ledger(place).accounts, lambda place=place: fit(place)):
            with pytest.raises(LedgerError, match="mount its folder, not the file"):
                attempt()
    told.write_bytes(MOUNTINFO + b"40 22 254:0 /x " + os.fsencode(tmp_path) + b" rw - ext4 /dev/vda rw\n")
    fit(path)
    told.unlink()  # where there is no such list
    assert len(Ledger(path).accounts()) == 1
    monkeypatch.setattr(os.path, "ismount", lambda place: str(place) == str(path))
    with pytest.raises(LedgerError, match="mount its folder, not the file"):
        Ledger(path).accounts()


def test_a_bind_mount_of_the_file_is_refused(path: Path, tmp_path: Path) -> None:
    Ledger(path).open("patients", 1, 1e-6)
    mounted = tmp_path / "mounted.db"
    mounted.touch()
    if shutil.which("mount") is None or subprocess.run(["mount", "--bind", path, mounted], check=False).returncode:
        pytest.skip("no permission to mount")
    try:
        with pytest.raises(LedgerError, match=r"is a mount point, .* mount its folder, not the file"):
            fit(mounted)
        fit(path)
    finally:
        subprocess.run(["umount", mounted], check=True)


def test_the_log_is_folded_back(path: Path, tmp_path: Path) -> None:
    ledger = Ledger(path)
    ledger.open("patients", 1, 1e-6)
    with closing(sqlite3.connect(path)) as other:  # someone who has the file open, so that no close folds the log back
        other.execute("SELECT count(*) FROM sfumato_entry").fetchall()
        fit(path, 0.5)
        assert Path(f"{path}-wal").stat().st_size == 0
        shutil.copy(path, tmp_path / "copy.db")
        assert states(Ledger(tmp_path / "copy.db")) == ["released"]
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM sfumato_entry").fetchall()
        fit(path, 0.5)  # what the other one reads cannot be folded over
    assert states(ledger) == ["released", "released"]


def test_a_log_that_cannot_be_folded_back_fails_nothing() -> None:
    connection = mock.Mock()
    execute = connection.connection.cursor.return_value.execute
    execute.side_effect = sqlite3.OperationalError("disk full")
    ledger_store._fold(connection)
    execute.assert_called_once_with("PRAGMA busy_timeout = 0")  # nobody is waited for


def test_a_ledger_can_be_copied_and_follows_no_change_of_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    ledger = Ledger(path.name)
    ledger.open("patients", 1, 1e-6)
    monkeypatch.chdir("/")
    assert copy.deepcopy(ledger).accounts()[0].dataset.name == "patients"
    assert repr(ledger) == "Ledger('ledger.db')"
    assert Ledger(f"sqlite:///{path}").accounts("patients")


# --- the protocol


class Planted(Exception):
    """A failure at a chosen moment."""


def failing(*_: Any, **__: Any) -> Any:
    raise Planted


def interrupted(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("error", [failing, interrupted])
@pytest.mark.parametrize(
    ("module", "name", "shielded", "expected"),
    [
        ("sfumato.private.engines.local.LocalEngine", "total", True, ["returned"]),
        ("sfumato.private.curator", "noisy", True, ["drawing"]),
        ("sfumato.mechanisms.mixture.mixture_run", "MixtureModel", False, ["drawing"]),
    ],
)
def test_an_exception_returns_what_was_not_drawn(
    module: str, name: str, shielded: bool, expected: list[str], error: Any, place: str
) -> None:
    ledger = Ledger(place)
    ledger.open("patients", 1, 1e-6)
    heard = KeyboardInterrupt if error is interrupted else TableError if shielded else Planted
    with mock.patch(f"{module}.{name}", error), pytest.raises(heard):
        fit(ledger)
    assert states(ledger) == expected
    if expected == ["returned"]:
        fit(ledger)
        assert states(ledger) == ["returned", "released"]
    else:
        with pytest.raises(BudgetError):
            fit(ledger)


def test_a_listener_that_fails_returns_it_too(path: Path) -> None:
    Ledger(path).open("patients", 1, 1e-6)
    with pytest.raises(Planted):
        fit(path, progress=failing)
    assert states(Ledger(path)) == ["returned"]


def test_an_interrupt_right_after_the_commit_returns_it(path: Path) -> None:
    ledger = Ledger(path)
    ledger.open("patients", 1, 1e-6)
    real = Ledger._reserve

    def late(*arguments: Any) -> None:
        real(*arguments)
        raise KeyboardInterrupt

    with mock.patch.object(Ledger, "_reserve", late), pytest.raises(KeyboardInterrupt):
        fit(ledger)
    assert states(ledger) == ["returned"]


def test_it_is_on_disk_before_the_noise(path: Path) -> None:
    ledger = Ledger(path)
    ledger.open("patients", 1, 1e-6)
    seen: list[list[str]] = []
    real_total, real_noisy = curator_module.Curator.total, curator_module.noisy

    def total(*arguments: Any) -> Any:
        seen.append(states(ledger))
        return real_total(*arguments)

    def noisy(*arguments: Any) -> Any:
        seen.append(states(ledger))
        return real_noisy(*arguments)

    with mock.patch.object(curator_module.Curator, "total", total), mock.patch.object(curator_module, "noisy", noisy):
        fit(ledger)
    assert seen == [["reserved"], *[["drawing"]] * 5]
    assert states(ledger) == ["released"]


def test_an_entry_that_was_given_back_cannot_draw(path: Path) -> None:
    ledger = Ledger(path)
    ledger.open("patients", 1, 1e-6)

    def meddle(spend: Any) -> None:
        ledger.give_back(only(ledger).id)

    drawn = mock.Mock(side_effect=AssertionError("drawn"))
    with mock.patch.object(curator_module, "noisy", drawn), pytest.raises(LedgerError, match="nothing was drawn"):
        fit(ledger, progress=meddle)
    assert states(ledger) == ["returned"]


def test_giving_back(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("patients", 1, 1e-6)
    fit(ledger, 0.5)
    with pytest.raises(LedgerError, match="is released: noise may have been drawn, so it stays counted"):
        ledger.give_back(only(ledger).id)
    left = ledger.reserve("patients", ask(0.5))
    left.__enter__()
    ledger.give_back(left.id)
    with pytest.raises(LedgerError, match="was returned before"):
        ledger.give_back(left.id)
    with pytest.raises(LedgerError, match="has no entry 'nobody'"):
        ledger.give_back("nobody")
    assert states(ledger) == ["released", "returned"]


def test_what_drew_nothing_is_no_release(path: Path) -> None:
    ledger = Ledger(path)
    ledger.open("patients", 1, 1e-6)
    with pytest.raises(LedgerError, match="is not drawing"), ledger.reserve("patients", ask(0.5)):
        pass


def test_a_reservation_is_for_one_release(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("patients", 1, 1e-6)
    one = ledger.reserve("patients", ask(0.5))
    with pytest.raises(LedgerError, match="inside its `with` block only"):
        one.draw()
    with one:
        one.draw()
        one.draw()
    with pytest.raises(LedgerError, match="inside its `with` block only"):
        one.draw()
    with pytest.raises(LedgerError, match="one reservation is for one release"), one:
        pass
    failed = ledger.reserve("patients", ask(0.5))
    with pytest.raises(Planted), failed:
        failing()
    with pytest.raises(LedgerError, match="inside its `with` block only"):
        failed.draw()
    assert states(ledger) == ["released", "returned"]


@pytest.mark.parametrize("mu", [math.nan, -0.1, -0.0, 0.0, math.inf, True, 10**400])
def test_what_is_no_cost_is_not_written_down(mu: Any, place: str) -> None:
    ledger = Ledger(place)
    ledger.open("patients", 1, 1e-6)
    with (
        pytest.raises(ArgumentError, match="not the cost of a release"),
        ledger.reserve("patients", replace(ask(), mu=mu)),
    ):
        pass
    assert states(ledger) == []
    fit(ledger)


def test_an_interrupt_that_leaves_the_lock_behind_is_not_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "RETURN_SECONDS", 0.2)
    ledger = Ledger(path)
    ledger.open("patients", 1, 1e-6)
    left: list[Any] = []

    def lost(self: Ledger, *_: Any) -> None:
        left.append(ledger_store.writing(self._place))  # as an interrupt between two lines leaves it, in a traceback
        left[0].__enter__()
        raise KeyboardInterrupt

    writing = mock.patch.object(ledger_store, "writing", wraps=ledger_store.writing)
    with mock.patch.object(Ledger, "_reserve", lost), writing as waits, pytest.raises(KeyboardInterrupt):
        fit(ledger)
    assert [call.args[1:] for call in waits.call_args_list] == [(), (0.2,)]
    left.clear()
    assert states(ledger) == []
    fit(ledger)


# --- by hand

BY_HAND = [
    "UPDATE sfumato_entry SET state = 'returned'",
    "UPDATE sfumato_entry SET state = 'reserved'",
    "UPDATE sfumato_entry SET state = 'drawing' WHERE state = 'released'",
    "UPDATE sfumato_entry SET state = 'drawing', mu = 1e-9 WHERE state = 'reserved'",
    "UPDATE sfumato_entry SET state = 'released' WHERE state = 'reserved'",
    "UPDATE sfumato_entry SET state = 'reserved' WHERE state = 'returned'",
    *(f"UPDATE sfumato_entry SET {name} = {name} WHERE state = 'released'" for name in ("mu", "state")),
    *(f"UPDATE sfumato_entry SET {name} = 0.001" for name in ("mu", "charged_mu", "slack", "collision", "epsilon")),
    *(f"UPDATE sfumato_entry SET {name} = 'x'" for name in ("id", "time", "mechanism", "adjacency", "descriptor")),
    "UPDATE sfumato_entry SET number = number + 100",
    "UPDATE sfumato_entry SET dataset = 'others'",
    "DELETE FROM sfumato_entry",
    "UPDATE sfumato_dataset SET epsilon = 9",
    "UPDATE sfumato_dataset SET delta = 0.1",
    "UPDATE sfumato_dataset SET name = 'gone' WHERE name = 'others'",
    "UPDATE sfumato_dataset SET name = name",
    "DELETE FROM sfumato_dataset WHERE name = 'others'",
]
COLUMNS = (
    "id, dataset, time, mechanism, state, adjacency, unit, epsilon, delta, mu, charged_mu, slack, collision, descriptor"
)
LITTLE = COLUMNS.replace("charged_mu", "charged_mu / 9")
BY_HAND_IN_A_FILE = [
    "UPDATE OR IGNORE sfumato_entry SET state = 'returned'",
    "UPDATE OR REPLACE sfumato_entry SET state = 'returned'",
    f"INSERT OR REPLACE INTO sfumato_entry ({COLUMNS}) SELECT {LITTLE} FROM sfumato_entry",
    f"INSERT OR REPLACE INTO sfumato_entry (number, {COLUMNS}) "
    f"SELECT number, {LITTLE.replace('id,', 'hex(randomblob(16)),')} FROM sfumato_entry WHERE state = 'reserved'",
    "INSERT OR REPLACE INTO sfumato_dataset SELECT name, opened, 9, delta, adjacency, unit FROM sfumato_dataset",
    "INSERT OR REPLACE INTO sfumato_dataset (rowid, name, opened, epsilon, delta, adjacency, unit) "
    "SELECT rowid, 'new', opened, 9, delta, adjacency, unit FROM sfumato_dataset",
]


def in_all_states(place: str) -> Ledger:
    ledger = Ledger(place)
    ledger.open("patients", 5, 1e-6)
    ledger.open("others", 1, 1e-6)
    fit(ledger, 0.1)
    for drawn, returned in ((True, False), (False, True), (False, False)):
        left = ledger.reserve("patients", ask(0.1)).__enter__()
        if drawn:
            left.draw()
        if returned:
            ledger.give_back(left.id)
    assert states(ledger) == ["released", "drawing", "returned", "reserved"]
    return ledger


def test_nobody_changes_the_books_by_hand(place: str) -> None:
    ledger = in_all_states(place)
    before = ledger.accounts()
    own = ledger_store.Place.of(place)
    for statement in [*BY_HAND, *(BY_HAND_IN_A_FILE if own.path else ["TRUNCATE sfumato_entry, sfumato_dataset"])]:
        with pytest.raises(LedgerError, match=r"never|final|once"), ledger_store.writing(own) as connection:
            connection.exec_driver_sql(statement)
        assert ledger.accounts() == before, statement


def test_the_grants_for_fitters_let_them_fit_and_no_more() -> None:
    if not POSTGRES:
        pytest.skip("SFUMATO_TEST_POSTGRES names no PostgreSQL server")
    import sqlalchemy as sa

    name = f"fitter_{uuid.uuid4().hex}"
    place = f"{POSTGRES}?options=-csearch_path%3D{name}"
    page = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text(encoding="utf-8")
    grants = page.split("```sql\n")[1].split("```")[0].replace("fitter", name)
    server = sa.create_engine(ledger_store.Place.of(POSTGRES).url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with server.connect() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
        connection.exec_driver_sql(f"CREATE ROLE {name} LOGIN")
        connection.exec_driver_sql(f"GRANT USAGE ON SCHEMA {name} TO {name}")
    try:
        ledger = in_all_states(place)
        with ledger_store.writing(ledger_store.Place.of(place)) as connection:
            connection.exec_driver_sql(grants)
        theirs = sa.make_url(place).set(username=name).render_as_string(hide_password=False)
        fit(theirs, 0.1)
        before = ledger.accounts()
        for statement in [*BY_HAND, "TRUNCATE sfumato_entry", "DROP TRIGGER sfumato_entry_update ON sfumato_entry"]:
            with pytest.raises(LedgerError), ledger_store.writing(ledger_store.Place.of(theirs)) as connection:
                connection.exec_driver_sql(statement)
            assert ledger.accounts() == before, statement
    finally:
        with server.connect() as connection:
            connection.exec_driver_sql(f"DROP SCHEMA {name} CASCADE")
            connection.exec_driver_sql(f"DROP ROLE {name}")


def test_a_ledger_without_triggers_works(path: Path) -> None:
    Ledger(path).open("patients", 1, 1e-6)
    unguard(path)
    fit(path)
    Ledger(path).open("others", 1, 1e-6)
    with pytest.raises(BudgetError):
        fit(path)


# --- processes


def crash(place: str, where: str, when: str) -> None:
    """In a process of its own: fit, and end without a word before or after a step."""
    owner_name, name = where.rsplit(".", 1)
    owner: Any = {"Ledger": Ledger, "Reservation": Reservation, "curator": curator_module}[owner_name]
    real = getattr(owner, name)

    def stop(*arguments: Any, **options: Any) -> Any:
        if when == "after":
            real(*arguments, **options)
        os._exit(9)

    setattr(owner, name, stop)
    fit(place)


@pytest.mark.parametrize(
    ("where", "when", "expected"),
    [
        ("Ledger._reserve", "before", []),
        ("Ledger._reserve", "after", ["reserved"]),
        ("Reservation.draw", "before", ["reserved"]),
        ("Reservation.draw", "after", ["drawing"]),
        ("curator.noisy", "after", ["drawing"]),
        ("Reservation.__exit__", "before", ["drawing"]),
        ("Reservation.__exit__", "after", ["released"]),
    ],
)
def test_a_crash_leaves_it_counted(where: str, when: str, expected: list[str], place: str) -> None:
    ledger = Ledger(place)
    ledger.open("patients", 1, 1e-6)
    process = FORK.Process(target=crash, args=(place, where, when))
    process.start()
    process.join(60)
    assert process.exitcode == 9
    assert states(ledger) == expected
    if expected:
        with pytest.raises(BudgetError):
            fit(place)
    if expected == ["reserved"]:
        ledger.give_back(only(ledger).id)
    elif expected:
        with pytest.raises(LedgerError, match="stays counted"):
            ledger.give_back(only(ledger).id)
    if expected in ([], ["reserved"]):
        fit(place)


def race(place: str, barrier: Any, won: Any) -> None:
    barrier.wait()
    try:
        with Ledger(place).reserve("patients", ask(1.0)) as entry:
            entry.draw()
            won.put(entry.id)
    except BudgetError:
        won.put(None)


def race_all(place: str, racers: int = 4) -> list[str]:
    barrier, won = FORK.Barrier(racers), FORK.Queue()
    processes = [FORK.Process(target=race, args=(place, barrier, won)) for _ in range(racers)]
    for process in processes:
        process.start()
    found = [won.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(60)
    return [entry for entry in found if entry is not None]


def test_exactly_one_process_wins_the_last_budget(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("patients", 1, 1e-6)
    won = race_all(place)
    assert won == [only(ledger).id]
    assert states(ledger) == ["released"]


def test_a_race_without_a_lock_would_be_seen(path: Path) -> None:
    ledger = Ledger(path)
    ledger.open("patients", 1, 1e-6)

    all_have_looked = FORK.Barrier(4)

    def unlocked(self: Ledger, entry: str, name: str, asked: Ask) -> None:
        made = self.accounts(name)[0].price(entry, "now", asked)
        all_have_looked.wait()
        with ledger_store.writing(self._place) as connection:
            connection.execute(ledger_store.entries.insert().values(vars(made)))

    with mock.patch.object(Ledger, "_reserve", unlocked):
        assert len(race_all(str(path))) > 1


def open_same(place: str, barrier: Any, won: Any) -> None:
    barrier.wait()
    try:
        Ledger(place).open("patients", 1, 1e-6)
        won.put(True)
    except LedgerError as error:
        won.put("already" not in str(error) and str(error))


def test_exactly_one_process_opens_a_data_set(place: str) -> None:
    barrier, won = FORK.Barrier(4), FORK.Queue()
    processes = [FORK.Process(target=open_same, args=(place, barrier, won)) for _ in range(4)]
    for process in processes:
        process.start()
    assert sorted(won.get(timeout=60) for _ in processes) == [False, False, False, True]
    for process in processes:
        process.join(60)
    assert len(Ledger(place).accounts()) == 1


# --- files that are no ledgers


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE letters (text TEXT)")


def newer(path: Path) -> None:
    Ledger(path).open("patients", 1, 1e-6)
    change(path, "UPDATE sfumato_ledger SET format = 2")


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def unguard(path: Path) -> None:
    """Drop the triggers, as someone might who edits the file."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")


def cut(path: Path) -> None:
    Ledger(path).open("patients", 1, 1e-6)
    content = path.read_bytes()
    path.write_bytes(content[:5000] + b"\xff" * 7000)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda path: path.write_bytes(b"no database " * 500), "is not a ledger, or is damaged"),
        (lambda path: path.write_text("a"), "is not a ledger, or is damaged"),
        (lambda path: path.write_text("letters " * 64), "is not a ledger, or is damaged"),
        (cut, "damaged"),
        (foreign, "is not a ledger"),
        (newer, "has format 2; this library knows up to 1: upgrade it"),
    ],
    ids=["text", "letter", "letters", "cut", "foreign", "newer"],
)
def test_what_is_no_ledger_is_refused_and_left_alone(make: Callable[[Path], Any], match: str, path: Path) -> None:
    make(path)
    before = path.read_bytes()
    ledger = Ledger(path)
    attempts = [ledger.accounts, lambda: fit(path), lambda: ledger.give_back("a" * 32)]
    for attempt in [*attempts, lambda: ledger.open("others", 1, 1e-6)]:
        with pytest.raises(LedgerError, match=match) as refusal:
            attempt()
        assert "\n" not in str(refusal.value)
    assert path.read_bytes() == before


def test_an_empty_file_is_what_a_crash_while_opening_leaves(path: Path) -> None:
    path.touch()
    with pytest.raises(LedgerError, match="is not a ledger"):
        Ledger(path).accounts()
    Ledger(path).open("patients", 1, 1e-6)
    fit(path)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE sfumato_entry SET charged_mu = charged_mu / 2",
        "UPDATE sfumato_entry SET mu = 'much', charged_mu = 'much'",
        "UPDATE sfumato_entry SET charged_mu = -1e9, mu = -1e9",
        "UPDATE sfumato_entry SET slack = -1",
        "UPDATE sfumato_entry SET collision = 2",
        "UPDATE sfumato_entry SET state = 'forgotten'",
        "UPDATE sfumato_entry SET adjacency = 'cousin'",
        "UPDATE sfumato_entry SET adjacency = 'label'",
        "UPDATE sfumato_entry SET unit = 'person'",
        "UPDATE sfumato_entry SET descriptor = 'x'",
        "UPDATE sfumato_entry SET descriptor = '3'",
        "UPDATE sfumato_entry SET descriptor = '{}'",
        "UPDATE sfumato_dataset SET epsilon = -1",
        "UPDATE sfumato_dataset SET epsilon = 'much'",
        "UPDATE sfumato_dataset SET delta = 0",
        "UPDATE sfumato_dataset SET adjacency = 'cousin'",
        "DELETE FROM sfumato_ledger",
        "INSERT INTO sfumato_ledger VALUES (0)",
        "UPDATE sfumato_ledger SET format = 0",
    ],
)
def test_damage_inside_is_refused(damage: str, path: Path) -> None:
    Ledger(path).open("patients", 1, 1e-6)
    fit(path, 0.1)
    unguard(path)
    change(path, damage)
    for attempt in (Ledger(path).accounts, lambda: fit(path, 0.1)):
        with pytest.raises(LedgerError, match="is damaged") as refusal:
            attempt()
        assert "\n" not in str(refusal.value)


def test_a_law_that_is_not_known_is_not_guessed(path: Path) -> None:
    Ledger(path).open("patients", 1, 1e-6)
    fit(path, 0.1)
    unguard(path)
    change(path, """UPDATE sfumato_entry SET descriptor = '{"law": "slices", "projections": 3}'""")
    with pytest.raises(LedgerError, match="follows the law 'slices', which this library cannot add up: upgrade it"):
        fit(path, 0.1)
    account = Ledger(path).accounts()[0]
    for look in (lambda: account.mu, lambda: account.epsilon, account.left, lambda: account.left_epsilon):
        with pytest.raises(LedgerError, match="law 'slices'"):
            look()
    change(path, "UPDATE sfumato_entry SET state = 'returned'")
    fit(path)


def test_a_file_that_cannot_be_written(path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    Ledger(path).open("patients", 1, 1e-6)
    path.chmod(stat.S_IRUSR)
    with pytest.raises(LedgerError, match="cannot be written"):
        fit(path)


def test_a_ledger_that_stays_busy(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_store, "BUSY_SECONDS", 0.1)
    Ledger(path).open("patients", 1, 1e-6)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="seconds: another program holds it"):
            fit(path)
        assert len(Ledger(path).accounts()) == 1  # looking is still possible


# --- URLs


@pytest.mark.parametrize(
    ("url", "match"),
    [
        ("mysql://user:secret@host/database", "not in mysql"),
        ("://", "cannot be read"),
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
    ],
)
def test_a_url_that_is_no_place_for_a_ledger(url: str, match: str) -> None:
    with pytest.raises(ArgumentError, match=match) as refusal:
        Ledger(url)
    assert "secret" not in str(refusal.value)


def test_a_server_that_is_not_there_is_told_in_one_line_without_the_password() -> None:
    ledger = Ledger("postgresql://user:secret@127.0.0.1:1/database")
    assert repr(ledger) == "Ledger('postgresql://user:***@127.0.0.1:1/database')"
    with pytest.raises(LedgerError, match="cannot be used") as refusal:
        ledger.accounts()
    assert "secret" not in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_driver_that_is_missing_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install sfumato\[postgres\]"):
        Ledger("postgresql://user@127.0.0.1:2/database").accounts()


def test_the_arithmetic_stands_apart_from_the_database() -> None:
    names = Path(account_module.__file__).read_text() + Path(ledger_module.__file__).read_text()
    assert "    import sqlalchemy as sa\n" in names  # for types only
    assert "\nimport sqlalchemy" not in names
