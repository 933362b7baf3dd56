"""From a table to a release and back to rows, end to end."""

import datetime
import itertools
import json
import math
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.special import logsumexp
from tests.configs import asked
from tests.release.kinds import FIXED, KINDS, made_of

import sfumato as sf
from sfumato.errors import ArgumentError, SchemaError, TableError
from sfumato.guarantee import NoisyAnswer
from sfumato.mechanisms.encodings.column_looks import FINER
from sfumato.release.release import BATCH_ROWS
from sfumato.rows_file import write_rows
from sfumato.tables import open_table

ROWS = 4000
SCHEMA: dict[str, Any] = {
    "label": "ill",
    "columns": {
        "age": {"type": "number", "min": 0, "max": 100, "step": 1},
        "height": {"type": "number", "min": 1.2, "max": 2.2},
        "score": {"type": "number", "min": 0, "max": 5, "step": 0.25},
        "gain": {"type": "number", "min": 0, "max": 100_000, "scale": "log", "atoms": [0]},
        "ill": {"type": "category", "values": ["no", "yes"]},
        "town": {"type": "category", "values": ["Ulm", "Bonn", "Kiel"], "missing": True},
        "grade": {"type": "category", "values": [1, 2, 3]},
        "seen": {"type": "date", "min": "2020-01-01", "max": "2023-12-31", "missing": True},
        "visits": {"type": "number", "min": 0, "max": 20, "step": 1, "missing": True},
    },
}
CATEGORIES: dict[str, Any] = {
    "label": "y",
    "columns": {
        "a": {"type": "category", "values": ["p", "q"]},
        "b": {"type": "category", "values": ["p", "q", "r"], "missing": True},
        "c": {"type": "number", "min": 0, "max": 2, "step": 1},
        "y": {"type": "category", "values": ["no", "yes"]},
    },
}


def table(rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.3
    age = np.clip(rng.normal(40 + 25 * ill, 12), 0, 100).round()
    town = pd.Series(rng.choice(["Ulm", "Bonn", "Kiel"], rows, p=[0.6, 0.3, 0.1]), dtype=object)
    town[rng.random(rows) < 0.2] = None
    seen = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1461, rows), unit="D"))
    seen[rng.random(rows) < 0.4] = pd.NaT
    visits = pd.Series(rng.poisson(3 + 5 * ill), dtype="Int64")
    visits[rng.random(rows) < 0.1] = pd.NA
    gain = np.where(rng.random(rows) < 0.7, 0.0, np.exp(rng.normal(7, 1.5, rows)))
    return pd.DataFrame(
        {
            "ill": np.where(ill, "yes", "no"),
            "age": age.astype(int),
            "height": rng.normal(1.7, 0.1, rows),
            "score": rng.integers(0, 21, rows) / 4,
            "gain": gain,
            "town": town,
            "grade": rng.integers(1, 4, rows),
            "seen": seen,
            "visits": visits,
            "name": "private",
        }
    )


def fit(data: Any, schema: Any, **options: Any) -> sf.Release:
    given: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-6, "insecure_seed": 1}
    if options.get("mechanism", "mixture") == "mixture":
        given["pairs"] = None  # what tables of pairs do to a release is tested with them
    return sf.fit(data, schema, **asked(**(given | options)))


@pytest.fixture(scope="module")
def release() -> sf.Release:
    return fit(table(), SCHEMA)


@pytest.fixture(scope="module")
def categories() -> sf.Release:
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.4
    frame = pd.DataFrame(
        {
            "a": np.where(rng.random(3000) < 0.3 + 0.4 * y, "q", "p"),
            "b": rng.choice(["p", "q", "r", None], 3000, p=[0.4, 0.3, 0.2, 0.1]),
            "c": rng.integers(0, 3, 3000),
            "y": np.where(y, "yes", "no"),
        }
    )
    return fit(frame, CATEGORIES)


# --- sampling


