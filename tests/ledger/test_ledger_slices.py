"""Releases with slices in a ledger: counted by their law, beside older entries that have one mu."""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.accounting import Adjacency, add_up, calibrate, delta_of, epsilon_of, slicing_sigma
from sfumato.errors import ArgumentError, BudgetError, LedgerError
from sfumato.ledger import account as account_module
from sfumato.ledger.account import Account, Ask, Dataset, Entry, State
from sfumato.ledger.ledger import Ledger
from sfumato.private.slicing.law import Slices
from sfumato.schema.schema import ROW

GOLDEN = Path(__file__).parent / "v1-ledger.db"
REPLACE = Adjacency.REPLACE_ONE
DELTA = 1e-6


def asked(epsilon: float = 0.5, share: float = 0.3, dim: int = 20, projections: int = 8) -> Ask:
    """A release of this epsilon: some of it for Gaussian queries, all that is left for slices."""
    mu = share * calibrate(epsilon, DELTA)
    sigma = slicing_sigma(epsilon, DELTA, dim=dim, projections=projections, distance=2.0, mu=mu)
    return Ask("slicing", REPLACE, ROW, epsilon, DELTA, mu, (Slices(dim, projections, 2.0, sigma),))


def release(ledger: Ledger, ask: Ask, name: str = "pupils") -> None:
    with ledger.reserve(name, ask) as entry:
        entry.draw()


def account(ledger: Ledger) -> Account:
    return ledger.accounts("pupils")[0]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "ledger.db")
    made.open("pupils", 1.0, DELTA, REPLACE)
    return made


def test_a_ledger_of_the_first_format_opens_and_goes_on(tmp_path: Path) -> None:
    """Written before there were slices: three releases, one of them given back, in two data sets."""
    shutil.copy(GOLDEN, tmp_path / "old.db")
    old = Ledger(tmp_path / "old.db")
    patients, pupils = old.accounts()
    assert [entry.state for entry in patients.entries] == [State.RELEASED, State.RETURNED]
    assert patients.mu == 0.12410614903052578
    assert patients.left() == 0.4308151613140315
    assert pupils.mu == 0.3908283211883773
    assert pupils.epsilon == 1.5155230955628216
    assert pupils.slices == ()
    release(old, replace(asked(1.0), delta=1e-5))
    release(old, Ask("mixture", REPLACE, ROW, 0.1, 1e-5, calibrate(0.1, 1e-5)))
    after = account(old)
    assert len(after.slices) == 1
    assert 1.6 < after.epsilon < 3.0
    assert old.accounts("patients")[0].mu == patients.mu


def test_the_entry_keeps_the_law_not_one_mu(ledger: Ledger) -> None:
    ask = asked()
    release(ledger, ask)
    (entry,) = account(ledger).entries
    assert entry.law == "gaussian and slices"
    assert entry.mu == entry.charged_mu == ask.mu
    assert entry.slices == ask.slices
    (kept,) = json.loads(entry.descriptor)["slices"]
    assert kept == {
        "dim": 20,
        "projections": 8,
        "distance": 2.0,
        "sigma": ask.slices[0].sigma,
        "rounding": 0.0,
        "rows": 1,
    }
    assert account(ledger).epsilon == pytest.approx(0.5, rel=1e-6)


def test_a_release_of_the_whole_cap_fits_once(ledger: Ledger) -> None:
    release(ledger, asked(1.0))
    found = account(ledger)
    assert found.epsilon == pytest.approx(1.0, rel=1e-6)
    assert found.epsilon <= 1.0
    assert found.left() < 1e-3
    with pytest.raises(BudgetError, match=r"'pupils' has too little left for mu .* with slices"):
        release(ledger, asked(0.1))
    with pytest.raises(BudgetError, match="has too little left for mu"):
        release(ledger, Ask("mixture", REPLACE, ROW, 0.1, DELTA, calibrate(0.1, DELTA)))


def test_slices_alone_that_exceed_the_cap_do_not_fit(ledger: Ledger) -> None:
    much = Ask("slicing", REPLACE, ROW, 1.0, DELTA, 1e-12, (Slices(20, 8, 2.0, 0.5),))
    with pytest.raises(BudgetError, match="with slices"):
        release(ledger, much)
    assert account(ledger).entries == ()


def test_what_is_returned_does_not_count(ledger: Ledger) -> None:
    with suppress(KeyError), ledger.reserve("pupils", asked(1.0)):
        raise KeyError("planted")
    assert account(ledger).slices == ()
    release(ledger, asked(1.0))


def true_delta(dataset: Dataset, entries: list[Entry], draws: int = 100_000) -> tuple[float, float]:
    """delta of all that counts, by drawing every release's directions: its mean and the error of that."""
    rng = np.random.default_rng(1)
    square = np.full(draws, sum(entry.charged_mu**2 for entry in entries))
    for each in (slices for entry in entries for slices in entry.slices):
        square += (each.distance / each.sigma) ** 2 * rng.chisquare(each.projections, size=draws) / each.dim
    grid = np.linspace(square.min(), square.max(), 2000)
    deltas = np.interp(square, grid, [delta_of(dataset.epsilon, math.sqrt(t)) for t in grid])
    return float(deltas.mean()), float(deltas.std() / math.sqrt(draws))


