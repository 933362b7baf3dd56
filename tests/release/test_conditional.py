"""Rows under a condition: given columns against rejection from plain rows, and rows where something holds.

A comparison passes while every mean and share differs by fewer than LIMIT standard errors. A false alarm has
probability 2e-9 for each of about 200 comparisons, below 1e-6 for all; the seeds are fixed in any case.
"""

import datetime
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.special import ndtr
from tests.configs import asked

import sfumato as sf
from sfumato import cli
from sfumato.encoding.boxes import Boxes
from sfumato.errors import ArgumentError
from sfumato.models import MixtureModel
from sfumato.models.base import REJECTION
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.release import conditional
from sfumato.release.conditional import Held
from sfumato.release.release import BATCH_ROWS

LIMIT = 6.0
SLACK = 0.02  # of a standard deviation: what the Gibbs sweeps of several columns may leave
PLAIN = 300_000
MADE = 20_000
ENOUGH = 40_000  # plain rows to compare with

SCHEMA: dict[str, Any] = {
    "label": "ill",
    "columns": {
        "age": {"type": "number", "min": 0, "max": 100, "step": 1},
        "height": {"type": "number", "min": 1.2, "max": 2.2},
        "score": {"type": "number", "min": 0, "max": 5, "step": 0.25},
        "gain": {"type": "number", "min": 0, "max": 100_000, "scale": "log", "atoms": [0]},
        "town": {"type": "category", "values": ["Ulm", "Bonn", "Kiel"], "missing": True},
        "seen": {"type": "date", "min": "2020-01-01", "max": "2020-03-31", "missing": True},
        "visits": {"type": "number", "min": 0, "max": 20, "step": 1, "missing": True},
        "ill": {"type": "category", "values": ["false", "true"]},
    },
}
AFFINE: dict[str, Any] = {
    "label": "kind",
    "columns": {
        "x": {"type": "number", "min": -10, "max": 10},
        "y": {"type": "number", "min": -10, "max": 10},
        "count": {"type": "number", "min": 0, "max": 60, "step": 1},
        "kind": {"type": "category", "values": [1, 2, 3]},
    },
}
BINNED: dict[str, Any] = {
    "label": "income",
    "columns": {
        "age": {"type": "number", "min": 0, "max": 100, "step": 1},
        "town": {"type": "category", "values": ["Ulm", "Bonn"]},
        "income": {"type": "number", "min": 0, "max": 100, "bins": 4},
    },
}


def fit(frame: pd.DataFrame, schema: dict[str, Any], **options: Any) -> sf.Release:
    return sf.fit(frame, schema, epsilon=8, delta=1e-6, insecure_seed=1, **asked(components=1, pairs=None, **options))


@pytest.fixture(scope="module")
def release() -> sf.Release:
    """Columns that hang together within a class, so that a condition on one moves the others."""
    rng = np.random.default_rng(0)
    n = 6000
    ill = rng.random(n) < 0.3
    hidden = rng.standard_normal(n)

    def near(rho: float) -> Any:
        return rho * hidden + np.sqrt(1 - rho**2) * rng.standard_normal(n)

    town = np.select([near(0.7) < -0.3, near(0.7) < 0.8], ["Ulm", "Bonn"], "Kiel").astype(object)
    town[rng.random(n) < 0.15 + 0.15 * (hidden > 0)] = None
    seen = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(np.floor(ndtr(near(0.6)) * 91), unit="D"))
    gain = np.where(near(0.5) < 0.3, 0.0, np.exp(7 + near(0.8)))
    frame = pd.DataFrame(
        {
            "age": np.clip(40 + 20 * ill + 12 * near(0.8), 0, 100).round(),
            "height": 1.7 + 0.1 * near(-0.8),
            "score": np.clip(2.5 + near(0.8), 0, 5).round(),
            "gain": gain,
            "town": town,
            "seen": seen.mask(rng.random(n) < 0.2 + 0.2 * ill),
            "visits": pd.Series(rng.poisson(np.exp(1.2 + 0.3 * hidden + 0.4 * ill))).mask(rng.random(n) < 0.1),
            "ill": np.where(ill, "true", "false"),
        }
    )
    return fit(frame, SCHEMA)