def test_a_sample_has_the_schema_s_columns_types_and_bounds(release: sf.Release) -> None:
    made = release.sample(5000, seed=0)
    assert list(made) == list(SCHEMA["columns"])
    kinds = {name: str(kind) for name, kind in made.dtypes.items()}
    assert kinds["age"] == kinds["grade"] == "int64"
    assert kinds["height"] == kinds["score"] == kinds["gain"] == "float64"
    assert kinds["visits"] == "Int64"
    assert kinds["seen"].startswith("datetime64")
    assert made["age"].between(0, 100).all()
    assert made["height"].between(1.2, 2.2).all()
    assert made["gain"].between(0, 100_000).all()
    assert ((made["score"] * 4) % 1 == 0).all()
    assert made["score"].between(0, 5).all()
    assert set(made["grade"]) == {1, 2, 3}
    assert set(made["town"].dropna()) == {"Ulm", "Bonn", "Kiel"}
    assert set(made["ill"]) == {"no", "yes"}
    days = made["seen"].dropna()
    assert days.between("2020-01-01", "2023-12-31").all()
    assert (days == days.dt.normalize()).all()
    assert made["visits"].dropna().between(0, 20).all()


def test_a_sample_has_the_table_s_shape(release: sf.Release) -> None:
    real, made = table(), release.sample(20_000, seed=0)
    for column, share in {"town": 0.2, "seen": 0.4, "visits": 0.1}.items():
        assert made[column].isna().mean() == pytest.approx(share, abs=0.04)
    for column in ("age", "height", "score", "grade", "ill"):
        assert made[column].isna().sum() == 0
    assert (made["gain"] == 0).mean() == pytest.approx((real["gain"] == 0).mean(), abs=0.04)
    assert (made["ill"] == "yes").mean() == pytest.approx(0.3, abs=0.02)
    assert made["height"].mean() == pytest.approx(1.7, abs=0.01)
    gap = made.groupby("ill")["age"].mean()
    assert gap["yes"] - gap["no"] == pytest.approx(25, abs=3)
    assert made["town"].value_counts(normalize=True)["Ulm"] == pytest.approx(0.6, abs=0.04)


def test_the_same_seed_gives_the_same_rows_and_none_gives_others(release: sf.Release) -> None:
    pd.testing.assert_frame_equal(release.sample(100, seed=3), release.sample(100, seed=3))
    assert not release.sample(100, seed=3).equals(release.sample(100, seed=4))
    assert not release.sample(100).equals(release.sample(100))


def test_batches_are_the_same_rows(release: sf.Release) -> None:
    n = BATCH_ROWS + 10
    batches = list(release.sample_batches(n, seed=2))
    assert [batch.num_rows for batch in batches] == [BATCH_ROWS, 10]
    joined = pa.Table.from_batches(batches).to_pandas()
    dates = [name for name, column in release.schema.columns.items() if column.type == "date"]
    assert all(pa.types.is_date32(batches[0].schema.field(name).type) for name in dates)
    joined[dates] = joined[dates].apply(pd.to_datetime)
    pd.testing.assert_frame_equal(joined, release.sample(n, seed=2), check_dtype=False)


def test_the_same_rows_come_from_any_number_of_threads(release: sf.Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.release.release.BATCH_ROWS", 50)
    drawn = []
    for cores in (1, 2, 5):
        monkeypatch.setattr("sfumato.cores.core_count", lambda cores=cores: cores)
        drawn.append(release.sample(320, seed=2))
    pd.testing.assert_frame_equal(drawn[0], drawn[1])
    pd.testing.assert_frame_equal(drawn[0], drawn[2])
    pd.testing.assert_frame_equal(drawn[0].head(50), release.sample(50, seed=2))
    heights = drawn[0]["height"].to_numpy().reshape(-1, 40)
    assert len(np.unique(heights)) == heights.size  # no batch has the random numbers of another


def test_no_rows_at_all(release: sf.Release) -> None:
    empty = release.sample(0)
    assert len(empty) == 0
    assert list(empty) == list(SCHEMA["columns"])
    (batch,) = release.sample_batches(0)
    assert batch.schema.equals(next(release.sample_batches(100, seed=0)).schema)


@pytest.mark.every(3)
@pytest.mark.parametrize("values", [["x", "y"], [1, 2], [0.5, 1.5], ["x", 1], [1, 2.5], ["7"]])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_batches_keep_one_type_whatever_is_drawn(values: list[Any], missing: bool, suffix: str, tmp_path: Path) -> None:
    """A batch of nothing but missing cells has the same type as the others, so a file can hold them all."""
    column = {"type": "category", "values": values, "missing": missing}
    schema = {"columns": {"v": column, "w": {"type": "category", "values": ["w", "z"]}}}
    made = fit(pd.DataFrame({"v": [None] * 300, "w": "w"}), schema)
    batches = [batch for seed in range(12) for batch in made.sample_batches(2, seed=seed)]
    assert len({str(batch.schema.types) for batch in batches}) == 1
    assert not pa.types.is_null(batches[0].schema.types[0])
    path = tmp_path / f"rows.{suffix}"
    write_rows(iter(batches), path)
    assert sum(batch.num_rows for batch in open_table(path).batches(["v"])) == 24
    fit(path, schema)


@pytest.mark.parametrize("n", [-1, 1.5, "3", None])
def test_a_sample_needs_a_number_of_rows(release: sf.Release, n: Any) -> None:
    with pytest.raises(ArgumentError, match="must be 0 or more"):
        release.sample(n)


@pytest.mark.parametrize("seed", [-1, "a", 0.5])
def test_a_bad_seed_is_an_argument_error(release: sf.Release, seed: Any) -> None:
    with pytest.raises(ArgumentError, match="seed"):
        release.sample(3, seed=seed)


# --- classifying


def test_probabilities_add_up_and_beat_chance(release: sf.Release) -> None:
    fresh = table(1000, seed=9)
    found = release.predict_proba(fresh.drop(columns=["ill", "name"]))
    assert list(found) == ["no", "yes"]
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-9)
    right = ((found["yes"] > 0.5) == (fresh["ill"] == "yes")).mean()
    assert right > 0.88
    pd.testing.assert_frame_equal(found, release.predict_proba(fresh))