def test_several_releases_add_up_by_the_product_of_their_laws(tmp_path: Path) -> None:
    """Different dimensions and noise; a delta large enough for a simulation to see."""
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("pupils", 1.0, 1e-3, REPLACE)
    release(ledger, Ask("slicing", REPLACE, ROW, 1.0, 1e-3, 0.1, (Slices(20, 8, 1.0, 3.0),)))
    release(ledger, Ask("slicing", REPLACE, ROW, 1.0, 1e-3, 0.05, (Slices(30, 60, 1.0, 6.0),)))
    release(ledger, Ask("mixture", REPLACE, ROW, 1.0, 1e-3, 0.1))
    found = account(ledger)
    together = delta_of(1.0, found.mu, found.slices)
    mean, error = true_delta(found.dataset, list(found.entries))
    assert abs(mean - together) < 5.5 * error + 1e-3 * together
    assert error < 0.01 * mean
    # What is left can be asked for, and a little more cannot.
    left = found.left()
    assert not found.fits(left * 1.001)
    release(ledger, Ask("mixture", REPLACE, ROW, 1.0, 1e-3, left))
    mean, error = true_delta(found.dataset, list(account(ledger).entries))
    assert mean == pytest.approx(1e-3, abs=5.5 * error + 2e-6)


def test_the_totals_after_each_entry_are_running(ledger: Ledger) -> None:
    for epsilon in (0.3, 0.3, 0.2):
        release(ledger, asked(epsilon))
    found = account(ledger)
    running = found.running()
    assert running == sorted(running)
    assert running[0] == pytest.approx(0.3, rel=1e-6)
    assert running[-1] == found.epsilon
    mu = add_up(entry.mu for entry in found.entries)
    assert found.epsilon == pytest.approx(epsilon_of(mu, DELTA, slices=found.slices), rel=1e-9)


def test_an_add_remove_release_counts_twice_beside_slices(ledger: Ledger) -> None:
    release(ledger, asked(0.3))
    before = account(ledger)
    release(ledger, Ask("mixture", Adjacency.ADD_REMOVE, ROW, 0.2, DELTA, 0.05))
    after = account(ledger)
    assert after.mu == add_up([before.mu, 0.1])
    assert after.epsilon > before.epsilon


@pytest.mark.parametrize("adjacency", [Adjacency.ADD_REMOVE, Adjacency.LABEL])
def test_slices_are_replace_one(adjacency: Adjacency, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("pupils", 1.0, DELTA, adjacency)
    if adjacency is Adjacency.LABEL:  # holds more for public
        release(ledger, asked())
        return
    with pytest.raises(LedgerError, match="it has no cost there"):
        release(ledger, asked())
    with pytest.raises(ArgumentError, match="are not the cost of a release"):
        release(ledger, replace(asked(), adjacency=Adjacency.ADD_REMOVE))


STEPS = st.lists(
    st.tuples(st.floats(0.05, 0.8), st.floats(0.05, 0.95), st.integers(2, 40), st.integers(1, 40), st.booleans()),
    max_size=4,
)


def refused_only_above_the_cap(place: Path, steps: list[Any]) -> bool:
    """Whether everything that got in keeps the cap, by a simulation at a delta that it can see."""
    place.unlink(missing_ok=True)
    ledger = Ledger(place)
    ledger.open("pupils", 1.0, 1e-3, REPLACE)
    for epsilon, share, dim, projections, sliced in steps:
        mu = share * calibrate(epsilon, 1e-3)
        slices = (Slices(dim, projections, 1.0, slicing_sigma(epsilon, 1e-3, dim=dim, projections=projections, mu=mu)),)
        with suppress(BudgetError):
            release(ledger, Ask("any", REPLACE, ROW, epsilon, 1e-3, mu, slices if sliced else ()))
    found = account(ledger)
    mean, error = true_delta(found.dataset, [entry for entry in found.entries if entry.counts], draws=20_000)
    return mean - 5.5 * error <= 1e-3


@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_any_sequence_keeps_the_cap(tmp_path: Path, steps: list[Any]) -> None:
    assert refused_only_above_the_cap(tmp_path / "any.db", steps)


def test_a_ledger_that_forgets_slices_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [(0.8, 0.2, 20, 10, True)] * 4
    assert refused_only_above_the_cap(tmp_path / "any.db", steps)
    monkeypatch.setattr(Account, "slices", ())
    assert not refused_only_above_the_cap(tmp_path / "any.db", steps)


def test_a_library_that_does_not_know_the_law_refuses_it(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one from before there were slices does."""
    release(ledger, asked())
    monkeypatch.setattr(account_module, "LAWS", ("gaussian",))
    with pytest.raises(LedgerError, match="'gaussian and slices', which this library cannot add up: upgrade it"):
        release(ledger, Ask("mixture", REPLACE, ROW, 0.1, DELTA, 0.01))


@pytest.mark.parametrize(
    "change",
    [
        {"slices": []},
        {"slices": [{"dim": 3}]},
        {"slices": [{"dim": 20, "projections": 8, "distance": 2.0, "sigma": -1.0}]},
        {"slices": [{"dim": 20, "projections": 8.5, "distance": 2.0, "sigma": 9.0}]},
        {"slices": [{"dim": 20, "projections": 8, "distance": 2.0, "sigma": 9.0, "law": "odd"}]},
        {"slices": 3},
        {"mu": 1e-9},
        {"law": "gaussian"},
    ],
)
def test_damage_inside_is_refused(change: dict[str, Any], ledger: Ledger, tmp_path: Path) -> None:
    release(ledger, asked())
    (entry,) = account(ledger).entries
    descriptor = json.dumps(json.loads(entry.descriptor) | change)
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection, connection:
        connection.execute("DROP TRIGGER sfumato_entry_update")
        connection.execute("UPDATE sfumato_entry SET descriptor = ?", (descriptor,))
    with pytest.raises(LedgerError, match="is damaged"):
        ledger.accounts()
