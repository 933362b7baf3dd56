"""Several Gaussians a class in the space of scores: how many, for what, and that nothing breaks on the way.

Chi-square tests have a false-alarm rate of 1e-7 for each of fewer than ten comparisons; the seeds are fixed anyway.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from tests.configs import asked
from tests.release.files import with_model

import sfumato as sf
from sfumato.encoding.scores import Scores
from sfumato.errors import ArgumentError
from sfumato.mechanisms.mixture import MixtureTuning
from sfumato.mechanisms.mixture.score_components import settle_within
from sfumato.mechanisms.mixture.score_components import starts as scaled_starts
from sfumato.private.accounting import Adjacency
from sfumato.schema.layout import FloatArray

FALSE_ALARM = 1e-7
TUNING = MixtureTuning()
NOISE = TUNING.noise
BARE = sf.Mixture(pairs=None)
NUMBER = {"type": "number", "min": -6, "max": 6, "bins": 24}
SCHEMA: dict[str, Any] = {
    "label": "kind",
    "columns": {
        "x": NUMBER,
        "y": NUMBER,
        "town": {"type": "category", "values": ["Ulm", "Bonn", "Kiel"], "missing": True},
        "kind": {"type": "category", "values": ["one", "two"]},
    },
}


def starts(sizes: list[int], scales: FloatArray) -> list[FloatArray]:
    return scaled_starts(sizes, scales, TUNING.start_scale)


def clumps(rows: int, seed: int = 0) -> pd.DataFrame:
    """Kind "two" is two clumps that no correlation explains: apart in x and y, and round."""
    rng = np.random.default_rng(seed)
    two = rng.random(rows) < 0.5
    side = np.where(rng.random(rows) < 0.5, -2.5, 2.5) * two
    town = np.select([rng.random(rows) < 0.3, side > 0], ["Ulm", "Bonn"], "Kiel").astype(object)
    town[rng.random(rows) < 0.1] = None
    return pd.DataFrame(
        {
            "x": side + rng.normal(0, 0.7, rows),
            "y": side + rng.normal(0, 0.7, rows),
            "town": town,
            "kind": np.where(two, "two", "one"),
        }
    )


def fit(table: pd.DataFrame, schema: dict[str, Any] = SCHEMA, epsilon: float = 1.0, **options: Any) -> sf.Release:
    options = {"insecure_seed": 1, "rows": max(1, len(table)), "pairs": None} | options
    return sf.fit(table, schema, epsilon=epsilon, delta=1e-6, **asked(**options))


def check(release: sf.Release, sizes: list[int] | None = None) -> None:
    """A model that anyone can use: probabilities, numbers, covariances, classes in order."""
    mixture, columns = release.model.mixture, len(release.layout.names)
    assert (mixture.weights > 0).all()
    assert mixture.weights.sum() == pytest.approx(1.0)
    assert mixture.means.shape == (mixture.components, columns)
    assert np.isfinite(mixture.means).all()
    np.testing.assert_allclose(mixture.covariances, mixture.covariances.swapaxes(1, 2), atol=1e-12)
    least = 1e-3 if sizes is None else NOISE.eigenvalue_floor * (1 - 1e-6)  # one Gaussian has a floor of its own
    assert np.linalg.eigvalsh(mixture.covariances).min() >= least
    assert mixture.component_class.tolist() == sorted(mixture.component_class.tolist())
    assert mixture.classes == release.layout.classes
    if sizes is not None:
        assert np.bincount(mixture.component_class).tolist() == sizes
    made = release.sample(50, seed=0)
    assert np.isfinite(release.log_density(made)).all()
    assert list(made) == list(release.schema.columns)


# --- how many


@pytest.mark.parametrize("components", [0, -1, 1.5, True, "x"])
def test_a_bad_number_is_refused_in_one_line(components: Any) -> None:
    for call in (lambda **o: sf.plan(SCHEMA, epsilon=1, delta=1e-6, **asked(**o)), lambda **o: fit(clumps(5), **o)):
        with pytest.raises(ArgumentError, match="components must be a whole number") as refused:
            call(components=components)
        assert repr(components) in str(refused.value)
        assert "\n" not in str(refused.value)


# --- the plan, and what is spent


@pytest.mark.parametrize("adjacency", [str(each) for each in Adjacency])
@pytest.mark.parametrize("components", [2, 7])
def test_shares_of_the_rounds_add_up_to_one(components: int, adjacency: str) -> None:
    made = sf.plan(SCHEMA, epsilon=1, delta=1e-6, mechanism=sf.Mixture(components, None), adjacency=adjacency)
    one = sf.plan(SCHEMA, epsilon=1, delta=1e-6, mechanism=sf.Mixture(1, None), adjacency=adjacency)
    assert math.fsum(each.share for each in made.rounds) == pytest.approx(1.0, abs=1e-12)
    assert math.fsum(each.mu**2 for each in made.rounds) == pytest.approx(made.mu**2, rel=1e-12)
    assert all(each.share > 0 and each.purpose for each in made.rounds)
    assert made.details.components == components
    assert made.rounds[0] == one.rounds[0]
    assert len({each.title for each in made.rounds}) == len(made.rounds)
    assert len(made.rounds) > len(one.rounds)


def test_few_rows_plan_one_gaussian_and_many_leave_it_to_the_answers() -> None:
    few, many = (sf.plan(SCHEMA, epsilon=1, delta=1e-6, mechanism=BARE, rows=rows) for rows in (100, 10**6))
    assert few.details.components == 1
    assert few == sf.plan(SCHEMA, epsilon=1, delta=1e-6, mechanism=sf.Mixture(1, None), rows=100)
    assert many.details.components is None


UNIT: dict[str, Any] = SCHEMA | {"unit": {"column": "who", "rows": 3}}


@pytest.mark.every(2)
@pytest.mark.parametrize("components", [3, None])
@pytest.mark.parametrize("adjacency", [str(each) for each in Adjacency])
@pytest.mark.parametrize("schema", [SCHEMA, UNIT], ids=["row", "unit"])
def test_a_fit_spends_its_plan_and_no_more(schema: dict[str, Any], adjacency: str, components: int | None) -> None:
    table = clumps(800).assign(who=np.arange(800) % 300)
    options = {"adjacency": adjacency, "components": components, "rows": 10**6, "pairs": None}
    planned = sf.plan(schema, epsilon=1, delta=1e-6, **asked(**options))
    made = fit(table, schema, insecure_seed=None, **options)
    spends = made.guarantee.spends
    assert [spend.name for spend in spends] == [each.title for each in planned.rounds]
    for spend, each in zip(spends, planned.rounds, strict=True):
        assert spend.mu == pytest.approx(each.mu, rel=1e-9)
        assert spend.sensitivity / spend.sigma <= spend.mu * (1 + 1e-12)
    spent = math.fsum(spend.mu**2 for spend in spends)
    assert spent == pytest.approx(planned.mu**2, rel=1e-12)
    assert spent <= planned.mu**2 * (1 + 1e-12)
    assert made.guarantee.epsilon == 1
    check(made, None if components is None else [components] * 2)


# --- where it starts, and what it finds


def test_starts_are_the_same_for_every_table() -> None:
    scales = np.array([[1.0, 2.0, 0.5], [0.1, 0.0, 3.0]])
    first, second = starts([3, 4], scales), starts([3, 4], 2.0 * scales)
    assert [len(s) for s in first] == [3, 4]
    for a, b, scale in zip(first, second, scales, strict=True):
        np.testing.assert_array_equal(2.0 * a, b)
        assert (a[:, scale == 0.0] == 0.0).all()
        assert 0.0 < np.abs(a).max() < 5 * TUNING.start_scale * scale.max()
        assert len(np.unique(a, axis=0)) == len(a)
    np.testing.assert_array_equal(starts([1, 1], scales), np.zeros((2, 1, 3)))  # a class of one starts in the middle
    np.testing.assert_array_equal(starts([3, 9], scales)[0], first[0])


@pytest.fixture(scope="module")
def found() -> sf.Release:
    return fit(clumps(20_000), epsilon=20.0, components=2)


def test_two_clumps_are_found(found: sf.Release) -> None:
    check(found, [2, 2])
    mine = found.model.mixture.members(1)
    assert found.model.mixture.weights[mine] / found.model.mixture.class_weights[1] == pytest.approx(
        [0.5, 0.5], abs=0.02
    )
    low, high = sorted(found.model.mixture.means[mine][:, 0])
    assert low < -0.6
    assert high > 0.6
    made = found.sample(20_000, seed=0)
    within = made[(made["kind"] == "two") & (made["x"] > 0) & (made["y"] > 0)]
    assert len(within) > 4000
    assert abs(within["x"].corr(within["y"])) < 0.1
    one = fit(clumps(20_000), epsilon=20.0, components=1).sample(20_000, seed=0)
    as_one = one[(one["kind"] == "two") & (one["x"] > 0) & (one["y"] > 0)]
    assert as_one["x"].corr(as_one["y"]) > 0.2  # what one Gaussian makes of the clumps


def test_the_parts_have_the_moments_of_the_whole() -> None:
    """However the cells lie: means and variances of all components of a class are those that its marginals imply."""
    made = fit(clumps(20_000), epsilon=50.0, components=8)
    assert isinstance(made.model.encoder, Scores)
    for k in range(2):
        mine = made.model.mixture.members(k)
        weights, means = (
            made.model.mixture.weights[mine] / made.model.mixture.class_weights[k],
            made.model.mixture.means[mine],
        )
        whole = weights @ means
        np.testing.assert_allclose(whole, made.model.encoder.means()[k], atol=0.02)
        within = np.einsum("c,cii->i", weights, made.model.mixture.covariances[mine])
        variances = within + weights @ means**2 - whole**2
        np.testing.assert_allclose(variances, made.model.encoder.variances()[k], atol=0.05)


def distances(release: sf.Release, rows: int = 60_000) -> list[tuple[float, int]]:
    """Chi-square of every column's bins in every class against the released masses, and its degrees of freedom."""
    made = release.sample(rows, seed=3)
    found = []
    assert isinstance(release.model.encoder, Scores)
    for k, label in enumerate(release.layout.class_names()):
        mine = made[made[release.layout.label] == label]
        for name, bins, column in zip(
            release.layout.names, release.layout.bins, release.model.encoder.columns, strict=True
        ):
            if bins.ordered:
                codes = bins.code(mine[name].to_numpy(dtype=float))  # type: ignore[union-attr]
            else:
                codes = (
                    mine[name].map({v: i for i, v in enumerate(bins.column.values)}).fillna(bins.missing).astype(int)
                )
            seen = np.bincount(codes, minlength=bins.size)
            expected = column.masses[k] * len(mine)
            rare = expected < 10
            seen, expected = (np.append(a[~rare], a[rare].sum()) for a in (seen, expected))
            keep = expected > 0
            found.append((float(((seen - expected)[keep] ** 2 / expected[keep]).sum()), int(keep.sum()) - 1))
    return found