def test_no_rows_have_no_probabilities(release: sf.Release) -> None:
    found = release.predict_proba(table(3).head(0))
    assert found.shape == (0, 2)
    assert release.log_density(table(3).head(0)).shape == (0,)


def test_unknown_cells_leave_the_class_shares(categories: sf.Release) -> None:
    found = categories.predict_proba(pd.DataFrame({"a": ["?"], "b": ["p"], "c": ["x"]}))
    known_b = categories.predict_proba(pd.DataFrame({"a": [None], "b": ["p"], "c": [None]}))
    np.testing.assert_allclose(found, known_b)
    assert found["yes"][0] == pytest.approx(categories.model.mixture.class_weights[1], abs=0.1)


def test_predicting_without_a_label_is_refused() -> None:
    schema = {"columns": {"x": {"type": "number", "min": 0, "max": 1}}}
    with pytest.raises(ArgumentError, match="no label"):
        fit(pd.DataFrame({"x": [0.5]}), schema).predict_proba(pd.DataFrame({"x": [0.5]}))


def test_a_table_to_score_needs_the_features(release: sf.Release) -> None:
    with pytest.raises(TableError, match="age"):
        release.log_density(pd.DataFrame({"height": [1.7]}))


# --- densities


def combinations(with_label: bool) -> pd.DataFrame:
    cells = list(itertools.product(["p", "q"], ["p", "q", "r", None], [0, 1, 2], ["no", "yes"]))
    frame = pd.DataFrame(cells, columns=["a", "b", "c", "y"])
    return frame if with_label else frame.drop(columns="y").drop_duplicates()


@pytest.mark.parametrize("with_label", [True, False])
def test_the_probabilities_of_all_rows_add_up_to_one(categories: sf.Release, with_label: bool) -> None:
    assert np.exp(categories.log_density(combinations(with_label))).sum() == pytest.approx(1.0, abs=0.02)


def test_the_density_is_the_frequency_of_the_sample(categories: sf.Release) -> None:
    n = 200_000
    drawn = categories.sample(n, seed=0).fillna({"b": "-"}).value_counts(["a", "b", "c", "y"])
    cells = combinations(True)
    expected = np.exp(categories.log_density(cells))
    seen = np.array([drawn.get(key, 0) for key in cells.fillna("-").itertuples(index=False, name=None)]) / n
    assert np.abs(seen - expected).max() < 0.004
    assert seen.sum() == 1.0


def test_label_and_no_label_are_consistent(categories: sf.Release) -> None:
    joint = categories.log_density(combinations(True)).reshape(-1, 2)
    without = categories.log_density(combinations(False))
    np.testing.assert_allclose(logsumexp(joint, axis=1), without, atol=1e-9)
    posterior = categories.predict_proba(combinations(False))
    np.testing.assert_allclose(np.exp(joint - without[:, None]), posterior, atol=1e-9)


