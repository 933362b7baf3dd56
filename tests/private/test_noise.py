"""The sampler against exact arithmetic, and its draws against the exact law."""

import math
import tracemalloc
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from benchmarks.noise import grid_exponent, merged
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import binomtest, chi2
from tests.examples import some

from sfumato.errors import ArgumentError
from sfumato.insecure import insecure_bits
from sfumato.private import noise
from sfumato.private.noise import Bits, noisy, secure_bits
from sfumato.whole_numbers import LIMB, joined

FALSE_ALARM = 1e-6
DRAWS = 1_000_000
TAIL = 2**63 - 1
ALL_ONES = 2**64 - 1

words = st.integers(0, ALL_ONES)
totals = st.integers(-(2**62) + 1, 2**62 - 1)
sigmas = st.floats(noise.SMALLEST_SIGMA, noise.LARGEST_SIGMA, exclude_max=True)


class Scripted:
    """A source that returns the words given, then 1000... in binary, and remembers how many were taken."""

    def __init__(self, *script: int) -> None:
        self.script = (*script, 2**63, *[0] * 16)
        self.taken = 0

    def __call__(self, n: int, /) -> bytes:
        first, self.taken = self.taken, self.taken + n // 8
        return b"".join(word.to_bytes(8, "little") for word in self.script[first : self.taken])


def draw(total: int, sigma: float, bits: Bits, in_limbs: bool = False) -> float:
    totals = np.array([[limb] for limb in divmod(total, LIMB)]) if in_limbs else np.array([total])
    return float(noisy(totals, np.array([sigma]), bits)[0])


def upper_tail(x: Fraction) -> mpmath.mpf:
    return mpmath.erfc(mpmath.mpf(x.numerator) / x.denominator / mpmath.sqrt(2)) / 2


def exact_answer(total: int, sigma: float, script: tuple[int, ...]) -> Fraction:
    """The multiple of the grid step nearest to total + sigma z, z from Scripted(*script) by root finding."""
    with mpmath.workprec(64 * len(script) + 300):
        digits = (script[0] & TAIL, *script[1:], 2**63)
        p = mpmath.fsum(mpmath.ldexp(digit, -64 * (i + 1)) for i, digit in enumerate(digits))
        z = mpmath.mpf(float(ndtri(float(p))))
        for _ in range(8):  # Newton on Phi(z) = p doubles the digits of z each time
            z -= (mpmath.erfc(-z / mpmath.sqrt(2)) / 2 - p) / mpmath.npdf(z)
        z = z if script[0] > TAIL else -z
        step = mpmath.mpf(2) ** grid_exponent(sigma)
        steps = mpmath.floor((total + sigma * z) / step + 0.5)
    return int(steps) * Fraction(2) ** grid_exponent(sigma)


# The law of the draws


