"""A release with adapted labels, against brute force: every cell of a small table, every rule of probability.

Shares are compared by chi-square at 1e-7, some 20 comparisons in all: a false alarm has probability below 1e-5 over all
seeds, and the seeds are fixed.
"""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from scipy.stats import chi2, multivariate_normal
from tests.configs import asked
from tests.release.files import with_model

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.schema.layout import FloatArray

FALSE_ALARM = 1e-7
ROWS = 60_000
VALUES: dict[str, list[Any]] = {"a": ["p", "q", "r"], "c": [0, 1, 2], "y": ["no", "yes", "perhaps"]}


def schema(classes: int) -> dict[str, Any]:
    return {
        "label": "y",
        "columns": {
            "a": {"type": "category", "values": VALUES["a"]},
            "c": {"type": "number", "min": 0, "max": 2, "step": 1},
            "y": {"type": "category", "values": VALUES["y"][:classes]},
        },
    }


def table(classes: int, n: int = 5000) -> pd.DataFrame:
    """Labels that no mixture of Gaussians would give: y depends on whether the columns agree."""
    rng = np.random.default_rng(classes)
    a, c = rng.integers(0, 3, n), rng.integers(0, 3, n)
    y = np.where(rng.random(n) < 0.8, (a == c) + (a > 1) * (classes - 2), rng.integers(0, classes, n))
    codes = {"a": a, "c": c, "y": y}
    return pd.DataFrame({name: np.array(VALUES[name], dtype=object)[code] for name, code in codes.items()})


@pytest.fixture(scope="module", params=[2, 3])
def made(request: pytest.FixtureRequest) -> sf.Release:
    classes = request.param
    options: dict[str, Any] = {"components": 1, "pairs": None, "adapt": "labels", "insecure_seed": 1}
    return sf.fit(table(classes), schema(classes), epsilon=8, delta=1e-6, **asked(**options))


def cells(release: sf.Release, with_label: bool = True) -> pd.DataFrame:
    names = list(VALUES) if with_label else ["a", "c"]
    values = VALUES | {"y": VALUES["y"][: release.layout.classes]}
    return pd.DataFrame(list(itertools.product(*(values[name] for name in names))), columns=names)


def truth(release: sf.Release) -> FloatArray:
    """p(x) (alpha p(y | x) + (1 - alpha) q(y | x)) for every cell: (a, c, y)."""
    classes, mixture, labeller = release.layout.classes, release.model.mixture, release.model.labeller
    joint, logits = np.empty((3, 3, classes)), np.zeros((3, 3, classes))
    for a, c, k in np.ndindex(joint.shape):
        low, high = np.empty(2), np.empty(2)
        for j, (column, code) in enumerate(zip(release.model.encoder.columns, (a, c), strict=True)):  # type: ignore[union-attr]
            place = column.order.tolist().index(code)
            sums = np.append(0.0, np.cumsum(column.masses[k][column.order]))
            low[j], high[j] = ndtri(np.clip(sums[[place, place + 1]], 0.0, 1.0))
        inside = multivariate_normal(mixture.means[k], mixture.covariances[k], seed=0)
        joint[a, c, k] = mixture.weights[k] * inside.cdf(high, lower_limit=low)
        m = k - 1 if classes == 2 else k
        if m >= 0:
            logits[a, c, k] = labeller.intercepts[m] + labeller.evidence[0][m, a] + labeller.evidence[1][m, c]  # type: ignore[union-attr]
    q = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    row = joint.sum(axis=2, keepdims=True)
    return np.asarray(labeller.alpha * joint + (1.0 - labeller.alpha) * row * q)  # type: ignore[union-attr]


def counts(rows: pd.DataFrame, release: sf.Release) -> FloatArray:
    drawn = rows.value_counts(["a", "c", "y"])
    return np.array([drawn.get(key, 0) for key in cells(release).itertuples(index=False, name=None)], dtype=float)


def assert_alike(seen: FloatArray, expected: FloatArray) -> None:
    assert seen[expected == 0].sum() == 0
    seen, mean = seen[expected > 0], seen.sum() * expected[expected > 0] / expected.sum()
    rare = mean < 10
    seen, mean = (np.append(a[~rare], a[rare].sum()) for a in (seen, mean))
    kept = mean > 0
    assert ((seen - mean)[kept] ** 2 / mean[kept]).sum() < chi2.isf(FALSE_ALARM, kept.sum() - 1)


def test_labels_are_adapted(made: sf.Release) -> None:
    assert made.model.labeller is not None
    assert 0 < made.model.labeller.alpha < 1
    names = [spend.name for spend in made.guarantee.spends]
    assert names[-4:] == ["labels 1", "labels 2", "labels 3", "labels 4"]


def test_rows_are_drawn_with_the_probabilities_of_their_cells(made: sf.Release) -> None:
    assert_alike(counts(made.sample(ROWS, seed=0), made), truth(made).ravel())