def test_a_bad_label_is_integrated_out(categories: sf.Release) -> None:
    row = pd.DataFrame({"a": ["p"], "b": ["q"], "c": [1]})
    np.testing.assert_allclose(categories.log_density(row.assign(y="perhaps")), categories.log_density(row))


def test_rows_of_unknown_cells_have_probability_one(categories: sf.Release) -> None:
    unknown = pd.DataFrame({"a": ["?", None], "b": ["p", "p"], "c": [None, "x"]})
    found = categories.log_density(unknown)
    alone = [categories.log_density(unknown.assign(b=value))[0] for value in ("p", "q", "r", None)]
    assert np.exp(alone).sum() == pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(found[0], found[1])
    schema = {"columns": {"x": {"type": "number", "min": 0, "max": 1}, "c": {"type": "category", "values": ["a", "b"]}}}
    bare = fit(pd.DataFrame({"x": [0.2, 0.7], "c": ["a", "b"]}), schema)
    assert bare.log_density(pd.DataFrame({"x": [None], "c": ["?"]}))[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_density_integrates_to_one(scale: str) -> None:
    rng = np.random.default_rng(0)
    schema = {"columns": {"x": {"type": "number", "min": 0, "max": 10, "scale": scale, "atoms": [0, 2.5], "bins": 30}}}
    values = np.where(rng.random(5000) < 0.3, 2.5, rng.gamma(2.0, 1.0, 5000))
    made = fit(pd.DataFrame({"x": values}), schema)
    x = (np.arange(400_000) + 0.5) * (10 / 400_000)
    x = x[(x != 0) & (x != 2.5)]
    interval = np.exp(made.log_density(pd.DataFrame({"x": x}))).sum() * (10 / 400_000)
    atoms = np.exp(made.log_density(pd.DataFrame({"x": [0.0, 2.5]})))
    assert interval + atoms.sum() == pytest.approx(1.0, abs=0.01)
    assert atoms[1] == pytest.approx(0.3, abs=0.03)


@pytest.mark.slow
def test_two_continuous_columns_integrate_to_one() -> None:
    rng = np.random.default_rng(0)
    rows = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 5000)
    column = {"type": "number", "min": -4, "max": 4, "bins": 32}
    made = fit(pd.DataFrame(rows, columns=["x", "y"]), {"columns": {"x": column, "y": column}})
    side = (np.arange(400) + 0.5) / 50 - 4
    x, y = (axis.ravel() for axis in np.meshgrid(side, side))
    density = np.exp(made.log_density(pd.DataFrame({"x": x, "y": y})))
    assert density.sum() / 50**2 == pytest.approx(1.0, abs=0.03)
    together, apart = made.log_density(pd.DataFrame({"x": [1.5, 1.5], "y": [1.5, -1.5]}))
    assert together > apart + 2


def test_a_row_s_density_does_not_depend_on_other_rows(release: sf.Release) -> None:
    rows = table(200, seed=5)
    holes = rows.copy()
    for place, column in enumerate(("height", "gain", "age", "town")):
        holes.loc[place, column] = None
    for score in (release.log_density, lambda t: release.predict_proba(t)["yes"].to_numpy()):
        np.testing.assert_allclose(score(holes)[4:], score(rows)[4:], rtol=1e-9)
        np.testing.assert_allclose(score(rows)[7], score(rows.iloc[7:8])[0], rtol=1e-9)


def test_stepped_columns_have_a_mass() -> None:
    made = fit(
        pd.DataFrame({"x": np.arange(1000) % 7}), {"columns": {"x": {"type": "number", "min": 0, "max": 6, "step": 1}}}
    )
    found = np.exp(made.log_density(pd.DataFrame({"x": range(7)})))
    assert found.sum() == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(found, 1 / 7, atol=0.02)


def test_coarse_bins_share_their_mass_among_their_values() -> None:
    column = {"type": "number", "min": 0, "max": 99, "step": 1, "bins": 10}
    made = fit(pd.DataFrame({"x": np.arange(5000) % 100}), {"columns": {"x": column}})
    found = np.exp(made.log_density(pd.DataFrame({"x": range(100)})))
    assert found.sum() == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(found[:10], found[0])


# --- other labels