@pytest.fixture(scope="module")
def affine() -> sf.Release:
    rng = np.random.default_rng(0)
    kind = rng.integers(1, 4, 6000)
    x = rng.normal(kind - 2, 1.0)
    y = 0.8 * x + rng.normal(0, 0.6, 6000)
    frame = pd.DataFrame({"x": x, "y": y, "count": (30 + 4 * x + rng.normal(0, 3, 6000)).round(), "kind": kind})
    return fit(frame, AFFINE, encoding="affine")


@pytest.fixture(scope="module")
def binned() -> sf.Release:
    rng = np.random.default_rng(0)
    income = rng.uniform(0, 100, 6000)
    age = np.clip(20 + income / 2 + rng.normal(0, 8, 6000), 0, 100).round()
    return fit(
        pd.DataFrame({"age": age, "town": np.where(rng.random(6000) < age / 100, "Ulm", "Bonn"), "income": income}),
        BINNED,
    )


@pytest.fixture(scope="module")
def plain(release: sf.Release) -> pd.DataFrame:
    return release.sample(PLAIN, seed=1)


# --- the check, and that it sees what it is for


def distances(real: pd.DataFrame, made: pd.DataFrame, slack: float = 0.0) -> dict[str, float]:
    """How far apart the columns' means and shares are, in standard errors."""
    found = {}
    for name in made:
        for what, (a, b) in statistics(real[name], made[name]).items():
            error = np.sqrt(a.var() / len(a) + b.var() / len(b))
            gap = max(abs(a.mean() - b.mean()) - slack * np.sqrt(max(a.var(), b.var())), 0.0)
            found[f"{name} {what}"] = float(gap / error) if error > 0 else (0.0 if gap == 0.0 else np.inf)
    return found


def statistics(a: Any, b: Any) -> dict[str, tuple[Any, Any]]:
    shares = {"missing": (a.isna().to_numpy(float), b.isna().to_numpy(float))}
    if isinstance(a.dtype, np.dtype) and a.dtype.kind == "M":
        a, b = ((each - pd.Timestamp("2020-01-01")).dt.days for each in (a, b))
    if pd.api.types.is_numeric_dtype(a):
        x, y = (each.dropna().to_numpy(float) for each in (a, b))
        return shares | ({"mean": (x, y), "square": (x**2, y**2)} if len(x) and len(y) else {})
    there = {*a.unique(), *b.unique()}
    for value in ["Ulm", "Bonn", "Kiel", "false", "true"]:
        if value in there:
            shares[value] = ((a == value).to_numpy(float), (b == value).to_numpy(float))
    return shares


def assert_alike(real: pd.DataFrame, made: pd.DataFrame, slack: float = 0.0) -> None:
    assert len(real) > 500
    real = real.iloc[:ENOUGH]
    apart = {what: z for what, z in distances(real, made, slack).items() if z > LIMIT}
    assert not apart