def test_the_check_would_see_labels_that_are_not_adapted(made: sf.Release) -> None:
    with pytest.raises(AssertionError):
        assert_alike(counts(with_model(made, labeller=None).sample(ROWS, seed=0), made), truth(made).ravel())


@pytest.mark.parametrize("given", [{"a": "q"}, {"c": 1}, {"y": "yes"}, {"a": "p", "y": "no"}], ids=str)
def test_conditions_cut_out_their_part(made: sf.Release, given: dict[str, Any]) -> None:
    every = cells(made)
    held = np.all([every[name] == value for name, value in given.items()], axis=0)
    rows = made.sample(20_000, seed=1, given=given)
    assert len(rows) == 20_000
    assert_alike(counts(rows, made), np.where(held, truth(made).ravel(), 0.0))


def test_given_and_where_together(made: sf.Release) -> None:
    every = cells(made)
    held = ((every["y"] == "yes") & (every["c"] > 0)).to_numpy()
    rows = made.sample(5000, seed=2, given={"y": "yes"}, where="c > 0")
    assert_alike(counts(rows, made), np.where(held, truth(made).ravel(), 0.0))


def test_no_rows_of_a_class(made: sf.Release) -> None:
    assert made.sample(0, given={"y": "yes"}).shape == (0, 3)


def test_a_class_that_never_comes_is_given_up(made: sf.Release) -> None:
    labeller = made.model.labeller
    assert labeller is not None
    never = replace(labeller, alpha=0.0, intercepts=np.array([-16.0] + [16.0] * (len(labeller.intercepts) - 1)))
    with pytest.raises(ArgumentError, match="rows drawn had the label, and 5 were wanted"):
        with_model(made, labeller=never).sample(5, seed=0, given={"y": "no" if len(labeller.intercepts) > 1 else "yes"})


def test_densities_and_predictions_are_those_of_the_cells(made: sf.Release) -> None:
    exact = truth(made)
    density = np.exp(made.log_density(cells(made))).reshape(exact.shape)
    assert density.sum() == pytest.approx(1.0, abs=0.02)
    np.testing.assert_allclose(density, exact, atol=0.01)
    without = np.exp(made.log_density(cells(made, with_label=False)))
    np.testing.assert_allclose(without, density.sum(axis=2).ravel(), rtol=1e-9)
    plain = with_model(made, labeller=None)
    np.testing.assert_allclose(without, np.exp(plain.log_density(cells(made, with_label=False))), rtol=1e-9)
    posterior = made.predict_proba(cells(made, with_label=False)).to_numpy()
    np.testing.assert_allclose(posterior, density.reshape(posterior.shape) / without[:, None], rtol=1e-9)


def test_classes_come_as_often_as_rows_have_them(made: sf.Release) -> None:
    np.testing.assert_allclose(made.class_weights, truth(made).sum(axis=(0, 1)), atol=6 * 0.5 / 128)


def test_a_cell_without_a_place_has_no_evidence(made: sf.Release) -> None:
    labeller = made.model.labeller
    assert labeller is not None
    found = labeller.log_probabilities([np.array([-1]), np.array([-1])])
    logits = np.append(0.0, labeller.intercepts) if len(labeller.intercepts) == 1 else labeller.intercepts
    np.testing.assert_allclose(np.exp(found[0]), np.exp(logits) / np.exp(logits).sum())
    assert np.isfinite(made.log_density(pd.DataFrame({"a": ["?"], "c": [None], "y": ["no"]}))).all()


def test_alpha_goes_from_the_logistic_model_to_the_mixture(made: sf.Release) -> None:
    rows = cells(made, with_label=False)
    plain, labeller = with_model(made, labeller=None), made.model.labeller
    assert labeller is not None
    own, other = (with_model(made, labeller=replace(labeller, alpha=alpha)) for alpha in (1.0, 0.0))
    np.testing.assert_allclose(own.predict_proba(rows), plain.predict_proba(rows), atol=1e-12)
    codes = [np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)]
    np.testing.assert_allclose(other.predict_proba(rows), np.exp(labeller.log_probabilities(codes)), atol=1e-12)


def test_it_is_saved_and_read(made: sf.Release, tmp_path: Path) -> None:
    made.save(tmp_path / "r.sfumato")
    again = sf.load(tmp_path / "r.sfumato")
    pd.testing.assert_frame_equal(again.sample(500, seed=3), made.sample(500, seed=3))
    assert np.array_equal(again.log_density(cells(made)), made.log_density(cells(made)))


def test_several_components_and_adapted_labels(tmp_path: Path) -> None:
    options: dict[str, Any] = {"components": 2, "pairs": None, "adapt": "labels", "insecure_seed": 1}
    release = sf.fit(table(2), schema(2), epsilon=8, delta=1e-6, **asked(**options))
    release.save(tmp_path / "r.sfumato")
    again = sf.load(tmp_path / "r.sfumato")
    assert again.model.mixture.components == 4
    pd.testing.assert_frame_equal(again.sample(500, seed=3), release.sample(500, seed=3))
