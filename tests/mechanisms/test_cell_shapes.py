"""Cells of classes, their weights, and shapes that noise has not made."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from tests.mechanisms.mixture.test_score_components import shapes

import sfumato as sf
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


@pytest.mark.parametrize(("correlation", "least", "most"), [(0.0, 0.0, 0.03), (0.8, 0.6, 0.9)])
def test_noise_is_taken_for_no_correlation_and_correlation_not_for_noise(
    correlation: float, least: float, most: float
) -> None:
    """Twelve columns of 3,000 rows in one class of all: noise on an entry is about a tenth, and most of it goes."""
    rng = np.random.default_rng(0)
    common, own = rng.standard_normal((3000, 1)), rng.standard_normal((3000, 12))
    rows = math.sqrt(correlation) * common + math.sqrt(1.0 - correlation) * own
    table = pd.DataFrame(np.clip(rows, -4, 4), columns=[f"x{i}" for i in range(12)])
    schema = {"columns": {name: {"type": "number", "min": -4, "max": 4, "bins": 32} for name in table}}
    release = sf.fit(
        table, schema, epsilon=1.0, delta=1e-6, mechanism=sf.Clustmix(components=1, adapt=None), insecure_seed=0
    )
    (shape,) = release.model.mixture.covariances
    scale = np.sqrt(np.diagonal(shape))
    found = (shape / np.outer(scale, scale))[~np.eye(12, dtype=bool)]
    assert least <= math.sqrt((found**2).mean()) <= most