def without_matching(release: sf.Release) -> sf.Release:
    assert isinstance(release.model.encoder, Scores)
    return with_model(release, encoder=Scores(tuple(replace(c, latent=None) for c in release.model.encoder.columns)))


def test_the_marginals_of_samples_are_the_released_masses(found: sf.Release) -> None:
    for statistic, degrees in distances(found):
        assert statistic < chi2.isf(FALSE_ALARM, degrees)


def test_without_matching_they_would_not_be(found: sf.Release) -> None:
    wrong = [statistic > chi2.isf(FALSE_ALARM, degrees) for statistic, degrees in distances(without_matching(found))]
    assert sum(wrong) >= 4


def test_noise_does_not_take_the_marginals_away() -> None:
    noisy = fit(clumps(300), epsilon=0.5, components=3)
    for statistic, degrees in distances(noisy, rows=20_000):
        assert statistic < chi2.isf(FALSE_ALARM, degrees)


# --- tables that are hard on it


@pytest.mark.every(3)
@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize("components", [2, 5])
def test_classes_that_drown_give_a_valid_model(rows: int, components: int) -> None:
    for seed in range(3):
        check(fit(clumps(rows), epsilon=0.3, components=components, insecure_seed=seed), [components] * 2)


def test_a_class_that_has_no_rows_beside_one_that_has_many() -> None:
    table = clumps(5000)
    made = fit(table[table["kind"] == "two"], components=3)
    check(made, [3, 3])
    assert made.model.mixture.class_weights[1] > 0.9
    chosen = fit(table[table["kind"] == "two"], epsilon=20.0, rows=5000)
    sizes = np.bincount(chosen.model.mixture.component_class)
    assert sizes[0] == 1 < sizes[1]  # each class has the number that its own rows pay for
    check(chosen)


