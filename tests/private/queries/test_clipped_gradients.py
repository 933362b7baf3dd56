"""The clipped gradient of a linear label model: bounds, tightness, exactness, a row alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from tests.examples import some
from tests.private.queries.helpers import (
    ADD_REMOVE,
    LABEL,
    ONE,
    REPLACE_ONE,
    Floats,
    Ints,
    check_rows_add_up,
    check_tight,
    hunt,
    mistaken,
    on_grid,
    one_block,
    pool_case,
    pooled,
    told,
)
from tests.private.queries.worlds import Build, World, extreme_batch, many, world_cases

from sfumato.errors import ArgumentError
from sfumato.mechanisms.questions import clipped_gradient, unpack
from sfumato.private.accounting import Adjacency
from sfumato.private.queries import base
from sfumato.private.queries.base import BATCH_CAP, EXACT, LARGEST_RADIUS, LATENT_LIMIT, Batch, Public, Query
from sfumato.private.queries.features import QuadraticImage, WithOne
from sfumato.private.queries.gradients import PROBABILITY_BITS, ClippedGradient
from sfumato.private.queries.images import ProjectedImage
from sfumato.whole_numbers import EXP_STEPS, exponentials

SURE = 1 << PROBABILITY_BITS


def gradient_of(world: World, kind: Any = ClippedGradient) -> Query:
    image = world.draw(st.sampled_from([world.image, WithOne(world.image), QuadraticImage(world.image)]))
    shape = (world.classes, image.dim)
    limit = world.draw(st.sampled_from([0, 3, ONE, LATENT_LIMIT]))
    slopes = world.rng.integers(-limit, limit + 1, shape)
    return kind(image, slopes, world.radius(image), world.draw(st.sampled_from([1e-4, 0.01, 0.2, 0.7, 1.0])))


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", Adjacency)
def test_it_keeps_its_bound(adjacency: Adjacency) -> None:
    hunt(world_cases(gradient_of, adjacency), adjacency, examples=some(80))
    hunt(world_cases(gradient_of, adjacency, unit=3), adjacency, examples=some(20), unit_rows=3)


# Planted faults: the same hunt must find them


class Uncapped(ClippedGradient):
    """Noise as if residuals were capped, which they are not."""

    def part(self, batch: Batch) -> Ints:
        return ClippedGradient(self.image, self.slopes, self.radius, 1.0).total(batch)


class LongFeatures(ClippedGradient):
    def part(self, batch: Batch) -> Ints:
        return ClippedGradient(self.image, self.slopes, LARGEST_RADIUS - 1, self.cap).total(batch)


class SignedLabels(ClippedGradient):
    """Labels of -1 and 1, and no cap that would hide it."""

    def _capped(self, phi: Floats, labels: Ints) -> Floats:
        own = labels == np.arange(len(self.slopes))[:, None]
        return super()._capped(phi, labels) - np.where(own, 0.0, float(SURE))


FAULTS: dict[str, tuple[Adjacency, Build]] = {
    "without its cap": (ADD_REMOVE, lambda w: gradient_of(w, Uncapped)),
    "long features": (ADD_REMOVE, lambda w: gradient_of(w, LongFeatures)),
    "signed labels": (LABEL, lambda w: gradient_of(w, SignedLabels)),
    "label is one block": (LABEL, lambda w: gradient_of(w, one_block(ClippedGradient))),
    "replaced for free": (
        REPLACE_ONE,
        lambda w: gradient_of(w, mistaken(ClippedGradient, apart=lambda right: right.one)),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_hunt_finds_planted_faults(fault: str) -> None:
    adjacency, build = FAULTS[fault]
    with pytest.raises(AssertionError):
        hunt(world_cases(build, adjacency), adjacency, examples=1500)


@pytest.mark.thorough
@pytest.mark.parametrize("adjacency", Adjacency)
def test_without_clipping_rows_that_are_too_long_count_nowhere(
    adjacency: Adjacency, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second line: the bound rests on no clipping, because every row's length is looked at."""
    monkeypatch.setattr(base, "clip_rows", lambda z, radius: z)
    hunt(world_cases(gradient_of, adjacency), adjacency, examples=some(60))


