"""Moments of values in their own units: the same bounds, and the same independence of rows, as for scores."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.mechanisms.questions import latent_space
from sfumato.private.accounting import Adjacency
from sfumato.private.engines.local import LocalEngine
from sfumato.private.queries.base import FIXED_BITS, LATENT_LIMIT, Batch
from sfumato.private.queries.group_sums import GroupSums, Latent
from sfumato.private.queries.images import AffineImage
from sfumato.private.source import Source
from sfumato.schema.layout import Layout, OrderedBins, bins_of
from sfumato.schema.schema import Number, Schema
from sfumato.tables import open_table

TOP = 1 << FIXED_BITS
SHARES = [(0.05, 0.15, 0.8), (0.05, 0.9, 0.05), (0.3, 0.4, 0.3)]


def batch(rows: list[tuple[list[int], int]], dim: int) -> Batch:
    fixed = np.array([values for values, _ in rows], dtype=np.int32).reshape(-1, dim).T
    return Batch(np.zeros(fixed.shape, dtype=np.int16), np.array([k for _, k in rows], dtype=np.int64), fixed)


@st.composite
def cases(draw: st.DrawFn) -> tuple[GroupSums, list[tuple[list[int], int]], int]:
    dim = draw(st.integers(1, 8))
    place = st.one_of(st.sampled_from([-1, 0, 1, TOP // 2, TOP - 1, TOP]), st.integers(0, TOP))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    factor = 10.0 ** rng.uniform(-6, 3, (2, dim))  # from flat to saturating
    image = AffineImage(np.rint(rng.uniform(-0.5, 1.5, (2, dim)) * TOP), factor)
    maps = [rng.normal(size=(dim, dim)) * 3 for _ in range(2)] if draw(st.booleans()) else None
    radii = draw(st.lists(st.sampled_from([0.01, 1.0, 3.0, 40.0]), min_size=2, max_size=2))
    query = GroupSums(latent_space(image, radii, maps), draw(st.sampled_from(SHARES)), "outer")
    row = st.tuples(st.lists(place, min_size=dim, max_size=dim), st.integers(0, 1))
    return query, draw(st.lists(row, min_size=2, max_size=10)), dim


def moved(query: GroupSums, before: Batch, after: Batch) -> float:
    return float(np.linalg.norm(query.weights * (query.total(after) - query.total(before))))


@settings(deadline=None, max_examples=200)
@given(cases())
def test_no_neighbour_moves_the_moments_beyond_their_bound(
    case: tuple[GroupSums, list[tuple[list[int], int]], int],
) -> None:
    query, (mine, other, *rest), dim = case
    base = batch([mine, *rest], dim)
    relabelled = (mine[0], 1 - mine[1])
    assert moved(query, batch(rest, dim), base) <= query.sensitivity(Adjacency.ADD_REMOVE)
    assert moved(query, base, batch([other, *rest], dim)) <= query.sensitivity(Adjacency.REPLACE_ONE)
    assert moved(query, base, batch([relabelled, *rest], dim)) <= query.sensitivity(Adjacency.LABEL)


class Unclipped(Latent):
    def rows(self, batch: Batch, k: int) -> np.ndarray:
        return self.image.rows(batch, batch.labels == k, k)


def test_rows_that_are_not_clipped_are_caught() -> None:
    image = AffineImage(np.zeros((1, 2)), np.ones((1, 2)))
    query = GroupSums(Unclipped(image, (1,)), SHARES[0], "outer")
    assert moved(query, batch([], 2), batch([([TOP, TOP], 0)], 2)) > query.sensitivity(Adjacency.ADD_REMOVE)


@settings(deadline=None, max_examples=100)
@given(cases())
def test_a_batch_is_the_sum_of_its_rows(case: tuple[GroupSums, list[tuple[list[int], int]], int]) -> None:
    query, rows, dim = case
    alone = sum(query.total(batch([row], dim)) for row in rows)
    assert np.array_equal(query.total(batch(rows, dim)), alone)
    assert np.array_equal(query.total(batch(rows[::-1], dim)), alone)


def test_images_are_whole_saturate_and_put_missing_at_zero() -> None:
    image = AffineImage(np.array([[float(TOP // 2)]]), np.array([[1000.0]]))
    z = image.rows(batch([([0], 0), ([TOP], 0), ([-1], 0), ([TOP // 2 + 1], 0)], 1), np.ones(4, dtype=bool), 0)
    assert z.tolist() == [[-LATENT_LIMIT, LATENT_LIMIT, 0.0, 1000.0]]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_centres_and_factors_must_be_finite(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        AffineImage(np.array([[bad]]), np.ones((1, 1)))


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=20))
def test_a_value_s_place_between_its_bounds_is_its_own(values: list[float]) -> None:
    bins = bins_of(Number(min=-3, max=5))
    assert isinstance(bins, OrderedBins)
    together = bins.fixed(np.array(values), FIXED_BITS)
    assert together.tolist() == [bins.fixed(np.array([value]), FIXED_BITS)[0] for value in values]
    assert ((together >= -1) & (together <= TOP)).all()
    assert [place == -1 for place in together] == [math.isnan(value) for value in values]


@pytest.mark.parametrize("workers", [1, 3])
def test_totals_do_not_depend_on_source_order_or_workers(workers: int) -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(size=500), "b": rng.normal(size=500), "y": rng.choice(["n", "p"], 500)})
    frame.loc[3, "a"], frame.loc[4, "b"] = np.nan, np.inf
    number = {"type": "number", "min": -4, "max": 4, "bins": 20}
    layout = Layout.of(
        Schema.of(
            {"label": "y", "columns": {"a": number, "b": number, "y": {"type": "category", "values": ["n", "p"]}}}
        )
    )
    query = GroupSums(
        latent_space(AffineImage(np.full((2, 2), TOP / 2), np.full((2, 2), 0.002)), [3.0, 3.0]), SHARES[0], "outer"
    )

    def total(table: object, workers: int) -> np.ndarray:
        return LocalEngine(Source(open_table(table), layout, values=True), workers).total(query)

    expected = total(frame, 1)
    assert np.array_equal(total(frame.sample(frac=1.0, random_state=0), workers), expected)
    assert np.array_equal(total(pa.Table.from_pandas(frame).slice(0), workers), expected)
