"""The affine mixture: classes are found, looked at where they are, and released where the expected KL is least."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import sfumato as sf
from sfumato.encoding.affine import locate
from sfumato.mechanisms.budget import fill, split
from sfumato.mechanisms.clipping import Clip, best_radii, unclip
from sfumato.mechanisms.mixture import MixtureTuning, affine_looks
from sfumato.mechanisms.mixture.affine_forecast import best_forecast, broken_stick, forecast
from sfumato.mechanisms.mixture.beliefs import Beliefs, Glance, learn, settle_eigenvalues
from sfumato.schema.layout import FloatArray, bins_of
from sfumato.schema.schema import Number, Schema

CLASSES, DIM = 5, 3
LOOKS = MixtureTuning().looks


def rows_of(seed: int, rows: int) -> tuple[FloatArray, FloatArray]:
    """The synthetic mixture of Liu, Scaglione and Peisert (2025), section V-A."""
    rng = np.random.default_rng(seed)
    while True:
        y = rng.choice(CLASSES, size=rows, p=rng.dirichlet(np.ones(CLASSES)))
        if np.bincount(y, minlength=CLASSES).min() >= 20:
            break
    x = np.empty((rows, DIM))
    for k in range(CLASSES):
        root = rng.standard_normal((DIM, DIM + 1))
        x[y == k] = rng.uniform(-10, 10, DIM) + rng.standard_normal(((y == k).sum(), DIM + 1)) @ root.T
    return x, y


def divergence(model: sf.PrivateMixture, x: FloatArray, y: FloatArray) -> float:
    """KL of the released mixture from the one fitted by maximum likelihood."""
    total = 0.0
    for k, weight in enumerate(model.weights_):
        mine = x[y == k]
        inverse = np.linalg.inv(np.cov(mine.T, bias=True))
        off, ratio = model.means_[k] - mine.mean(axis=0), inverse @ model.covariances_[k]
        normal = 0.5 * (np.trace(ratio) - DIM - np.linalg.slogdet(ratio)[1] + off @ inverse @ off)
        total += weight * (math.log(weight / (y == k).mean()) + normal)
    return total


def losses(epsilon: float, rows: int, seeds: range) -> FloatArray:
    found = []
    for seed in seeds:
        x, y = rows_of(seed, rows)
        model = sf.PrivateMixture(epsilon, 1e-5, (-14, 14), range(CLASSES), rows=rows, insecure_seed=seed)
        found.append(divergence(model.fit(x, y), x, y))
    return np.array(found)


def planned(epsilon: float, rows: int, dim: int = DIM, adjacency: str = "add-remove") -> sf.Plan:
    columns = {f"x{i}": {"type": "number", "min": -14, "max": 14, "bins": 20} for i in range(dim)}
    label = {"type": "category", "values": [str(k) for k in range(CLASSES)]}
    schema = Schema.of({"label": "y", "columns": columns | {"y": label}})
    affine = sf.Mixture(encoding="affine")
    return sf.plan(schema, epsilon=epsilon, delta=1e-5, mechanism=affine, rows=rows, adjacency=adjacency)


# --- the whole mechanism


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "most"), [(1.0, 1.5), (4.0, 0.1)])
def test_the_published_set_up_loses_little(epsilon: float, most: float) -> None:
    assert np.median(losses(epsilon, 1000, range(20_000, 20_015))) < most


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_plan_foretells_the_loss(epsilon: float) -> None:
    foretold = sum(planned(epsilon, 5000).expected_kl.values())
    measured = float(np.median(losses(epsilon, 5000, range(20_000, 20_015))))
    assert foretold / 2.5 < measured < foretold * 2.5  # a factor of two, and what fifteen tables leave open


def even(costs: FloatArray, losses: FloatArray) -> FloatArray:
    return np.full(costs.shape[1], 1.0 / costs.shape[1])


def test_even_shares_of_a_look_would_lose_more(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = range(20_000, 20_015)
    best = np.median(losses(4.0, 1000, seeds))
    monkeypatch.setattr(affine_looks, "fill", even)
    assert np.median(losses(4.0, 1000, seeds)) > 1.15 * best


def test_looks_follow_the_plan_and_spend_everything() -> None:
    x, y = rows_of(20_000, 1000)
    model = sf.PrivateMixture(1.0, 1e-5, (-14, 14), range(CLASSES), rows=1000, insecure_seed=0).fit(x, y)
    plan = planned(1.0, 1000)
    assert [spend.name for spend in model.guarantee_.spends] == [each.title for each in plan.rounds]
    for spend, each in zip(model.guarantee_.spends, plan.rounds, strict=True):
        assert spend.mu == pytest.approx(each.mu, rel=1e-9)


@pytest.mark.parametrize("rows", [0, 1, 300])
@pytest.mark.parametrize("epsilon", [0.01, 8.0])
def test_degenerate_columns_give_a_valid_model(rows: int, epsilon: float) -> None:
    rng = np.random.default_rng(0)
    once = rng.normal(size=(rows, 1))
    x = np.hstack([once, once, np.full((rows, 1), 3.0), rng.standard_t(1.5, size=(rows, 1))])
    y = rng.integers(0, 3, rows)
    model = sf.PrivateMixture(epsilon, 1e-5, (-10, 10), range(4), insecure_seed=rows).fit(x, y)
    assert np.isfinite(model.means_).all()
    assert np.linalg.eigvalsh(model.covariances_).min() > 0
    assert (model.weights_ > 0).all()


# --- shares


def together(costs: FloatArray, losses: FloatArray, shares: FloatArray) -> float:
    return float((1.0 / (shares / costs + 1.0 / losses)).sum())


def test_filling_is_splitting_where_nothing_is_known() -> None:
    costs = np.array([[0.3, 7.0, 0.02], [0.1, 1.0, 3.0]])
    np.testing.assert_allclose(fill(costs, np.full((2, 3), 1e12)), split(costs.sum(axis=0)), rtol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_no_other_shares_lose_less(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs, known = np.exp(rng.normal(0, 2, (2, 4, 3)))
    best = fill(costs, known)
    assert best.sum() == pytest.approx(1.0)
    for size in (0.05, 1.0):
        other = best * np.exp(size * rng.standard_normal(3))
        other = np.maximum(other / other.sum(), 0.01)
        assert together(costs, known, best) <= together(costs, known, other / other.sum()) * (1 + 1e-3)


def test_what_cannot_be_learnt_gets_nothing() -> None:
    shares = fill(np.array([[1.0, 1e6, 1.0]]), np.array([[10.0, 1.0, 10.0]]))
    assert shares[1] == pytest.approx(0.01, rel=0.05)


# --- the forecast


def test_the_histograms_share_is_the_best_of_those_tried() -> None:
    counts, sizes, mu = 5000 * broken_stick(CLASSES), (20,) * DIM, 0.268
    best = best_forecast(counts, sizes, mu, LOOKS)
    assert best.total <= min(forecast(counts, sizes, mu, share, LOOKS).total for share in (0.1, 0.25, 0.5, 0.75))
    assert planned(1.0, 5000).round("histograms").share != pytest.approx(0.5)


def test_broken_sticks_are_the_expected_shares_of_a_uniform_draw() -> None:
    drawn = np.sort(np.random.default_rng(0).dirichlet(np.ones(4), size=100_000), axis=1).mean(axis=0)
    np.testing.assert_allclose(broken_stick(4), drawn, atol=2e-3)


def test_more_rows_or_budget_lose_less_and_wider_neighbours_more() -> None:
    def total(*arguments: float, **options: str) -> float:
        return sum(planned(*arguments, **options).expected_kl.values())  # type: ignore[arg-type]

    assert total(1.0, 1000) > total(1.0, 5000) > total(1.0, 50_000)
    assert total(0.5, 5000) > total(1.0, 5000) > total(4.0, 5000)
    assert total(1.0, 5000, adjacency="replace-one") > total(1.0, 5000)


@pytest.mark.parametrize("rows", [1, 10**12])
def test_extreme_guesses_still_make_a_plan(rows: int) -> None:
    made = planned(1.0, rows, dim=1)
    assert sum(each.share for each in made.rounds) == pytest.approx(1.0)
    assert all(math.isfinite(kl) and kl > 0 for kl in made.expected_kl.values())


# --- finding a class


def test_a_class_is_found_in_noisy_cells_and_a_drowned_one_is_not_believed() -> None:
    bins = bins_of(Number(min=-14, max=14, bins=20))
    rng = np.random.default_rng(0)
    cells = np.stack([np.bincount(bins.code(rng.normal(6, 2, n)), minlength=20) for n in (400, 4)])
    places = locate([cells + 10.0 * rng.standard_normal(cells.shape)], np.array([10.0]), [bins])
    assert places.centres[0, 0] == pytest.approx(6.0, abs=1.0)
    assert places.squared_scales[0, 0] == pytest.approx(4.0, rel=0.8)
    assert places.centre_variances[0, 0] < 1.0
    assert places.centre_variances[1, 0] > 20.0


# --- clipping


@pytest.mark.parametrize("dim", [1, 3, 8])
@pytest.mark.parametrize("factor", [0.8, 1.3])
def test_what_is_left_after_clipping(dim: int, factor: float) -> None:
    rng = np.random.default_rng(0)
    radius = factor * math.sqrt(dim)
    z = rng.standard_normal((400_000, dim))

    def clipped(rows: FloatArray) -> FloatArray:
        return rows * np.minimum(1.0, radius / np.linalg.norm(rows, axis=1))[:, None]

    clip, small = Clip(dim, np.array(radius)), 0.1
    shifted = (clipped(z + small) - clipped(z - small)).mean() / (2 * small)
    assert clip.mean == pytest.approx(shifted, rel=0.01)
    assert clip.second == pytest.approx((clipped(z) ** 2).sum(axis=1).mean() / dim, rel=0.01)
    wider = ((clipped(z * 1.05) ** 2).mean() - (clipped(z * 0.95) ** 2).mean()) / (1.05**2 - 0.95**2)
    assert clip.size == pytest.approx(wider, rel=0.03)
    if dim > 1:
        longer, shorter = z.copy(), z.copy()
        longer[:, 0] *= math.sqrt(1.1)
        longer[:, 1] *= math.sqrt(0.9)
        shorter[:, 0] *= math.sqrt(0.9)
        shorter[:, 1] *= math.sqrt(1.1)
        change = ((clipped(longer)[:, 0] ** 2).mean() - (clipped(shorter)[:, 0] ** 2).mean()) / 0.2
        assert clip.shape == pytest.approx(change, rel=0.03)


@pytest.mark.parametrize("spread", [0.1, 1.0, 2.5])
def test_clipping_is_undone_for_round_rows_of_any_width(spread: float) -> None:
    z = math.sqrt(spread) * np.random.default_rng(0).standard_normal((200_000, 3))
    z *= np.minimum(1.0, 2.5 / np.linalg.norm(z, axis=1))[:, None]
    whole, put_back, _ = unclip(np.array([2.5]), (z.T @ z / len(z))[None])
    np.testing.assert_allclose(whole[0], spread * np.eye(3), atol=0.03 * spread)
    assert put_back[0] < 1e-3 * spread


def test_radii_grow_with_the_rows_and_with_doubt_about_the_shape() -> None:
    few, many = best_radii(3, np.array([50.0, 5e4]), 0.2, np.zeros(2))
    assert few < many
    sure, unsure = best_radii(3, np.array([500.0, 500.0]), 0.2, np.array([0.0, 0.5]))
    assert sure < unsure


# --- beliefs


def test_eigenvalues_keep_what_was_measured_well_and_shrink_what_was_not() -> None:
    plain, harmonic = settle_eigenvalues(np.array([[2.0, 1.0, -0.5]]), np.array([[1e-6]]))
    np.testing.assert_allclose(plain[0, :2], [2.0, 1.0], rtol=1e-4)
    np.testing.assert_allclose(harmonic[0, :2], [2.0, 1.0], rtol=1e-4)
    plain, harmonic = settle_eigenvalues(np.array([[1.0, -0.5]]), np.array([[0.25]]))
    assert (harmonic > 0).all()
    assert (harmonic < plain).all()
    assert harmonic[0, 1] < harmonic[0, 0] < 1.0


def test_the_harmonic_mean_loses_least() -> None:
    """Over eigenvalues drawn as believed, KL(released || fitted) of a variance is least at 1 / E[1 / x]."""
    rng = np.random.default_rng(0)
    value, noise = 1.0, 0.09
    x = rng.normal(value - noise, math.sqrt(noise), 400_000)
    x = x[x > 0.01]
    harmonic = settle_eigenvalues(np.array([[value]]), np.array([[noise]]))[1][0, 0]

    def kl(released: float) -> float:
        return float((released / x - 1 - np.log(released / x)).mean() / 2)

    assert kl(harmonic) < min(kl(0.9 * harmonic), kl(1.1 * harmonic), kl(value))


def belief(mean: FloatArray, spread: float, noise: float) -> Beliefs:
    unit = np.eye(len(mean))[None]
    return Beliefs(np.array([500.0]), np.array([100.0]), mean[None], spread * unit, unit, unit, np.array([noise]))


def seen(rows: FloatArray, beliefs: Beliefs, radius: float, sd: float) -> Glance:
    z = rows - beliefs.means[0]
    z = z * np.minimum(1.0, radius / np.linalg.norm(z, axis=1))[:, None]
    second = (z.T @ z)[None]
    one = np.array([sd])
    return Glance(
        beliefs.maps, np.array([radius]), np.array([float(len(z))]), z.sum(axis=0)[None], second, one, one, one
    )


@pytest.mark.parametrize("sd", [1e-3, 1e6])
def test_a_sharp_look_is_believed_and_a_blurred_one_is_not(sd: float) -> None:
    rng = np.random.default_rng(0)
    truth = np.array([[1.2, 0.3], [0.3, 0.8]])
    rows = rng.multivariate_normal([0.3, -0.2], truth, size=50_000)
    before = belief(np.zeros(2), 0.5, 0.2)
    after = learn(before, seen(rows, before, 4.0, sd))
    expected: Callable[[FloatArray], object] = lambda a: pytest.approx(a, abs=0.05)  # noqa: E731
    assert after.counts[0] == pytest.approx(50_000 if sd < 1 else 500, rel=0.01)
    assert after.means[0] == expected(np.array([0.3, -0.2]) if sd < 1 else np.zeros(2))
    assert after.shapes[0] == expected(truth if sd < 1 else np.eye(2))
    assert after.noise[0] < 0.01 if sd < 1 else after.noise[0] == pytest.approx(0.2, rel=0.01)
