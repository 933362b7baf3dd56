"""The strict mixture: one Gaussian per class in latent space, after Liu, Scaglione and Peisert (2025).

Gaussian queries through the curator: histograms, then moments, and moments again in the shape that was found. The
rest is post-processing. Formal guarantee: the composition of all is mu-GDP; docs/proofs/mixture.md has the one
paragraph that it takes.
"""

from __future__ import annotations

import numpy as np

from sfumato.encoding.affine import Affine, Places, locate
from sfumato.encoding.marginals import Marginals, clean
from sfumato.encoding.scores import Scores
from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.beliefs import FEWEST, Beliefs
from sfumato.mechanisms.clusters import fit_clusters
from sfumato.mechanisms.components import fit_components
from sfumato.mechanisms.looks import follow
from sfumato.mechanisms.moments import (
    Look,
    Space,
    choose_space,
    combine,
    combine_means,
    entry_noise,
    look,
    pull,
    to_plain,
)
from sfumato.mechanisms.plan import Plan
from sfumato.mechanisms.questions import score_image, unpack
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.private.queries.histograms import Histograms
from sfumato.schema.layout import FloatArray, Layout

SMALLEST_VARIANCE = 0.02  # of a column's scores: below it the column is as good as constant
SMALLEST_EIGENVALUE = 0.05  # of a released correlation matrix: noisy CDFs do not support a sharper one
FARTHEST_MEAN = 1.0  # of a class, in latent units: histograms are never that wrong


def fit_mixture(curator: Asker, layout: Layout, plan: Plan) -> tuple[Scores | Affine, GaussianMixture]:
    """Ask all queries and build the model from their answers."""
    return fit_affine(curator, layout, plan) if plan.encoding == "affine" else fit_scores(curator, layout, plan)


def ask_histograms(curator: Asker, layout: Layout, plan: Plan) -> tuple[list[FloatArray], FloatArray]:
    """Round 0: every column's cells in every class, and the noise that a column's cells have."""
    query = Histograms(layout.sizes, layout.classes, plan.column_shares)
    answer = curator.total("histograms", query, plan.budget("histograms", curator.remaining))
    return unpack(query, answer.values), np.array([cells[0, 0] for cells in unpack(query, answer.sd)])


def fit_scores(curator: Asker, layout: Layout, plan: Plan) -> tuple[Scores, GaussianMixture]:
    """One Gaussian per class in the space of normal scores, or several."""
    return fit_joint(curator, layout, plan, clean(*ask_histograms(curator, layout, plan), layout.bins))


def fit_joint(curator: Asker, layout: Layout, plan: Plan, marginals: Marginals) -> tuple[Scores, GaussianMixture]:
    """How the columns go together, once the histograms have told how each is distributed."""
    scores = Scores.of(marginals, layout.bins)
    if plan.components != 1:
        return fit_components(curator, plan, scores, marginals)
    variances = scores.variances()
    plain = Space.plain(score_image(scores.tables()), (variances + scores.means() ** 2).sum(axis=1))
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


def fit_affine(curator: Asker, layout: Layout, plan: Plan) -> tuple[Affine, GaussianMixture]:
    """One Gaussian per class in data units: look where each class is believed to be, and believe what is seen."""
    histograms, sd = ask_histograms(curator, layout, plan)
    if plan.components != 1:
        return Affine(), fit_clusters(curator, layout, plan, clean(histograms, sd, layout.bins))
    names = [each.name for each in plan.rounds[1:]]
    beliefs = follow(curator, names, first_beliefs(locate(histograms, sd, layout.bins)), layout)
    counts = np.maximum(beliefs.counts, FEWEST)
    return Affine(), GaussianMixture(counts / counts.sum(), beliefs.means, beliefs.covariances)


def first_beliefs(places: Places) -> Beliefs:
    """What histograms say of the classes; they are silent on correlations."""
    classes, dim = places.centres.shape
    unit = np.eye(dim)
    return Beliefs(
        places.counts,
        places.count_variances,
        places.centres,
        places.centre_variances[:, :, None] * unit,
        places.squared_scales[:, :, None] * unit,
        unit / np.sqrt(places.squared_scales)[:, :, None],
        np.full(classes, 2.0 / (dim + 1)),
    )


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
