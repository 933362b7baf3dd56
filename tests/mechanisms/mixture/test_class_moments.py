"""Noisy looks at moments: where to look, and how looks are put together."""

from __future__ import annotations

import numpy as np
from tests.mechanisms.mixture.test_one_gaussian import equicorrelated, symmetric_noise

from sfumato.mechanisms.mixture.class_moments import Look, Space, choose_space, combine, entry_variance, to_plain
from sfumato.mechanisms.questions import score_image
from sfumato.schema.layout import FloatArray


def test_entry_variance_is_that_of_mapped_noise() -> None:
    a = np.array([[1.0, 0.3, -0.5], [0.0, 2.0, 0.4], [0.7, 0.1, 1.0]])
    mapped = a @ symmetric_noise(3, 2.0, 200_000) @ a.T
    np.testing.assert_allclose(entry_variance(2.0, a @ a.T), mapped.var(axis=0), rtol=0.03)
    np.testing.assert_allclose(entry_variance(2.0, np.eye(2)), [[4.0, 2.0], [2.0, 4.0]])


def look(maps: FloatArray, covariances: FloatArray, sd: float) -> Look:
    classes, dim = covariances.shape[:2]
    return Look(
        maps,
        np.full(classes, 100.0),
        1.0,
        np.zeros((classes, dim)),
        np.ones(classes),
        covariances,
        np.full(classes, sd),
    )


def test_combining_two_flat_looks_is_the_inverse_variance_mean() -> None:
    rng = np.random.default_rng(0)
    flat = np.stack([np.eye(3)] * 2)
    first, second = (np.stack([c + c.T for c in rng.standard_normal((2, 3, 3))]) for _ in range(2))
    covariances, noise = combine(look(flat, first, 2.0), look(flat, second, 1.0))
    np.testing.assert_allclose(covariances, (first / 4.0 + second) / 1.25)
    np.testing.assert_allclose(noise[0], entry_variance(1.0, np.eye(3)) / 1.25)


def test_combining_agreeing_looks_changes_nothing() -> None:
    truth = equicorrelated(3, 0.8)
    a = np.linalg.inv(np.linalg.cholesky(truth))
    final = look(a[None], np.eye(3)[None], 1.0)
    covariances, _ = combine(look(np.eye(3)[None], truth[None], 1.0), final)
    np.testing.assert_allclose(covariances[0], np.eye(3), atol=1e-12)
    np.testing.assert_allclose(to_plain(covariances, final)[0], truth, atol=1e-12)


def test_a_sharp_look_outweighs_a_blurred_one() -> None:
    flat = np.eye(2)[None]
    truth, wrong = equicorrelated(2, 0.5)[None], equicorrelated(2, -0.9)[None]
    np.testing.assert_allclose(combine(look(flat, wrong, 1e4), look(flat, truth, 1.0))[0], truth, atol=1e-6)
    np.testing.assert_allclose(combine(look(flat, truth, 1.0), look(flat, wrong, 1e4))[0], truth, atol=1e-6)


def plain_space(dim: int, spread: float) -> Space:
    return Space.plain(score_image([[np.array([-1.0, 1.0])] * dim]), np.array([spread]))


def test_the_choice_of_space_follows_the_predicted_loss() -> None:
    flat = np.eye(4)[None]
    tight, loose = equicorrelated(4, 0.95)[None], equicorrelated(4, 0.02)[None]
    found = choose_space(plain_space(4, 4.0), tight, look(flat, tight, 0.01), 2.0)
    assert not found.is_plain
    np.testing.assert_allclose(found.maps[0] @ tight[0] @ found.maps[0].T, np.eye(4), atol=1e-9)
    # A space that is as good as white is not worth another clip at a larger radius.
    assert choose_space(plain_space(4, 2.0), loose, look(flat, loose, 0.01), 2.0).is_plain


def test_maps_stay_within_the_grid() -> None:
    nearly = equicorrelated(3, 0.99999)[None]
    found = choose_space(plain_space(3, 3.0), nearly, look(np.eye(3)[None], nearly, 0.01), 2.0)
    assert np.abs(found.maps).max() <= 8.0 + 1e-9
