"""The slicing mechanism as printed: its noise, its laws, what its adjacency leaves out, and its generator."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest

from sfumato.accounting import delta_of, slicing_sigma
from sfumato.errors import ArgumentError, MissingExtraError
from sfumato.private.slicing.law import Slices
from sfumato.published import row_generator
from sfumato.published.row_generator import Bounds, Encoding, LabelledRows
from sfumato.published.slicing import (
    Ball,
    Training,
    labelled,
    release_slices,
    slice_rows,
    synthesize,
    train_generator,
)
from sfumato.schema.layout import FloatArray, IntArray

KNOWN = {"slices": 50, "slice_dim": 2, "epsilon": 1.0, "delta": 1e-5}


def rows(n: int = 200, dim: int = 100) -> np.ndarray:
    x = np.random.default_rng(3).normal(size=(n, dim))
    return x / np.linalg.norm(x, axis=1)[:, None]


def test_it_is_what_theorem_one_says() -> None:
    x = rows()
    found = slice_rows(x, rng=np.random.default_rng(1), **KNOWN)
    assert found.sigma == pytest.approx(5.38, rel=0.005)
    assert kstest(found.directions.ravel() * 10.0, "norm").pvalue > 1e-6
    noise = (found.values - x @ found.directions) / found.sigma
    assert kstest(noise.ravel(), "norm").pvalue > 1e-6


def test_it_keeps_its_claim_with_room_to_spare_at_distance_one_and_not_at_two() -> None:
    """Both ends of the unit ball are at distance 2, which the paper's adjacency leaves out."""
    sigma = slicing_sigma(1.0, 1e-5, dim=100, projections=100, method="theorem1")
    assert delta_of(1.0, 0.0, [Slices(100, 100, 1.0, sigma)]) < 1e-7
    assert delta_of(1.0, 0.0, [Slices(100, 100, 2.0, sigma)]) > 1e-4


def test_rows_outside_the_ball_are_refused() -> None:
    with pytest.raises(ArgumentError, match="norm of at most 1"):
        slice_rows(2.0 * rows(), rng=np.random.default_rng(1), **KNOWN)
    assert slice_rows(rows(0), rng=np.random.default_rng(1), **KNOWN).values.shape == (0, 100)
    assert math.isfinite(slice_rows(rows(1), rng=np.random.default_rng(1), **KNOWN).values.sum())


def test_any_replacement_in_the_ball_takes_twice_the_noise() -> None:
    once, twice = (slice_rows(rows(), rng=np.random.default_rng(1), distance=d, **KNOWN).sigma for d in (1.0, 2.0))
    assert twice == pytest.approx(2.0 * once)
    assert delta_of(1.0, 0.0, [Slices(100, 100, 2.0, twice)]) < 1e-7


# --- Rows in the ball

LOW, HIGH, LEVELS = np.array([-3.0, 0.0]), np.array([3.0, 8.0]), (3, 2)


def table(rows: int = 1280) -> tuple[FloatArray, IntArray, IntArray]:
    rng = np.random.default_rng(0)
    y = (rng.random(rows) < 0.3).astype(int)
    numbers = np.stack([rng.normal(1.5 * y, 0.7), rng.normal(5.0 - 3.0 * y, 0.8)], axis=1)
    codes = np.stack([rng.integers(3, size=rows), rng.random(rows) < 0.2 + 0.6 * y], axis=1).astype(int)
    return numbers, codes, y


@pytest.mark.parametrize(("columns", "levels"), [(2, ()), (0, (3, 2)), (2, (3, 2))])
@pytest.mark.parametrize("radius", [None, 0.3])
def test_rows_are_in_the_unit_ball_and_reach_its_edge(
    columns: int, levels: tuple[int, ...], radius: float | None
) -> None:
    rng = np.random.default_rng(1)
    ball = Ball.of(Encoding(LOW[:columns], HIGH[:columns], levels), radius)
    numbers = np.vstack([LOW[:columns], rng.standard_cauchy((500, columns)) * 10.0])
    codes = np.vstack([np.zeros((1, len(levels)), dtype=int), rng.integers(-1, 5, size=(500, len(levels)))])
    encoded = ball.encoding.encode(numbers, codes)
    found = ball(encoded)
    assert np.linalg.norm(found, axis=1).max() == pytest.approx(1.0, abs=1e-12)
    if radius is None:  # nothing is cut: differences are those of the encoded rows
        np.testing.assert_allclose(np.diff(found, axis=0) * ball.radius, np.diff(encoded, axis=0), atol=1e-12)


# --- The generator


def small(**options: float) -> Training:
    return Training(**{"width": 32, "batch": 128, "epochs": 15, "rate": 1e-2, "slices": 5} | options)  # type: ignore[arg-type]


def test_with_hardly_any_noise_the_rows_look_like_the_table() -> None:
    numbers, codes, y = table()
    private = LabelledRows(numbers, codes, y, 2, (LOW, HIGH), LEVELS)
    ball = Ball.of(private.encoding)
    x = ball(private.encoded)
    rng = np.random.default_rng(2)
    trained = train_generator(release_slices(x, 40, 0.05, rng), ball, slice_dim=2, rng=rng, training=small())
    made, coded, labels = labelled(*trained.sample(2000, rng))
    assert labels.mean() == pytest.approx(y.mean(), abs=0.1)
    for c in (0, 1):
        np.testing.assert_allclose(made[labels == c].mean(axis=0), numbers[y == c].mean(axis=0), atol=0.8)
        assert coded[labels == c, 1].mean() == pytest.approx(codes[y == c, 1].mean(), abs=0.2)


def synthetic(seed: int = 0, bounds: Bounds = (LOW, HIGH)) -> tuple[FloatArray, IntArray, IntArray]:
    return synthesize(
        LabelledRows(*table(200), 2, bounds, LEVELS),
        epsilon=1.0,
        delta=1e-5,
        rows=300,
        slices=4,
        slice_dim=2,
        rng=np.random.default_rng(seed),
        training=small(epochs=2),
    )


def test_a_table_is_made_of_a_table_and_the_same_one_by_the_same_generator() -> None:
    first, second = (synthetic(3) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    made, coded, labels = first
    assert (made.shape, coded.shape, labels.shape) == ((300, 2), (300, 2), (300,))
    assert ((made >= LOW) & (made <= HIGH)).all()
    assert ((coded >= 0) & (coded < LEVELS)).all()
    assert set(labels) <= {0, 1}


def test_bad_arguments_and_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArgumentError, match="low below high"):
        synthetic(bounds=(HIGH, LOW))

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(row_generator, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"sfumato\[train\]"):
        synthetic()
