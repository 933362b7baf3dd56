"""A release of several components a class, against brute force: every cell of a small table, every rule of probability.

Shares are compared by chi-square at 1e-7 or by six standard errors, some 60 comparisons in all: a false alarm has
probability below 1e-6, and the seeds are fixed.
"""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import chi2, multivariate_normal
from tests.configs import asked
from tests.release.files import unpack, with_model

import sfumato as sf
from sfumato.encoding.scores import Scores
from sfumato.models import MixtureModel
from sfumato.release.conditional import Held
from sfumato.schema.layout import FloatArray

LIMIT = 6.0
FALSE_ALARM = 1e-7
ROWS = 100_000
INF = np.inf

SMALL: dict[str, Any] = {
    "label": "y",
    "columns": {
        "a": {"type": "category", "values": ["p", "q"]},
        "b": {"type": "category", "values": ["p", "q", "r"], "missing": True},
        "c": {"type": "number", "min": 0, "max": 2, "step": 1},
        "y": {"type": "category", "values": ["no", "yes"]},
    },
}
VALUES: dict[str, list[Any]] = {"a": ["p", "q"], "b": ["p", "q", "r", None], "c": [0, 1, 2], "y": ["no", "yes"]}
WIDE: dict[str, Any] = {
    "label": "kind",
    "columns": {
        "x": {"type": "number", "min": -6, "max": 6, "bins": 48},
        "z": {"type": "number", "min": -6, "max": 6, "bins": 48},
        "town": {"type": "category", "values": ["Ulm", "Bonn"]},
        "kind": {"type": "category", "values": ["one", "two"]},
    },
}


def fit(table: pd.DataFrame, schema: dict[str, Any], **options: Any) -> sf.Release:
    return sf.fit(table, schema, epsilon=8, delta=1e-6, insecure_seed=1, **asked(pairs=None, **options))


@pytest.fixture(scope="module")
def small() -> sf.Release:
    """Three components a class, of columns that hang together in a way of their own in each part."""
    rng = np.random.default_rng(0)
    n = 6000
    yes, part = rng.random(n) < 0.4, rng.integers(0, 3, n)
    a = (part + (rng.random(n) < 0.3)) % 2
    b = np.where(part == 2, rng.integers(0, 4, n), (part + a + yes) % 4)
    c = np.where(part == 1, a * 2, rng.integers(0, 3, n))
    columns = {"a": a, "b": b, "c": c, "y": yes.astype(int)}
    table = pd.DataFrame({name: np.array(VALUES[name], dtype=object)[codes] for name, codes in columns.items()})
    return fit(table, SMALL, components=3)


@pytest.fixture(scope="module")
def wide() -> sf.Release:
    rng = np.random.default_rng(0)
    n = 8000
    two = rng.random(n) < 0.5
    side = np.where(rng.random(n) < 0.5, -2.0, 2.0) * two
    table = pd.DataFrame(
        {
            "x": side + rng.normal(0, 0.8, n),
            "z": -side + rng.normal(0, 0.8, n),
            "town": np.where(rng.random(n) < ndtr(side), "Ulm", "Bonn"),
            "kind": np.where(two, "two", "one"),
        }
    )
    return fit(table, WIDE, components=2)


def cells(with_label: bool = True) -> pd.DataFrame:
    frame = pd.DataFrame(list(itertools.product(*VALUES.values())), columns=list(VALUES), dtype=object)
    return frame if with_label else frame.drop(columns="y").drop_duplicates(ignore_index=True)


def edges(release: sf.Release, c: int, k: int) -> list[float]:
    """The latent thresholds of column c in class k, by finding where the components' CDF reaches the masses."""
    mixture, column = release.model.mixture, release.model.encoder.columns[c]  # type: ignore[union-attr]
    mine = mixture.members(k)
    weights, sds = mixture.weights[mine] / mixture.weights[mine].sum(), np.sqrt(mixture.covariances[mine, c, c])
    sums = np.cumsum(column.masses[k][column.order])[:-1]
    inner = [brentq(lambda z, s=s: ndtr((z - mixture.means[mine, c]) / sds) @ weights - s, -50, 50) for s in sums]
    return [-INF, *inner, INF]


