"""Images that do not look at the label: exact random features, of the row alone, and products of coordinates."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.private.queries.helpers import NOWHERE, ONE, Floats, Ints, cut, parts_of
from tests.private.queries.worlds import many

from sfumato.errors import ArgumentError
from sfumato.mechanisms.questions import feature_image, feature_matrices, feature_moments, projected_image, wave_image
from sfumato.private.queries.base import EXACT, LATENT_LIMIT, MAP_BITS, MAP_LIMIT, Batch, Image, Public
from sfumato.private.queries.features import MOST_INPUTS, FeatureImage, QuadraticImage, WithOne
from sfumato.private.queries.images import ProjectedImage, ScoreImage


def score_image(vectors: Ints) -> ScoreImage:
    """Row j of `vectors` is what the codes (j, j, ...) stand for."""
    return ScoreImage((tuple(np.append(column, 0) for column in vectors.T),))


def drawn(dim: int, width: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(width, dim + 1)), rng.normal(size=(width, dim + 1))


def some_image(rows: int = 40, dim: int = 5, width: int = 8) -> FeatureImage:
    vectors = np.rint(np.random.default_rng(1).normal(size=(rows, dim)) * ONE).astype(np.int64)
    return feature_image(score_image(vectors), *drawn(dim, width, 2), 1.0)


# What a row's features are


def slow_features(image: FeatureImage, z: list[int]) -> list[int]:
    """In whole numbers, one gate at a time."""
    found = []
    for gates, values in zip(image.gates.tolist(), image.values.tolist(), strict=True):
        u, v = (sum(a * b for a, b in zip(m, [*z, ONE], strict=True)) for m in (gates, values))
        found.append((max(0, u), v if u > 0 else 0))
    held = [cut(int(Fraction(x, 1 << MAP_BITS))) for pair in found for x in pair]
    return held[::2] + held[1::2]


def extreme_images() -> list[FeatureImage]:
    rng = np.random.default_rng(4)
    dim, width = 30, 6
    wild = rng.integers(-LATENT_LIMIT, LATENT_LIMIT + 1, (7, dim))
    vectors = np.concatenate([wild, np.sign(wild) * LATENT_LIMIT, wild // 1000, 0 * wild[:1]])
    shape = (width, dim + 1)
    full = rng.choice([-MAP_LIMIT, MAP_LIMIT], shape)
    cancels = np.where(np.arange(dim + 1) % 2 == 0, 1, -1) * np.full(shape, MAP_LIMIT)
    small = rng.integers(-2, 3, shape)
    return [FeatureImage(score_image(vectors), g, v) for g in (full, cancels, small) for v in (full, small)]


@pytest.mark.parametrize("image", extreme_images())
def test_features_are_those_of_whole_numbers(image: FeatureImage) -> None:
    rows = len(image.image.tables[0][0]) - 1  # type: ignore[attr-defined]
    codes = np.tile(np.arange(rows), (image.image.dim, 1)).astype(np.int16)
    everyone = Batch(codes, np.zeros(rows, dtype=np.int64))
    found = image.rows(everyone, np.ones(rows, dtype=bool), 0)
    latent = image.image.rows(everyone, np.ones(rows, dtype=bool), 0)
    assert found.T.tolist() == [slow_features(image, [int(x) for x in z]) for z in latent.T]


def test_their_inner_products_approximate_the_kernel() -> None:
    """At one pair: <x, y> (1 - t / pi) + |x| |y| (sin t + (pi - t) cos t) / pi, on (x / sqrt(d), bias)."""
    vectors = np.array([[1.0, -0.5, 2.0], [0.5, 1.5, 1.0]])
    image = feature_image(score_image(np.rint(vectors * ONE).astype(np.int64)), *drawn(3, 100_000, 5), 0.8)
    two = Batch(np.array([[0, 1]] * 3, dtype=np.int16), np.zeros(2, dtype=np.int64))
    phi = image.rows(two, np.ones(2, dtype=bool), 0) * image.unit
    x, y = (np.append(v / math.sqrt(3.0), 0.8) for v in vectors)
    lengths = np.linalg.norm(x) * np.linalg.norm(y)
    angle = math.acos(x @ y / lengths)
    kernel = x @ y * (1 - angle / math.pi) + lengths * (math.sin(angle) + (math.pi - angle) * math.cos(angle)) / math.pi
    assert phi[:, 0] @ phi[:, 1] == pytest.approx(kernel, rel=0.03)
    assert phi[:, 0] @ phi[:, 0] == pytest.approx(2.0 * x @ x, rel=0.03)


def test_matrices_are_told_as_they_are_applied() -> None:
    gates, values = drawn(4, 20, 6)
    image = feature_image(score_image(np.zeros((1, 4), dtype=np.int64)), gates, values, 0.5)
    told = feature_matrices(image, 0.5)
    assert all(np.allclose(a, b, atol=2.0**-MAP_BITS) for a, b in zip(told, (gates, values), strict=True))
    again = feature_image(image.image, *told, 0.5)
    assert np.array_equal(again.gates, image.gates)
    assert np.array_equal(again.values, image.values)


# A row alone


@pytest.mark.parametrize("image", [some_image(), some_image(dim=1, width=1), *extreme_images()[:2]])
def test_no_row_changes_with_the_rows_around_it(image: FeatureImage) -> None:
    assert isinstance(image.image, ScoreImage)
    top = len(image.image.tables[0][0]) - 1
    codes = np.random.default_rng(3).integers(NOWHERE, top, (image.image.dim, 500)).astype(np.int16)
    rows = Batch(codes, np.zeros(500, np.int64))
    whole = image.rows(rows, np.ones(500, dtype=bool), 0)
    assert np.array_equal(whole, np.trunc(whole))
    for part in parts_of(500):
        assert np.array_equal(image.rows(rows.only(part), np.ones(len(part), dtype=bool), 0), whole[:, part])


def test_images_that_ignore_the_label_do() -> None:
    image, _, rows = many(7, 50)
    everyone = np.ones(50, dtype=bool)
    gates = np.random.default_rng(8).normal(size=(2, 3, 8))
    for blind in (WithOne(image), QuadraticImage(image), feature_image(image, *gates, 1.0)):
        assert np.array_equal(blind.rows(rows, everyone, 0), blind.rows(rows, everyone, 2))
    assert not np.array_equal(image.rows(rows, everyone, 0), image.rows(rows, everyone, 2))


# What is refused


def test_what_cannot_be_exact_is_refused() -> None:
    image = some_image()
    with pytest.raises(ArgumentError, match="below 16"):
        FeatureImage(image.image, image.gates + 2 * MAP_LIMIT, image.values)
    with pytest.raises(ArgumentError, match="a column more"):
        FeatureImage(image.image, image.gates[:, 1:], image.values[:, 1:])
    with pytest.raises(ArgumentError, match="a row for each feature"):
        FeatureImage(image.image, image.gates[:0], image.values[:0])
    with pytest.raises(ArgumentError, match="numbers"):
        feature_image(image.image, image.gates * np.nan, image.values * 1.0, 1.0)
    with pytest.raises(ArgumentError, match="bias"):
        feature_image(image.image, image.gates * 1.0, image.values * 1.0, 0.0)


@pytest.mark.parametrize("kind", [WithOne, QuadraticImage])
def test_an_image_on_another_grid_is_refused(kind: type) -> None:
    with pytest.raises(ArgumentError, match="below 16"):
        kind(wave_image(some_image().image, np.ones((2, 5))))


def test_one_class_is_enough_for_images_that_see_none() -> None:
    projected = projected_image(np.zeros((1, 4)))
    images: list[Image] = [WithOne(projected), QuadraticImage(projected)]
    images.append(feature_image(projected, *drawn(4, 2, 1), 1.0))
    for image in images:
        query = feature_moments(image, 1.0, 5, (0.5, 0.5))
        query.check(Public((3, 2), 5, 4, values=True))
        with pytest.raises(ArgumentError, match="schema"):
            query.check(Public((3, 2), 5))


def test_an_image_too_wide_for_exact_products_is_refused() -> None:
    """Beyond 2^53 a product would depend on the order of its terms, hence on which rows are in the batch: with 2^23
    coordinates the step at zero opened for four equal rows, and not for three."""
    dim = (1 << 20) + 1
    assert MOST_INPUTS * MAP_LIMIT * LATENT_LIMIT + MAP_LIMIT * ONE < EXACT
    zeros = np.zeros((1, dim + 1), np.int64)
    image = ProjectedImage(zeros[:, :dim], np.ones((dim, 1), np.int64))
    with pytest.raises(ArgumentError, match="2\\^20"):
        FeatureImage(image, zeros, zeros)
