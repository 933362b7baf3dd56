"""One Gaussian per class in the space of normal scores: a first look at the moments, and one in the shape it found.

docs/proofs/mixture.md, section 4.
"""

from __future__ import annotations

import numpy as np

from sfumato.encoding.marginals import Marginals
from sfumato.encoding.scores import Scores
from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.base import Plan
from sfumato.mechanisms.encodings.score_encoding import LearnedScores
from sfumato.mechanisms.mixture.class_moments import (
    Look,
    Space,
    choose_space,
    combine,
    combine_means,
    entry_noise,
    look,
    to_plain,
)
from sfumato.mechanisms.mixture.mixture_mechanism import MixtureTuning
from sfumato.mechanisms.shrinkage import nearest_correlation, shrink_to_pooled
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.schema.layout import FloatArray


def fit_one_gaussian(
    curator: Asker, plan: Plan, learned: LearnedScores, tuning: MixtureTuning
) -> tuple[Scores, GaussianMixture]:
    """Look at the moments in the plain space, and again in the shape that was found, or plain if that tells more."""
    scores, marginals = learned.scores, learned.marginals
    variances = scores.variances()
    plain = Space.plain(learned.image, learned.spreads)
    pilot_budget = plan.budget("moments")
    pilot = look(curator, "moments", plain, marginals.counts, pilot_budget, tuning.noise.margin)
    # A row whose cell fits no bin sits at 0, so that what is seen of a pair of columns is as much too small as pairs
    # are not readable: the product of both columns' shares, as if one cell's fault had nothing to do with another's.
    kept = np.outer(marginals.readable, marginals.readable)
    shapes = settle(pilot.covariances / kept, entry_noise(pilot) / kept**2, variances, tuning)
    space = choose_space(plain, shapes, pilot, curator.remaining / pilot_budget)
    final = look(curator, "moments again", space, marginals.counts, curator.remaining, tuning.noise.margin)

    one, two = entry_noise(pilot), entry_noise(final)
    both = to_plain(combine(pilot, final)[0], final)
    settled = settle(both / kept, one * two / (one + two) / kept**2, variances, tuning)
    floor = tuning.noise.eigenvalue_floor
    correlations = [nearest_correlation(scores.latent_correlation(c, k), floor) for k, c in enumerate(settled)]
    counts = class_counts(marginals, pilot, final)
    means = latent_means(scores, marginals, pilot, final, tuning.farthest_mean)
    return scores, GaussianMixture(counts / counts.sum(), means, np.stack(correlations))


def settle(covariances: FloatArray, noise: FloatArray, variances: FloatArray, tuning: MixtureTuning) -> FloatArray:
    """Covariances of the scores, with the noise shrunk away and the variances that the marginals imply.

    In units of correlation, all classes together are shrunk towards independence and each class towards
    all classes together, each by the James-Stein weight: noise energy over squared distance. A column that
    is as good as constant goes with no other.
    """
    live = variances > tuning.constant_column
    scale = np.sqrt(np.where(live, variances, 1.0))
    units = np.einsum("ki,kj->kij", scale, scale)
    free = np.einsum("ki,kj->kij", live, live) & ~np.eye(variances.shape[1], dtype=bool)
    scaled, scaled_noise = np.where(free, covariances / units, 0.0), np.where(free, noise / units**2, 0.0)
    mixed = shrink_to_pooled(scaled, scaled_noise, 0.0, tuning.noise.margin)
    own = np.where(free, mixed, 0.0) + np.eye(variances.shape[1])
    return np.stack([nearest_correlation(m, tuning.noise.eigenvalue_floor) for m in own]) * units


def latent_means(scores: Scores, marginals: Marginals, pilot: Look, final: Look, farthest: float) -> FloatArray:
    """Where each class's latent mean lies, once the moments have corrected the histograms.

    The histograms put it at zero with an error of known size; the two looks measure it again. Histograms are
    never wrong by more than `farthest`.
    """
    measured, variance = combine_means(pilot, final, np.zeros_like(pilot.means))
    offset = measured / marginals.readable - scores.means()
    energy = np.stack([_score_energy(scores, marginals, k) for k in range(scores.classes)])
    prior = marginals.sd**2 * energy / marginals.counts[:, None] ** 2
    slope = np.stack([scores.hermite(k)[:, 0] for k in range(scores.classes)]).clip(0.1)
    return np.asarray((offset * prior / (prior + variance) / slope).clip(-farthest, farthest))


def _score_energy(scores: Scores, marginals: Marginals, k: int) -> FloatArray:
    """Sum of squared scores over the bins that hold more than the pseudo-rows do."""
    return np.array(
        [
            (column.scores[k] ** 2)[column.masses[k] * marginals.counts[k] > 2.0 * sd / len(column.order)].sum()
            for column, sd in zip(scores.columns, marginals.sd, strict=True)
        ]
    )


def class_counts(marginals: Marginals, pilot: Look, final: Look) -> FloatArray:
    """Class counts from all three rounds, weighed by their precision."""
    precision = np.array([marginals.count_sd**-2, pilot.count_sd**-2, final.count_sd**-2])
    looks = np.stack([marginals.counts, pilot.counts, final.counts])
    return np.maximum(precision @ looks / precision.sum(), 1.0)
