"""Releases with slices in a ledger: charged a bound before they are drawn, beside older entries that have none."""

from __future__ import annotations

import itertools
import json
import math
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from sfumato.accounting import Adjacency, add_up, calibrate, delta_of, epsilon_of, mu_of, slicing_sigma
from sfumato.errors import ArgumentError, BudgetError, LedgerError
from sfumato.ledger import account as account_module
from sfumato.ledger.account import Account, Ask, Charge, Dataset, Entry, State, tail
from sfumato.ledger.ledger import Ledger
from sfumato.private.slicing.law import Slices
from sfumato.schema.layout import ROW

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


def old_slices(path: Path, *entries: list[dict[str, Any]]) -> None:
    """Write the slices of all entries as the library did before they were charged a bound."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER sfumato_entry_update")
        rows = connection.execute("SELECT number, mu FROM sfumato_entry ORDER BY number").fetchall()
        for (number, mu), slices in zip(rows, entries, strict=True):
            kept = json.dumps({"law": "gaussian and slices", "mu": mu, "slices": slices})
            connection.execute("UPDATE sfumato_entry SET descriptor = ? WHERE number = ?", (kept, number))


def old_form(slices: Slices, **change: Any) -> dict[str, Any]:
    return vars(slices) | {"law": "gaussian", "slice_dim": 1} | change


def test_a_ledger_of_the_first_format_opens_and_goes_on(tmp_path: Path) -> None:
    """Written before there were slices: three releases, one of them given back, in two data sets."""
    shutil.copy(GOLDEN, tmp_path / "old.db")
    old = Ledger(tmp_path / "old.db")
    patients, pupils = old.accounts()
    assert [entry.state for entry in patients.entries] == [State.RELEASED, State.RETURNED]
    assert patients.mu == 0.12410614903052578
    assert patients.left() == 0.4308151613140315
    assert pupils.mu == 0.3908283211883773
    assert 1.5155230955628216 < pupils.epsilon < 1.53
    assert set(pupils.charges) == {Charge()}
    release(old, replace(asked(0.5), delta=1e-5))
    release(old, Ask("mixture", REPLACE, ROW, 0.1, 1e-5, calibrate(0.1, 1e-5), who="M. Curie"))
    after = account(old)
    assert [entry.who for entry in after.entries[-3:]] == [None, None, "M. Curie"]
    assert after.chance == pytest.approx(after.dataset.delta / 20)
    assert 1.6 < after.epsilon < 3.0
    assert old.accounts("patients")[0].mu == patients.mu


def test_older_entries_with_slices_are_charged_in_their_order(ledger: Ledger, tmp_path: Path) -> None:
    asks = [asked(0.3), asked(0.2)]
    for ask in asks:
        release(ledger, ask)
    new = account(ledger)
    old_slices(tmp_path / "ledger.db", *([old_form(each) for each in ask.slices] for ask in asks))
    old = account(ledger)
    assert [entry.law for entry in old.entries] == ["gaussian and slices"] * 2
    assert [entry.charge for entry in old.entries] == [None, None]
    assert old.charges == new.charges
    assert (old.mu, old.chance, old.running()) == (new.mu, new.chance, new.running())
    release(ledger, asked(0.05))
    assert account(ledger).charges[2].chance == pytest.approx(DELTA / 10 / 12)


def test_an_older_account_that_is_over_its_cap_says_so_and_refuses(ledger: Ledger, tmp_path: Path) -> None:
    """The whole cap by the joint law; the bound is more than that."""
    release(ledger, Ask("slicing", REPLACE, ROW, 1.0, DELTA, 0.07, (Slices(20, 8, 2.0, 60.0),)))
    assert account(ledger).over == ""
    old_slices(tmp_path / "ledger.db", [old_form(asked(1.0).slices[0])])
    found = account(ledger)
    assert found.over.startswith("'pupils' is over its cap: its releases count as mu 0.4318")
    assert "\n" not in found.over
    assert found.left() == found.left_epsilon == 0.0
    assert found.epsilon == found.running()[-1] > 1.0
    for ask in (asked(0.01), Ask("mixture", REPLACE, ROW, 0.01, DELTA, 1e-6)):
        with pytest.raises(BudgetError, match="'pupils' is over its cap"):
            release(ledger, ask)


def test_older_orthonormal_frames_are_charged_all_that_they_can_show(ledger: Ledger, tmp_path: Path) -> None:
    release(ledger, asked(0.3))
    like = Slices(20, 8, 2.0, 40.0, rounding=1e-4)
    old_slices(tmp_path / "ledger.db", [old_form(like, law="orthonormal", slice_dim=4)])
    (charge,) = account(ledger).charges
    assert charge.t >= (2.0 / 40.0 * (math.sqrt(2.0) + 1e-4)) ** 2  # two frames, each of which shows all of a vector
    assert charge.t == pytest.approx(2 * (2.0 / 40.0) ** 2, rel=0.01)
    release(ledger, asked(0.1))


def test_the_entry_keeps_the_law_and_what_is_charged(ledger: Ledger) -> None:
    ask = asked()
    release(ledger, ask)
    (entry,) = account(ledger).entries
    assert entry.law == "gaussian and bounded slices"
    assert entry.mu == entry.charged_mu == ask.mu
    assert entry.slices == ask.slices
    kept = json.loads(entry.descriptor)
    sigma = ask.slices[0].sigma
    assert kept["slices"] == [
        {"dim": 20, "projections": 8, "distance": 2.0, "sigma": sigma, "rounding": 0.0, "rows": 1}
    ]
    assert kept["chance"] == pytest.approx(DELTA / 20)  # half of delta*
    assert kept["t"] == pytest.approx((2.0 / sigma) ** 2 * chi2.isf(DELTA / 20, 8) / 20, rel=1e-6)
    assert account(ledger).mu == add_up([ask.mu], [kept["t"]])
    assert 0.9 < account(ledger).epsilon < 1.0  # a bound is dearer than the law of one release


def test_a_release_of_the_whole_cap_does_not_fit_and_the_refusal_says_what_counts(ledger: Ledger) -> None:
    with pytest.raises(BudgetError, match=r"for mu 0.071012 with slices that count as mu 0.42617 \(") as refusal:
        release(ledger, asked(1.0))
    assert "mu 0.2355 is left, about epsilon 0.5 with as many projections" in str(refusal.value)
    release(ledger, asked(0.5))
    with pytest.raises(BudgetError, match="with slices that count as mu"):
        release(ledger, asked(0.2))
    release(ledger, Ask("mixture", REPLACE, ROW, 1.0, DELTA, account(ledger).left()))
    assert account(ledger).epsilon == pytest.approx(1.0, rel=1e-6)
    assert account(ledger).epsilon <= 1.0


def test_a_gaussian_release_may_have_what_is_not_set_aside_for_slices(ledger: Ledger) -> None:
    left = account(ledger).left()
    assert left == pytest.approx(mu_of(1.0, 0.9 * DELTA), rel=1e-12)
    assert account(ledger).left_epsilon == 0.9945
    release(ledger, Ask("mixture", REPLACE, ROW, 1.0, DELTA, left))
    assert account(ledger).left() == 0.0


def test_slices_alone_that_exceed_the_cap_do_not_fit(ledger: Ledger) -> None:
    much = Ask("slicing", REPLACE, ROW, 1.0, DELTA, 1e-12, (Slices(20, 8, 2.0, 0.5),))
    with pytest.raises(BudgetError, match="with slices"):
        release(ledger, much)
    assert account(ledger).entries == ()


def test_what_is_returned_does_not_count_but_has_had_its_turn(ledger: Ledger) -> None:
    with suppress(KeyError), ledger.reserve("pupils", asked(0.4)):
        raise KeyError("planted")
    assert (account(ledger).mu, account(ledger).chance) == (0.0, 0.0)
    release(ledger, asked(0.4))
    assert account(ledger).chance == pytest.approx(DELTA / 10 / 6)


def test_chances_never_add_up_to_more_than_is_set_aside() -> None:
    dataset = Dataset("pupils", "now", 1.0, DELTA, REPLACE, ROW)
    one = (Slices(20, 8, 2.0, 100.0),)
    charges = [dataset.charge(one, number) for number in range(1, 500)]
    assert sum(Fraction(each.chance) for each in charges) < Fraction(dataset.chance)
    assert all(each.t <= later.t for each, later in itertools.pairwise(charges))
    both = dataset.charge(one * 2, 1)
    assert 2 * charges[0].t < both.t < 2.2 * charges[0].t


def true_delta(dataset: Dataset, entries: list[Entry], draws: int = 100_000) -> tuple[float, float]:
    """delta of all that counts, by drawing every release's directions: its mean and the error of that."""
    rng = np.random.default_rng(1)
    square = np.full(draws, sum(entry.charged_mu**2 for entry in entries))
    for each in (slices for entry in entries for slices in entry.slices):
        square += (each.distance / each.sigma) ** 2 * rng.chisquare(each.projections, size=draws) / each.dim
    grid = np.linspace(square.min(), square.max(), 2000)
    deltas = np.interp(square, grid, [delta_of(dataset.epsilon, math.sqrt(t)) for t in grid])
    return float(deltas.mean()), float(deltas.std() / math.sqrt(draws))


