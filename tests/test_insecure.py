"""Repeatable bytes: the same for a seed however they are asked for, others for another seed."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.insecure import insecure_bits

BLOCK = 1 << 16


@pytest.mark.parametrize("sizes", [[1] * 50, [0, 7, 0, 43], [BLOCK, 1], [BLOCK - 1, 2, BLOCK], [3 * BLOCK + 5]])
def test_the_stream_does_not_depend_on_the_sizes_asked_for(sizes: list[int]) -> None:
    bits = insecure_bits(7)
    parts = [bits(size) for size in sizes]
    assert [len(part) for part in parts] == sizes
    assert b"".join(parts) == insecure_bits(7)(sum(sizes))


def test_another_seed_is_another_stream() -> None:
    streams = {insecure_bits(seed)(32) for seed in (0, 1, 2, 12, 2**80, -1)}
    assert len(streams) == 6


def test_blocks_do_not_repeat() -> None:
    stream = insecure_bits(1)(4 * BLOCK)
    assert len({stream[start : start + BLOCK] for start in range(0, len(stream), BLOCK)}) == 4


def test_bits_are_even() -> None:
    ones = np.unpackbits(np.frombuffer(insecure_bits(3)(BLOCK), np.uint8))
    assert abs(ones.mean() - 0.5) < 6 * 0.5 / np.sqrt(len(ones))
