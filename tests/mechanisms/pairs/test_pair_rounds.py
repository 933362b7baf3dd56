"""Tables of pairs, from the rows to the sample: what they find, what they leave alone, and tables that hold nothing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.audit.helpers import ADD_REMOVE, ONE

import sfumato as sf
from sfumato.audit.mixture import SHORT, FitGame, pair_tables
from sfumato.errors import ArgumentError
from sfumato.mechanisms.mixture.mixture_mechanism import MixtureTuning
from sfumato.mechanisms.pairs import pair_rounds
from sfumato.mechanisms.pairs.pair_rounds import DISTANCES, TABLES, Bought, can_pair, pair_notes
from sfumato.mechanisms.pairs.pair_tuning import PairTuning
from sfumato.models.column_label import ColumnLabelModel
from sfumato.models.mixture_model import MixtureModel
from sfumato.models.tilted_model import TiltedModel
from sfumato.private.accounting import Adjacency
from sfumato.private.curator import Curator
from sfumato.private.queries.tables import Distances, Tables
from sfumato.schema.layout import FloatArray

BARE = sf.Mixture(pairs=None)
NUMBER = {"type": "number", "min": -4, "max": 4, "bins": 20}
YES_NO = {"type": "category", "values": ["no", "yes"]}


def shares(rows: pd.DataFrame, *columns: str) -> FloatArray:
    """The histogram of some columns: numbers in eight parts, categories as they are."""
    cells = [np.floor(rows[c]).astype(int) + 4 if c[0] == "x" else (rows[c] == "yes").astype(int) for c in columns]
    sizes = [8 if c[0] == "x" else 2 for c in columns]
    return np.bincount(np.ravel_multi_index(cells, sizes), minlength=math.prod(sizes)) / len(rows)


def apart(one: pd.DataFrame, two: pd.DataFrame, *columns: str) -> float:
    """Total variation distance."""
    return float(np.abs(shares(one, *columns) - shares(two, *columns)).sum() / 2)


def sampled(table: pd.DataFrame, schema: dict[str, Any], epsilon: float, mechanism: sf.Mixture) -> pd.DataFrame:
    made = sf.fit(table, schema, epsilon=epsilon, delta=1e-6, mechanism=mechanism, rows=len(table), insecure_seed=1)
    return made.sample(20_000, seed=0)


def vee(rows: int) -> pd.DataFrame:
    """One column is the size of another: no correlation says so; a third is by itself."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, rows)).clip(-3.9, 3.9)
    return pd.DataFrame({"x0": x[0], "x1": np.abs(x[0]) * 2 - 2 + rng.normal(0, 0.1, rows), "x2": x[1]}).clip(-3.9, 3.9)


def test_what_no_gaussian_says_is_found() -> None:
    table, schema = vee(5000), {"columns": dict.fromkeys(("x0", "x1", "x2"), NUMBER | {"bins": 8})}
    tilted, bare = (sampled(table, schema, 20.0, each) for each in (sf.Mixture(), sf.Mixture(1, None)))
    assert apart(table, tilted, "x0", "x1") < 0.02
    assert apart(table, bare, "x0", "x1") > 0.3  # the twin without tables
    for column in table:
        assert apart(table, tilted, column) < 0.02
    assert apart(table, tilted, "x0", "x2") < 0.03
    assert apart(table, tilted, "x1", "x2") < 0.03


def test_a_parity_is_found_by_the_joint_table() -> None:
    names = [f"b{i}" for i in range(5)]
    bits = np.random.default_rng(0).integers(0, 2, (4000, 5))
    bits[:, 4] = bits[:, 0] ^ bits[:, 1]  # no pair of columns says so
    table = pd.DataFrame(np.where(bits, "yes", "no"), columns=names)
    schema = {"columns": dict.fromkeys(names, YES_NO)}

    def kept(rows: pd.DataFrame) -> float:
        return float((((rows["b0"] == "yes") ^ (rows["b1"] == "yes")) == (rows["b4"] == "yes")).mean())

    assert kept(sampled(table, schema, 8.0, sf.Mixture())) > 0.95
    assert kept(sampled(table, schema, 8.0, sf.Mixture(1, None))) < 0.6


