"""The strict mixture: one Gaussian per class in latent space, after Liu, Scaglione and Peisert (2025).

Three Gaussian queries through the curator: histograms, moments, and moments again in the shape that the
first look found. The rest is post-processing. Formal guarantee: the composition of the three is mu-GDP;
docs/proofs/mixture.md has the one paragraph that it takes.
"""

from __future__ import annotations

import numpy as np

from sfumato.bins import FloatArray, Layout, OrderedBins
from sfumato.encoding.affine import Affine, centre_and_scale
from sfumato.encoding.marginals import Marginals, clean
from sfumato.encoding.scores import Scores
from sfumato.mechanisms.moments import (
    Look,
    Space,
    choose_space,
    combine,
    combine_means,
    entry_noise,
    look,
    pull,
    shrink_means,
    to_plain,
)
from sfumato.mechanisms.plan import Plan
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.private.queries import FIXED_BITS, LATENT_BITS, AffineImage, Asker, Histograms, ScoreImage

SMALLEST_VARIANCE = 0.02  # of a column's scores: below it the column is as good as constant
SMALLEST_EIGENVALUE = 0.05  # of a released correlation matrix: noisy CDFs do not support a sharper one
FARTHEST_MEAN = 1.0  # of a class, in latent units: histograms are never that wrong


def fit_mixture(curator: Asker, layout: Layout, plan: Plan) -> tuple[Scores | Affine, GaussianMixture]:
    """Ask the three queries and build the model from their answers."""
    marginals = ask_histograms(curator, layout, plan)
    if plan.encoding == "affine":
        return fit_affine(curator, layout, plan, marginals)
    return fit_scores(curator, layout, plan, marginals)


def ask_histograms(curator: Asker, layout: Layout, plan: Plan) -> Marginals:
    """Round 0: class counts and every column's class-conditional distribution."""
    query = Histograms(layout.sizes, layout.classes, plan.column_shares)
    answer = curator.total("histograms", query, plan.histogram_share * plan.mu**2)
    sd = np.array([cells[0, 0] for cells in query.unpack(answer.sd)])
    return clean(query.unpack(answer.values), sd, layout.bins)


def fit_scores(curator: Asker, layout: Layout, plan: Plan, marginals: Marginals) -> tuple[Scores, GaussianMixture]:
    """One Gaussian per class in the space of normal scores."""
    scores = Scores.of(marginals, layout.bins)
    variances = scores.variances()
    plain = Space.plain(ScoreImage.of(scores.tables()), (variances + scores.means() ** 2).sum(axis=1))
    pilot_budget = plan.rounds[1].share * plan.mu**2
    pilot = look(curator, "moments", plain, marginals.counts, pilot_budget)
    shapes = settle(pilot.covariances, entry_noise(pilot), variances)
    space = choose_space(plain, shapes, pilot, curator.remaining / pilot_budget)
    final = look(curator, "moments again", space, marginals.counts, curator.remaining)

    one, two = entry_noise(pilot), entry_noise(final)
    settled = settle(to_plain(combine(pilot, final)[0], final), one * two / (one + two), variances)
    correlations = [nearest_correlation(scores.latent_correlation(c, k)) for k, c in enumerate(settled)]
    counts = class_counts(marginals, layout, pilot, final)
    means = latent_means(scores, marginals, pilot, final)
    return scores, GaussianMixture(counts / counts.sum(), means, np.stack(correlations))


def fit_affine(curator: Asker, layout: Layout, plan: Plan, marginals: Marginals) -> tuple[Affine, GaussianMixture]:
    """One Gaussian per class in data units: the second look is taken around the first one's means."""
    centres, scales = centre_and_scale(marginals, layout.bins)
    spreads = np.full(plan.classes, float(plan.columns))
    plain = Space.plain(affine_image(centres, scales, layout), spreads)
    pilot_budget = plan.rounds[1].share * plan.mu**2
    pilot = look(curator, "moments", plain, marginals.counts, pilot_budget)
    shift = shrink_means(pilot.means, np.broadcast_to(pilot.mean_sd[:, None] ** 2, pilot.means.shape))
    shapes = settle_shapes(pilot.covariances, entry_noise(pilot))
    moved = Space.plain(affine_image(centres + scales * shift, scales, layout), spreads)
    space = choose_space(moved, shapes, pilot, curator.remaining / pilot_budget)
    final = look(curator, "moments again", space, marginals.counts, curator.remaining)

    shapes = to_plain(settle_residuals(*combine(pilot, final)), final)
    units = np.einsum("ki,kj->kij", scales, scales)
    counts = class_counts(marginals, layout, pilot, final)
    means = centres + scales * shrink_means(*combine_means(pilot, final, shift))
    return Affine(), GaussianMixture(counts / counts.sum(), means, shapes * units)


def affine_image(centres: FloatArray, scales: FloatArray, layout: Layout) -> AffineImage:
    """Centre and scale on the whole-number scale on which the source gives values."""
    bounds = np.array([b.bounds for b in layout.bins if isinstance(b, OrderedBins)])
    grid = (bounds[:, 1] - bounds[:, 0]) / 2.0**FIXED_BITS
    return AffineImage(np.rint((centres - bounds[:, 0]) / grid), grid / scales * 2.0**LATENT_BITS)