def test_no_label() -> None:
    schema = {"columns": {name: column for name, column in SCHEMA["columns"].items() if name != "kind"}}
    made = fit(clumps(3000), schema, components=3)
    check(made, [3])
    assert made.model.mixture.classes == 1


def test_a_constant_column() -> None:
    made = fit(clumps(4000).assign(y=1.0), epsilon=8.0, components=3)
    check(made, [3, 3])
    assert made.sample(1000, seed=0)["y"].between(0.5, 1.5).mean() > 0.95


def test_nothing_but_constants() -> None:
    schema = {"columns": {name: {"type": "category", "values": ["only"]} for name in "ab"}}
    table = pd.DataFrame({name: ["only"] * 5 for name in "ab"})
    check(fit(table, schema, components=3), [3])
    check(fit(table, schema, rows=10**8), [1])


def test_nothing_but_categories() -> None:
    values = {"a": ["p", "q"], "b": ["p", "q", "r"], "c": list("stuvw"), "y": ["no", "yes"]}
    schema = {"label": "y", "columns": {name: {"type": "category", "values": v} for name, v in values.items()}}
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.choice(v, 3000) for name, v in values.items()})
    check(fit(table, schema, components=2), [2, 2])


@pytest.mark.slow
def test_sixty_columns() -> None:
    schema = {"columns": {f"x{i}": NUMBER | {"bins": 6} for i in range(60)}}
    rng = np.random.default_rng(0)
    side = rng.choice([-2.0, 2.0], (1000, 1))
    table = pd.DataFrame(side + rng.normal(size=(1000, 60)), columns=list(schema["columns"]))
    check(fit(table, schema, components=2), [2])
    sure = fit(table, schema, epsilon=50.0, components=2)
    check(sure, [2])
    assert np.abs(sure.model.mixture.means[0] - sure.model.mixture.means[1]).mean() > 1.0


