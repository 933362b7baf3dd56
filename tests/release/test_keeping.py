"""Synthetic rows keep the rules of the schema, and what the rules speak of keeps its distribution.

Shares of 20,000 rows are compared within 0.03, eight standard deviations of their sampling: a false alarm has a
probability below 1e-14, and the seeds are fixed in any case.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.calls import caller

import sfumato as sf
from sfumato.errors import ArgumentError, SchemaError
from sfumato.release import keeping
from sfumato.schema.rules import broken

N = 20_000
SHARE = 0.03

WHOLE: dict[str, Any] = {"type": "number", "min": 0, "max": 99, "step": 1}
DAY: dict[str, Any] = {"type": "date", "min": "2015-01-01", "max": "2020-12-31"}
PEOPLE: dict[str, Any] = {
    "columns": {
        "age": WHOLE,
        "income": {"type": "number", "min": 0, "max": 9, "step": 1, "missing": True},
        "treated": {"type": "category", "values": ["No", "Yes"]},
        "drug": {"type": "category", "values": ["No", "Up", "Down"]},
    },
    "constraints": ["if age < 15 then income is missing", "if treated == 'No' then drug == 'No'"],
}
STAYS: dict[str, Any] = {
    "label": "ward",
    "columns": {
        "admitted": DAY,
        "discharged": DAY | {"missing": True},
        "a": WHOLE,
        "b": WHOLE,
        "total": WHOLE | {"max": 198},
        "ward": {"type": "category", "values": ["north", "south", "west"]},
        "side": {
            "type": "category",
            "values": [1, 2],
            "derived": {"from": "ward", "map": {"north": 1, "south": 1, "west": 2}},
        },
    },
    "constraints": ["admitted <= discharged <= admitted + 90", "total == a + b", "if ward == 'west' then a > 20"],
}


def people(n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(0, 90, n)
    treated = rng.random(n) < 0.6
    return pd.DataFrame(
        {
            "age": age,
            "income": np.where(age < 15, np.nan, rng.integers(0, 10, n)),
            "treated": np.where(treated, "Yes", "No"),
            "drug": np.where(treated, rng.choice(["No", "Up", "Down"], n), "No"),
        }
    )


def stays(n: int = N) -> pd.DataFrame:
    """A table without the columns that are computed."""
    rng = np.random.default_rng(1)
    admitted = rng.integers(0, 2000, n)
    discharged = admitted + rng.geometric(1 / 3.5, n) - 1.0
    ward = rng.choice(["north", "south", "west"], n)
    return pd.DataFrame(
        {
            "admitted": pd.Timestamp("2015-01-01") + pd.to_timedelta(admitted, unit="D"),
            "discharged": pd.Series(pd.Timestamp("2015-01-01") + pd.to_timedelta(discharged, unit="D")).mask(
                rng.random(n) < 0.1
            ),
            "a": np.where(ward == "west", rng.integers(21, 99, n), rng.integers(0, 50, n)),
            "b": rng.integers(0, 50, n),
            "ward": ward,
        }
    )


def fit(table: pd.DataFrame, schema: dict[str, Any], **options: Any) -> sf.Release:
    return sf.fit(table, schema, **({"epsilon": 1, "delta": 1e-6, "insecure_seed": 1} | options))


@pytest.fixture(scope="module")
def of_people() -> sf.Release:
    return fit(people(), PEOPLE)


@pytest.fixture(scope="module")
def of_stays() -> sf.Release:
    return fit(stays(), STAYS, epsilon=4)


def none_broken(release: sf.Release, rows: pd.DataFrame) -> bool:
    masks = broken(release.schema, rows)
    assert masks
    return not any(mask.any() for mask in masks.values())


def test_no_row_breaks_a_rule_and_columns_keep_their_distributions(of_people: sf.Release) -> None:
    rows, truth = of_people.sample(N, seed=0), people()
    assert none_broken(of_people, rows)
    assert (rows["age"] < 15).mean() == pytest.approx((truth["age"] < 15).mean(), abs=SHARE)
    assert rows["income"].isna().mean() == pytest.approx(truth["income"].isna().mean(), abs=SHARE)
    assert (rows["treated"] == "No").mean() == pytest.approx((truth["treated"] == "No").mean(), abs=SHARE)
    assert (rows["drug"] == "No").mean() == pytest.approx((truth["drug"] == "No").mean(), abs=SHARE)


@pytest.mark.slow
def test_no_row_of_a_million_breaks_a_rule(of_people: sf.Release, of_stays: sf.Release) -> None:
    for release in (of_people, of_stays):
        assert none_broken(release, release.sample(1_000_000, seed=2))


def test_orders_sums_and_derived_columns(of_stays: sf.Release) -> None:
    rows = of_stays.sample(N, seed=0)
    assert list(rows) == list(STAYS["columns"])
    assert none_broken(of_stays, rows)
    apart = (rows["discharged"] - rows["admitted"]).dt.days
    truth = (stays()["discharged"] - stays()["admitted"]).dt.days
    assert apart.mean() == pytest.approx(truth.mean(), rel=0.1)
    assert rows["discharged"].isna().mean() == pytest.approx(0.1, abs=SHARE)
    assert (rows["total"] == rows["a"] + rows["b"]).all()
    assert rows["total"].dtype == rows["side"].dtype == np.int64
    assert (rows["side"] == np.where(rows["ward"] == "west", 2, 1)).all()
    assert (rows["ward"] == "west").mean() == pytest.approx(1 / 3, abs=SHARE)


def test_rows_are_the_same_in_batches_and_from_a_file(of_stays: sf.Release, tmp_path: Path) -> None:
    rows = of_stays.sample(300, seed=5)
    of_stays.save(tmp_path / "r.sfumato")
    again = sf.load(tmp_path / "r.sfumato")
    assert again.schema == of_stays.schema
    pd.testing.assert_frame_equal(again.sample(300, seed=5), rows)
    (batch,) = of_stays.sample_batches(300, seed=5)
    assert batch.schema.names == list(rows)
    assert batch.column("total").to_pylist() == rows["total"].tolist()
    assert of_stays.sample(0, seed=1).shape == (0, 7)


def test_the_command_line_keeps_them(
    of_stays: sf.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call = caller(monkeypatch, capsys)
    of_stays.save(tmp_path / "r.sfumato")
    options = ["-n", "50", "-o", tmp_path / "rows.csv", "--given", "ward=west", "--where", "total > 60"]
    assert call("sample", tmp_path / "r.sfumato", *options).code == 0
    rows = pd.read_csv(tmp_path / "rows.csv", parse_dates=["admitted", "discharged"])
    assert none_broken(of_stays, rows)
    assert (rows["total"] > 60).all()
    assert set(rows["side"]) == {2}
    told = call("inspect", tmp_path / "r.sfumato").out
    assert "Rules that every row keeps:" in told
    assert "total == a + b" in told
    assert "category, derived" in told


# --- given


def test_both_ends_of_an_order_can_be_given(of_stays: sf.Release) -> None:
    rows = of_stays.sample(200, seed=0, given={"admitted": "2016-02-28", "discharged": "2016-03-01", "ward": "west"})
    assert set(rows["discharged"]) == {pd.Timestamp("2016-03-01")}
    assert set(rows["admitted"]) == {pd.Timestamp("2016-02-28")}
    assert none_broken(of_stays, rows)


def test_one_end_can_be_given_as_missing(of_stays: sf.Release) -> None:
    assert of_stays.sample(50, seed=0, given={"discharged": None})["discharged"].isna().all()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"discharged": "2016-03-01"}, "'discharged' is modelled by its difference from 'admitted': give that too"),
        ({"total": 5}, "'total' is computed from 'a' and 'b': give that instead, or ask for it by where"),
        ({"side": 2}, "'side' is computed from 'ward': give that instead"),
        (
            {"admitted": "2016-03-01", "discharged": "2016-02-01"},
            "discharged - admitted lies between 0 and 90, so it cannot be -29.0",
        ),
        ({"discharged - admitted": 3}, "'discharged - admitted' is not a column of the release"),
        ({"ward": "west", "a": 3}, "rows drawn keep the constraints"),
    ],
)
def test_what_cannot_be_given_says_what_to_give(
    of_stays: sf.Release, given: Any, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "SURE_DRAWS", 1 << 14)
    with pytest.raises(ArgumentError, match=problem.split("(")[0]):
        of_stays.sample(5, seed=0, given=given)


def test_a_computed_column_can_be_asked_for(of_stays: sf.Release) -> None:
    rows = of_stays.sample(300, seed=0, where="total > 100 and side == 2 and discharged - admitted < 2")
    assert none_broken(of_stays, rows)
    assert (rows["total"] > 100).all()


# --- densities and classes


SMALL: dict[str, Any] = {
    "label": "y",
    "columns": {
        "a": {"type": "category", "values": ["p", "q"]},
        "b": {"type": "number", "min": 0, "max": 2, "step": 1},
        "c": {"type": "number", "min": 0, "max": 3, "step": 1},
        "t": {"type": "number", "min": 0, "max": 5, "step": 1, "derived": "b + c"},
        "y": {"type": "category", "values": ["no", "yes"]},
    },
    "constraints": ["if a == 'p' then b == 0", "c >= b", "if y == 'no' then c < 3"],
}


@pytest.fixture(scope="module")
def small() -> sf.Release:
    rng = np.random.default_rng(3)
    a = rng.choice(["p", "q"], N)
    b = np.where(a == "p", 0, rng.integers(0, 3, N))
    c = np.minimum(b + rng.integers(0, 3, N), 3)
    y = np.where(c == 3, "yes", rng.choice(["no", "yes"], N))
    return fit(pd.DataFrame({"a": a, "b": b, "c": c, "y": y}), SMALL, epsilon=8)


def cells() -> pd.DataFrame:
    every = itertools.product(["p", "q"], range(3), range(4), ["no", "yes"])
    frame = pd.DataFrame(list(every), columns=["a", "b", "c", "y"])
    return frame.assign(t=frame["b"] + frame["c"])


@pytest.mark.slow
def test_the_density_is_that_of_the_rows_that_are_drawn(small: sf.Release) -> None:
    table = cells()
    density = np.exp(small.log_density(table))
    masks = broken(small.schema, table)
    allowed = ~np.logical_or.reduce(list(masks.values()))
    assert (density[~allowed] == 0).all()
    assert (density[allowed] > 0).all()
    assert density.sum() == pytest.approx(1.0, abs=0.05)
    rows = small.sample(N, seed=4).value_counts(["a", "b", "c", "y"], normalize=True)
    found = np.array([rows.get(key, 0.0) for key in table[["a", "b", "c", "y"]].itertuples(index=False, name=None)])
    assert np.abs(found - density).sum() / 2 < 0.05


def test_a_computed_column_that_does_not_match_has_no_density(small: sf.Release) -> None:
    table = cells().query("a == 'q' and b == 1 and c == 2")
    assert np.isfinite(small.log_density(table)).all()
    assert np.isneginf(small.log_density(table.assign(t=4))).all()
    np.testing.assert_array_equal(small.log_density(table.drop(columns="t")), small.log_density(table))


def test_a_class_that_breaks_a_rule_is_not_predicted(small: sf.Release) -> None:
    table = cells().query("a == 'q' and b == 1 and y == 'no'").drop(columns=["t", "y"])
    found = small.predict_proba(table)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert found["yes"].to_numpy()[-1] == 1.0
    assert (found["no"].to_numpy()[:-1] > 0.2).all()
    without = np.exp(small.log_density(table))
    with_label = sum(np.exp(small.log_density(table.assign(y=y))) for y in ("no", "yes"))
    np.testing.assert_allclose(without, with_label)


def test_a_row_that_no_class_allows_is_classified_by_the_model(small: sf.Release) -> None:
    table = pd.DataFrame({"a": ["p"], "b": [2], "c": [2]})
    np.testing.assert_allclose(small.predict_proba(table).sum(axis=1), 1.0)
    assert np.isneginf(small.log_density(table)).all()


# --- rules without mass, and other models


@pytest.mark.slow
def test_rules_that_the_model_gives_no_mass_are_told_in_one_line() -> None:
    number = {"type": "number", "min": 0, "max": 1}
    schema = {"columns": {"x": number, "y": number}, "constraints": ["x * x == y * y + 0.5"]}
    with pytest.raises(SchemaError, match="cannot be kept"):
        fit(people(), schema)
    schema["constraints"] = ["x * y > 2"]
    frame = pd.DataFrame({"x": np.linspace(0, 1, 500), "y": np.linspace(0, 1, 500)})
    made = fit(frame, schema)
    for ask in (lambda: made.sample(3), lambda: made.log_density(frame)):
        with pytest.raises(ArgumentError, match="0 of 65536 rows drawn keep the constraints of the schema"):
            ask()


@pytest.mark.parametrize(
    "mechanism",
    [
        sf.Mixture(components=1),
        sf.Clustmix(components=8),
        pytest.param(sf.Slicing(training=None), marks=pytest.mark.slow),
    ],
)
def test_rules_are_kept_whatever_the_mechanism(mechanism: Any) -> None:
    table = people(2000)[["age", "treated", "drug"]].assign(older=lambda rows: rows["age"] + 5)
    columns = {name: PEOPLE["columns"][name] for name in ("age", "treated", "drug")}
    rules = ["older >= age", PEOPLE["constraints"][1]]
    made = fit(table, {"columns": columns | {"older": WHOLE}, "constraints": rules}, mechanism=mechanism)
    assert none_broken(made, made.sample(500, seed=0))


@pytest.mark.slow
def test_orders_of_moments_and_times_and_rules_of_truth_values() -> None:
    rng = np.random.default_rng(4)
    came = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300 * 1440, 4000), unit="min")
    stay = pd.to_timedelta(rng.exponential(300, 4000).round(), unit="min")
    table = pd.DataFrame(
        {
            "came": came,
            "left": came + stay,
            "opens": [f"{hour:02}:30" for hour in rng.integers(6, 10, 4000)],
            "closes": [f"{hour:02}:00" for hour in rng.integers(12, 20, 4000)],
            "smoker": rng.random(4000) < 0.3,
            "age": rng.integers(16, 90, 4000),
        }
    )
    moment = {"type": "datetime", "min": "2024-01-01", "max": "2025-01-01"}
    schema = {
        "columns": {"came": moment, "left": moment, "opens": {"type": "time"}, "closes": {"type": "time"}}
        | {"smoker": {"type": "boolean"}, "age": WHOLE},
        "constraints": ["left >= came", "opens < closes", "if smoker then age > 15"],
    }
    made = fit(table, schema, epsilon=4, mechanism=sf.Mixture(components=1))
    assert made.layout.names == ("came", "left - came", "opens", "closes - opens", "smoker", "age")
    rows = made.sample(4000, seed=0)
    assert none_broken(made, rows)
    assert (rows["opens"] < rows["closes"]).all()
    assert (rows["left"] - rows["came"]).mean() == pytest.approx(stay.mean(), rel=0.15)
    assert np.isfinite(made.log_density(rows.head(20))).all()