Case = tuple[dict[str, Any], Callable[[pd.DataFrame], Any]]
ONE_COLUMN: dict[str, Case] = {
    "label": ({"ill": "true"}, lambda rows: rows["ill"] == "true"),
    "category": ({"town": "Kiel"}, lambda rows: rows["town"] == "Kiel"),
    "missing category": ({"town": None}, lambda rows: rows["town"].isna()),
    "number on a grid": ({"age": 60}, lambda rows: rows["age"] == 60),
    "number in fractions": ({"score": 3.0}, lambda rows: rows["score"] == 3.0),
    "missing number": ({"visits": None}, lambda rows: rows["visits"].isna()),
    "atom": ({"gain": 0}, lambda rows: rows["gain"] == 0),
    "date": ({"seen": datetime.date(2020, 3, 25)}, lambda rows: rows["seen"] == pd.Timestamp("2020-03-25")),
    "missing date": ({"seen": pd.NaT}, lambda rows: rows["seen"].isna()),
}
SEVERAL: dict[str, Case] = {
    "two": ({"town": "Ulm", "age": 40}, lambda rows: (rows["town"] == "Ulm") & (rows["age"] == 40)),
    "against the trend": ({"town": "Kiel", "score": 2.0}, lambda rows: (rows["town"] == "Kiel") & (rows["score"] == 2)),
    "three": (
        {"town": "Bonn", "gain": 0, "visits": 3},
        lambda rows: (rows["town"] == "Bonn") & (rows["gain"] == 0) & (rows["visits"] == 3).fillna(False),
    ),
    "with the label": (
        {"ill": "true", "town": None, "gain": 0},
        lambda rows: (rows["ill"] == "true") & rows["town"].isna() & (rows["gain"] == 0),
    ),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("case", ONE_COLUMN)
def test_one_column_is_exact(case: str, release: sf.Release, plain: pd.DataFrame) -> None:
    given, holds = ONE_COLUMN[case]
    assert_alike(plain[holds(plain)], release.sample(MADE, seed=2, given=given))


@pytest.mark.every(2)
@pytest.mark.parametrize("case", SEVERAL)
def test_several_columns(case: str, release: sf.Release, plain: pd.DataFrame) -> None:
    given, holds = SEVERAL[case]
    assert_alike(plain[holds(plain)], release.sample(MADE, seed=2, given=given), SLACK)


def test_a_number_without_steps(release: sf.Release, plain: pd.DataFrame) -> None:
    # Nobody is exactly 1.75 tall: compare with those who are within 4 mm.
    made = release.sample(MADE, seed=2, given={"height": 1.75})
    near = plain[(plain["height"] - 1.75).abs() < 0.004]
    assert_alike(near.drop(columns="height"), made.drop(columns="height"), SLACK)


def ignore_boxes(self: GaussianMixture, k: int, n: int, boxes: Boxes, rng: np.random.Generator) -> Any:
    return self.sample(np.full(n, k), rng)


@pytest.mark.every(2)
@pytest.mark.parametrize("case", ["category", "missing category", "number on a grid", "atom", "date"])
def test_a_sampler_that_ignores_the_given_column_is_caught(
    case: str, release: sf.Release, plain: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GaussianMixture, "sample_inside", ignore_boxes)
    with pytest.raises(AssertionError):
        test_one_column_is_exact(case, release, plain)
    # Not by the given column alone, which may be written over what was drawn.
    given, holds = ONE_COLUMN[case]
    made = release.sample(MADE, seed=2, given=given).drop(columns=list(given))
    with pytest.raises(AssertionError):
        assert_alike(plain[holds(plain)], made)


def test_a_sampler_that_forgets_one_of_several_is_caught(release: sf.Release, plain: pd.DataFrame) -> None:
    _, holds = SEVERAL["two"]
    made = release.sample(MADE, seed=2, given={"town": "Ulm"}).assign(age=40)
    with pytest.raises(AssertionError):
        assert_alike(plain[holds(plain)], made, SLACK)


@pytest.mark.parametrize("case", ["number on a grid", "missing date"])
def test_a_sampler_that_keeps_the_class_shares_is_caught(
    case: str, release: sf.Release, plain: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = MixtureModel.condition
    monkeypatch.setattr(
        MixtureModel, "condition", lambda model, given: replace(real(model, given), weights=model.mixture.weights)
    )
    with pytest.raises(AssertionError):
        test_one_column_is_exact(case, release, plain)


# --- classes by Bayes' rule


@pytest.mark.parametrize(
    ("name", "value"), [("age", 60), ("town", "Kiel"), ("town", None), ("gain", 0), ("seen", None), ("height", 1.8)]
)
def test_classes_follow_bayes_rule(name: str, value: Any, release: sf.Release) -> None:
    condition = Held.of(release.model, {name: value}, release.modelling).condition
    mixture, j = release.model.mixture, release.layout.names.index(name)
    likelihoods = []
    for k, boxes in enumerate(condition.boxes):
        mean, sd = mixture.means[k, j], np.sqrt(mixture.covariances[k, j, j])
        low, high = (boxes.low[0, j] - mean) / sd, (boxes.high[0, j] - mean) / sd
        inside = np.exp(-(low**2) / 2) / sd / np.sqrt(2 * np.pi) if boxes.is_point[0, j] else ndtr(high) - ndtr(low)
        likelihoods.append(inside * np.exp(boxes.log_change[0]))
    expected = mixture.weights * likelihoods
    expected /= expected.sum()
    np.testing.assert_allclose(condition.weights, expected, rtol=1e-4)
    drawn = release.sample(MADE, seed=3, given={name: value})["ill"] == "true"
    error = np.sqrt(expected[1] * expected[0] / MADE)
    assert abs(drawn.mean() - expected[1]) < LIMIT * error


@pytest.mark.parametrize("given", [{"age": 40}, {"town": "Ulm"}, {"age": 30, "town": "Bonn"}])
def test_classes_are_those_predicted_from_what_is_given(given: dict[str, Any], binned: sf.Release) -> None:
    row = pd.DataFrame([{"age": "unknown", "town": "unknown"} | given])
    (predicted,) = binned.predict_proba(row).to_numpy()
    np.testing.assert_allclose(Held.of(binned.model, given, binned.modelling).condition.weights, predicted, atol=0.01)


# --- what comes out


def test_given_values_come_out_as_given_with_their_types(release: sf.Release) -> None:
    kinds = release.sample(10, seed=0).dtypes
    given: dict[str, Any] = {
        "age": 40,
        "height": 1.7312345,
        "score": 3.25,
        "gain": 123.456,
        "town": "Bonn",
        "seen": "2020-02-29",
        "visits": 7,
        "ill": "true",
    }
    for name, value in given.items():
        made = release.sample(50, seed=0, given={name: value})
        assert made.dtypes.equals(kinds)
        assert (made[name] == (pd.Timestamp(value) if name == "seen" else value)).all()
    everything = release.sample(50, seed=0, given=given)
    assert everything.dtypes.equals(kinds)
    assert len(everything.drop_duplicates()) == 1
    assert list(everything) == list(SCHEMA["columns"])


@pytest.mark.parametrize("value", [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT])
@pytest.mark.parametrize("name", ["town", "seen", "visits"])
def test_missing_may_be_given_where_the_schema_allows_it(name: str, value: Any, release: sf.Release) -> None:
    made = release.sample(50, seed=0, given={name: value})
    assert made[name].isna().all()
    assert made.drop(columns=["town", "seen", "visits"]).notna().all(axis=None)
    with pytest.raises(ArgumentError, match="age can never be"):
        release.sample(5, given={"age": value})


def test_one_value_may_be_written_in_several_ways(release: sf.Release) -> None:
    for name, values in {
        "age": [40, 40.0, "40", np.int64(40), "4e1"],
        "score": [2.5, "2.50"],
        "seen": [
            "2020-02-20",
            datetime.date(2020, 2, 20),
            pd.Timestamp("2020-02-20 17:00"),
            np.datetime64("2020-02-20"),
        ],
        "ill": ["true", True, np.True_, "True"],
    }.items():
        first, *others = (release.sample(20, seed=0, given={name: value}) for value in values)
        for other in others:
            pd.testing.assert_frame_equal(first, other)


@pytest.mark.slow
def test_a_row_of_a_sample_may_be_given_back(release: sf.Release) -> None:
    rows = release.sample(20, seed=5)
    for place in range(len(rows)):
        row = rows.iloc[[place, place]].reset_index(drop=True)
        pd.testing.assert_frame_equal(release.sample(2, seed=0, given=dict(row.iloc[0])), row)


def test_nothing_given_is_a_plain_sample(release: sf.Release) -> None:
    pd.testing.assert_frame_equal(release.sample(20, seed=0), release.sample(20, seed=0, given={}))


def test_values_far_from_each_other_can_still_be_given() -> None:
    # Two columns that are nearly one: the model all but excludes what is asked of it.
    x = np.random.default_rng(0).normal(50, 10, 5000)
    schema = {"columns": {name: {"type": "number", "min": 0, "max": 100, "step": 1} for name in "abc"}}
    made = fit(pd.DataFrame({"a": x, "b": x, "c": x}), schema).sample(50, seed=0, given={"a": 0, "b": 100})
    assert (made["a"] == 0).all()
    assert (made["b"] == 100).all()
    assert made["c"].between(0, 100).all()


# --- the other encoding, and labels that are numbers


def test_given_with_the_affine_encoding(affine: sf.Release) -> None:
    plain = affine.sample(PLAIN, seed=1)
    inside = plain[plain["x"].between(-9, 9) & plain["y"].between(-9, 9)]
    exact = {"count": 33}
    assert_alike(inside[inside["count"] == 33], affine.sample(MADE, seed=2, given=exact))
    assert_alike(inside[inside["kind"] == 3], affine.sample(MADE, seed=2, given={"kind": 3}))
    made = affine.sample(MADE, seed=2, given={"x": 1.0})
    assert (made["x"] == 1.0).all()
    near = inside[(inside["x"] - 1.0).abs() < 0.02]
    assert_alike(near.drop(columns="x"), made.drop(columns="x"), SLACK)
    made = affine.sample(MADE, seed=2, given={"x": 1.0, "count": 33, "kind": 2})
    near = near[(near["count"] == 33) & (near["kind"] == 2)]
    assert abs(near["y"].mean() - made["y"].mean()) < LIMIT * near["y"].std() / np.sqrt(len(near))


def test_the_affine_conditional_is_the_normal_one(affine: sf.Release) -> None:
    made = affine.sample(MADE, seed=4, given={"x": 0.5, "kind": 2})["y"]
    mean, covariance = affine.model.mixture.means[1], affine.model.mixture.covariances[1]
    expected = mean[1] + covariance[1, 0] / covariance[0, 0] * (0.5 - mean[0])
    variance = covariance[1, 1] - covariance[1, 0] ** 2 / covariance[0, 0]
    assert abs(made.mean() - expected) < LIMIT * np.sqrt(variance / MADE)
    assert abs(made.var() - variance) < LIMIT * variance * np.sqrt(2 / MADE)


def test_a_numeric_label_in_bins(binned: sf.Release) -> None:
    made = binned.sample(MADE, seed=2, given={"income": 30})
    assert (made["income"] == 30.0).all()
    assert made["income"].dtype == float
    plain = binned.sample(PLAIN, seed=1)
    same_bin = plain[plain["income"].between(25, 50, inclusive="left")]
    assert_alike(same_bin.drop(columns="income"), made.drop(columns="income"))
    young = binned.sample(MADE, seed=2, given={"age": 30})
    assert_alike(plain[plain["age"] == 30], young)


# --- what cannot be given


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("town", "Rome"),
        ("town", ""),
        ("town", 3),
        ("ill", "maybe"),
        ("ill", None),
        ("age", "old"),
        ("age", -1),
        ("age", 101),
        ("age", float("inf")),
        ("age", 40.5),
        ("age", [40]),
        ("score", 0.3),
        ("visits", "many"),
        ("visits", 21),
        ("seen", "2019-12-31"),
        ("seen", "yesterday"),
        ("seen", 3),
    ],
)
def test_what_can_never_be_is_refused(name: str, value: Any, release: sf.Release) -> None:
    for sample in (release.sample, release.sample_batches):  # at once, not at the first batch
        with pytest.raises(ArgumentError, match=f"given: {name} ") as refused:
            sample(5, given={name: value})
        assert repr(value) in str(refused.value)
        assert "\n" not in str(refused.value)


