"""What a file says of an array before it is read."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.arrays import ArraySpec


@pytest.mark.parametrize("shape", [(), (0,), (7,), (2, 3), (4, 0, 5), (2, 3, 4)])
def test_a_spec_counts_the_numbers(shape: tuple[int, ...]) -> None:
    assert ArraySpec(shape).size == np.empty(shape).size


def test_no_size_is_too_large_to_be_counted() -> None:
    assert ArraySpec((2**40, 2**40)).size == 2**80  # more than an int64 holds: a file may say so


def test_numbers_are_floats_unless_said() -> None:
    assert ArraySpec((1,)) == ArraySpec((1,), np.float64) != ArraySpec((1,), np.int64)