@pytest.fixture(scope="module")
def truth(small: sf.Release) -> FloatArray:
    """The probability of every cell, by scipy's integral over its box under every component."""
    mixture, found = small.model.mixture, []
    rims = [[edges(small, c, k) for c in range(3)] for k in range(2)]
    for row in cells().itertuples(index=False):
        k = VALUES["y"].index(row.y)
        places = []
        for c, name in enumerate("abc"):
            code = VALUES[name].index(getattr(row, name))
            places.append(small.model.encoder.columns[c].order.tolist().index(code))  # type: ignore[union-attr]
        low = np.array([rims[k][c][place] for c, place in enumerate(places)])
        high = np.array([rims[k][c][place + 1] for c, place in enumerate(places)])
        found.append(
            sum(
                mixture.weights[g]
                * multivariate_normal(mixture.means[g], mixture.covariances[g], seed=0).cdf(high, lower_limit=low)
                for g in mixture.members(k)
            )
        )
    return np.array(found)


def counts(made: pd.DataFrame) -> FloatArray:
    """How often every cell of the small table was drawn."""
    drawn = made.fillna({"b": "-"}).value_counts(list(VALUES))
    return np.array([drawn.get(key, 0) for key in cells().fillna("-").itertuples(index=False, name=None)])


def assert_alike(seen: FloatArray, expected: FloatArray) -> None:
    """Counts against probabilities, by chi-square; nothing where nothing can be."""
    assert seen[expected == 0].sum() == 0
    seen, mean = seen[expected > 0], seen.sum() * expected[expected > 0]
    rare = mean < 10
    seen, mean = (np.append(a[~rare], a[rare].sum()) for a in (seen, mean))
    kept = mean > 0
    assert ((seen - mean)[kept] ** 2 / mean[kept]).sum() < chi2.isf(FALSE_ALARM, kept.sum() - 1)


# --- probabilities


def test_it_has_several_components(small: sf.Release, wide: sf.Release) -> None:
    assert np.bincount(small.model.mixture.component_class).tolist() == [3, 3]
    assert np.bincount(wide.model.mixture.component_class).tolist() == [2, 2]
    assert not small.model.mixture.is_simple


def test_the_truth_adds_up_and_has_the_released_masses(small: sf.Release, truth: FloatArray) -> None:
    assert truth.sum() == pytest.approx(1.0, abs=1e-4)
    for c, name in enumerate("abc"):
        for k, label in enumerate(VALUES["y"]):
            for code, value in enumerate(VALUES[name]):
                same = cells()[name].isna() if value is None else cells()[name] == value
                mass = truth[same & (cells()["y"] == label)].sum() / small.model.mixture.class_weights[k]
                assert mass == pytest.approx(small.model.encoder.columns[c].masses[k, code], abs=1e-3)  # type: ignore[union-attr]


@pytest.mark.parametrize("with_label", [True, False])
def test_the_probabilities_of_all_rows_add_up_to_one(small: sf.Release, with_label: bool) -> None:
    assert np.exp(small.log_density(cells(with_label))).sum() == pytest.approx(1.0, abs=0.02)


def test_the_density_is_the_probability_of_the_cell(small: sf.Release, truth: FloatArray) -> None:
    found = np.exp(small.log_density(cells()))
    assert np.abs(found - truth).max() < 0.005
    large = truth > 0.005
    np.testing.assert_allclose(found[large], truth[large], rtol=0.15)


def test_predictions_follow_bayes_rule(small: sf.Release, truth: FloatArray) -> None:
    found = small.predict_proba(cells(False))
    joint = np.exp(small.log_density(cells())).reshape(-1, 2)
    np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), atol=1e-9)
    np.testing.assert_allclose(np.log(joint.sum(axis=1)), small.log_density(cells(False)), atol=1e-9)
    exact = truth.reshape(-1, 2)
    certain = exact.sum(axis=1) > 0.005
    np.testing.assert_allclose(
        found.to_numpy()[certain], (exact / exact.sum(axis=1, keepdims=True))[certain], atol=0.05
    )


