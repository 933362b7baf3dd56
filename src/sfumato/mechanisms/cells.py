"""Size-constrained cells: each class cut into as many parts as can be told from noise, after 3A's ClustMix.

A few noisy rounds of Lloyd's algorithm from starts that do not depend on the data, then one question for count, sum and
spread of every cell. A cell's noisy mean is a labelled point; its noisy spread is how far rows lie around it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans

from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.components import move
from sfumato.mechanisms.moments import pull
from sfumato.mechanisms.plan import Plan, radius
from sfumato.mechanisms.questions import around, cells_at, latent_space, unpack
from sfumato.private.queries.base import LATENT_BITS, Image
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.images import Cells
from sfumato.schema.layout import FloatArray, IntArray

POINT_SHARES = (0.05, 0.85, 0.1)  # of the last round, between counts, sums and squared norms
TIGHTEST = 0.3  # of a class's spread, what cells are taken to leave at the least, in however few dimensions
SCALES = (0.5, 2.0)  # how far a cell's spread may differ from its class's
STARTS = 2000  # rows drawn to spread the starts over


@dataclass(frozen=True)
class Found:
    """The cells that were found: how many rows each holds, where their mean is, and how far they spread around it, in
    units of their class's spread; `within` is the mean square distance that cells leave, class by class."""

    cells: Cells
    counts: FloatArray
    means: FloatArray
    scales: FloatArray
    within: FloatArray


def smallest_cell(radius: float, mu_squared: float, sigma_max: float) -> float:
    """l_min of the paper, with the noise that is really added: a mean of l rows of norm at most r carries noise of
    standard deviation r / (l mu), and no more than sigma_max is wanted."""
    return radius / (math.sqrt(mu_squared) * sigma_max)


def find_cells(curator: Asker, image: Image, counts: FloatArray, spreads: FloatArray, plan: Plan) -> Found:
    """As many cells a class as the plan says, or as have l_min rows each."""
    rounds = [each for each in plan.rounds if each.name.startswith("cells")]
    if not rounds:
        return one_each(image, counts, spreads)
    budget = next(each.share for each in plan.rounds if each.name == "points") * plan.mu**2
    least = smallest_cell(radius(float(spreads.mean())), POINT_SHARES[1] * budget / plan.reach, plan.sigma_max)
    sizes = [plan.components or int(np.clip(count / least, 1, plan.most_cells)) for count in counts]
    cells = cells_at(image, [starts(size, s / image.dim, image.dim) for size, s in zip(sizes, spreads, strict=True)])
    held = np.repeat(counts / sizes, sizes)
    for each in rounds:
        radii = [radius(spreads[k]) for k in cells.classes]
        cells, held, _ = move(curator, each.name, cells, held, radii, each.share * plan.mu**2)
        held = np.maximum(held, least / 2.0)
    return _settle(curator, cells, held, spreads, budget, least)


def one_each(image: Image, counts: FloatArray, spreads: FloatArray) -> Found:
    """Every class a cell of its own, around the image's origin."""
    origin = np.zeros((len(counts), image.dim))
    return Found(cells_at(image, [row[None] for row in origin]), counts, origin, np.ones(len(counts)), spreads)


def starts(size: int, variance: float, dim: int) -> FloatArray:
    """Where to begin looking for the cells of a class that is about normal: the same for every table."""
    if size == 1:
        return np.zeros((1, dim))
    rows = np.random.default_rng(0).standard_normal((max(STARTS, 20 * size), dim))
    return np.asarray(KMeans(size, n_init=1, max_iter=20, random_state=0).fit(rows).cluster_centers_) * math.sqrt(
        variance
    )


def _settle(
    curator: Asker, cells: Cells, held: FloatArray, spreads: FloatArray, mu_squared: float, least: float
) -> Found:
    """Ask for the points, merge cells that are too small, and calm what is left."""
    classes, dim = np.array(cells.classes), cells.image.dim
    centres = np.concatenate(cells.centres) * 2.0**-LATENT_BITS
    between = np.bincount(classes, held * (centres**2).sum(axis=1)) / np.bincount(classes, held)
    # Noise in the centres looks like distance between cells: k cells of a normal leave k^(-2 / dim) of its spread.
    tightest = np.maximum(np.bincount(classes) ** (-2.0 / dim), TIGHTEST) * spreads
    within = np.maximum(spreads - between, tightest)
    query = GroupSums(
        latent_space(around(cells), [radius(within[k]) for k in classes], cells=cells), POINT_SHARES, "norm"
    )
    answer = curator.total("points", query, mu_squared)
    counts, sums, norms = unpack(query, answer.values)
    _, sum_sd, norm_sd = unpack(query, answer.sd)
    size = np.maximum(counts, least / 2.0)
    means = calm_means(centres + sums / size[:, None], (sum_sd[:, 0] / size) ** 2, size, classes)
    spread = norms / size - ((sums / size[:, None]) ** 2).sum(axis=1) + dim * (sum_sd[:, 0] / size) ** 2
    kept, size, means, spread = merge(classes, size, means, spread, np.asarray(counts) < least)
    classes = classes[kept]
    scales = _scales(spread, norm_sd[kept] / size, size, classes)
    final = cells_at(cells.image, [means[classes == k] for k in range(len(cells.centres))])
    left = np.bincount(classes, size * np.maximum(spread, 0.0)) / np.bincount(classes, size)
    return Found(final, size, means, scales, np.maximum(left, tightest))


def calm_means(means: FloatArray, variance: FloatArray, counts: FloatArray, classes: IntArray) -> FloatArray:
    """Noisy means pulled to their class's, coordinate by coordinate, as far as they differ by no more than noise."""
    calmed = means.copy()
    for k in np.unique(classes):
        mine = classes == k
        weights = counts[mine] / counts[mine].sum()
        middle = weights @ means[mine]
        signal = np.maximum(weights @ (means[mine] - middle) ** 2 - weights @ variance[mine], 1e-6)
        calmed[mine] = middle + (means[mine] - middle) * signal / (signal + variance[mine][:, None])
    return calmed


def merge(
    classes: IntArray, counts: FloatArray, means: FloatArray, spreads: FloatArray, small: np.ndarray
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Cells that are too small joined to the nearest cell of their class that is not; which are left, and what they
    hold. A class always keeps its largest."""
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


def _scales(spreads: FloatArray, sd: FloatArray, counts: FloatArray, classes: IntArray) -> FloatArray:
    """How wide each cell is beside its class, calmed, with mean square one."""
    scales = np.ones(len(spreads))
    for k in np.unique(classes):
        mine = classes == k
        weights = counts[mine] / counts[mine].sum()
        middle = float(weights @ spreads[mine])
        if middle <= 0.0:
            continue
        noise, apart = float((sd[mine] ** 2).sum()), float(((spreads[mine] - middle) ** 2).sum())
        ratio = 1.0 + (spreads[mine] / middle - 1.0) * (1.0 - pull(noise, apart))
        squared = np.clip(ratio, SCALES[0] ** 2, SCALES[1] ** 2)
        scales[mine] = np.sqrt(squared / (weights @ squared))
    return scales