# Tightness: the bounds cannot be loosened unseen

PLAIN = ProjectedImage(np.zeros((2, 3), np.int64))
FAR = on_grid([3.0, -9.0, 12.0], [-3.0, 9.0, -12.0], [0.0, 12.0, 9.0])


def sure(slope: float, cap: float) -> ClippedGradient:
    """A model that is sure of class 0 where the first coordinate is positive, and of class 1 where it is negative."""
    return clipped_gradient(PLAIN, np.array([[slope, 0.0, 0.0], [-slope, 0.0, 0.0]]), 4.0, cap)


@pytest.mark.parametrize("cap", [0.2, 1.0])
def test_a_gradient_reaches_its_bound(cap: float) -> None:
    check_tight(pool_case(sure(15.0, cap), FAR, [], [(0, 1)]), ADD_REMOVE)
    one = replace(sure(0.0, cap), cap=min(cap, 0.7))  # unsure of both classes: residuals are opposite
    check_tight(pool_case(one, FAR, [(0, 0)], [(0, 1)]), LABEL)
    check_tight(pool_case(one, FAR, [(0, 0)], [(1, 0)]), REPLACE_ONE)


# A row alone


def some_gradient(image: ProjectedImage) -> ClippedGradient:
    quadratic = QuadraticImage(image)
    classes, dim = image.centres.shape
    slopes = np.random.default_rng(1).normal(size=(classes, quadratic.dim))
    return clipped_gradient(quadratic, slopes, min(0.9 * math.sqrt(dim), 15.0), 0.2)


@pytest.mark.parametrize("dim", [1, 13, 48])
def test_a_total_is_the_sum_of_what_rows_add_alone(dim: int) -> None:
    image, _, rows = many(dim, 120)
    check_rows_add_up(some_gradient(image), rows)


def test_it_sees_all_rows_as_if_of_one_class() -> None:
    image, _, rows = many(7, 50)
    query = some_gradient(image)
    first = ProjectedImage(np.tile(image.centres[0], (3, 1)), image.matrix)  # the same from every class
    assert np.array_equal(told(query, rows), told(replace(query, image=QuadraticImage(first)), rows))
    flipped = replace(rows, labels=(rows.labels + 1) % 3)
    assert not np.array_equal(told(query, rows), told(query, flipped))


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    image, _, rows = many(5, 200)
    query = some_gradient(image)
    whole = told(query, rows)
    monkeypatch.setattr(base, "CHUNK_CELLS", 7 * query.image.dim)
    assert np.array_equal(told(query, rows), whole)


# Exactness


def test_the_caps_keep_every_sum_exact() -> None:
    assert math.isqrt(LARGEST_RADIUS - 1) * SURE * BATCH_CAP < EXACT  # a feature times a residual
    assert math.isqrt(LARGEST_RADIUS - 1) * SURE <= LARGEST_RADIUS  # what `Products` has room for


def test_a_full_batch_of_extreme_residuals_is_exact() -> None:
    """The model is sure of the other class, so that every residual is as large as it may be."""
    rows, counted = extreme_batch(BATCH_CAP)
    image = ProjectedImage(np.zeros((1, 2), np.int64))
    slopes = np.array([[-LATENT_LIMIT, -LATENT_LIMIT], [LATENT_LIMIT, LATENT_LIMIT]])
    query = ClippedGradient(image, slopes, LARGEST_RADIUS - 1, 1.0)
    alone = [_gradient(query, row, 0) for row, _ in counted]
    exact = [sum(a[j] * n for a, (_, n) in zip(alone, counted, strict=True)) for j in range(4)]
    assert told(query, rows).tolist() == exact
    assert max(map(abs, exact)) > 2**50


