"""Random mixing and DP-MERF: sensitivities by brute force, the noise they need, and rows that look like the table's."""

from __future__ import annotations

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import dp_event, rdp

from sfumato.accounting import add_up, calibrate
from sfumato.errors import ArgumentError, MissingExtraError
from sfumato.published import baselines, row_generator
from sfumato.published.baselines import COUNT_SHARE, Features, Training
from sfumato.published.row_generator import LabelledRows
from sfumato.schema.layout import FloatArray, IntArray

SIGMAS = 5.5
LOW, HIGH = np.array([-3.0, 0.0]), np.array([3.0, 8.0])
LEVELS = (3, 2)


def table(rows: int = 3000) -> tuple[FloatArray, IntArray, IntArray]:
    rng = np.random.default_rng(0)
    y = (rng.random(rows) < 0.3).astype(int)
    numbers = np.stack([rng.normal(1.5 * y, 0.7), rng.normal(4.0 - 2.0 * y, 0.8)], axis=1)
    codes = np.stack([rng.integers(3, size=rows), rng.random(rows) < 0.2 + 0.6 * y], axis=1).astype(int)
    return numbers, codes, y


# --- Random mixing


def reference_epsilon(share: float, multiplier: float, times: int, delta: float) -> float:
    whole = dp_accounting.NeighboringRelation.REPLACE_ONE
    accountant = rdp.RdpAccountant([int(a) for a in baselines.ORDERS], whole)
    event = dp_event.SampledWithoutReplacementDpEvent(
        10_000, round(share * 10_000), dp_event.GaussianDpEvent(multiplier)
    )
    return float(accountant.compose(event, times).get_epsilon(delta))


@pytest.mark.parametrize(
    ("share", "multiplier", "times"), [(0.01, 1.0, 100), (0.003, 0.8, 1000), (0.0005, 0.6, 10_000)]
)
def test_the_epsilon_of_random_rows_is_that_of_dp_accounting(share: float, multiplier: float, times: int) -> None:
    found = baselines.subsampled_epsilon(share, multiplier, times, 1e-5)
    assert found == pytest.approx(reference_epsilon(share, multiplier, times, 1e-5), rel=1e-9)


@pytest.mark.parametrize(("share", "multiplier", "times"), [(0.1, 4.0, 50), (0.5, 2.0, 3), (0.05, 30.0, 1000)])
def test_it_is_never_smaller(share: float, multiplier: float, times: int) -> None:
    """dp-accounting has a finer bound where share and multiplier are large."""
    assert baselines.subsampled_epsilon(share, multiplier, times, 1e-5) >= reference_epsilon(
        share, multiplier, times, 1e-5
    ) * (1 - 1e-9)


def test_the_noise_of_mixing_is_the_least_that_keeps_epsilon() -> None:
    sigma = baselines.mixing_sigma(1.0, 1e-5, 3000, 500, 20, 2)
    multiplier = sigma / (math.sqrt(2 + 2) / 20)
    assert baselines.subsampled_epsilon(20 / 3000, multiplier, 500, 1e-5) <= 1.0
    assert baselines.subsampled_epsilon(20 / 3000, 0.999 * multiplier, 500, 1e-5) > 1.0


def test_a_replaced_row_moves_a_mean_by_no_more_than_is_allowed_for() -> None:
    """With the same generator the same rows are drawn and the same noise, so the difference is the row's alone."""
    numbers, _, y = table(30)
    moved, changed = numbers.copy(), y.copy()
    numbers[0], moved[0], changed[0] = LOW - 100.0, HIGH + 100.0, 1 - y[0]
    runs = []
    for x, labels in ((numbers, y), (moved, changed)):
        points, soft = baselines.mix(
            x,
            labels,
            2,
            bounds=(LOW, HIGH),
            epsilon=1.0,
            delta=1e-5,
            rng=np.random.default_rng(0),
            points=50,
            rows_per_point=6,
        )
        runs.append(np.hstack([(points - LOW) / (HIGH - LOW), soft]))
    distance = np.linalg.norm(runs[1] - runs[0], axis=1)
    touched = distance > 1e-9
    np.testing.assert_allclose(distance[touched], math.sqrt(2 + 2) / 6)
    assert abs(touched.sum() - 10) < SIGMAS * math.sqrt(50 * 0.2 * 0.8)


def test_the_noise_of_mixing_is_drawn_so() -> None:
    x, y = np.full((100, 2), 0.5), np.zeros(100, dtype=int)
    options = {"bounds": (0.0, 1.0), "epsilon": 1.0, "delta": 1e-5, "points": 4000, "rows_per_point": 10}
    points, soft = baselines.mix(x, y, 2, rng=np.random.default_rng(0), **options)
    noise = np.hstack([points - 0.5, soft - [1.0, 0.0]])
    ratio = noise.var() / baselines.mixing_sigma(1.0, 1e-5, 100, 4000, 10, 2) ** 2
    assert abs(ratio - 1.0) < SIGMAS * math.sqrt(2 / noise.size)


def test_the_best_mixture_is_a_sweet_spot() -> None:
    best = baselines.best_mixture(1.0, 1e-5, 3000, 3000, 5)

    def noise_to_signal(size: int) -> float:
        return size * baselines.mixing_sigma(1.0, 1e-5, 3000, 3000, size, 5) ** 2

    assert 1 < best < 3000
    assert all(noise_to_signal(best) <= noise_to_signal(size) * 1.1 for size in (1, 3, 10, 30, 100, 300, 1000, 3000))
    assert noise_to_signal(best) < 0.5 * min(noise_to_signal(1), noise_to_signal(3000))