def test_a_release_without_a_label(tmp_path: Path) -> None:
    schema = {"columns": {name: column for name, column in SCHEMA["columns"].items() if name != "ill"}}
    made = fit(table(), schema)
    made.save(tmp_path / "r.sfumato")
    again = sf.load(tmp_path / "r.sfumato")
    pd.testing.assert_frame_equal(made.sample(50, seed=0), again.sample(50, seed=0))
    assert made.model.mixture.classes == 1
    assert np.isfinite(made.log_density(table(20))).all()


def test_a_numeric_label_with_bins() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    y = np.clip(2 * x + rng.normal(0, 0.3, 4000), -8, 8)
    schema = {
        "label": "y",
        "columns": {
            "x": {"type": "number", "min": -4, "max": 4, "bins": 40},
            "y": {"type": "number", "min": -8, "max": 8, "bins": 4},
        },
    }
    made = fit(pd.DataFrame({"x": x, "y": y}), schema)
    found = made.predict_proba(pd.DataFrame({"x": [-2.5, -0.9, 0.9, 2.5]}))
    assert list(found) == ["-8..-4", "-4..0", "0..4", "4..8"]
    assert found.to_numpy().argmax(axis=1).tolist() == [0, 1, 2, 3]
    drawn = made.sample(5000, seed=0)
    assert drawn["y"].between(-8, 8).all()
    assert np.corrcoef(drawn["x"], drawn["y"])[0, 1] > 0.7
    grid = pd.DataFrame({"x": [0.5] * 400, "y": (np.arange(400) + 0.5) / 25 - 8})
    total = np.exp(made.log_density(grid)).sum() / 25
    assert total == pytest.approx(float(np.exp(made.log_density(grid[["x"]]))[0]), rel=1e-6)


# --- the file


