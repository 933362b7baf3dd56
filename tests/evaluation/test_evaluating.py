"""A release beside real rows: planted faults are named, and whatever is left out is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.evaluation.tables import RELATED, SCHEMA, Pretended, frame, related

import sfumato as sf
from sfumato.errors import ArgumentError, TableError
from sfumato.evaluation import evaluating, measuring, range_queries
from sfumato.evaluation.evaluating import evaluate
from sfumato.evaluation.release_evaluation import Evaluation
from sfumato.schema.schema import Schema

TRAIN, TEST = related(400, 1), related(400, 2)


@pytest.fixture(autouse=True)
def cheap(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few queries, and no LightGBM but where a test is about it."""
    monkeypatch.setattr(range_queries, "QUERIES", 20)
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr(measuring, "has_lightgbm", lambda: False)


def judged(release: Any, train: Any = TRAIN, test: Any = TEST, **options: Any) -> Evaluation:
    return evaluate(release, train=train, test=test, **({"samples": 1} | options))


def with_column(shuffled: str | None) -> Pretended:
    return Pretended(lambda rows, seed: related(rows, 100 + seed, shuffled), RELATED)


@pytest.mark.parametrize("name", ["b", "d"])
def test_a_shuffled_column_is_the_worst_and_so_are_its_pairs(name: str) -> None:
    """It is right by itself: only in tables with others does it show."""
    found = judged(with_column(name))
    worst = found.columns[0]
    assert worst.name == name
    assert worst.alone.excess < 0.05
    assert worst.together is not None
    assert worst.together.real is not None
    assert worst.together.excess > 0.1
    assert all(name in pair.names for pair in found.pairs[:4])
    assert f"The worst column is {name};" in str(found)


@pytest.mark.slow
def test_columns_as_targets_show_what_is_lost() -> None:
    pytest.importorskip("lightgbm")
    learned = {each.name: each.learned for each in judged(with_column("b")).columns}
    assert learned["b"] is not None
    assert learned["a"] is not None
    assert learned["b"].real > 0.9
    assert learned["b"].mean < 0.6
    assert learned["a"].mean > 0.9


def test_good_rows_are_as_good_as_real_ones_and_independent_columns_are_not() -> None:
    measures = judged(with_column(None), samples=2).measures
    pairs = measures["tv2"]
    assert pairs.sd is not None
    assert pairs.real is not None
    assert pairs.independent is not None
    assert abs(pairs.excess) < 0.05
    assert pairs.independent > pairs.mean + 0.1
    assert 0.35 < measures["nearer_train"].mean < 0.65
    assert measures["copies"].mean == 0.0


def test_copied_rows_show() -> None:
    """The other way round: rows that are train rows are nearer to these than any test row."""
    copied = Pretended(lambda rows, seed: TRAIN.sample(rows, random_state=seed), RELATED)
    measures = judged(copied).measures
    assert measures["copies"].mean == 1.0
    assert measures["nearer_train"].mean > 0.95


def test_a_number_as_target_has_regressors() -> None:
    good, bad = (judged(with_column(name), target="a").measures for name in (None, "a"))
    for judge in ("linear", "forest"):
        assert (good[f"{judge}_r2"].real or 0.0) > 0.8
        assert good[f"{judge}_r2"].mean > 0.8
        assert bad[f"{judge}_r2"].mean < 0.1
        assert good[f"{judge}_error"].mean < 0.5 * bad[f"{judge}_error"].mean
        assert good[f"{judge}_r2"].independent == pytest.approx(0.0, abs=0.02)
    assert "logistic" not in good


def test_the_label_is_the_target_and_a_category_has_classifiers() -> None:
    release = Pretended(lambda rows, seed: frame(rows, 100 + seed))
    found = judged(release, frame(400, 1), frame(400, 2))
    assert found.target == "y"
    assert found.measures["logistic"].mean > 0.8
    assert found.measures["logistic"].independent == 0.5


def test_a_release_as_it_is_made_with_its_likelihood() -> None:
    schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
    ages = pd.DataFrame({"age": np.arange(600) % 60})
    release = sf.fit(ages, schema, epsilon=4, delta=1e-4)
    found = evaluate(release, train=ages, test=ages[::2], samples=1)
    mean = float(np.mean(release.log_density(ages[::2])))
    assert found.measures["log_likelihood"].mean == pytest.approx(mean)
    assert found.columns[0].together is None
    assert "no label and no target" in " ".join(found.notes)


def test_rules_are_counted_by_name() -> None:
    schema = Schema.of(RELATED.dump() | {"constraints": ["a <= 9"]})
    release = Pretended(lambda rows, seed: related(rows, seed), schema)
    found = judged(release, rules=["a <= b"])
    told = {each.rule: each.broken for each in found.rules}
    assert told["a <= 9"].mean == told["a <= 9"].real == 0.0
    assert told["a <= b"].real == pytest.approx((TRAIN["a"] > TRAIN["b"]).mean())
    assert 0.3 < told["a <= b"].mean < 0.7
    assert found.measures["broken_rules"].mean == told["a <= b"].mean