def _gradient(query: ClippedGradient, z: tuple[int, ...], label: int) -> list[int]:
    """What a row that needs no clipping adds, in whole numbers; the residual alone is clipped as the query does it."""
    logits = [round(sum(int(w) * x for w, x in zip(line, z, strict=True)) / ONE) for line in query.slopes]
    risen = [int(exponentials()[min(max(logits) - logit, EXP_STEPS)]) for logit in logits]
    residual = [(SURE if k == label else 0) - (e << PROBABILITY_BITS) // sum(risen) for k, e in enumerate(risen)]
    norm, most = sum(e * e for e in residual), math.floor(query.cap**2 * SURE**2)
    if norm > most:
        residual = [int(e * (math.sqrt(most / norm) * (1.0 - 2.0**-40))) for e in residual]
    assert sum(e * e for e in residual) <= most
    return [e * x for e in residual for x in z]


@pytest.mark.parametrize("cap", [1.0, 0.2])
def test_a_gradient_is_what_integers_say(cap: float) -> None:
    image, _, rows = many(4, 40)
    query = clipped_gradient(image, np.random.default_rng(5).normal(size=(3, 4)), 15.9, cap)
    z = image.rows(rows, np.ones(40, dtype=bool), 0).astype(int)
    for i in range(40):
        if (z[:, i] ** 2).sum() <= query.radius:
            expected = _gradient(query, tuple(z[:, i].tolist()), int(rows.labels[i]))
            assert told(query, rows.only(slice(i, i + 1))).tolist() == expected


# Packing, and what is refused


def test_a_gradient_unpacks_to_a_row_for_each_class() -> None:
    query = sure(1.0, 1.0)
    pool = on_grid([1.0, 2.0, 0.5])
    found = unpack(query, told(query, pooled(pool, [(0, 0)])).astype(float))
    missed = 1.0 / (1.0 + math.exp(2.0))
    assert found == pytest.approx(np.outer([missed, -missed], pool[0] / ONE), abs=1e-3)


@pytest.mark.parametrize("fault", [math.nan, math.inf, 1e6])
def test_a_row_whose_residual_is_too_long_counts_nowhere(fault: float, monkeypatch: pytest.MonkeyPatch) -> None:
    image, _, rows = many(4, 20)
    query = some_gradient(image)
    monkeypatch.setattr(base, "clip_rows", lambda z, radius: np.full_like(z, fault))
    with np.errstate(invalid="ignore"):
        capped = query._capped(np.zeros((query.image.dim, 20)), rows.labels)
    assert not np.nan_to_num(capped).any()


def test_what_is_no_query_is_refused() -> None:
    image = ProjectedImage(np.zeros((1, 1), np.int64))
    slopes = np.zeros((2, 1), np.int64)
    bad: list[tuple[str, Callable[[], Any]]] = [
        ("slope", lambda: ClippedGradient(image, slopes[:, :0], 4, 1.0)),
        ("slope", lambda: ClippedGradient(image, slopes + LATENT_LIMIT + 1, 4, 1.0)),
        ("radius", lambda: ClippedGradient(image, slopes, 0, 1.0)),
        ("radius", lambda: ClippedGradient(image, slopes, LARGEST_RADIUS, 1.0)),
        ("cap", lambda: ClippedGradient(image, slopes, 4, 0.0)),
        ("cap", lambda: ClippedGradient(image, slopes, 4, 1e-9)),  # nothing is left of it on the grid
        ("cap", lambda: ClippedGradient(image, slopes, 4, 1.5)),
        ("cap", lambda: ClippedGradient(image, slopes, 4, math.nan)),
    ]
    for match, build in bad:
        with pytest.raises(ArgumentError, match=match):
            build()


def test_slopes_of_other_classes_than_the_schema_s_are_refused() -> None:
    query = sure(1.0, 1.0)
    query.check(Public((2,) * 3, 2, 3, values=True))
    for public in (Public((2,) * 3, 3, 3, values=True), Public((2,) * 3, 2, 4, values=True), Public((2,) * 3, 2)):
        with pytest.raises(ArgumentError):
            query.check(public)
