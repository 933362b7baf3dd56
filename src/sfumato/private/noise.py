"""Gaussian noise, drawn exactly.

Formal guarantee. `noisy` returns round_to_grid(total + N(0, sigma^2)) for every coordinate: the real-valued
Gaussian mechanism, followed by rounding to a public grid of step about sigma / 256 to sigma / 512. Rounding
is post-processing, so a query of L2 sensitivity D is (D / sigma)-GDP, and no artefact of floating point
is left for an attacker to read (Mironov 2012). The law of the answer differs from that ideal by at most
`DISTANCE_PER_COORDINATE` in total variation, provided that the bits are uniform and independent, which
`secure_bits` takes from the operating system. The argument, one page: docs/proofs/noise.md.

A coordinate costs one 64-bit word: a sign, and 63 bits of the tail probability of a standard normal. If the
interval of normal values that the word stands for lies inside one grid cell, that cell is the answer. If
not, about once in a million draws, more bits are appended and the decision is made in extended precision.
"""

import math
import os
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sfumato.errors import insist
from sfumato.whole_numbers import joined

DISTANCE_PER_COORDINATE = 2.0**-900
"""Total variation distance between one coordinate of `noisy` and the ideal rounded Gaussian, at most."""

SMALLEST_SIGMA = 2.0**-40
LARGEST_SIGMA = 2.0**70

# sigma is between 2^8 and 2^9 grid steps.
_SIGMA_BITS = 9

NORMAL_BITS = 18
"""Fractional bits of a number that `normals` draws."""

_WORD_BITS = 64
_TAIL_MASK = np.int64(2**63 - 1)

# A tail probability with fewer leading steps than this is known too coarsely to locate its normal value.
_SMALLEST_TAIL = 2**31

# How far the computed normal value may be off: relative for ndtri (seen: 1e-15), absolute for the width of
# the word (3e-10 at _SMALLEST_TAIL, by the Mills ratio) and for the rounding of the sum (1e-14).
_RELATIVE_ERROR = 1e-9
_ABSOLUTE_ERROR = 5e-10

# The slow path gives up after this many words, with probability below 2^-900, and takes its best guess.
_MOST_WORDS = 16

# Extended precision: the bits that mpmath works with, and those of a tail probability that are relied on.
_PRECISION = 1280
_EXACT_BITS = 1200

# Words in one pass: the temporaries of a pass stay in a level 2 cache.
_CHUNK = 1 << 13

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


Bits = Callable[[int], bytes]
"""A source of random bytes: it returns so many that no earlier call returned."""


def secure_bits(n: int, /) -> bytes:
    """Random bytes of the operating system: nothing is buffered, so nothing is shared over a fork."""
    return os.urandom(n)