def test_an_unknown_column_is_refused(release: sf.Release) -> None:
    with pytest.raises(ArgumentError, match="'zip' is not a column of the release"):
        release.sample(5, given={"zip": 1})


# --- where


def test_where_by_condition_and_by_function(release: sf.Release) -> None:
    made = release.sample(500, seed=0, where="age > 60 and town == 'Kiel'")
    assert len(made) == 500
    assert list(made.index) == list(range(500))
    assert ((made["age"] > 60) & (made["town"] == "Kiel")).all()
    by_function = release.sample(500, seed=0, where=lambda rows: (rows["age"] > 60) & (rows["town"] == "Kiel"))
    pd.testing.assert_frame_equal(made, by_function)


def test_where_keeps_the_distribution(release: sf.Release, plain: pd.DataFrame) -> None:
    made = release.sample(MADE, seed=2, where="age > 60 and visits < 5")
    assert_alike(plain[(plain["age"] > 60) & (plain["visits"] < 5).fillna(False)], made)


def test_where_under_a_condition(release: sf.Release, plain: pd.DataFrame) -> None:
    made = release.sample(MADE, seed=2, given={"town": "Ulm"}, where="gain > 0")
    assert (made["town"] == "Ulm").all()
    assert_alike(plain[(plain["town"] == "Ulm") & (plain["gain"] > 0)], made)


