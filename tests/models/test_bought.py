"""What slicing buys, and where training begins."""

from __future__ import annotations

import numpy as np

from sfumato.models.bought import BoughtRows, BoughtWaves, Space, Start

START = Start.standard(2, 3)


def test_training_begins_with_standard_normals() -> None:
    noise = np.random.default_rng(0).standard_normal((2, 5, 3))
    made = np.einsum("knd,kde->kne", noise, START.skip) + START.shift[:, None]
    assert np.array_equal(made, noise)


def test_coordinates_are_seen_from_each_class_s_middle() -> None:
    basis = np.array([[2.0, 0.0], [1.0, 3.0]])
    space = Space(basis, np.array([[10.0, 0.0], [0.0, 20.0]]), np.eye(2), np.zeros((2, 2)))
    found = space.coordinates(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.array([0, 1, 1]))
    assert found.tolist() == [[12.0, 0.0], [1.0, 23.0], [0.0, 20.0]]


def test_what_was_bought_is_told_in_words() -> None:
    waves = BoughtWaves(np.ones(2), START, np.zeros((7, 3)), np.zeros((2, 14)), np.ones(2))
    assert str(waves) == "class means of 7 cosines and sines"
    rows = BoughtRows(np.ones(2), START, np.zeros((9, 3)), None, 1.0, 2.0, 0.5, 1)
    assert str(rows) == "9 noisy rows"
    sliced = BoughtRows(np.ones(2), START, np.zeros((9, 4)), np.zeros((3, 4)), 1.0, 2.0, 0.5, 1)
    assert str(sliced) == "9 rows in 4 noisy projections"