# --- the pieces


def shapes(*rhos: float) -> FloatArray:
    return np.stack([np.full((3, 3), rho) + (1 - rho) * np.eye(3) for rho in rhos])


def test_settling_without_noise_keeps_every_shape() -> None:
    own = shapes(0.6, -0.2, 0.0)
    settled = settle_within(own, np.zeros(3), np.array([5.0, 1.0, 3.0]), np.array([0, 0, 1]), NOISE)
    np.testing.assert_allclose(settled, own, atol=1e-9)


def test_settling_takes_a_drowned_component_to_its_class_and_not_to_another() -> None:
    own = shapes(0.6, 0.1, -0.3)
    settled = settle_within(own, np.array([0.0, 1.0, 0.0]), np.array([99.0, 1.0, 9.0]), np.array([0, 0, 1]), NOISE)
    np.testing.assert_allclose(settled[1], 0.99 * own[0] + 0.01 * own[1], atol=1e-9)
    np.testing.assert_allclose(settled[[0, 2]], own[[0, 2]], atol=1e-9)


def test_settled_covariances_are_positive_definite() -> None:
    noisy = np.random.default_rng(0).normal(size=(6, 4, 4))
    noisy = noisy + noisy.swapaxes(1, 2)
    settled = settle_within(noisy, np.full(6, 0.1), np.ones(6), np.array([0, 0, 0, 1, 1, 2]), NOISE)
    assert np.linalg.eigvalsh(settled).min() >= NOISE.eigenvalue_floor - 1e-9
    np.linalg.cholesky(settled)