def test_a_comparison_with_a_missing_cell_does_not_hold(release: sf.Release) -> None:
    for where in ("visits > 3", "seen > '2020-02-01'", "town == 'Ulm'"):
        made = release.sample(200, seed=0, where=where)
        assert made[where.split()[0]].notna().all()
    assert release.sample(200, seed=0, where="town != 'Ulm'")["town"].notna().all()
    assert release.sample(20, seed=0, where="town is missing")["town"].isna().all()


def test_where_in_every_type_of_column(release: sf.Release) -> None:
    """The types in which a release makes its columns are those that conditions are asked about."""
    day = pd.Timestamp("2020-02-01")
    made = release.sample(300, seed=0, where="ill == 'true' and seen >= '2020-02-01' and score in [1, 2.25, 3]")
    assert (made["ill"] == "true").all()
    assert (made["seen"] >= day).all()
    assert made["score"].isin([1, 2.25, 3]).all()
    made = release.sample(300, seed=0, where="age / height > 30 and 2 * visits - age < 0 and gain == 0")
    assert ((made["age"] / made["height"] > 30) & (2 * made["visits"] < made["age"]) & (made["gain"] == 0)).all()


def test_where_gives_up_after_its_share_of_draws(release: sf.Release, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    real = sf.Release._frame

    def counting(self: sf.Release, n: int, *rest: Any) -> pd.DataFrame:
        drawn.append(n)
        return real(self, n, *rest)

    monkeypatch.setattr(sf.Release, "_frame", counting)
    with pytest.raises(ArgumentError, match="where kept 0 of 20000 rows drawn, and 20 were wanted"):
        release.sample(20, seed=0, where="age > 100")
    assert sum(drawn) == 20 * REJECTION.draws_a_row
    assert max(drawn) <= REJECTION.most


def test_where_gives_up_early_when_there_is_no_hope(release: sf.Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditional, "SURE_DRAWS", 1 << 17)
    with pytest.raises(ArgumentError, match=r"where kept 0 of 1[0-9]{5} rows drawn, and 1000000 were wanted"):
        release.sample(1_000_000, seed=0, where="age > 100")


@pytest.mark.parametrize(
    "where",
    [
        "age >",
        "zip > 3",
        "age + 1",
        "visits",
        "x = age + 1",
        "import os",
        "",
        "age > 'a'",
        "town == 'Rome'",
        "9**9**9",
        "age.to_csv('planted') == None",
    ],
)
def test_a_bad_condition_is_refused_in_one_line_before_a_row_is_drawn(
    where: str, release: sf.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sf.Release, "_frame", None)
    for sample in (release.sample, release.sample_batches):  # at once, not at the first batch
        with pytest.raises(ArgumentError, match=r"^condition ") as refused:
            sample(5, seed=0, where=where)
        assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "where",
    [
        3,
        lambda rows: [True],
        lambda rows: rows["zip"],
        lambda rows: 1 / 0,
        lambda rows: rows,
        lambda rows: exec("raise ValueError('two\\nlines')"),
    ],
)
def test_a_bad_function_is_refused_in_one_line(where: Any, release: sf.Release) -> None:
    with pytest.raises(ArgumentError, match=r"^where ") as refused:
        release.sample(5, seed=0, where=where)
    assert "\n" not in str(refused.value)