def test_a_density_integrates_to_one(wide: sf.Release) -> None:
    side = (np.arange(120) + 0.5) / 10 - 6
    x, z = (axis.ravel() for axis in np.meshgrid(side, side))
    density = np.exp(wide.log_density(pd.DataFrame({"x": x, "z": z, "town": "?"})))
    assert density.sum() / 10**2 == pytest.approx(1.0, abs=0.03)
    near, far = wide.log_density(pd.DataFrame({"x": [2.0, 2.0], "z": [-2.0, 2.0], "town": "?", "kind": "two"}))
    assert near > far + 2


# --- rows


def test_rows_are_drawn_with_the_probabilities_of_their_cells(small: sf.Release, truth: FloatArray) -> None:
    assert_alike(counts(small.sample(ROWS, seed=0)), truth / truth.sum())


GIVEN: list[dict[str, Any]] = [{"a": "q"}, {"b": None}, {"c": 1}, {"y": "yes"}, {"a": "p", "y": "no"}]


def held(given: dict[str, Any]) -> Any:
    keep = np.ones(len(cells()), dtype=bool)
    for name, value in given.items():
        keep &= (cells()[name].isna() if value is None else cells()[name] == value).to_numpy()
    return keep


@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_given_rows_have_the_conditional_probabilities(
    given: dict[str, Any], small: sf.Release, truth: FloatArray
) -> None:
    expected = np.where(held(given), truth, 0.0)
    assert_alike(counts(small.sample(20_000, seed=1, given=given)), expected / expected.sum())