def noisy(totals: Integers, sigmas: Floats, bits: Bits) -> Floats:
    """Every total plus Gaussian noise of its own sigma, rounded to the grid of that sigma.

    An answer is a multiple of its grid's step g, the power of two with sigma / g in [256, 512). One that needs more
    than 53 bits is rounded to a float: a function of the exact answer alone, so harmless.

    The totals must lie inside (-2^62, 2^62). That is for the caller to ensure by a public cap: it is not checked here,
    because an error that depends on a total would leak. Larger ones come in two limbs along a first axis, joined a few
    at a time: Python's integers take memory by their size. The sigmas are public and checked.

    >>> from sfumato.insecure import insecure_bits
    >>> noisy(np.array([1000, -5]), np.array([2.0, 1e6]), insecure_bits(1)).tolist()
    [1000.53125, -1228800.0]
    """
    totals, sigmas = np.asarray(totals), np.asarray(sigmas)
    alike = sigmas.dtype == np.float64 and totals.shape in (sigmas.shape, (2, *sigmas.shape))
    insist(alike and totals.dtype == np.int64, "totals must be int64 and sigmas float64, both of one shape")
    fits = np.all((sigmas >= SMALLEST_SIGMA) & (sigmas < LARGEST_SIGMA))
    insist(fits, "every sigma must be at least 2^-40 and below 2^70; rescale the query")
    limbs, flat_sigmas, answers = totals.shape[: totals.ndim - sigmas.ndim], sigmas.reshape(-1), np.empty(sigmas.size)
    for start in range(0, sigmas.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        answers[part] = _noisy_chunk(joined(totals.reshape(*limbs, -1)[..., part]), flat_sigmas[part], bits)
    return answers.reshape(sigmas.shape)


def normals(count: int, bits: Bits) -> Integers:
    """Standard normal numbers, each rounded to a multiple of 2^-NORMAL_BITS, as whole numbers in that unit.

    They are drawn as noise is, from a finer grid: the slow path is taken about once in two thousand draws.

    >>> from sfumato.insecure import insecure_bits
    >>> normals(3, insecure_bits(1)).tolist()
    [69485, -322276, 119132]
    """
    found = np.empty(count, dtype=np.int64)
    for start in range(0, count, _CHUNK):
        nothing = np.zeros(min(_CHUNK, count - start), dtype=np.int64)
        found[start : start + _CHUNK] = _drawn(nothing, nothing, np.full(nothing.size, 2.0**NORMAL_BITS), bits)
    return found


def _noisy_chunk(totals: Integers, sigmas: Floats, bits: Bits) -> Floats:
    """With total = g q + t, 0 <= t < g, the answer is g (q + cell), cell = floor(t/g + (sigma/g) z + 1/2)."""
    exponents = np.frexp(sigmas)[1] - _SIGMA_BITS
    scales = np.ldexp(sigmas, -exponents)  # sigma / g, exactly
    coarse = np.maximum(exponents, 0).astype(np.int64)
    remainders = (totals & ((np.int64(1) << coarse) - 1)).astype(np.int64)  # t; it is 0 where g <= 1
    return _on_grid(totals, _drawn(remainders, coarse, scales, bits), exponents)


def _drawn(remainders: Integers, coarse: Integers, scales: Floats, bits: Bits) -> Integers:
    """The cells floor(t/g + (sigma/g) z + 1/2) of fresh normal z, with t/g = remainder / 2^coarse, sigma/g = scale."""
    offsets = np.ldexp(remainders.astype(np.float64), -coarse)  # t / g, to within one rounding
    words = np.frombuffer(bits(8 * scales.size), dtype="<i8", count=scales.size)
    cells, undecided = _cells(words, offsets, scales)
    for i in undecided.tolist():
        offset = Fraction(int(remainders[i]), 1 << int(coarse[i]))
        cells[i] = _exact_cell(int(words[i]), offset, Fraction(float(scales[i])), bits)
    return cells


def _cells(words: Integers, offsets: Floats, scales: Floats) -> tuple[Integers, Integers]:
    """The fast path: the cell of every word, and the indices of the words that it cannot decide.

    The sign bit of a word set means z < 0. The other 63 bits w say that the tail probability
    P(N(0, 1) > |z|) lies in [w, w + 1) 2^-64.
    """
    tails = words & _TAIL_MASK
    below = ndtri((tails.astype(np.float64) + 0.5) * 2.0**-_WORD_BITS)  # -|z|
    margins = scales * (_ABSOLUTE_ERROR - _RELATIVE_ERROR * below)
    places = scales * np.copysign(below, words) + (offsets + 0.5)
    floors = np.floor(places)
    fractions = places - floors
    decided = (fractions > margins) & (fractions < 1.0 - margins) & (tails >= _SMALLEST_TAIL)
    return floors.astype(np.int64), np.flatnonzero(~decided)


def _exact_cell(word: int, offset: Fraction, scale: Fraction, bits: Bits) -> int:
    """The slow path: append words to the tail probability until it is clear of the nearest cell boundary."""
    negative, tail, length = word < 0, word & int(_TAIL_MASK), _WORD_BITS
    place = 0.0
    for _ in range(_MOST_WORDS - 1):
        more = int(np.frombuffer(bits(8), dtype="<u8", count=1)[0])
        tail, length = tail << _WORD_BITS | more, length + _WORD_BITS
        size = -float(ndtri((2 * tail + 1) / (2 << length)))  # |z| at the middle of the interval
        place = float(offset) + 0.5 + float(scale) * (-size if negative else size)
        if tail < _SMALLEST_TAIL:
            continue
        boundary = round(place)  # the only one that the interval can touch: it is far narrower than a cell
        level = (boundary - offset - Fraction(1, 2)) / scale
        beyond = _exceeds(-level if negative else level, tail, length)
        if beyond is not None:
            return boundary if beyond != negative else boundary - 1
    return math.floor(place)


def _exceeds(level: Fraction, tail: int, length: int) -> bool | None:
    """Whether every tail probability in [tail, tail + 1) 2^-length has |z| > level; None if only some have.

    |z| > level means p < Q(level), where Q(x) = erfc(x / sqrt 2) / 2 is the upper tail of a standard normal.
    """
    extended = _extended()
    x = extended.mpf(level.numerator) / level.denominator
    threshold = extended.ldexp(extended.erfc(x / extended.sqrt(2)) / 2, length)
    error = extended.ldexp(threshold, -_EXACT_BITS)
    if tail + 1 <= threshold - error:
        return True
    if tail >= threshold + error:
        return False
    return None


@cache
def _extended() -> Any:
    """Arithmetic of the slow path, in a context of its own; imported when first needed."""
    import mpmath

    context = mpmath.MPContext()
    context.prec = _PRECISION
    return context


def _on_grid(totals: Integers, cells: Integers, exponents: NDArray[np.int32]) -> Floats:
    """g (q + cell) as a float, by way of its whole and fractional parts, so that no integer overflows.

    Of an int64 q + cell is one where g >= 1. Where g = 2^-m < 1 it may not be, but the floor of the answer,
    total + floor(cell 2^-m), is, and the rest is the low m bits of the cell. Either pair is a function of
    q + cell alone, hence so is the float made from it, however it rounds.
    """
    coarse = np.maximum(exponents, 0)
    fine = np.maximum(-exponents, 0)
    whole = (totals >> coarse) + (cells >> fine)
    rest = cells & ((np.int64(1) << fine) - 1)
    return np.ldexp(whole.astype(np.float64) + np.ldexp(rest.astype(np.float64), -fine), coarse)
