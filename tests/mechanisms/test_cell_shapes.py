"""Cells of classes, and their weights."""

from __future__ import annotations

import numpy as np
from tests.mechanisms.mixture.test_score_components import shapes

from sfumato.encoding.marginals import Marginals
from sfumato.mechanisms.cell_shapes import divide_weights
from sfumato.models.gaussian_mixture import GaussianMixture


def test_class_weights_are_those_of_the_histograms() -> None:
    marginals = Marginals(np.array([30.0, 70.0]), 1.0, (), np.zeros(0), np.zeros(0), ())
    counts = np.array([1.0, 3.0, 50.0, 25.0, 25.0])
    classes = np.array([0, 0, 1, 1, 1])
    weights = divide_weights(marginals.weights, classes, counts)
    made = GaussianMixture(weights, np.zeros((5, 3)), shapes(0, 0, 0, 0, 0), classes)
    np.testing.assert_allclose(made.class_weights, [0.3, 0.7])
    np.testing.assert_allclose(made.weights, [0.075, 0.225, 0.35, 0.175, 0.175])
    assert not made.is_simple
    assert made.members(1).tolist() == [2, 3, 4]
