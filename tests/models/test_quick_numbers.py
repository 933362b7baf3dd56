"""Quick normals and logarithms of uniform numbers are what they say, by Kolmogorov and Smirnov at 1e-6."""

import numpy as np
import pytest
from scipy.stats import expon, kstest, norm

from sfumato.models.quick_numbers import log_uniforms, normals

FALSE_ALARM = 1e-6
MANY = 1_000_000


def test_normals_are_normal_and_a_little_wider_ones_are_not() -> None:
    drawn = normals(np.random.default_rng(0), MANY).astype(float)
    assert kstest(drawn, norm.cdf).pvalue > FALSE_ALARM
    assert kstest(1.02 * drawn, norm.cdf).pvalue < FALSE_ALARM
    assert 4.5 < np.abs(drawn).max() < 6.8


def test_the_two_numbers_of_a_pair_know_nothing_of_each_other() -> None:
    drawn = normals(np.random.default_rng(1), MANY).astype(float)
    first, second = drawn[: MANY // 2], drawn[MANY // 2 :]
    for one, two in ((first, second), (first**2, second**2)):
        assert abs(np.corrcoef(one, two)[0, 1]) < 5 / np.sqrt(MANY // 2)


def test_logarithms_of_uniform_numbers_are_exponential() -> None:
    drawn = -log_uniforms(np.random.default_rng(2), MANY).astype(float)
    assert (drawn >= 0).all()
    assert kstest(drawn, expon.cdf).pvalue > FALSE_ALARM
    assert kstest(drawn * 1.02, expon.cdf).pvalue < FALSE_ALARM


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_there_are_as_many_as_asked_for_and_a_seed_repeats_them(n: int) -> None:
    for draw in (normals, log_uniforms):
        found = draw(np.random.default_rng(3), n)
        assert (found.shape, found.dtype) == ((n,), np.float32)
        np.testing.assert_array_equal(found, draw(np.random.default_rng(3), n))
