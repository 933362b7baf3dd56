"""The ledger: it never counts too little, never forgets, and lets nobody draw noise that it has not written down."""

from __future__ import annotations

import copy
import json
import math
import multiprocessing
import os
import unicodedata
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.ledger.helpers import FRAME, SCHEMA, ask, change, fit, insist_on_cap, states, unguard

import sfumato as sf
from sfumato.accounting import Adjacency, add_up
from sfumato.errors import ArgumentError, BudgetError, LedgerError, TableError
from sfumato.ledger import ledger as ledger_module
from sfumato.ledger import store as ledger_store
from sfumato.ledger.account import Account, Ask, Entry, State
from sfumato.ledger.ledger import Ledger, Reservation
from sfumato.private import curator as curator_module
from sfumato.private.units import COLLISION

FORK = multiprocessing.get_context("fork")  # spawning would import pandas anew in every process


def only(ledger: Ledger) -> Entry:
    (entry,) = ledger.accounts("patients")[0].entries
    return entry


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


@pytest.mark.every(2)
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


def test_an_entry_keeps_who_asked_and_why(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("patients", 1.0, 1e-6)
    fit(ledger, 0.5, who="M. Curie", why="waiting times, yearly report")
    fit(ledger, 0.5, why="the same again")
    first, second = ledger.accounts("patients")[0].entries
    assert (first.who, first.why) == ("M. Curie", "waiting times, yearly report")
    assert (second.who, second.why) == (None, "the same again")
    assert first.charged_mu == second.charged_mu  # a note costs nothing


@pytest.mark.every(2)
@pytest.mark.parametrize("note", ["", " padded ", "two\nlines", "\x1b[31mred", "\u202ereversed", "x" * 201, 7])
@pytest.mark.parametrize("name", ["who", "why"])
def test_a_note_is_one_plain_line(name: str, note: Any, path: Path) -> None:
    Ledger(path).open("patients", 1.0, 1e-6)
    with pytest.raises(ArgumentError, match=f"^{name} must be one line of 1 to 200 characters, not "):
        fit(path, **{name: note})
    assert Ledger(path).accounts()[0].entries == ()


def test_a_note_without_a_ledger_is_refused() -> None:
    with pytest.raises(ArgumentError, match="who and why belong into a ledger"):
        sf.fit(FRAME, SCHEMA, epsilon=1, delta=1e-6, who="M. Curie")


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


@pytest.mark.every(2)
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

    def meddle(event: Any) -> None:
        if isinstance(event, sf.Spending):
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


@pytest.mark.every(2)
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


@pytest.mark.every(2)
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
        "UPDATE sfumato_entry SET descriptor = json_set(descriptor, '$.who', 'two' || char(10) || 'lines')",
        "UPDATE sfumato_entry SET descriptor = json_set(descriptor, '$.why', 7)",
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
