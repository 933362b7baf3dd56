"""Several Gaussians per class in the space of normal scores: for classes with more shape than one Gaussian has.

A few noisy rounds of Lloyd's algorithm, from starts that do not depend on the data, cut each class into cells; then
count, sum and second moment of every cell are asked at once. A row is in exactly one cell, so every round has the
sensitivity it has for one Gaussian. docs/proofs/mixture.md has the proof, and how many components are chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.encoding.marginals import Marginals
from sfumato.encoding.scores import Scores
from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.moments import pull
from sfumato.mechanisms.plan import LLOYD_ROUNDS, LLOYD_SHARE, Plan, best_number, moment_costs, radius
from sfumato.mechanisms.questions import around, cells_at, latent_space, score_image, unpack
from sfumato.mechanisms.shares import split
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.private.queries.base import LATENT_BITS
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.images import Cells
from sfumato.schema.layout import FloatArray, IntArray

START_SCALE = 0.7  # of a column's standard deviation: where the starts lie
TIGHTEST = 0.2  # of a class's spread, what cells are taken to leave at the least
SMALLEST_EIGENVALUE = 0.05  # of a component's covariance, in units where a column's variance is about 1
FEWEST = 3.0  # standard deviations of a count that a cell is taken to hold at the least


def fit_components(curator: Asker, plan: Plan, scores: Scores, marginals: Marginals) -> tuple[Scores, GaussianMixture]:
    """Ask for cells and their moments, and build the mixture, with as many components a class as planned or as pay."""
    image = score_image(scores.tables())
    spreads = (scores.variances() + scores.means() ** 2).sum(axis=1)
    lloyd_budget = LLOYD_SHARE * curator.remaining
    sizes = [
        plan.components or best_number(count, image.dim, spread, (curator.remaining - lloyd_budget) / plan.reach)
        for count, spread in zip(marginals.counts, spreads, strict=True)
    ]
    cells = cells_at(image, starts(sizes, np.sqrt(scores.variances())))
    counts = np.repeat(marginals.counts / sizes, sizes)
    for i in range(LLOYD_ROUNDS):
        radii = [radius(spreads[k]) for k in cells.classes]
        cells, counts, sd = move(curator, f"cells {i + 1}", cells, counts, radii, lloyd_budget / LLOYD_ROUNDS)
        counts = np.maximum(counts, FEWEST * sd)
    counts, means, covariances = look_inside(curator, cells, counts, spreads)
    mixture = assemble(marginals, np.array(cells.classes), counts, means, covariances)
    return scores.matched(mixture), mixture


def starts(sizes: Sequence[int], scales: FloatArray) -> list[FloatArray]:
    """Centres to begin with: the same normal draws for every table, in units of the columns' spread. One is at 0."""
    rng = np.random.default_rng(0)
    drawn = [rng.standard_normal((size, scales.shape[1])) for size in sizes]
    return [START_SCALE * (len(z) > 1) * z * scale for z, scale in zip(drawn, scales, strict=True)]


def move(
    curator: Asker, name: str, cells: Cells, expected: FloatArray, radii: Sequence[float], mu_squared: float
) -> tuple[Cells, FloatArray, float]:
    """One round of Lloyd's algorithm: every centre goes to the noisy mean of its cell, as far as that is signal.
    Also how many rows the cells hold, and with what standard deviation that is known."""
    dim = cells.image.dim
    costs = moment_costs(expected, dim, radius(dim))
    shares = split([costs.count, costs.mean])
    query = GroupSums(latent_space(around(cells), radii, cells=cells), (float(shares[0]), float(shares[1])))
    answer = curator.total(name, query, mu_squared)
    counts, sums, _ = unpack(query, answer.values)
    count_sd, sum_sd, _ = unpack(query, answer.sd)
    size = np.maximum(counts, FEWEST * count_sd)
    step = shrink(sums / size[:, None], sum_sd[:, 0] / size)
    step[counts < FEWEST * count_sd] = 0.0  # nobody there, as far as anyone can tell
    centres = np.concatenate(cells.centres) * 2.0**-LATENT_BITS + step
    ends = np.cumsum([len(c) for c in cells.centres])[:-1]
    return cells_at(cells.image, np.split(centres, ends)), counts, float(count_sd[0])


def shrink(means: FloatArray, sd: FloatArray) -> FloatArray:
    """Noisy vectors pulled to zero by the James-Stein weight."""
    energy, squared = means.shape[1] * sd**2, (means**2).sum(axis=1)
    pulls = np.array([pull(e, s) for e, s in zip(energy, squared, strict=True)])
    return np.asarray(means * (1.0 - pulls)[:, None])


def look_inside(
    curator: Asker, cells: Cells, expected: FloatArray, spreads: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """All that is left of the budget on the moments of the cells: counts, means and settled covariances."""
    dim, classes = cells.image.dim, np.array(cells.classes)
    centres = np.concatenate(cells.centres) * 2.0**-LATENT_BITS
    within = np.array([_within(expected[classes == k], centres[classes == k], s) for k, s in enumerate(spreads)])
    radii = [radius(within[k]) for k in classes]
    latent = latent_space(around(cells), radii, cells=cells)
    query = GroupSums(latent, moment_costs(expected, dim, radius(dim)).shares, "outer")
    answer = curator.total("moments", query, curator.remaining)
    counts, sums, seconds = unpack(query, answer.values)
    count_sd, sum_sd, second_sd = unpack(query, answer.sd)
    size = np.maximum(counts, FEWEST * count_sd)
    steps = shrink(sums / size[:, None], sum_sd[:, 0] / size)
    covariances = seconds / size[:, None, None] - np.einsum("ci,cj->cij", steps, steps)
    settled = settle_within(covariances, second_sd[:, 0, 0] / size, size, classes)
    return size, centres + steps, settled


def _within(counts: FloatArray, centres: FloatArray, spread: float) -> float:
    """The mean square distance of a class's rows from their cell's centre."""
    between = float((counts / counts.sum()) @ (centres**2).sum(axis=1))
    return max(spread - between, TIGHTEST * spread)


def settle_within(covariances: FloatArray, sd: FloatArray, counts: FloatArray, classes: IntArray) -> FloatArray:
    """Covariances shrunk towards their class's within-covariance by the James-Stein weight, then lifted."""
    dim = covariances.shape[1]
    settled = np.empty_like(covariances)
    for k in np.unique(classes):
        mine = np.flatnonzero(classes == k)
        pooled = np.einsum("c,cij->ij", counts[mine] / counts[mine].sum(), covariances[mine])
        for c in mine:
            energy = sd[c] ** 2 * dim * (dim + 1) / 2.0
            weight = pull(energy, float(((covariances[c] - pooled) ** 2).sum()))
            settled[c] = covariances[c] + weight * (pooled - covariances[c])
    values, vectors = np.linalg.eigh(settled)
    lifted = (vectors * np.maximum(values, SMALLEST_EIGENVALUE)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    return np.asarray((lifted + np.swapaxes(lifted, 1, 2)) / 2.0)


def assemble(
    marginals: Marginals, classes: IntArray, counts: FloatArray, means: FloatArray, covariances: FloatArray
) -> GaussianMixture:
    """Components weighted within their class by their counts, and classes by the histograms'."""
    return GaussianMixture(divide(marginals.weights, classes, counts), means, covariances, classes)


def divide(class_weights: FloatArray, classes: IntArray, counts: FloatArray) -> FloatArray:
    """The weight of each component: its class's, divided between the components of that class by their counts."""
    return np.asarray(class_weights[classes] * counts / np.bincount(classes, counts)[classes])