def cell_probabilities(offset: float, scale: float, cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(floor(offset + scale z + 1/2) = cell) for a run of cells; the outer two take the rest."""
    edges = np.concatenate([[-np.inf], (cells[1:] - 0.5 - offset) / scale, [np.inf]])
    # In each half from its own tail, where a difference keeps its digits.
    return np.where(edges[:-1] < 0, np.diff(ndtr(edges)), -np.diff(ndtr(-edges)))


def offset_and_scale(total: int, sigma: float) -> tuple[int, float, float]:
    """The grid point at or below the total, how many steps beyond it the total lies, and the steps in a sigma."""
    step = Fraction(2) ** grid_exponent(sigma)
    quotient, remainder = divmod(Fraction(total), step)
    return quotient, float(remainder / step), math.ldexp(sigma, -grid_exponent(sigma))


def cells_of(sample: NDArray[np.float64], total: int, sigma: float) -> NDArray[np.float64]:
    """Answers in grid steps from the grid point at or below the total: whole numbers, if all is well."""
    return np.ldexp(sample, -grid_exponent(sigma)) - offset_and_scale(total, sigma)[0]


FINE, COARSE = 20.0, 20_000.0
"""Expected draws in a group: single cells show what is skipped, wide groups a slight stretch."""


def chi_square(seen: NDArray[np.int64], expected: NDArray[np.float64]) -> float:
    """The smaller p-value of the two groupings, doubled because there are two."""
    found = []
    for least in (FINE, COARSE):
        groups = merged(expected, least)
        observed, meant = np.bincount(groups, seen), np.bincount(groups, expected)
        found.append(chi2.sf(((observed - meant) ** 2 / meant).sum(), len(meant) - 1))
    return 2.0 * float(min(found))


def p_value(sample: NDArray[np.float64], total: int, sigma: float) -> float:
    """Chi-square of many answers against the exact rounded Gaussian of sigma."""
    cells = np.arange(-4000, 4001)
    drawn = np.clip(cells_of(sample, total, sigma), cells[0], cells[-1]).astype(np.int64)
    seen = np.bincount(drawn - cells[0], minlength=cells.size)
    _, offset, scale = offset_and_scale(total, sigma)
    return chi_square(seen, len(sample) * cell_probabilities(offset, scale, cells))


def draws(total: int, sigma: float, bits: Bits) -> NDArray[np.float64]:
    return noisy(np.full(DRAWS, total), np.full(DRAWS, sigma), bits)


# g < 1, g = 1, g > 1 with a remainder, and a total whose remainder is large.
LAWS = [(5, 3.7), (-17, 256.0), (1_234_567, 1e6), (-(2**61) + 12_345, 3e17)]


@pytest.mark.parametrize(("total", "sigma"), LAWS)
def test_draws_follow_the_rounded_gaussian(total: int, sigma: float) -> None:
    assert p_value(draws(total, sigma, insecure_bits(20)), total, sigma) > FALSE_ALARM


def test_cells_near_the_middle_stand_alone() -> None:
    for total, sigma in LAWS:
        _, offset, scale = offset_and_scale(total, sigma)
        expected = DRAWS * cell_probabilities(offset, scale, np.arange(-4000, 4001))
        assert np.bincount(merged(expected, FINE), expected).min() >= FINE
        assert (np.bincount(merged(expected, FINE)) == 1).sum() > 4 * scale  # from -2 to 2 sigma, at least


THREE_SIGMA = np.uint64(int(ndtr(-3.0) * 2**64))


def without_sign(n: int, /) -> bytes:
    return (np.frombuffer(FAULTY(n), "<u8") & np.uint64(TAIL)).tobytes()


def with_short_tails(n: int, /) -> bytes:
    """Half of what lies beyond three sigma is moved up to three sigma."""
    drawn = np.frombuffer(FAULTY(n), "<u8")
    far = ((drawn & np.uint64(TAIL)) < THREE_SIGMA) & (drawn % np.uint64(2) == 0)
    return np.where(far, (drawn & ~np.uint64(TAIL)) | THREE_SIGMA, drawn).tobytes()


def with_one_tail(n: int, /) -> bytes:
    """What lies beyond three sigma on the left changes its sign."""
    drawn = np.frombuffer(FAULTY(n), "<u8")
    far = (drawn & np.uint64(TAIL)) < THREE_SIGMA
    return np.where(far, drawn & np.uint64(TAIL), drawn).tobytes()


FAULTY = insecure_bits(21)


@pytest.mark.parametrize("bits", [without_sign, with_short_tails, with_one_tail])
def test_the_statistic_catches_a_faulty_source(bits: Bits) -> None:
    assert p_value(draws(5, 3.7, bits), 5, 3.7) < FALSE_ALARM


@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_the_statistic_catches_a_wrong_sigma(factor: float) -> None:
    assert p_value(draws(5, 3.7 * factor, insecure_bits(20)), 5, 3.7) < FALSE_ALARM


def cast_short(cells: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Through a float of so many binary digits: from 2^digits on, every other cell is skipped."""
    mantissa, exponent = np.frexp(cells)
    return np.ldexp(np.rint(np.ldexp(mantissa, digits)), exponent - digits)


def test_the_statistic_catches_a_cast_that_skips_cells() -> None:
    sample = cast_short(draws(0, 256.0, insecure_bits(20)), digits=8)  # the grid step is 1
    assert p_value(sample, 0, 256.0) < FALSE_ALARM


# Farther out than any number of draws goes: the law given that |z| is beyond the tail of 2^-48, about 7.96 sigma.

DEEP, DEEP_DRAWS = 48, 1000
DEEP_STREAM = insecure_bits(23)


def deep_bits(n: int, /, keep: int = ALL_ONES) -> bytes:
    """Words whose leading DEEP digits of the tail probability are zero; the words of the slow path as they come."""
    drawn = np.frombuffer(DEEP_STREAM(n), "<u8")
    mask = (ALL_ONES >> DEEP | 1 << 63) & keep
    return (drawn & np.uint64(mask)).tobytes() if n > 8 else drawn.tobytes()


def with_53_digits(n: int, /) -> bytes:
    """What a float between 0 and 1 has: its tails come in steps of 2^-53, here 32 of them."""
    return deep_bits(n, keep=ALL_ONES << 11 & ALL_ONES) if n > 8 else (2**63).to_bytes(8, "little")


def deep_p_value(bits: Bits, sigma: float) -> float:
    answers = noisy(np.zeros(DEEP_DRAWS, dtype=np.int64), np.full(DEEP_DRAWS, sigma), bits)
    scale = math.ldexp(sigma, -grid_exponent(sigma))
    start = -float(ndtri(2.0**-DEEP))
    cells = np.arange(math.floor(start * scale + 0.5), math.floor((start + 2) * scale))
    edges = np.concatenate([[start], (cells[1:] - 0.5) / scale, [np.inf]])
    drawn = np.abs(cells_of(answers, 0, sigma)).astype(np.int64)
    assert drawn.min() >= cells[0]
    seen = np.bincount(np.minimum(drawn, cells[-1]) - cells[0], minlength=len(cells))
    expected = -np.diff(ndtr(-edges)) * 2.0**DEEP * DEEP_DRAWS
    groups = merged(expected, FINE)
    observed, meant = np.bincount(groups, seen), np.bincount(groups, expected)
    return float(chi2.sf(((observed - meant) ** 2 / meant).sum(), len(meant) - 1))


def test_the_far_tail_has_no_steps() -> None:
    assert deep_p_value(deep_bits, 500.0) > FALSE_ALARM


@pytest.mark.slow
def test_the_statistic_catches_a_tail_of_53_digits() -> None:
    assert deep_p_value(with_53_digits, 500.0) < FALSE_ALARM


# The grid


def is_on_grid(sample: NDArray[np.float64], sigma: float) -> bool:
    steps = np.ldexp(sample, -grid_exponent(sigma))
    return bool((steps == np.rint(steps)).all())


def has_no_gap(sample: NDArray[np.float64], total: int, sigma: float) -> bool:
    """Whether every cell within two sigma was hit; each is expected a hundred times or more."""
    _, offset, scale = offset_and_scale(total, sigma)
    near = cells_of(sample, total, sigma)
    near = near[np.abs(near - offset) <= 2 * scale]
    return len(np.unique(near)) == np.ptp(near) + 1 >= 4 * scale - 1


@pytest.mark.parametrize(("total", "sigma"), LAWS)
def test_answers_sit_on_every_grid_point_and_nowhere_else(total: int, sigma: float) -> None:
    sample = draws(total, sigma, insecure_bits(24))
    assert is_on_grid(sample, sigma)
    assert has_no_gap(sample, total, sigma)


def test_answers_off_the_grid_or_with_gaps_are_seen() -> None:
    sigma = 256.0
    plain = sigma * np.random.default_rng(0).standard_normal(DRAWS)
    assert not is_on_grid(plain, sigma)
    assert not is_on_grid(np.append(np.rint(plain), 0.5), sigma)  # one among many
    assert has_no_gap(np.rint(plain), 0, sigma)
    assert not has_no_gap(cast_short(np.rint(plain), digits=8), 0, sigma)


# Another library: OpenDP's discrete Gaussian of the same sigma on the same grid.
#
# It is another law: a cell's probability is proportional to the density at its middle, while a rounded Gaussian
# integrates the density over the cell. With s steps in a sigma, the integral over a cell z sigmas out is
# 1 + (z^2 - 1) / (24 s^2) + O(z^4 / s^4) times the middle's. For s >= 256 that is 1 + 6.4e-7 (z^2 - 1): the variances
# differ by 1/12 of a squared step, the laws by 3.1e-7 in total variation, and two samples would have to be of 10^13
# draws to show it. So samples of the two must look like samples of one law.

OPENDP_DRAWS = 100_000
STEPS = 300.0  # in a sigma, on a grid of step 1


@pytest.fixture(scope="module")
def theirs() -> NDArray[np.int64]:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    return np.array(dp.m.make_gaussian(*space, scale=STEPS)([0] * OPENDP_DRAWS))


def rounded_gaussian(sigma: float, size: int) -> NDArray[np.int64]:
    assert grid_exponent(sigma) == 0
    return noisy(np.zeros(size, dtype=np.int64), np.full(size, sigma), secure_bits).astype(np.int64)


def two_sample_p_values(ours: NDArray[np.int64], theirs: NDArray[np.int64], scale: float) -> dict[str, float]:
    """Cell counts, mean, variance and far tails of two samples, as if both came from one law."""
    cells = np.arange(-3000, 3001)
    groups = merged(len(theirs) * cell_probabilities(0.0, scale, cells), FINE)
    a, b = (
        np.bincount(groups, np.bincount(np.clip(sample, -3000, 3000) + 3000, minlength=len(cells)))
        for sample in (ours, theirs)
    )
    n, m = len(ours), len(theirs)
    statistic = ((math.sqrt(m / n) * a - math.sqrt(n / m) * b) ** 2 / (a + b)).sum()
    error = math.sqrt(1 / n + 1 / m)
    mean = (ours.mean() - theirs.mean()) / scale / error
    variance = (np.mean(ours**2.0) - np.mean(theirs**2.0)) / scale**2 / (math.sqrt(2) * error)
    found = {
        "cells": float(chi2.sf(statistic, len(a) - 1)),
        "mean": float(2 * ndtr(-abs(mean))),
        "variance": float(2 * ndtr(-abs(variance))),
    }
    for far in (3, 4):
        beyond = [int((np.abs(sample) > far * scale).sum()) for sample in (ours, theirs)]
        found[f"beyond {far} sigma"] = float(binomtest(beyond[0], sum(beyond), n / (n + m)).pvalue)
    return found


@pytest.mark.slow
def test_opendp_draws_from_nearly_the_same_law(theirs: NDArray[np.int64]) -> None:
    found = two_sample_p_values(rounded_gaussian(STEPS, DRAWS), theirs, STEPS)
    assert min(found.values()) > FALSE_ALARM / len(found), found


@pytest.mark.slow
def test_the_comparison_with_opendp_catches_a_wrong_sigma(theirs: NDArray[np.int64]) -> None:
    assert min(two_sample_p_values(rounded_gaussian(1.03 * STEPS, DRAWS), theirs, STEPS).values()) < FALSE_ALARM


@pytest.mark.parametrize("scale", [256.0, 300.0, 511.9])
def test_a_rounded_and_a_discrete_gaussian_differ_as_little_as_said(scale: float) -> None:
    cells = np.arange(-math.ceil(9 * scale), math.ceil(9 * scale) + 1)
    rounded = cell_probabilities(0.0, scale, cells)
    discrete = np.exp(-((cells / scale) ** 2) / 2)
    discrete /= discrete.sum()
    inner = np.abs(cells) <= 8 * scale
    z = cells[inner] / scale
    first_order = (z**2 - 1) / (24 * scale**2)
    difference = rounded[inner] / discrete[inner] - 1
    assert np.abs(difference - first_order).max() < 1e-3 * np.abs(first_order).max()
    assert np.abs(rounded - discrete).sum() / 2 < 3.2e-7
    assert (rounded - discrete) @ cells**2.0 == pytest.approx(1 / 12, rel=1e-3)


# Single draws against exact arithmetic


def check_exact(total: int, sigma: float, word: int, more: int, in_limbs: bool) -> None:
    answer = Fraction(draw(total, sigma, Scripted(word, more), in_limbs))
    exact = exact_answer(total, sigma, (word, more))
    assert answer % Fraction(2) ** grid_exponent(sigma) == 0
    assert abs(answer - exact) <= abs(exact) * Fraction(1, 2**52)
    if abs(exact) < 2**53 * Fraction(2) ** grid_exponent(sigma):
        assert answer == exact


@given(totals, sigmas, words, words)
@settings(max_examples=some(300), deadline=None)
def test_a_draw_is_the_exact_sum_rounded_to_the_grid(total: int, sigma: float, word: int, more: int) -> None:
    check_exact(total, sigma, word, more, in_limbs=False)
    assert draw(total, sigma, Scripted(word, more), in_limbs=True) == draw(total, sigma, Scripted(word, more))


@given(st.integers(-(2**68), 2**68), sigmas, words, words)
@settings(max_examples=some(150), deadline=None)
def test_so_is_one_of_a_total_beyond_an_int64(total: int, sigma: float, word: int, more: int) -> None:
    check_exact(total, sigma, word, more, in_limbs=True)


def test_every_coordinate_gets_its_own_word_sigma_and_total() -> None:
    size = 3 * noise._CHUNK + 17
    many_totals = np.arange(size) * 12_345 - 10**8
    many_sigmas = np.geomspace(0.01, 1e9, size)
    script = np.frombuffer(insecure_bits(3)(8 * size), "<u8")
    answers = noisy(many_totals.reshape(1, -1), many_sigmas.reshape(1, -1), insecure_bits(3))
    assert answers.shape == (1, size)
    for i in range(0, size, 97):
        assert answers[0, i] == draw(int(many_totals[i]), float(many_sigmas[i]), Scripted(int(script[i])))


def word_of(cell: int, scale: float) -> int:
    """A word whose z lies in the middle of a cell."""
    return int(ndtr(-abs(cell) / scale) * 2**64) - 2**20 + (cell < 0) * 2**63


def test_answers_that_do_not_fit_a_float_are_rounded_from_the_exact_answer_alone() -> None:
    """Totals and noises that sum up to one exact answer give one float; adding rounded terms would not."""
    sigma, step = 200.0, 0.5
    seen: dict[Fraction, set[float]] = {}
    naive: dict[Fraction, set[float]] = {}
    for total in range(2**54, 2**54 + 16):
        for cell in range(-20, 20):
            exact = total + cell * Fraction(step)
            seen.setdefault(exact, set()).add(draw(total, sigma, Scripted(word_of(cell, sigma / step))))
            naive.setdefault(exact, set()).add(float(total) + cell * step)
    assert all(len(floats) == 1 for floats in seen.values())
    assert any(len(floats) > 1 for floats in naive.values())


# The slow path


@given(st.integers(0, 2**40), sigmas, words)
@settings(max_examples=some(200), deadline=None)
def test_slow_and_fast_path_agree_where_both_decide(steps: int, sigma: float, word: int) -> None:
    scale = math.ldexp(sigma, -grid_exponent(sigma))
    offset = steps / 2**40 % 1
    signed = np.array([word], dtype=np.uint64).view(np.int64)
    cells, undecided = noise._cells(signed, np.array([offset]), np.array([scale]))
    for more in (0, ALL_ONES):
        slow = noise._exact_cell(int(signed[0]), Fraction(offset), Fraction(scale), Scripted(more))
        assert undecided.size or slow == cells[0]


def boundary_script(cell: int, sigma: float, length: int, *, negative: bool) -> list[int]:
    """The first words of the tail probability at which |z| passes from one cell to the next."""
    with mpmath.workprec(2000):
        level = (Fraction(abs(cell)) - Fraction(1, 2)) * Fraction(2) ** grid_exponent(sigma) / Fraction(sigma)
        bits = int(mpmath.floor(upper_tail(level) * mpmath.mpf(2) ** (64 * length)))
    script = [bits >> 64 * (length - 1 - i) & ALL_ONES for i in range(length)]
    script[0] |= negative << 63
    return script


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("length", [1, 2, 5, 15])
@pytest.mark.parametrize(("cell", "sigma"), [(1, 1.0), (300, 3.7), (2000, 511.0), (900, 1e9)])
def test_words_on_a_boundary_are_decided_by_the_bits_that_follow(
    cell: int, sigma: float, length: int, negative: bool
) -> None:
    script = boundary_script(cell, sigma, length, negative=negative)
    step = math.ldexp(1.0, grid_exponent(sigma)) * (-1 if negative else 1)
    outside, inside = Scripted(*script, 0), Scripted(*script, ALL_ONES)
    assert draw(0, sigma, outside) == cell * step
    assert draw(0, sigma, inside) == (cell - 1) * step
    assert outside.taken > length
    assert inside.taken > length


def test_a_word_that_never_leaves_the_boundary_ends_after_the_last_word() -> None:
    bits = Scripted(*boundary_script(300, 3.7, 16, negative=False))
    assert draw(0, 3.7, bits) * 2.0 ** -grid_exponent(3.7) in (299, 300)
    assert bits.taken == 16


@pytest.mark.parametrize(("word", "sign"), [(0, 1), (2**31 - 1, 1), (2**63, -1), (2**63 + 5, -1)])
def test_far_tails_take_more_bits(word: int, sign: int) -> None:
    bits = Scripted(word, 2**60)
    assert Fraction(draw(7, 10.0, bits)) == exact_answer(7, 10.0, (word, 2**60))
    assert bits.taken == 2
    assert sign * draw(7, 10.0, Scripted(word, 2**60)) > 50


def test_an_interval_about_as_wide_as_a_cell_is_not_decided_by_its_nearest_boundary() -> None:
    """Seen from the middle of [30, 31) 2^-128 the far end is farther; here it alone passes a boundary."""
    near, middle, far = -ndtri(np.array([31.0, 30.5, 30.0]) * 2.0**-128)
    scale = 1.0 / (far - near)
    place = (0.5 + scale * (middle - near)) / 2  # nearer to 0 than to 1, but only far is beyond either
    offset = (place - 0.5 - scale * middle) % 1.0
    cells = [
        noise._exact_cell(0, Fraction(float(offset)), Fraction(float(scale)), Scripted(30, more))
        for more in (0, ALL_ONES)
    ]
    assert 256 <= scale < 512
    assert cells[0] == cells[1] + 1


def test_a_stuck_source_ends() -> None:
    assert 30 < draw(0, 1.0, Scripted(*[0] * 16)) < 40


def test_a_source_that_returns_too_little_is_an_error() -> None:
    for served in ([b""], [bytes(8), b""]):
        pieces = iter(served)
        with pytest.raises(ValueError, match="buffer"):
            draw(0, 1.0, lambda n, pieces=pieces: next(pieces))


def test_the_slow_path_is_rare_and_reached() -> None:
    requested = 0
    stream = insecure_bits(22)

    def counted(n: int, /) -> bytes:
        nonlocal requested
        requested += n // 8
        return stream(n)

    size = 1 << 22
    noisy(np.zeros(size, dtype=np.int64), np.full(size, 1.9), counted)
    assert 1 <= requested - size <= 30  # five are expected


# What the error budget takes for granted


def test_ndtri_is_far_better_than_assumed() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate(
        [
            2.0 ** rng.uniform(-1020, -1, 1500),
            rng.uniform(0, 0.5, 1500),
            0.5 - 2.0 ** -rng.uniform(2, 50, 300),
            math.exp(-2) + rng.uniform(-1e-6, 1e-6, 200),  # its approximations change over here
        ]
    )
    with mpmath.workprec(160):
        for p in points.tolist():
            z = mpmath.mpf(float(ndtri(p)))
            newton = (mpmath.erfc(-z / mpmath.sqrt(2)) / 2 - p) / mpmath.npdf(z)
            assert abs(newton) < 1e-3 * noise._RELATIVE_ERROR * abs(z)


def test_the_word_is_narrower_than_assumed() -> None:
    """The Mills ratio bound, at the coarsest word that the fast path takes."""
    ends = np.array([noise._SMALLEST_TAIL, noise._SMALLEST_TAIL + 1]) * 2.0**-64
    mills = math.sqrt(math.pi / 2) / noise._SMALLEST_TAIL / 2
    assert -np.diff(-ndtri(ends))[0] / 2 <= mills < 0.6 * noise._ABSOLUTE_ERROR


def test_extended_precision_is_better_than_assumed() -> None:
    extended = noise._extended()
    for x in np.random.default_rng(0).uniform(-38, 38, 40).tolist():
        with mpmath.workprec(2 * noise._PRECISION):
            error = mpmath.mpf(extended.erfc(extended.mpf(x))) / mpmath.erfc(x) - 1
            assert abs(error) < mpmath.mpf(2) ** -(noise._EXACT_BITS + 40)


# Sources, grid and arguments


def test_seeds_reproduce_and_differ() -> None:
    zeros, ones = np.zeros(100, dtype=np.int64), np.ones(100)
    first = noisy(zeros, ones, insecure_bits(1))
    assert np.array_equal(first, noisy(zeros, ones, insecure_bits(1)))
    assert not np.array_equal(first, noisy(zeros, ones, insecure_bits(2)))


def test_secure_draws_differ() -> None:
    zeros, ones = np.zeros(100, dtype=np.int64), np.ones(100)
    assert not np.array_equal(noisy(zeros, ones, secure_bits), noisy(zeros, ones, secure_bits))


@given(st.integers(), st.lists(st.integers(0, 200_000), max_size=5))
@settings(max_examples=30, deadline=None)
def test_the_insecure_stream_does_not_depend_on_request_sizes(seed: int, sizes: list[int]) -> None:
    stream = insecure_bits(seed)
    assert b"".join(stream(n) for n in sizes) == insecure_bits(seed)(sum(sizes))


@given(sigmas)
@settings(deadline=None)
def test_sigma_is_256_to_512_grid_steps(sigma: float) -> None:
    assert 256 <= Fraction(sigma) / Fraction(2) ** grid_exponent(sigma) < 512


def test_empty_and_zero_dimensional_arrays() -> None:
    assert noisy(np.zeros((0, 3), dtype=np.int64), np.zeros((0, 3)), secure_bits).shape == (0, 3)
    assert noisy(np.array(3), np.array(1.0), secure_bits).shape == ()


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf, 2.0**-41, 2.0**70])
def test_a_sigma_out_of_range_is_refused(sigma: float) -> None:
    with pytest.raises(ArgumentError, match="every sigma must be"):
        draw(0, sigma, secure_bits)