def test_that_nothing_was_held_out_is_said() -> None:
    same = evaluate(with_column(None), train=TRAIN, test=TRAIN[::-1], samples=1)
    assert [note for note in same.notes if note.startswith("Nothing was held out: the test rows are the train rows")]


def test_without_test_rows_a_fifth_stands_in_and_that_is_said() -> None:
    found = evaluate(with_column(None), train=TRAIN, samples=1)
    assert found.rows["train"] + found.rows["test"] == len(TRAIN)
    assert 40 < found.rows["test"] < 120
    assert any(note.startswith("No test rows: a fifth of the train rows") for note in found.notes)
    assert any("were in the fit" in note for note in found.notes)
    assert not {"log_likelihood", "nearer_train", "copies"} & set(found.measures)


def test_without_lightgbm_the_other_judges_are_there() -> None:
    found = judged(with_column(None), target="d")
    assert {"logistic", "forest"} <= set(found.measures)
    assert not {"lightgbm", "any_column", "told_apart"} & set(found.measures)
    assert any("LightGBM is not installed" in note for note in found.notes)


def test_of_large_tables_some_rows_and_targets_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(measuring, "has_lightgbm", lambda: True)
    monkeypatch.setattr(evaluating, "MOST_QUICK", 200)
    monkeypatch.setattr(measuring, "MOST_LEARNED", 0)
    monkeypatch.setattr(measuring, "FEWEST_TARGETS", 2)
    found = judged(with_column(None), quick=True)
    assert 100 <= found.rows["train"] <= 200
    assert f"Of 400 train rows {found.rows['train']} were drawn evenly, with a fixed seed." in found.notes
    alone = evaluate(with_column(None), train=TRAIN, samples=1, quick=True)
    assert any(note.startswith("Of 400 train rows") for note in alone.notes)
    assert sum(each.learned is not None for each in found.columns) == 2
    assert any(note.startswith("Any column: 2 of 5 columns") for note in found.notes)


def test_the_same_seed_gives_the_same_figures_and_each_sample_has_its_own() -> None:
    seeds: list[int] = []

    def make(rows: int, seed: int) -> pd.DataFrame:
        seeds.append(seed)
        return related(rows, seed)

    release = Pretended(make, RELATED)
    one, two = (judged(release, seed=7, samples=2) for _ in range(2))
    assert seeds == [7, 8, 7, 8]
    assert one.to_dict() == two.to_dict()


def test_progress_goes_from_nothing_to_all() -> None:
    told: list[tuple[float, str]] = []
    judged(with_column(None), progress=lambda done, what: told.append((done, what)))
    fractions = [done for done, _ in told]
    assert fractions == sorted(fractions)
    assert (fractions[0], told[-1]) == (0.0, (1.0, "done"))
    assert fractions[-2] > 0.5
    assert any(what == "sample 1 of 1: judges" for _, what in told)


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"train": TRAIN.drop(columns="b")}, TableError, "has no column 'b'"),
        ({"test": TEST.drop(columns="b")}, TableError, "has no column 'b'"),
        ({"train": TRAIN[:0]}, TableError, "has no rows"),
        ({"train": TRAIN.astype(str).replace(".*", "?", regex=True)}, TableError, "is another table than the release"),
        ({"target": "zip"}, ArgumentError, "target 'zip' is no column of the release; it has a, b, c, d, e"),
        ({"rules": ["zip > 3"]}, ArgumentError, "no column 'zip'"),
        ({"rules": "a > b"}, ArgumentError, "rules is a list"),
        ({"samples": 0}, ArgumentError, "samples must be a whole number, 1 or more, not 0"),
        ({"seed": -1}, ArgumentError, "seed must be a whole number, 0 or more, not -1"),
        ({"train": TRAIN[:1], "test": None}, ArgumentError, "one train row"),
    ],
)
def test_careless_input_is_refused_in_one_line(options: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words) as refused:
        judged(with_column(None), **options)
    assert "\n" not in str(refused.value)


def test_a_table_whose_labels_are_none_is_another_table() -> None:
    release = Pretended(lambda rows, seed: frame(rows, seed))
    with pytest.raises(TableError, match="no row of the table has a value of 'y' that the release knows"):
        judged(release, frame(50, 0).assign(y="?"), frame(50, 1))
    found = judged(release, pd.concat([frame(200, 0), frame(20, 2).assign(y="?")]), frame(200, 1))
    assert "20 train rows without a label that the schema knows are left out, as in a fit." in found.notes
    assert SCHEMA.label == found.target