def settle(covariances: FloatArray, noise: FloatArray, variances: FloatArray) -> FloatArray:
    """Covariances of the scores, with the noise shrunk away and the variances that the marginals imply.

    In units of correlation, all classes together are shrunk towards independence and each class towards
    all classes together, each by the James-Stein weight: noise energy over squared distance.
    """
    live = variances > SMALLEST_VARIANCE
    scale = np.sqrt(np.where(live, variances, 1.0))
    units = np.einsum("ki,kj->kij", scale, scale)
    free = np.einsum("ki,kj->kij", live, live) & ~np.eye(variances.shape[1], dtype=bool)
    mixed = _shrink(np.where(free, covariances / units, 0.0), np.where(free, noise / units**2, 0.0), 0.0)
    own = np.where(free, mixed, 0.0) + np.eye(variances.shape[1])
    return np.stack([nearest_correlation(m) for m in own]) * units


def settle_shapes(covariances: FloatArray, noise: FloatArray) -> FloatArray:
    """Covariances in standardised units, shrunk like correlations but with variances of their own."""
    return _lift(_shrink(covariances, noise, np.eye(covariances.shape[1])))


def settle_residuals(covariances: FloatArray, noise: FloatArray) -> FloatArray:
    """Covariances in the space that the first look whitened: each shrunk towards what that look found, the unit."""
    unit = np.eye(covariances.shape[1])
    pulls = np.array([pull(n.sum(), ((c - unit) ** 2).sum(), c.size) for c, n in zip(covariances, noise, strict=True)])
    return _lift(covariances + pulls[:, None, None] * (unit - covariances))


def _lift(matrices: FloatArray) -> FloatArray:
    """Raise eigenvalues below a small share of the mean eigenvalue."""
    floor = SMALLEST_EIGENVALUE * np.trace(matrices, axis1=1, axis2=2).clip(min=1.0) / matrices.shape[1]
    values, vectors = np.linalg.eigh(matrices)
    lifted = np.maximum(values, floor[:, None])
    return np.asarray((vectors * lifted[:, None, :]) @ np.swapaxes(vectors, 1, 2))


def _shrink(matrices: FloatArray, noise: FloatArray, target: FloatArray | float) -> FloatArray:
    """All matrices together towards the target, then each towards all together."""
    energy = noise.sum(axis=(1, 2))
    precision = 1.0 / np.maximum(energy, 1e-300)
    pooling = precision / precision.sum()
    pooled = np.einsum("k,kij->ij", pooling, matrices)
    # In these units no entry is far above one, which bounds the signal.
    pooled += pull((pooling**2 * energy).sum(), ((pooled - target) ** 2).sum(), pooled.size) * (target - pooled)
    far = [((m - pooled)[n > 0] ** 2).sum() for m, n in zip(matrices, noise, strict=True)]
    pulls = np.array([pull(e, f, pooled.size) for e, f in zip(energy, far, strict=True)])
    return np.asarray(matrices + pulls[:, None, None] * (pooled - matrices))


def nearest_correlation(matrix: FloatArray) -> FloatArray:
    """Lift the eigenvalues of a symmetric matrix to a floor, then scale the diagonal back to one."""
    values, vectors = np.linalg.eigh(matrix)
    lifted = (vectors * np.maximum(values, SMALLEST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(np.diag(lifted))
    result = lifted / np.outer(scale, scale)
    np.fill_diagonal(result, 1.0)
    return np.asarray((result + result.T) / 2.0)


def latent_means(scores: Scores, marginals: Marginals, pilot: Look, final: Look) -> FloatArray:
    """Where each class's latent mean lies, once the moments have corrected the histograms.

    The histograms put it at zero with an error of known size; the two looks measure it again.
    """
    measured, variance = combine_means(pilot, final, np.zeros_like(pilot.means))
    offset = measured - scores.means()
    energy = np.stack([_score_energy(scores, marginals, k) for k in range(scores.classes)])
    prior = marginals.sd**2 * energy / marginals.counts[:, None] ** 2
    slope = np.stack([scores.hermite(k)[:, 0] for k in range(scores.classes)]).clip(0.1)
    return np.asarray((offset * prior / (prior + variance) / slope).clip(-FARTHEST_MEAN, FARTHEST_MEAN))


def _score_energy(scores: Scores, marginals: Marginals, k: int) -> FloatArray:
    """Sum of squared scores over the bins that hold more than the pseudo-rows do."""
    return np.array(
        [
            (column.scores[k] ** 2)[column.masses[k] * marginals.counts[k] > 2.0 * sd / len(column.order)].sum()
            for column, sd in zip(scores.columns, marginals.sd, strict=True)
        ]
    )


def class_counts(marginals: Marginals, layout: Layout, pilot: Look, final: Look) -> FloatArray:
    """Class counts from all three rounds, weighed by their precision."""
    histogram_precision = (1.0 / (marginals.sd**2 * np.array(layout.sizes))).sum()
    precision = np.array([histogram_precision, pilot.count_sd**-2, final.count_sd**-2])
    looks = np.stack([marginals.counts, pilot.counts, final.counts])
    return np.maximum(precision @ looks / precision.sum(), 1.0)