# --- no rows, the same rows


@pytest.mark.parametrize(
    "options", [{"given": {"age": 40}}, {"where": "age > 60"}, {"given": {"ill": True}, "where": "age > 60"}]
)
def test_no_rows_and_the_same_rows_by_the_same_seed(options: dict[str, Any], release: sf.Release) -> None:
    none = release.sample(0, seed=0, **options)
    assert none.shape == (0, len(SCHEMA["columns"]))
    assert none.dtypes.equals(release.sample(5, seed=0).dtypes)
    once, again = release.sample(300, seed=7, **options), release.sample(300, seed=7, **options)
    pd.testing.assert_frame_equal(once, again)
    assert not release.sample(300, seed=8, **options).equals(once)
    assert not release.sample(300, **options).equals(once)


@pytest.mark.every(2)
@pytest.mark.parametrize("options", [{"given": {"town": None}}, {"where": "age > 60"}])
@pytest.mark.parametrize("n", [0, 300, BATCH_ROWS + 10])
def test_batches_are_the_same_rows(n: int, options: dict[str, Any], release: sf.Release) -> None:
    batches = list(release.sample_batches(n, seed=7, **options))
    assert len({str(batch.schema) for batch in batches}) == 1
    streamed = pa.Table.from_batches(batches).to_pandas()
    frame = release.sample(n, seed=7, **options)
    assert list(streamed) == list(frame)
    assert len(streamed) == n
    for name in ("age", "height", "gain"):
        assert (streamed[name] == frame[name]).all()
    for name in ("town", "ill", "visits"):
        assert streamed[name].isna().tolist() == frame[name].isna().tolist()
        assert streamed[name].dropna().tolist() == frame[name].dropna().tolist()


