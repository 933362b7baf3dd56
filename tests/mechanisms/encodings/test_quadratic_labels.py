"""The label model of columns in groups: its noisy steps are as long as they are signal."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.mechanisms.encodings.quadratic_labels import signal


def test_noise_alone_moves_next_to_nothing_and_a_clear_gradient_stays() -> None:
    rng = np.random.default_rng(0)
    noise, sd = rng.standard_normal((200, 4, 60)), np.ones((4, 1))
    still = np.mean([(signal(each, sd) ** 2).sum() / (each**2).sum() for each in noise])
    assert still < 0.02
    clear = 10.0 + noise[0]
    np.testing.assert_allclose(signal(clear, sd), clear, rtol=0.02)


@pytest.mark.parametrize("size", [0.2, 1.0, 3.0])
def test_it_is_nearer_to_the_truth_than_the_noisy_gradient(size: float) -> None:
    rng = np.random.default_rng(1)
    truth = size * rng.standard_normal((4, 60))
    noisy = truth + rng.standard_normal((200, 4, 60))
    before, after = (np.mean([((each - truth) ** 2).sum() for each in part]) for part in (noisy, _all(noisy)))
    assert after < before


def _all(gradients: np.ndarray) -> np.ndarray:
    return np.stack([signal(each, np.ones((4, 1))) for each in gradients])