def test_tables_that_say_nothing_do_no_harm() -> None:
    rng, names = np.random.default_rng(0), ("x0", "x1", "x2")
    table = pd.DataFrame(rng.normal(size=(2000, 3)).clip(-3.9, 3.9), columns=list(names))
    truth = pd.DataFrame(rng.normal(size=(10**5, 3)).clip(-3.9, 3.9), columns=list(names))
    schema = {"columns": dict.fromkeys(names, NUMBER)}
    tilted, less = (sampled(table, schema, 2.0, each) for each in (sf.Mixture(), sf.Mixture(1, None)))
    for pair in (("x0", "x1"), ("x0", "x2"), ("x1", "x2")):
        assert apart(truth, tilted, *pair) < apart(truth, less, *pair) + 0.03


# --- tables that hold nothing, or next to nothing


def people(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    words = np.array(["no", "yes"], object)
    return pd.DataFrame(
        {"x0": rng.normal(size=rows).clip(-3.9, 3.9), "x1": rng.normal(size=rows).clip(-3.9, 3.9)}
        | {name: words[rng.integers(0, 2, rows)] for name in ("b0", "y")}
        | {"who": np.arange(rows) % 70}
    )


COLUMNS = {"x0": NUMBER, "x1": NUMBER, "b0": YES_NO, "y": YES_NO}
SCHEMA: dict[str, Any] = {"label": "y", "columns": COLUMNS}
GAPS: dict[str, Any] = {"label": "y", "columns": COLUMNS | {"x0": NUMBER | {"missing": True}}}
ONE_WORD: dict[str, Any] = {"columns": {name: {"type": "category", "values": ["no"]} for name in ("b0", "y")}}
UNIT: dict[str, Any] = SCHEMA | {"unit": {"column": "who", "rows": 3}}
RULES: dict[str, Any] = SCHEMA | {"constraints": ["y == 'no' or x0 >= 0"]}
CASES: dict[str, tuple[pd.DataFrame, dict[str, Any], dict[str, Any]]] = {
    "no rows": (people(0), SCHEMA, {}),
    "one row": (people(1), SCHEMA, {}),
    "one row, adapted": (people(1), SCHEMA, {"mechanism": sf.Mixture(adapt="auto")}),
    "constant columns": (people(300).assign(x0=1.0, x1=2.0, b0="no", y="no"), SCHEMA, {"epsilon": 50.0}),
    "one value only": (people(50).assign(b0="no", y="no"), ONE_WORD, {}),
    "nothing but gaps": (people(300).assign(x0=np.nan), GAPS, {}),
    "a column that fits no bin": (people(300).assign(x0=99.0), SCHEMA, {}),
    "nothing fits": (people(300).assign(x0=99.0, x1=np.nan, b0="?", y="?"), SCHEMA, {}),
    "an empty class": (people(300).assign(y="no"), SCHEMA, {}),
    "a guess of one row": (people(300), SCHEMA, {"rows": 1}),
    "a guess of too many": (people(300), SCHEMA, {"rows": 2**30}),
    "hardly any budget": (people(300), SCHEMA, {"epsilon": 1e-3}),
    "replaced rows": (people(300), SCHEMA, {"adjacency": "replace-one"}),
    "labels": (people(300), SCHEMA, {"adjacency": "label"}),
    "units": (people(300), UNIT, {}),
    "replaced units": (people(300), UNIT, {"adjacency": "replace-one"}),
    "labels of units": (people(300), UNIT, {"adjacency": "label"}),
    "several components": (people(300), SCHEMA, {"mechanism": sf.Mixture(components=3)}),
    "rules": (people(300), RULES, {}),
}


@pytest.mark.every(3)
@pytest.mark.usefixtures("small_pool")
@pytest.mark.parametrize(("table", "schema", "options"), CASES.values(), ids=CASES)
def test_any_table_gives_a_valid_release(
    table: pd.DataFrame, schema: dict[str, Any], options: dict[str, Any], tmp_path: Path
) -> None:
    asked = {"epsilon": 1.0, "delta": 1e-6} | options
    planned = sf.plan(schema, **asked)
    made = sf.fit(table, schema, **asked, insecure_seed=3)
    assert isinstance(made.model.base if isinstance(made.model, ColumnLabelModel) else made.model, TiltedModel)
    spent, rounds = [spend.name for spend in made.guarantee.spends], [each.title for each in planned.rounds]
    labels = [title for title in rounds if title.startswith("labels")]  # which "auto" leaves where rows are few
    assert spent in (rounds, [title for title in rounds if title not in labels])
    assert math.fsum(spend.mu**2 for spend in made.guarantee.spends) == pytest.approx(planned.mu**2)
    rows = made.sample(300, seed=1)
    assert np.isfinite(made.log_density(rows)).all()
    if "label" in schema:
        np.testing.assert_allclose(made.predict_proba(rows).sum(axis=1), 1.0)
        assert set(made.sample(3, seed=1, given={"y": "yes"})["y"]) == {"yes"}
    if "constraints" in schema:
        assert ((rows["y"] == "no") | (rows["x0"] >= 0)).all()
    assert len(made.sample(0, seed=1)) == 0
    made.save(tmp_path / "r.sfumato")
    pd.testing.assert_frame_equal(sf.load(tmp_path / "r.sfumato").sample(300, seed=1), rows)


def test_where_there_is_no_pair_the_mixture_stays_as_it_is() -> None:
    alone: dict[str, Any] = {"label": "y", "columns": {"x0": NUMBER, "y": YES_NO}}
    planned = sf.plan(alone, epsilon=1, delta=1e-6)
    assert not can_pair(planned.layout)
    assert planned == sf.plan(alone, epsilon=1, delta=1e-6, mechanism=BARE)
    assert isinstance(sf.fit(people(20), alone, epsilon=1, delta=1e-6).model, MixtureModel)


# --- its parts


def test_counts_that_are_bought_again_weigh_by_their_precision() -> None:
    bought = Bought(np.array([10.0, 20.0]), 2.0, np.array([15.0, 15.0]))
    bought.again(np.array([16.0, 14.0]), 1.0)
    np.testing.assert_allclose(bought.counts, [14.8, 15.2])
    assert bought.sd == pytest.approx(math.sqrt(0.8))


def test_a_table_is_trusted_as_far_as_the_model_was_wrong() -> None:
    expected = np.full(50, 100.0)
    right = Bought(expected + np.resize([3.0, -3.0], 50), 5.0, expected).told((0, 1))
    wrong = Bought(expected * np.resize([0.5, 1.5], 50), 5.0, expected).told((0, 1))
    np.testing.assert_array_equal(right.trust, np.ones(50))
    assert (wrong.sd / np.sqrt(wrong.trust) < 1.2).all()


def test_a_plan_tells_what_tables_cost() -> None:
    planned = sf.plan(SCHEMA, epsilon=1, delta=1e-6, rows=5000)
    told = pair_notes(planned.public, 0.4, sf.Mixture().tuning.pairs)
    assert told == {"of the budget, tables of pairs": "40%", "pairs that tables are chosen from": 3}
    assert told.items() <= planned.notes.items()
    shares = {each.title: each.share for each in planned.rounds}
    assert sum(share for title, share in shares.items() if title[-1].isdigit()) == pytest.approx(0.4)
    few = sf.plan(SCHEMA, epsilon=1, delta=1e-6, rows=10)
    assert few.notes["pairs that tables are chosen from"] == 1


def asked(game: FitGame) -> Curator:
    job = game._job(True, seed=3)
    curator = job.curator()
    job.release(curator)
    return curator


def tables_of(curator: Curator) -> list[Tables]:
    queries = [getattr(query, "query", query) for _, query, _ in curator.answers]
    return [q.tables if isinstance(q, Distances) else q for q in queries if isinstance(q, Distances | Tables)]


@pytest.mark.parametrize("adjacency", Adjacency)
def test_rounds_spend_all_that_is_left_and_no_more(adjacency: Adjacency) -> None:
    (game,) = pair_tables(ONE, adjacency)
    curator = asked(game)
    assert curator.remaining == 0.0
    plan = game._job(True, seed=3).plan
    assert math.fsum(each.share for each in plan.rounds) <= 1.0 + 1e-12
    titles = [each.title for each in plan.rounds if each.name in (DISTANCES, TABLES)]
    assert [name for name, _, _ in curator.answers][-len(titles) :] == titles
    assert all(round(sum(query.shares), 12) == 1.0 for query in tables_of(curator))


def test_a_question_never_has_more_cells_than_a_curator_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many classes, columns or rows there are more candidates than fit: a fit must not fail once it has spent."""
    (game,) = pair_tables(ONE, ADD_REMOVE)
    before = [sum(query.cells) for query in tables_of(asked(game))]
    assert max(before) > 100
    monkeypatch.setattr(pair_rounds, "CELLS_OF_ALL", 100)
    monkeypatch.setattr(pair_rounds, "CELLS_OF_ONE", 40)
    queries = tables_of(asked(game))
    assert len(queries) == len(before)
    for query in queries:
        assert sum(query.cells) <= 100
        assert max(query.cells) <= 40


def test_tables_may_be_left_out() -> None:
    (game,) = pair_tables(ONE, ADD_REMOVE)

    def names(mechanism: sf.Mixture) -> set[str]:
        return {each.name for each in sf.plan(game.schema, epsilon=1, delta=1e-6, mechanism=mechanism).rounds}

    assert names(sf.Mixture()) - names(sf.Mixture(pairs=None)) >= {DISTANCES, TABLES}
    with pytest.raises(ArgumentError, match="pairs must be one of"):
        sf.Mixture(pairs="all")  # type: ignore[arg-type]


def test_rules_that_the_mixture_gives_no_mass_do_not_lose_what_was_spent() -> None:
    """Rows that keep four equalities of columns with thirty categories are not found in a mixture of few rows."""
    values = [f"v{i}" for i in range(30)]
    drawn = np.random.default_rng(0).choice(values, (4, 200))
    table = pd.DataFrame({f"{side}{i}": drawn[i] for i in range(4) for side in "ab"})
    schema = {
        "columns": {name: {"type": "category", "values": values} for name in table},
        "constraints": [f"a{i} == b{i}" for i in range(4)],
    }
    release = sf.fit(table, schema, epsilon=0.5, delta=1e-6, mechanism=sf.Mixture(tuning=SHORT), insecure_seed=1)
    assert isinstance(release.model, TiltedModel)
    assert release.model.log_total > -math.inf


def share_of_a_ward_with_a_rule() -> tuple[float, float]:
    """Of children's wards among synthetic rows and among noisy answers, where a rule says that children are in them and
    noise hides from the mixture how old their rows are."""
    rng = np.random.default_rng(5)
    ward = rng.choice(["children", "one", "two", "three"], 7_000, p=[0.025, 0.375, 0.3, 0.3])
    age = np.where(ward == "children", rng.integers(0, 18, 7_000), rng.integers(18, 100, 7_000))
    table = pd.DataFrame({"ward": ward, "age": age, "x0": rng.normal(size=7_000).clip(-3.9, 3.9)})
    schema = {
        "columns": {
            "ward": {"type": "category", "values": ["children", "one", "two", "three"]},
            "age": {"type": "number", "min": 0, "max": 110, "step": 1},
            "x0": NUMBER,
        },
        "constraints": ["if ward == 'children' then age < 18"],
    }
    release = sf.fit(table, schema, epsilon=0.3, delta=1e-6, rows=7_000, insecure_seed=2)
    rows = release.sample(20_000, seed=1)
    assert (rows["age"][rows["ward"] == "children"] < 18).all()
    return float((rows["ward"] == "children").mean()), release.share("ward == 'children'").estimate


def test_a_rule_does_not_thin_out_whom_it_speaks_of() -> None:
    drawn, told = share_of_a_ward_with_a_rule()
    assert drawn == pytest.approx(told, rel=0.3)


def test_trusted_like_its_rows_the_mixture_would_lose_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_rounds, "RESTRICTED", 1.0)
    drawn, told = share_of_a_ward_with_a_rule()
    assert drawn < 0.6 * told


@pytest.mark.slow
def test_more_rows_make_it_no_worse() -> None:
    """A pool of fewer rows than the table has once doubted more than it knew: 0.25 instead of 0.01."""
    table, bins = vee(60_000), {"type": "number", "min": -4, "max": 4, "bins": 16}
    schema = {"columns": dict.fromkeys(table, bins)}
    small = sf.Mixture(tuning=MixtureTuning(pairs=PairTuning(pools=(10_000, 10_000))))
    assert apart(table, sampled(table, schema, 4.0, small), "x0", "x1") < 0.05
    assert apart(table, sampled(table, schema, 4.0, BARE), "x0", "x1") > 0.1
