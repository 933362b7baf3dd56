"""Buckets against a binary search."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.encoding.thresholds import MANY_IN_BUCKET, Thresholds
from sfumato.schema.layout import FloatArray

numbers = st.floats(allow_nan=False)


def searched(thresholds: FloatArray, x: FloatArray) -> list[int]:
    return np.searchsorted(thresholds, x, "right").tolist()


@given(st.lists(numbers, max_size=12), st.lists(numbers, max_size=12))
def test_the_count_is_that_of_a_binary_search(thresholds: list[float], others: list[float]) -> None:
    edges = np.sort(np.array(thresholds, dtype=np.float64))
    x = np.array([*thresholds, *others, -np.inf, np.inf, 0.0])
    assert Thresholds(edges).not_above(x).tolist() == searched(edges, x)


@pytest.mark.parametrize("size", [0, 1, 2, 15, 256, 2000])
def test_many_thresholds_and_their_neighbours(size: int) -> None:
    rng = np.random.default_rng(size)
    edges = np.sort(rng.standard_normal(size))
    near = np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)])
    x = np.concatenate([near, rng.normal(0, 2, 5000)])
    assert Thresholds(edges).not_above(x).tolist() == searched(edges, x)


def test_thresholds_that_no_bucket_tells_apart() -> None:
    edges = np.sort(np.concatenate([np.full(2 * MANY_IN_BUCKET, 0.3), [0.0, 1.0]]))
    x = np.array([0.0, 0.1, 0.3, 0.5, 1.0, 2.0])
    assert Thresholds(edges).not_above(x).tolist() == searched(edges, x)
