"""Several Gaussians per class in the space of normal scores: for classes with more shape than one Gaussian has.

A few noisy rounds of Lloyd's algorithm, from starts that do not depend on the data, cut each class into cells; then
count, sum and second moment of every cell are asked at once. A row is in exactly one cell, so every round has the
sensitivity it has for one Gaussian. docs/proofs/mixture.md has the proof, and how many components are chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.encoding.scores import Scores
from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.base import Plan
from sfumato.mechanisms.budget import moment_costs, radius
from sfumato.mechanisms.cell_shapes import divide_weights
from sfumato.mechanisms.encodings.score_encoding import LearnedScores
from sfumato.mechanisms.lloyd import move_centres
from sfumato.mechanisms.mixture.mixture_mechanism import MixtureTuning
from sfumato.mechanisms.mixture.mixture_rounds import best_number
from sfumato.mechanisms.questions import around, cells_at, latent_space, unpack
from sfumato.mechanisms.shrinkage import shrink_to_zero, shrinkage_weight
from sfumato.mechanisms.tuning import NoiseTuning
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.private.queries.base import LATENT_BITS
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.images import Cells
from sfumato.schema.layout import FloatArray, IntArray


def fit_components(
    curator: Asker, plan: Plan, learned: LearnedScores, tuning: MixtureTuning, components: int | None
) -> tuple[Scores, GaussianMixture]:
    """Ask for cells and their moments, and build the mixture, with as many components a class as planned or as pay."""
    image, spreads, scores = learned.image, learned.spreads, learned.scores
    lloyd_budget = tuning.lloyd_share * curator.remaining
    rest = (curator.remaining - lloyd_budget) / plan.public.noise_factor
    sizes = [
        components or best_number(count, image.dim, spread, rest, tuning)
        for count, spread in zip(learned.counts, spreads, strict=True)
    ]
    cells = cells_at(image, starts(sizes, np.sqrt(scores.variances()), tuning.start_scale))
    counts = np.repeat(learned.counts / sizes, sizes)
    rounds = plan.repeats("cells")
    for each in rounds:
        radii = [radius(spreads[k]) for k in cells.classes]
        budget = lloyd_budget / len(rounds)
        cells, counts, sd = move_centres(curator, each.title, cells, counts, radii, budget, tuning.noise)
        counts = np.maximum(counts, tuning.noise.fewest_rows * sd)
    counts, means, covariances = look_inside(curator, cells, counts, spreads, tuning)
    classes = np.array(cells.classes)
    weights = divide_weights(learned.marginals.weights, classes, counts)
    mixture = GaussianMixture(weights, means, covariances, classes)
    return scores.matched(mixture), mixture


def starts(sizes: Sequence[int], scales: FloatArray, start_scale: float) -> list[FloatArray]:
    """Centres to begin with: the same normal draws for every table, in units of the columns' spread. One is at 0."""
    rng = np.random.default_rng(0)
    drawn = [rng.standard_normal((size, scales.shape[1])) for size in sizes]
    return [start_scale * (len(z) > 1) * z * scale for z, scale in zip(drawn, scales, strict=True)]


def look_inside(
    curator: Asker, cells: Cells, expected: FloatArray, spreads: FloatArray, tuning: MixtureTuning
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """All that is left of the budget on the moments of the cells: counts, means and settled covariances."""
    dim, classes = cells.image.dim, np.array(cells.classes)
    centres = np.concatenate(cells.centres) * 2.0**-LATENT_BITS
    within = np.array(
        [_within(expected[classes == k], centres[classes == k], s, tuning.tightest) for k, s in enumerate(spreads)]
    )
    radii = [radius(within[k]) for k in classes]
    latent = latent_space(around(cells), radii, cells=cells)
    query = GroupSums(latent, moment_costs(expected, dim, radius(dim)).shares, "outer")
    answer = curator.total("moments", query, curator.remaining)
    counts, sums, seconds = unpack(query, answer.values)
    count_sd, sum_sd, second_sd = unpack(query, answer.sd)
    size = np.maximum(counts, tuning.noise.fewest_rows * count_sd)
    steps = shrink_to_zero(sums / size[:, None], sum_sd[:, 0] / size, tuning.noise.margin)
    covariances = seconds / size[:, None, None] - np.einsum("ci,cj->cij", steps, steps)
    settled = settle_within(covariances, second_sd[:, 0, 0] / size, size, classes, tuning.noise)
    return size, centres + steps, settled


def _within(counts: FloatArray, centres: FloatArray, spread: float, tightest: float) -> float:
    """The mean square distance of a class's rows from their cell's centre."""
    between = float((counts / counts.sum()) @ (centres**2).sum(axis=1))
    return max(spread - between, tightest * spread)


def settle_within(
    covariances: FloatArray, sd: FloatArray, counts: FloatArray, classes: IntArray, tuning: NoiseTuning
) -> FloatArray:
    """Covariances shrunk towards their class's within-covariance by the James-Stein weight, and their
    eigenvalues floored.
    """
    dim = covariances.shape[1]
    settled = np.empty_like(covariances)
    for k in np.unique(classes):
        mine = np.flatnonzero(classes == k)
        pooled = np.einsum("c,cij->ij", counts[mine] / counts[mine].sum(), covariances[mine])
        for c in mine:
            energy = sd[c] ** 2 * dim * (dim + 1) / 2.0
            weight = shrinkage_weight(energy, float(((covariances[c] - pooled) ** 2).sum()), tuning.margin)
            settled[c] = covariances[c] + weight * (pooled - covariances[c])
    values, vectors = np.linalg.eigh(settled)
    floored = (vectors * np.maximum(values, tuning.eigenvalue_floor)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    return np.asarray((floored + np.swapaxes(floored, 1, 2)) / 2.0)