def test_several_releases_stay_below_their_bounds_and_the_cap(tmp_path: Path) -> None:
    """Different dimensions and noise; chances large enough for a simulation to see."""
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("pupils", 1.0, 0.2, REPLACE)
    for slices in ((Slices(20, 8, 1.0, 3.0),), (Slices(30, 60, 1.0, 6.0), Slices(10, 2, 1.0, 4.0, rows=3))):
        release(ledger, Ask("slicing", REPLACE, ROW, 1.0, 0.2, 0.1, slices))
    found = account(ledger)
    rng = np.random.default_rng(2)
    for entry, charge in zip(found.entries, found.charges, strict=True):
        drawn = np.zeros(200_000)
        for each in entry.slices:
            assert isinstance(each, Slices)
            squares = rng.chisquare(each.projections, size=(each.rows, len(drawn))).max(axis=0) / each.dim
            drawn += (each.distance / each.sigma) ** 2 * squares
        seen = float((drawn > charge.t).mean())
        assert seen - 5.5 * math.sqrt(charge.chance / len(drawn)) <= charge.chance
        assert len(entry.slices) > 1 or seen > 0.9 * charge.chance
    # What is left can be asked for, and a little more cannot.
    left = found.left()
    assert not found.fits(left * 1.001)
    release(ledger, Ask("mixture", REPLACE, ROW, 1.0, 0.2, left))
    mean, error = true_delta(found.dataset, list(account(ledger).entries))
    assert mean + 5.5 * error < 0.2


