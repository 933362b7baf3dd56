"""The sampler against exact arithmetic, and its draws against the exact law."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import chi2

from sfumato.errors import ArgumentError
from sfumato.private import noise
from sfumato.private.noise import Bits, grid_exponent, insecure_bits, noisy, secure_bits

FALSE_ALARM = 1e-6
DRAWS = 2_000_000
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


def draw(total: int, sigma: float, bits: Bits) -> float:
    return float(noisy(np.array([total]), np.array([sigma]), bits)[0])


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
    below = ndtr((cells[1:] - 0.5 - offset) / scale)
    return np.diff(below, prepend=0.0, append=1.0)


def p_value(total: int, sigma: float, bits: Bits, drawn_with: float | None = None) -> float:
    """Chi-square of many draws against the exact rounded Gaussian of sigma, in groups of 2000 or more."""
    sample = noisy(np.full(DRAWS, total), np.full(DRAWS, drawn_with or sigma), bits)
    exponent = grid_exponent(sigma)
    quotient, remainder = divmod(Fraction(total), Fraction(2) ** exponent)
    cells = np.arange(-4000, 4001)
    drawn = np.clip(np.ldexp(sample, -exponent) - int(quotient), cells[0], cells[-1]).astype(np.int64)
    observed = np.bincount(drawn - cells[0], minlength=cells.size)
    offset, scale = float(remainder / Fraction(2) ** exponent), math.ldexp(sigma, -exponent)
    expected = DRAWS * cell_probabilities(offset, scale, cells)
    groups = (np.cumsum(expected) / 2000).astype(np.int64)
    groups = np.minimum(groups, groups[-1] - 1)  # the last group may be too small to stand alone
    seen, meant = np.bincount(groups, observed), np.bincount(groups, expected)
    kept = meant > 0
    statistic = np.sum((seen - meant)[kept] ** 2 / meant[kept])
    return float(chi2.sf(statistic, kept.sum() - 1))


# g < 1, g = 1, g > 1 with a remainder, and a total whose remainder is large.
LAWS = [(5, 3.7), (-17, 256.0), (1_234_567, 1e6), (-(2**61) + 12_345, 3e17)]


@pytest.mark.parametrize(("total", "sigma"), LAWS)
def test_draws_follow_the_rounded_gaussian(total: int, sigma: float) -> None:
    assert p_value(total, sigma, insecure_bits(20)) > FALSE_ALARM


def without_sign(n: int, /) -> bytes:
    return (np.frombuffer(FAULTY(n), "<u8") & np.uint64(TAIL)).tobytes()


def with_short_tails(n: int, /) -> bytes:
    """Half of what lies beyond three sigma is moved up to three sigma."""
    drawn = np.frombuffer(FAULTY(n), "<u8")
    far = ((drawn & np.uint64(TAIL)) < np.uint64(int(ndtr(-3.0) * 2**64))) & (drawn % np.uint64(2) == 0)
    return np.where(far, (drawn & ~np.uint64(TAIL)) | np.uint64(int(ndtr(-3.0) * 2**64)), drawn).tobytes()


FAULTY = insecure_bits(21)


@pytest.mark.parametrize("bits", [without_sign, with_short_tails])
def test_the_statistic_catches_a_faulty_source(bits: Bits) -> None:
    assert p_value(5, 3.7, bits) < FALSE_ALARM


@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_the_statistic_catches_a_wrong_sigma(factor: float) -> None:
    assert p_value(5, 3.7, insecure_bits(20), drawn_with=3.7 * factor) < FALSE_ALARM


# Single draws against exact arithmetic


@given(totals, sigmas, words, words)
@settings(max_examples=300, deadline=None)
def test_a_draw_is_the_exact_sum_rounded_to_the_grid(total: int, sigma: float, word: int, more: int) -> None:
    answer = Fraction(draw(total, sigma, Scripted(word, more)))
    exact = exact_answer(total, sigma, (word, more))
    assert answer % Fraction(2) ** grid_exponent(sigma) == 0
    assert abs(answer - exact) <= abs(exact) * Fraction(1, 2**52)
    if abs(exact) < 2**53 * Fraction(2) ** grid_exponent(sigma):
        assert answer == exact


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
@settings(max_examples=200, deadline=None)
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
    with pytest.raises(ArgumentError, match="int64"):
        noisy(np.zeros(2), np.ones(2), secure_bits)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="one shape"):
        noisy(np.zeros(2, dtype=np.int64), np.ones(3), secure_bits)