def test_wrong_types_and_shapes_are_refused() -> None:
    with pytest.raises(ArgumentError, match="must be int64"):
        noisy(np.zeros(2), np.ones(2), secure_bits)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="one shape"):
        noisy(np.zeros(2, dtype=np.int64), np.ones(3), secure_bits)


def peak_of_noise(total: int, together: bool = False) -> int:
    """Bytes at the most while noise is drawn on so many numbers in limbs."""
    many = 100_000
    limbs = np.stack([np.full(many, total // LIMB), np.full(many, total % LIMB)])
    sigmas = np.full(many, 1e6)
    tracemalloc.start()
    found = joined(limbs) if together else noisy(limbs, sigmas, insecure_bits(1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == many
    return peak


def test_memory_does_not_tell_what_is_in_limbs() -> None:
    """Python keeps small integers ready and makes large ones: of a few thousand at a time that is little."""
    noisy(np.zeros((2, 1), np.int64), np.ones(1), insecure_bits(1))
    assert abs(peak_of_noise(1 << 60) - peak_of_noise(0)) < 1 << 20


def test_joined_all_at_once_they_would() -> None:
    assert peak_of_noise(1 << 60, together=True) - peak_of_noise(0, together=True) > 2 << 20


@pytest.mark.parametrize("sigma", [2.0**-39, 3.7, 2.0**30, 2.0**69])
def test_limbs_are_told_like_the_numbers_that_they_stand_for(sigma: float) -> None:
    values = np.random.default_rng(2).integers(-(1 << 60), 1 << 60, 50)
    limbs = np.stack(np.divmod(values, LIMB)) + np.array([[-5], [5 * LIMB]])  # the same numbers in other limbs
    sigmas = np.full(50, sigma)
    assert noisy(limbs, sigmas, insecure_bits(3)).tolist() == noisy(values, sigmas, insecure_bits(3)).tolist()