# --- DP-MERF


def features(columns: int = 2, levels: tuple[int, ...] = LEVELS, frequencies: int = 50) -> Features:
    bounds = (LOW, HIGH) if columns else (0.0, 1.0)
    return baselines.random_features(bounds, columns, levels, frequencies, None, np.random.default_rng(0))


def embed(numbers: FloatArray, codes: IntArray, y: IntArray, seed: int, **options) -> baselines.Embedding:
    rng = np.random.default_rng(seed)
    return baselines.embed(features(**options), numbers, codes, y, 2, epsilon=1.0, delta=1e-5, rng=rng)


@pytest.mark.parametrize(("columns", "levels"), [(2, LEVELS), (2, ()), (0, LEVELS)])
def test_no_row_has_features_longer_than_one(columns: int, levels: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    numbers = rng.standard_cauchy((500, columns)) * 10.0
    codes = rng.integers(-1, 5, size=(500, len(levels)))
    phi = features(columns, levels)
    lengths = np.linalg.norm(phi(phi.encode(numbers, codes)), axis=1)
    assert lengths.max() == pytest.approx(1.0, abs=1e-12), "and the bound is reached"
    assert phi(phi.encode(numbers, codes)).shape == (500, phi.size)


def test_a_row_more_changes_sums_and_counts_by_at_most_one() -> None:
    """With the same generator the noise is the same, so the difference is the row's alone."""
    numbers, codes, y = table(40)
    rng = np.random.default_rng(2)
    before = embed(numbers, codes, y, seed=5)
    for _ in range(30):
        more = np.vstack([numbers, rng.standard_cauchy((1, 2)) * 5.0]), np.vstack([codes, rng.integers(-1, 4, (1, 2))])
        after = embed(*more, np.append(y, rng.integers(2)), seed=5)
        assert np.linalg.norm(after.sums - before.sums) <= 1.0 + 1e-9
        assert np.linalg.norm(after.counts - before.counts) == pytest.approx(1.0)
    reached = embed(np.vstack([numbers, [[0.0, 0.0]]]), np.vstack([codes, [[0, 0]]]), np.append(y, 1), seed=5)
    assert np.linalg.norm(reached.sums - before.sums) == pytest.approx(1.0)


def excess_noise(planted: float = 1.0) -> list[float]:
    """z-scores of the variance of counts and of sums, beside what the guarantee needs."""
    numbers, codes, y = table(20)
    mu = calibrate(1.0, 1e-5)
    runs = [embed(numbers, codes, y, seed) for seed in range(400)]
    scores = []
    for part, share in ((np.stack([run.counts for run in runs]), COUNT_SHARE), (_sums(runs), 1 - COUNT_SHARE)):
        ratio = part.var(axis=0, ddof=1).mean() * share * mu**2 / planted
        scores.append(float((ratio - 1.0) / math.sqrt(2 / (part.size - part.shape[1]))))
    return scores


def _sums(runs: list[baselines.Embedding]) -> FloatArray:
    return np.stack([run.sums.ravel() for run in runs])


def test_the_noise_is_what_the_guarantee_needs() -> None:
    assert max(map(abs, excess_noise())) < SIGMAS
    assert add_up([math.sqrt(COUNT_SHARE), math.sqrt(1 - COUNT_SHARE)]) == pytest.approx(1.0)


def test_too_little_noise_is_seen() -> None:
    assert min(map(abs, excess_noise(planted=2.0))) > SIGMAS


def synthetic(epsilon: float, seed: int = 0, steps: int = 300) -> tuple[FloatArray, IntArray, IntArray]:
    return baselines.dp_merf(
        LabelledRows(*table(), 2, (LOW, HIGH), LEVELS),
        epsilon=epsilon,
        delta=1e-5,
        rows=2000,
        rng=np.random.default_rng(seed),
        frequencies=100,
        training=Training(width=32, steps=steps, batch=128),
    )


def test_with_hardly_any_noise_the_rows_look_like_the_table() -> None:
    numbers, codes, y = table()
    made, coded, labels = synthetic(100.0)
    assert labels.mean() == pytest.approx(y.mean(), abs=0.06)
    for c in (0, 1):
        np.testing.assert_allclose(made[labels == c].mean(axis=0), numbers[y == c].mean(axis=0), atol=0.35)
        assert coded[labels == c, 1].mean() == pytest.approx(codes[y == c, 1].mean(), abs=0.12)
    assert ((made >= LOW) & (made <= HIGH)).all()
    assert ((coded >= 0) & (coded < LEVELS)).all()


def test_it_repeats_itself_with_the_same_generator() -> None:
    first, second = (synthetic(1.0, seed=3, steps=5) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def test_bad_arguments(monkeypatch) -> None:
    with pytest.raises(ArgumentError, match="low below high"):
        baselines.random_features((1.0, 0.0), 2, (), 10, None, np.random.default_rng(0))
    options = {"epsilon": 1.0, "delta": 1e-5, "rows": 10, "rng": np.random.default_rng(0)}

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(row_generator, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"sfumato\[train\]"):
        baselines.dp_merf(LabelledRows(*table(10), 2, (LOW, HIGH), LEVELS), **options)
