"""The frequencies of the central form. They are public: a free choice, the same for every table."""

from __future__ import annotations

import numpy as np

from sfumato.mechanisms.slicing.slicing_mechanism import WaveTuning
from sfumato.schema.layout import FloatArray


def frames(dim: int, slice_dim: int, tuning: WaveTuning) -> FloatArray:
    """Frequencies on random slices: for each a random orthonormal frame of `slice_dim` directions in the space of a few
    random columns, and a normal vector in it.
    """
    rng = np.random.default_rng(tuning.seed)
    span = min(tuning.span, dim)
    found = np.zeros((tuning.fewest, dim))
    for i in range(tuning.fewest):
        columns = rng.choice(dim, span, replace=False)
        frame, _ = np.linalg.qr(rng.standard_normal((span, min(slice_dim, span))))
        found[i, columns] = frame @ rng.standard_normal(frame.shape[1]) * tuning.scales[i % len(tuning.scales)]
    return found


def planes(dim: int, tuning: WaveTuning) -> FloatArray:
    """Frequencies on the planes of every two coordinates, diagonal one way or the other: in many dimensions random
    directions are all alike, and see next to nothing of any two.
    """
    rng = np.random.default_rng(tuning.seed)
    pairs = [(i, j) for i in range(dim) for j in range(i)] or [(0, 0)]
    count = int(np.clip(tuning.a_plane * len(pairs), tuning.fewest, tuning.most))
    found = np.zeros((count, dim))
    order = rng.permutation(len(pairs))
    for f in range(count):
        i, j = pairs[order[f % len(pairs)]]
        scale = rng.choice(tuning.plane_scales)
        found[f, i], found[f, j] = scale, scale * rng.choice([-1.0, 1.0])
    return found
