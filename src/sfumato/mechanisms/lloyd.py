"""One noisy round of Lloyd's algorithm: what mixtures and clustmix find cells by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.budget import moment_costs, radius, split
from sfumato.mechanisms.questions import around, cells_at, latent_space, unpack
from sfumato.mechanisms.shrinkage import shrink_to_zero
from sfumato.mechanisms.tuning import NoiseTuning
from sfumato.private.queries.base import LATENT_BITS
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.images import Cells
from sfumato.schema.layout import FloatArray


def move_centres(
    curator: Asker,
    name: str,
    cells: Cells,
    expected: FloatArray,
    radii: Sequence[float],
    mu_squared: float,
    tuning: NoiseTuning,
) -> tuple[Cells, FloatArray, float]:
    """One round of Lloyd's algorithm: every centre goes to the noisy mean of its cell, as far as that is signal.

    Also how many rows the cells hold, and with what standard deviation that is known. A cell is taken to hold
    `tuning.fewest_rows` standard deviations of its count at the least.
    """
    dim = cells.image.dim
    costs = moment_costs(expected, dim, radius(dim))
    shares = split([costs.count, costs.mean])
    query = GroupSums(latent_space(around(cells), radii, cells=cells), (float(shares[0]), float(shares[1])))
    answer = curator.total(name, query, mu_squared)
    counts, sums, _ = unpack(query, answer.values)
    count_sd, sum_sd, _ = unpack(query, answer.sd)
    size = np.maximum(counts, tuning.fewest_rows * count_sd)
    step = shrink_to_zero(sums / size[:, None], sum_sd[:, 0] / size, tuning.margin)
    step[counts < tuning.fewest_rows * count_sd] = 0.0  # nobody there, as far as anyone can tell
    centres = np.concatenate(cells.centres) * 2.0**-LATENT_BITS + step
    ends = np.cumsum([len(c) for c in cells.centres])[:-1]
    return cells_at(cells.image, np.split(centres, ends)), counts, float(count_sd[0])
