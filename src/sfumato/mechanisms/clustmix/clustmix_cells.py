"""Size-constrained cells: each class cut into as many parts as can be told from noise, after 3A's ClustMix.

A few noisy rounds of Lloyd's algorithm from starts that do not depend on the data, then one question for count, sum and
spread of every cell. A cell's noisy mean is a labelled point; its noisy spread is how far rows lie around it.
"""

from __future__ import annotations

import math

import numpy as np
from sklearn.cluster import KMeans

from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.base import Plan
from sfumato.mechanisms.budget import radius
from sfumato.mechanisms.cell_shapes import FoundCells
from sfumato.mechanisms.clustmix.clustmix_mechanism import CellTuning
from sfumato.mechanisms.encodings import Learned
from sfumato.mechanisms.lloyd import move_centres
from sfumato.mechanisms.questions import around, cells_at, latent_space, unpack
from sfumato.mechanisms.shrinkage import shrink_to_class, shrinkage_weight
from sfumato.private.queries.base import LATENT_BITS
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.images import Cells
from sfumato.schema.layout import FloatArray, IntArray


def smallest_cell(radius: float, mu_squared: float, sigma_max: float) -> float:
    """l_min of the paper, with the noise that is really added: a mean of l rows of norm at most r carries noise of
    standard deviation r / (l mu), and no more than sigma_max is wanted.
    """
    return radius / (math.sqrt(mu_squared) * sigma_max)


def find_cells(
    curator: Asker, plan: Plan, learned: Learned, components: int | None, sigma_max: float, tuning: CellTuning
) -> FoundCells:
    """As many cells a class as asked for, or as have l_min rows each."""
    image, spreads = learned.image, learned.spreads
    budget = plan.budget("points")
    # l_min of what the sums of the points' query have, under the noise that the adjacency needs.
    sums_budget = tuning.point_shares[1] * budget / plan.public.noise_factor
    least = smallest_cell(radius(float(spreads.mean())), sums_budget, sigma_max)
    sizes = [components or int(np.clip(count / least, 1, tuning.most)) for count in learned.counts]
    begin = [starts(n, s / image.dim, image.dim, tuning.starts) for n, s in zip(sizes, spreads, strict=True)]
    cells = cells_at(image, begin)
    held = np.repeat(learned.counts / sizes, sizes)
    for each in plan.repeats("cells"):
        radii = [radius(spreads[k]) for k in cells.classes]
        cells, held, _ = move_centres(curator, each.title, cells, held, radii, plan.spend(each), tuning.noise)
        held = np.maximum(held, least / 2.0)
    return _ask_points(curator, cells, held, spreads, budget, least, tuning)


def starts(size: int, variance: float, dim: int, drawn: int) -> FloatArray:
    """Where to begin looking for the cells of a class that is about normal: the same for every table."""
    if size == 1:
        return np.zeros((1, dim))
    rows = np.random.default_rng(0).standard_normal((max(drawn, 20 * size), dim))
    centres = KMeans(size, n_init=1, max_iter=20, random_state=0).fit(rows).cluster_centers_
    return np.asarray(centres) * math.sqrt(variance)


def _ask_points(
    curator: Asker,
    cells: Cells,
    held: FloatArray,
    spreads: FloatArray,
    mu_squared: float,
    least: float,
    tuning: CellTuning,
) -> FoundCells:
    """Ask for the points, merge cells that are too small, and shrink what is left."""
    classes, dim = np.array(cells.classes), cells.image.dim
    centres = np.concatenate(cells.centres) * 2.0**-LATENT_BITS
    between = np.bincount(classes, held * (centres**2).sum(axis=1)) / np.bincount(classes, held)
    # Noise in the centres looks like distance between cells: k cells of a normal leave k^(-2 / dim) of its spread.
    tightest = np.maximum(np.bincount(classes) ** (-2.0 / dim), tuning.tightest) * spreads
    within = np.maximum(spreads - between, tightest)
    query = GroupSums(
        latent_space(around(cells), [radius(within[k]) for k in classes], cells=cells), tuning.point_shares, "norm"
    )
    answer = curator.total("points", query, mu_squared)
    counts, sums, norms = unpack(query, answer.values)
    _, sum_sd, norm_sd = unpack(query, answer.sd)
    size = np.maximum(counts, least / 2.0)
    means = shrink_to_class(centres + sums / size[:, None], (sum_sd[:, 0] / size) ** 2, size, classes)
    spread = norms / size - ((sums / size[:, None]) ** 2).sum(axis=1) + dim * (sum_sd[:, 0] / size) ** 2
    kept, size, means, spread = merge(classes, size, means, spread, np.asarray(counts) < least)
    classes = classes[kept]
    scales = _scales(spread, norm_sd[kept] / size, size, classes, tuning)
    final = cells_at(cells.image, [means[classes == k] for k in range(len(cells.centres))])
    left = np.bincount(classes, size * np.maximum(spread, 0.0)) / np.bincount(classes, size)
    return FoundCells(final, size, means, scales, np.maximum(left, tightest))


def merge(
    classes: IntArray, counts: FloatArray, means: FloatArray, spreads: FloatArray, small: np.ndarray
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Cells that are too small joined to the nearest cell of their class that is not; which are left, and what they
    hold. A class always keeps its largest.
    """
    counts, means = counts.copy(), means.copy()
    small = small.copy()
    for k in np.unique(classes):
        mine = np.flatnonzero(classes == k)
        small[mine[np.argmax(counts[mine])]] = False
        for c in mine[small[mine]]:
            others = mine[~small[mine]]
            nearest = others[np.argmin(((means[others] - means[c]) ** 2).sum(axis=1))]
            share = counts[c] / (counts[c] + counts[nearest])
            means[nearest] += share * (means[c] - means[nearest])
            counts[nearest] += counts[c]
    kept = np.flatnonzero(~small)
    return kept, counts[kept], means[kept], spreads[kept]


def _scales(
    spreads: FloatArray, sd: FloatArray, counts: FloatArray, classes: IntArray, tuning: CellTuning
) -> FloatArray:
    """How wide each cell is beside its class, shrunk, with mean square one."""
    scales = np.ones(len(spreads))
    for k in np.unique(classes):
        mine = classes == k
        weights = counts[mine] / counts[mine].sum()
        middle = float(weights @ spreads[mine])
        if middle <= 0.0:
            continue
        noise, apart = float((sd[mine] ** 2).sum()), float(((spreads[mine] - middle) ** 2).sum())
        ratio = 1.0 + (spreads[mine] / middle - 1.0) * (1.0 - shrinkage_weight(noise, apart, tuning.noise.margin))
        squared = np.clip(ratio, tuning.scales[0] ** 2, tuning.scales[1] ** 2)
        scales[mine] = np.sqrt(squared / (weights @ squared))
    return scales