def test_the_checks_see_components_of_wrong_weight(
    small: sf.Release, truth: FloatArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every component of a class as likely as the others; then a condition that forgets to weigh them."""
    even = (small.model.mixture.class_weights / 3)[small.model.mixture.component_class]
    wrong = with_model(small, mixture=replace(small.model.mixture, weights=even))
    with pytest.raises(AssertionError):
        assert_alike(counts(wrong.sample(ROWS, seed=0)), truth / truth.sum())
    real = MixtureModel.condition
    monkeypatch.setattr(MixtureModel, "condition", lambda *a: replace(real(*a), weights=small.model.mixture.weights))
    expected = np.where(held({"b": None}), truth, 0.0)
    with pytest.raises(AssertionError):
        assert_alike(counts(small.sample(20_000, seed=1, given={"b": None})), expected / expected.sum())


@pytest.mark.parametrize("given", [{"a": "q", "b": "r"}, {"a": "p", "c": 2, "y": "yes"}], ids=str)
def test_several_given_columns_by_filtering(given: dict[str, Any], small: sf.Release, truth: FloatArray) -> None:
    """Six standard errors, and what the Gibbs sweeps of several columns may leave."""
    expected = np.where(held(given), truth, 0.0)
    expected /= expected.sum()
    shares = counts(small.sample(20_000, seed=1, given=given)) / 20_000
    assert (np.abs(shares - expected) <= LIMIT * np.sqrt(expected * (1 - expected) / 20_000) + 0.01).all()


def test_a_given_number_by_filtering(wide: sf.Release) -> None:
    plain = wide.sample(400_000, seed=0)
    near = plain[plain["x"].between(1.55, 1.7)]  # within one bin
    made = wide.sample(20_000, seed=1, given={"x": 1.625})
    assert (made["x"] == 1.625).all()
    for statistic in (lambda t: t["z"], lambda t: t["town"] == "Ulm", lambda t: t["kind"] == "two"):
        a, b = statistic(near), statistic(made)
        assert abs(a.mean() - b.mean()) < LIMIT * np.sqrt(a.var() / len(a) + b.var() / len(b))


def test_the_weights_of_a_condition_are_those_of_its_components(small: sf.Release, truth: FloatArray) -> None:
    for given in GIVEN:
        weights = Held.of(small.model, given, small.modelling).condition.weights
        assert len(weights) == small.model.mixture.components
        by_class = np.bincount(small.model.mixture.component_class, weights)
        expected = np.where(held(given), truth, 0.0).reshape(-1, 2).sum(axis=0)
        np.testing.assert_allclose(by_class, expected / expected.sum(), atol=0.003)


def test_rows_where_something_holds(small: sf.Release, truth: FloatArray) -> None:
    made = small.sample(20_000, seed=2, where="c > 0 and a == 'q'")
    expected = np.where((cells()["c"] > 0) & (cells()["a"] == "q"), truth, 0.0)
    assert_alike(counts(made), expected / expected.sum())
    both = small.sample(20_000, seed=2, given={"y": "yes"}, where="c > 0")
    expected = np.where((cells()["c"] > 0) & (cells()["y"] == "yes"), truth, 0.0)
    assert_alike(counts(both), expected / expected.sum())


# --- there and back


def assert_same(made: sf.Release, path: Path) -> sf.Release:
    made.save(path)
    again = sf.load(path)
    given = {made.layout.names[0]: made.sample(1, seed=9).iloc[0, 0]}
    for options in ({}, {"given": given}, {"where": f"{made.layout.names[0]} == {made.layout.names[0]}"}):
        pd.testing.assert_frame_equal(made.sample(300, seed=4, **options), again.sample(300, seed=4, **options))
    rows = made.sample(40, seed=5)
    np.testing.assert_array_equal(made.log_density(rows), again.log_density(rows))
    if made.schema.label is not None:
        pd.testing.assert_frame_equal(made.predict_proba(rows), again.predict_proba(rows))
    assert made.guarantee == again.guarantee
    assert made.model.mixture.component_class.tolist() == again.model.mixture.component_class.tolist()
    return again


def test_a_saved_release_is_the_same_release(small: sf.Release, wide: sf.Release, tmp_path: Path) -> None:
    for made, components in ((small, [3, 3]), (wide, [2, 2])):
        path = tmp_path / "r.sfumato"
        again = assert_same(made, path)
        assert unpack(path.read_bytes())[0]["model"]["facts"]["components"] == components
        again.save(tmp_path / "again.sfumato")
        assert (tmp_path / "again.sfumato").read_bytes() == path.read_bytes()


def test_one_component_a_class_stays_standard_normal(wide: sf.Release, tmp_path: Path) -> None:
    again = assert_same(fit(wide.sample(500, seed=0), WIDE, components=1), tmp_path / "r.sfumato")
    facts = unpack((tmp_path / "r.sfumato").read_bytes())[0]["model"]["facts"]
    assert (facts["components"], facts["matched"]) == ([1, 1], False)
    assert again.model.encoder.columns[0].latent is None


def test_classes_that_turn_out_to_be_one_component_each_are_the_same_after_saving(
    wide: sf.Release, tmp_path: Path
) -> None:
    """A guess of many rows leaves the number to noisy answers, and these find too few rows to cut."""
    made = fit(wide.sample(40, seed=0), WIDE, rows=10**6)
    assert made.model.mixture.is_simple
    assert isinstance(made.model.encoder, Scores)
    assert made.model.encoder.columns[0].latent is not None
    assert_same(made, tmp_path / "r.sfumato")


def test_no_label_and_unequal_numbers_come_back(wide: sf.Release, tmp_path: Path) -> None:
    schema = {"columns": {name: column for name, column in WIDE["columns"].items() if name != "kind"}}
    assert_same(fit(wide.sample(500, seed=0), schema, components=4), tmp_path / "r.sfumato")
    rows = wide.sample(4000, seed=0)
    uneven = fit(pd.concat([rows[rows["kind"] == "one"].head(10), rows[rows["kind"] == "two"]]), WIDE, rows=10**6)
    assert len(set(np.bincount(uneven.model.mixture.component_class))) == 2
    assert_same(uneven, tmp_path / "r.sfumato")