def test_saving_and_loading_is_exact(release: sf.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r.sfumato")
    again = sf.load(tmp_path / "r.sfumato")
    assert again.schema == release.schema
    assert again.guarantee == release.guarantee
    assert (again.mechanism, again.encoding) == (release.mechanism, release.encoding)
    for mine, theirs in zip(release.model.encoder.columns, again.model.encoder.columns, strict=True):
        np.testing.assert_array_equal(mine.order, theirs.order)
        np.testing.assert_array_equal(mine.masses, theirs.masses)
    for name in ("weights", "means", "covariances"):
        np.testing.assert_array_equal(getattr(release.model.mixture, name), getattr(again.model.mixture, name))
    pd.testing.assert_frame_equal(release.sample(200, seed=5), again.sample(200, seed=5))
    np.testing.assert_array_equal(release.log_density(table(50)), again.log_density(table(50)))
    release.save(str(tmp_path / "twice.sfumato"))
    assert (tmp_path / "twice.sfumato").read_bytes() == (tmp_path / "r.sfumato").read_bytes()


def contents(release: sf.Release, path: Path) -> dict[str, Any]:
    release.save(path)
    with zipfile.ZipFile(path) as archive:
        assert all(entry.date_time == (1980, 1, 1, 0, 0, 0) for entry in archive.infolist())
        return json.loads(archive.read("release.json"))


DECLARED = SCHEMA | {  # no bins are looked for, so what is asked does not depend on noisy answers
    "columns": SCHEMA["columns"] | {n: SCHEMA["columns"][n] | {"bins": 64} for n in ("height", "gain", "seen")}
}


@pytest.mark.every(2)
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("adjacency", ["add-remove", "label"])
def test_the_file_does_not_tell_how_many_rows_there_were(adjacency: str, declared: bool, tmp_path: Path) -> None:
    schema = DECLARED if declared else SCHEMA
    small, large = (
        contents(fit(table(rows), schema, adjacency=adjacency), tmp_path / f"{rows}.sfumato") for rows in (100, 3000)
    )
    for document in (small, large):
        for fact in ("components", "covariances"):  # by noisy counts
            del document["model"]["facts"][fact]
        if not declared:  # which bins are looked into, and whether any are, by noisy counts too
            del document["answers"], document["bins"], document["guarantee"]["spends"]
    assert small == large
    assert "3000" not in json.dumps(large)


def test_the_file_holds_no_path_and_no_name_of_the_table(tmp_path: Path) -> None:
    table(200).to_csv(tmp_path / "secret-source.csv", index=False)
    made = fit(tmp_path / "secret-source.csv", SCHEMA)
    made.save(tmp_path / "r.sfumato")
    with zipfile.ZipFile(tmp_path / "r.sfumato") as archive:
        for name in archive.namelist():
            content = archive.read(name)
            assert b"secret-source" not in content
            assert str(tmp_path).encode() not in content


# --- the guarantee


def test_a_seeded_release_carries_no_epsilon(release: sf.Release, tmp_path: Path) -> None:
    promise = release.guarantee
    assert not promise.secure
    assert promise.epsilon is promise.delta is promise.mu is None
    assert "NOT PRIVATE" in str(promise)
    assert "NOT PRIVATE" in repr(release)
    written = contents(release, tmp_path / "r.sfumato")["guarantee"]
    assert written["secure"] is False
    assert written["epsilon"] is written["delta"] is written["mu"] is None
    assert "NOT PRIVATE" in str(sf.load(tmp_path / "r.sfumato").guarantee)


def test_the_same_seed_repeats_the_release(release: sf.Release) -> None:
    again, other = fit(table(), SCHEMA), fit(table(), SCHEMA, insecure_seed=2)
    np.testing.assert_array_equal(again.model.mixture.covariances, release.model.mixture.covariances)
    assert not np.array_equal(other.model.mixture.covariances, release.model.mixture.covariances)


def test_rows_and_batches_in_another_order_give_the_same_release(release: sf.Release) -> None:
    shuffled = table().sample(frac=1.0, random_state=3)
    again = fit(pa.Table.from_pandas(shuffled, preserve_index=False), SCHEMA, workers=1)
    np.testing.assert_array_equal(again.model.mixture.covariances, release.model.mixture.covariances)
    for mine, theirs in zip(release.model.encoder.columns, again.model.encoder.columns, strict=True):
        np.testing.assert_array_equal(mine.masses, theirs.masses)


def test_a_secure_release_states_its_promise_and_never_repeats() -> None:
    one, two = (fit(table(300), SCHEMA, epsilon=1, insecure_seed=None) for _ in range(2))
    for made in (one, two):
        promise = made.guarantee
        assert promise.secure
        assert (promise.epsilon, promise.delta) == (1.0, 1e-6)
        assert promise.mu == sf.accounting.calibrate(1.0, 1e-6)
        assert math.fsum(spend.mu**2 for spend in promise.spends) <= promise.mu**2
        assert math.fsum(spend.mu**2 for spend in promise.spends) == pytest.approx(promise.mu**2)
        assert "(1, 1e-06)-differentially private" in str(promise)
        assert "one row added or removed" in str(promise)
    assert not np.array_equal(one.model.mixture.weights, two.model.mixture.weights)
    assert not np.array_equal(one.model.encoder.columns[0].masses, two.model.encoder.columns[0].masses)


@pytest.mark.parametrize(
    ("adjacency", "words", "reach"),
    [
        ("add-remove", "one row added or removed", 1.0),
        ("replace-one", "one row replaced", math.sqrt(2.0)),
        ("label", "label of one row changed", math.sqrt(2.0)),
    ],
)
def test_adjacency_is_in_the_books(adjacency: str, words: str, reach: float) -> None:
    heard: list[Any] = []
    made = fit(table(300), SCHEMA, adjacency=adjacency, insecure_seed=None, progress=heard.append, components=1)
    promise = made.guarantee
    assert promise.adjacency == adjacency
    assert words in str(promise)
    asked = [spend.name for spend in promise.spends if not spend.name.startswith(FINER)]  # which noise may ask for
    assert asked == ["histograms", "moments", "moments again"]
    told = [(event.name, event.mu) for event in heard if isinstance(event, sf.Spending)]
    assert told == [(spend.name, spend.mu) for spend in promise.spends]
    for spend in promise.spends:
        assert spend.sensitivity == pytest.approx(reach, rel=1e-9)
        assert spend.sensitivity / spend.sigma == pytest.approx(spend.mu, rel=1e-12)


# --- refusals


def test_a_draft_is_refused_before_the_table_is_opened() -> None:
    draft = SCHEMA | {"unconfirmed": ["columns.age.max"]}
    with pytest.raises(SchemaError, match=r"columns\.age\.max"):
        fit("no-such-file.csv", draft)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"adjacency": "neighbour"}, "adjacency must be"),
        ({"mechanism": "magic"}, "mechanism must be"),
        ({"encoding": "magic"}, "encoding must be"),
        ({"rows": 0}, "rows"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], words: str) -> None:
    heard: list[Any] = []
    with pytest.raises(ArgumentError, match=words):
        fit(table(10), SCHEMA, progress=heard.append, **options)
    assert heard == []