# --- the command line


def test_given_and_where_on_the_command_line(
    release: sf.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    release.save("r.sfumato")
    line = "sample r.sfumato -n 100 -o rows.csv --seed 3 --given town=Ulm --given ill=true --where"
    monkeypatch.setattr(sys, "argv", ["sfumato", *line.split(), "age > 50"])
    cli.main()
    made = pd.read_csv("rows.csv", dtype={"ill": str})
    assert len(made) == 100
    assert (made["town"] == "Ulm").all()
    assert (made["ill"] == "true").all()
    assert (made["age"] > 50).all()
    expected = release.sample(100, seed=3, given={"town": "Ulm", "ill": "true"}, where="age > 50")
    assert made["age"].tolist() == expected["age"].tolist()


def test_where_on_the_command_line_runs_no_code(
    release: sf.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    release.save("r.sfumato")
    for where in ("age.to_csv('planted') == None", "9**9**9", "lambda rows: rows['age'] > 3"):
        line = ["sfumato", "sample", "r.sfumato", "-n", "5", "-o", "rows.csv", "--where", where]
        monkeypatch.setattr(sys, "argv", line)
        with pytest.raises(SystemExit):
            cli.main()
        assert capsys.readouterr().err.startswith("error: condition ")
    assert [path.name for path in tmp_path.iterdir()] == ["r.sfumato"]


def test_a_value_on_the_command_line_may_hold_an_equals_sign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    schema = {
        "label": "income",
        "columns": {
            "age": {"type": "number", "min": 0, "max": 100, "step": 1},
            "income": {"type": "category", "values": ["<=50K", ">50K"]},
        },
    }
    fit(pd.DataFrame({"age": [30, 60] * 50, "income": ["<=50K", ">50K"] * 50}), schema).save("r.sfumato")
    arguments = ["sfumato", "sample", "r.sfumato", "-n", "5", "-o", "rows.csv", "--given", "income=<=50K"]
    monkeypatch.setattr(sys, "argv", arguments)
    cli.main()
    assert set(pd.read_csv("rows.csv")["income"]) == {"<=50K"}