def test_the_totals_after_each_entry_are_running(ledger: Ledger) -> None:
    for epsilon in (0.2, 0.2, 0.1):
        release(ledger, asked(epsilon))
    found = account(ledger)
    running = found.running()
    assert running == sorted(running)
    assert 0.2 < running[0] < 0.4
    assert running[-1] == found.epsilon
    mu = add_up((entry.mu for entry in found.entries), (charge.t for charge in found.charges))
    assert found.epsilon == pytest.approx(epsilon_of(mu, 0.9 * DELTA), rel=1e-9)


def test_an_add_remove_release_counts_twice_beside_slices(ledger: Ledger) -> None:
    release(ledger, asked(0.3))
    before = account(ledger)
    release(ledger, Ask("mixture", Adjacency.ADD_REMOVE, ROW, 0.2, DELTA, 0.05))
    after = account(ledger)
    assert after.mu == pytest.approx(add_up([before.mu, 0.1]), rel=1e-12)
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
    monkeypatch.setattr(Dataset, "charge", lambda *_: Charge(1e-9, 1e-9))
    monkeypatch.setattr(account_module, "_bound", lambda *_: 1e-9)
    assert not refused_only_above_the_cap(tmp_path / "any.db", steps)


def test_a_library_that_does_not_know_the_law_refuses_it(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one from before there were slices does."""
    release(ledger, asked())
    monkeypatch.setattr(account_module, "LAWS", ("gaussian",))
    with pytest.raises(
        LedgerError, match="'gaussian and bounded slices', which this library cannot add up: upgrade it"
    ):
        release(ledger, Ask("mixture", REPLACE, ROW, 0.1, DELTA, 0.01))


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "change",
    [
        {"slices": []},
        {"slices": [{"dim": 3}]},
        {"slices": [{"dim": 20, "projections": 8, "distance": 2.0, "sigma": -1.0}]},
        {"slices": [{"dim": 20, "projections": 8.5, "distance": 2.0, "sigma": 9.0}]},
        {"slices": [{"dim": 20, "projections": 8, "distance": 2.0, "sigma": 9.0, "law": "odd"}]},
        {"t": 1e-9},
        {"t": None},
        {"chance": 0.0},
        {"chance": 1.5},
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


# The bound that a ledger charges


@pytest.mark.every(2)
@pytest.mark.parametrize("chance", [0.3, 5e-8, 1e-17, 1e-60])
@pytest.mark.parametrize(("dim", "projections"), [(20, 1), (100, 100), (784, 1000), (50, 1_000_000)])
@pytest.mark.parametrize("rows", [1, 5])
def test_a_tail_is_exceeded_with_its_chance_at_most(chance: float, dim: int, projections: int, rows: int) -> None:
    slices = Slices(dim, projections, 2.0, 3.0, rows=rows)
    place = tail(slices, chance) / (2.0 / 3.0) ** 2 * dim / 2
    with mpmath.workdps(60):
        above, below = (float(rows * upper_gamma(projections / 2, place * scale)) for scale in (1.0, 1.0 - 1e-6))
    assert above <= chance < below * (1.0 + 1e-6)


def upper_gamma(half: float, x: float) -> Any:
    """The upper tail of a gamma law; a sum from its largest term on where mpmath would take too long."""
    if half < 1000:
        return mpmath.gammainc(half, x, regularized=True)
    term = mpmath.exp((half - 1) * mpmath.log(x) - x - mpmath.loggamma(half))
    total = mpmath.mpf(0)
    while half > 1 and term > total * mpmath.mpf(2) ** -60:  # Q(a, x) = x^(a-1) e^-x / Gamma(a) + Q(a - 1, x)
        total += term
        half -= 1
        term *= half / x
    return total


def test_the_rounding_of_the_matrix_is_in_the_tail() -> None:
    slices = Slices(30, 6, 1.0, 2.0, rounding=0.01)
    root = math.sqrt(float(chi2(6).isf(1e-6)) / 30)
    assert tail(slices, 1e-6) >= ((root + 0.01) / 2.0) ** 2
    assert tail(slices, 1e-6) < 1.2 * tail(replace(slices, rounding=0.0), 1e-6)