def test_label_adjacency_needs_a_label() -> None:
    with pytest.raises(ArgumentError, match="needs a schema with a label"):
        fit(table(10), {"columns": {"age": SCHEMA["columns"]["age"]}}, adjacency="label")


def test_a_missing_column_is_named_before_anything_is_spent() -> None:
    heard: list[Any] = []
    with pytest.raises(TableError, match="'age'"):
        fit(table(10).drop(columns="age"), SCHEMA, progress=heard.append)
    assert len(heard) <= 1  # the first round is announced; no row was read


# --- silence: a row's value never shows as an error or a warning

ODD: list[Any] = [
    math.nan,
    math.inf,
    -math.inf,
    -0.0,
    1e308,
    -1e308,
    5e-324,
    "",
    "  ",
    "n/a",
    "1e5",
    None,
    True,
    "\x00",
]
ODD += [
    datetime.date(1, 1, 1),
    datetime.datetime(9999, 12, 31, 23, 59),
    "9999-99-99",
    "٣",
    b"\xff\xfe",
    10**30,
    "é" * 1000,
]


def quiet_fit(frame: pd.DataFrame, schema: Any = SCHEMA) -> sf.Release:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = fit(frame, schema)
        assert len(made.sample(20, seed=0)) == 20
        assert not np.isnan(made.log_density(frame)).any()
        if made.schema.label is not None:
            assert np.isfinite(made.predict_proba(frame)).all(axis=None)
    return made


@pytest.mark.every(3)
@pytest.mark.parametrize("odd", ODD, ids=lambda value: ascii(value)[:20])
def test_odd_cells_are_taken_in_silence(odd: Any, capfd: pytest.CaptureFixture[str]) -> None:
    frame = table(60).astype(object)
    for column in SCHEMA["columns"]:
        frame.loc[frame.index % 7 == 3, column] = odd
    quiet_fit(frame)
    out, err = capfd.readouterr()
    assert out == err == ""


def test_a_column_of_nothing_is_taken_in_silence() -> None:
    for column in SCHEMA["columns"]:
        frame = table(60).astype(object)
        frame[column] = None
        quiet_fit(frame)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_tables_of_hardly_any_rows(rows: int) -> None:
    quiet_fit(table(60).head(rows))


def test_a_class_without_rows() -> None:
    frame = table(500)
    made = quiet_fit(frame[frame["ill"] == "no"])
    assert made.model.mixture.weights[1] < 0.1
    assert (made.model.mixture.weights > 0).all()


def test_rows_with_a_bad_label_count_nowhere() -> None:
    frame = table(1000)
    extra = frame.assign(ill="perhaps", age=99)
    again, both = fit(frame, SCHEMA), fit(pd.concat([frame, extra]), SCHEMA)
    np.testing.assert_array_equal(again.model.mixture.weights, both.model.mixture.weights)
    np.testing.assert_array_equal(again.model.encoder.columns[0].masses, both.model.encoder.columns[0].masses)


