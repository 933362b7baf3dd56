"""Mixed rows as numbers: there and back, and what a network makes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.errors import ArgumentError, MissingExtraError
from sfumato.published import row_generator
from sfumato.published.row_generator import Encoding, LabelledRows, limits, trainers

ENCODING = Encoding(np.array([-3.0, 0.0]), np.array([3.0, 8.0]), (3, 2))
SIGMAS = 5.5


def test_rows_come_back_as_they_were_but_for_what_is_out_of_bounds() -> None:
    numbers, codes = np.array([[-1.0, 2.0], [9.0, -9.0]]), np.array([[2, 0], [1, 7]])
    encoded = ENCODING.encode(numbers, codes)
    np.testing.assert_allclose(encoded, [[1 / 3, 0.25, 0, 0, 1, 1, 0], [1, 0, 0, 1, 0, 0, 0]])
    back, coded = ENCODING.decode(encoded[:1], np.random.default_rng(0))
    np.testing.assert_allclose(back, numbers[:1])
    np.testing.assert_array_equal(coded, codes[:1])


def test_a_class_is_one_category_more() -> None:
    table = LabelledRows(np.array([[0.5]]), np.array([[1]]), np.array([0]), 3, (0.0, 1.0), (2,))
    assert (len(table), table.encoding.levels) == (1, (2, 3))
    np.testing.assert_array_equal(table.encoded, [[0.5, 0, 1, 1, 0, 0]])


def test_categories_are_drawn_by_their_probabilities() -> None:
    shares = np.array([0.2, 0.5, 0.3])
    encoded = np.tile(np.concatenate([[0.5, 0.5], shares, [0.0, 1.0]]), (4000, 1))
    _, codes = ENCODING.decode(encoded, np.random.default_rng(1))
    found = np.bincount(codes[:, 0], minlength=3) / 4000
    assert (np.abs(found - shares) < SIGMAS * np.sqrt(shares * (1 - shares) / 4000)).all()
    assert (codes[:, 1] == 1).all()


def test_a_network_makes_encoded_rows() -> None:
    rng = np.random.default_rng(2)
    weights = ENCODING.weights(5, 400, rng)
    assert [matrix.shape for matrix, _ in weights] == [(5, 400), (400, 400), (400, ENCODING.width)]
    assert weights[1][0].std() == pytest.approx(math.sqrt(2 / 400), rel=0.02)
    made = np.asarray(ENCODING.generate(weights, rng.standard_normal((50, 5), dtype=np.float32)))
    assert made.shape == (50, 7)
    assert ((made >= 0.0) & (made <= 1.0)).all()
    np.testing.assert_allclose([made[:, 2:5].sum(axis=1), made[:, 5:].sum(axis=1)], 1.0, rtol=1e-5)


def test_bad_arguments_and_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    np.testing.assert_array_equal(limits((0.0, np.array([1.0, 2.0])), 2), [[0.0, 0.0], [1.0, 2.0]])
    with pytest.raises(ArgumentError, match="low below high"):
        limits((1.0, 1.0), 2)
    with pytest.raises(ArgumentError, match="levels"):
        LabelledRows(np.zeros((3, 1)), np.zeros((3, 2), dtype=int), np.zeros(3, dtype=int), 2, (0.0, 1.0), (2,))
    assert [module.__name__ for module in trainers("this", "sfumato.training.ntk")][1:] == [
        "optax",
        "sfumato.training.ntk",
    ]

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(row_generator, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"this needs an extra: pip install sfumato\[train\]"):
        trainers("this")
