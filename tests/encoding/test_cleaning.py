"""What cleaning is set to is what is done: other settings, other marginals."""

import numpy as np

from sfumato.encoding.cleaning import Cleaning
from sfumato.encoding.marginals import Counted, clean
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema

BINS = Layout.of(
    Schema.of({"columns": {"age": {"type": "number", "min": 0, "max": 16, "bins": 16}}}),
).bins
COUNTED = [Counted.of(np.array([[0.0, *[50.0, 90.0] * 8], [0.0, *[60.0, 20.0] * 8]]), 4.0)]


def masses(cleaning: Cleaning) -> np.ndarray:
    return clean(COUNTED, BINS, cleaning).masses[0]


def test_without_a_threshold_bins_stay_as_they_are() -> None:
    kept, flat = masses(Cleaning(0.0, 0.0)), masses(Cleaning(1e3, 0.0))
    assert np.ptp(kept, axis=1).min() > 0.01
    assert (np.ptp(flat, axis=1) < 0.1 * np.ptp(kept, axis=1)).all()


def test_classes_are_pooled_within_so_many_deviations() -> None:
    own, pooled = masses(Cleaning(0.0, 0.0)), masses(Cleaning(0.0, 1e3))
    assert np.abs(own[0] - own[1]).max() > 0.01
    assert np.abs(pooled[0] - pooled[1]).max() < 0.01