@pytest.mark.parametrize("epsilon", [0.001, 200.0])
def test_tiny_and_huge_budgets(epsilon: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = fit(table(500), SCHEMA, epsilon=epsilon)
        assert np.isfinite(made.log_density(table(50))).all()
        made.sample(50)


@pytest.mark.parametrize("rows", [30, 2000])
def test_masses_of_a_stepped_affine_column_add_up_to_one_with_all_that_is_clamped(rows: int) -> None:
    schema = {"columns": {"a": {"type": "number", "min": 0, "max": 6, "step": 1}}}
    values = np.random.default_rng(0).normal(1.0, 2.0, rows)
    made = fit(pd.DataFrame({"a": values}), schema, encoding="affine", insecure_seed=0)
    masses = np.exp(made.log_density(pd.DataFrame({"a": np.arange(7)})))
    assert masses.sum() == pytest.approx(1.0, abs=1e-9)
    shares = made.sample(50_000, seed=1)["a"].value_counts(normalize=True).reindex(range(7)).fillna(0)
    assert np.abs(shares.to_numpy() - masses).max() < 0.012


# --- every kind of model


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_release_draws_and_scores_like_the_one_that_was_saved(kind: str, tmp_path: Path) -> None:
    generator = KINDS[kind].get("mechanism") == "slicing"
    made = made_of(kind, **({"training": None} if generator else {}))
    made.save(tmp_path / "r.sfumato")
    again = sf.load(tmp_path / "r.sfumato")
    assert repr(again) == repr(made)
    assert (again.guarantee, again.schema, again.mechanism) == (made.guarantee, made.schema, made.mechanism)
    np.testing.assert_array_equal(again.class_weights, made.class_weights)
    label, rows = made.schema.label, pd.DataFrame(FIXED[made.encoding])
    givens: list[Any] = [None, {label: rows[label][0]}]
    if not generator and made.encoding != "projected":
        givens.append({made.layout.names[0]: rows[made.layout.names[0]][0]})
    for given in givens:
        pd.testing.assert_frame_equal(again.sample(100, seed=3, given=given), made.sample(100, seed=3, given=given))
    if not generator:
        pd.testing.assert_frame_equal(again.predict_proba(rows), made.predict_proba(rows), check_exact=True)
    if not generator and made.encoding != "projected":
        for asked in (rows, rows.drop(columns=label)):
            np.testing.assert_array_equal(again.log_density(asked), made.log_density(asked))
    again.save(tmp_path / "again.sfumato")
    assert (tmp_path / "again.sfumato").read_bytes() == (tmp_path / "r.sfumato").read_bytes()


def test_a_mixture_has_nothing_to_train_and_no_library(release: sf.Release) -> None:
    with pytest.raises(ArgumentError, match=r"^there is nothing to train in a release of mechanism 'mixture'$"):
        release.train()
    with pytest.raises(ArgumentError, match=r"^only generators are sampled with one library or another$"):
        release.using("jax")


@pytest.mark.parametrize("name", ["", "two\nlines", "m" * 201])
def test_a_mechanism_has_a_name_that_can_be_printed(name: str, release: sf.Release) -> None:
    with pytest.raises(ArgumentError, match=r"^the name of a mechanism is missing, too long, or cannot be printed$"):
        replace(release, mechanism=name)


def test_a_mechanism_from_outside_may_have_any_name(release: sf.Release, tmp_path: Path) -> None:
    replace(release, mechanism="Ours 2.0").save(tmp_path / "r.sfumato")
    again = sf.load(tmp_path / "r.sfumato")
    assert again.mechanism == "Ours 2.0"
    assert repr(again).startswith("Release(Ours 2.0, mixture of ")


# --- noisy answers


def answered(release: sf.Release) -> sf.Release:
    asked = {"columns": ["age"], "bins": [10]}
    return replace(
        release,
        answers=(
            NoisyAnswer("histograms", np.arange(10.0) - 2.5, 1.5, asked),
            NoisyAnswer("moments", [1.0, 2.0], [3.0, 4.0]),
            NoisyAnswer("nothing", [], 1.0),
        ),
    )


def test_answers_come_back_with_their_noise(release: sf.Release, tmp_path: Path) -> None:
    made = answered(release)
    made.save(tmp_path / "r.sfumato")
    again = sf.load(tmp_path / "r.sfumato")
    assert [answer.name for answer in again.answers] == ["histograms", "moments", "nothing"]
    for mine, theirs in zip(made.answers, again.answers, strict=True):
        np.testing.assert_array_equal(mine.values, theirs.values)
        np.testing.assert_array_equal(mine.sd, theirs.sd)
        assert mine.what == theirs.what
    assert "3 answers" in repr(again)
    pd.testing.assert_frame_equal(again.sample(20, seed=1), release.sample(20, seed=1))


def test_a_compact_file_leaves_the_answers_out(release: sf.Release, tmp_path: Path) -> None:
    answered(release).save(tmp_path / "r.sfumato", compact=True)
    assert sf.load(tmp_path / "r.sfumato").answers == ()
    replace(release, answers=()).save(tmp_path / "plain.sfumato")
    assert (tmp_path / "plain.sfumato").read_bytes() == (tmp_path / "r.sfumato").read_bytes()
