"""The strict mixture: one Gaussian per class in latent space, after Liu, Scaglione and Peisert (2025).

Three Gaussian queries through the curator: histograms, moments, and moments again in the shape that the
first look found. The rest is post-processing. Formal guarantee: the composition of the three is mu-GDP;
docs/proofs/mixture.md has the one paragraph that it takes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from sfumato.bins import FloatArray, Layout
from sfumato.encoding.marginals import Marginals, clean
from sfumato.encoding.scores import Scores
from sfumato.mechanisms.plan import Plan, moment_costs, radius
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.private.queries import MAP_BITS, Asker, Histograms, Latent, Moments

SMALLEST_VARIANCE = 0.02  # of a column's scores: below it the column is as good as constant
SMALLEST_EIGENVALUE = 0.05  # of a released correlation matrix: noisy CDFs do not support a sharper one
FLATTEST = 1.0 / 64.0  # smallest eigenvalue that whitening will stretch: the map stays below 8


@dataclass(frozen=True)
class Look:
    """One noisy look at the moments of every class, in a latent space reached by the maps.

    `counts`, `means` and `covariances` carry noise of standard deviation `count_sd` (one number for all
    classes), `mean_sd[k]` a coordinate, and `covariance_sd[k]` (over sqrt(2) off the diagonal).
    """

    maps: FloatArray
    counts: FloatArray
    count_sd: float
    means: FloatArray
    mean_sd: FloatArray
    covariances: FloatArray
    covariance_sd: FloatArray


def fit_mixture(curator: Asker, layout: Layout, plan: Plan) -> tuple[Scores, GaussianMixture]:
    """Ask the three queries and build the model from their answers."""
    marginals = ask_histograms(curator, layout, plan)
    scores = Scores.of(marginals, layout.bins)
    variances = scores.variances()
    pilot_budget = plan.rounds[1].share * plan.mu**2
    radii = [radius(float(total)) for total in (variances + scores.means() ** 2).sum(axis=1)]
    flat = np.stack([np.eye(plan.columns)] * plan.classes)
    pilot = look(curator, "moments", scores, marginals, flat, radii, plan, pilot_budget)

    shapes = settle(pilot.covariances, _noise(pilot), variances, pilot.counts)
    maps = choose_maps(shapes, pilot, curator.remaining / pilot_budget, radii)
    whitened = maps is not flat and not np.array_equal(maps, flat)
    clip = [radius(plan.columns)] * plan.classes if whitened else radii
    final = look(curator, "moments again", scores, marginals, maps, clip, plan, curator.remaining)

    counts = _counts(marginals, layout, pilot, final)
    covariances, noise = combine(pilot, final)
    settled = settle(covariances, noise, variances, counts)
    correlations = np.stack(
        [nearest_correlation(scores.latent_correlation(settled[k], k)) for k in range(plan.classes)]
    )
    means = latent_means(scores, marginals, pilot, final)
    return scores, GaussianMixture(counts / counts.sum(), means, correlations)


def ask_histograms(curator: Asker, layout: Layout, plan: Plan) -> Marginals:
    """Round 0: class counts and every column's class-conditional distribution."""
    query = Histograms(layout.sizes, layout.classes, plan.column_shares)
    answer = curator.total("histograms", query, plan.histogram_share * plan.mu**2)
    sd = np.array([cells[0, 0] for cells in query.unpack(answer.sd)])
    return clean(query.unpack(answer.values), sd, layout.bins)


def look(
    curator: Asker,
    name: str,
    scores: Scores,
    marginals: Marginals,
    maps: FloatArray,
    radii: list[float],
    plan: Plan,
    mu_squared: float,
) -> Look:
    """Ask for count, sum and second moment per class of the latent rows under `maps`."""
    dim = plan.columns
    identity = np.array_equal(maps, np.stack([np.eye(dim)] * plan.classes))
    latent = Latent.of(scores.tables(), radii, None if identity else list(maps))
    shares = moment_costs(marginals.counts, dim, radius(dim)).shares
    query = Moments(latent, shares)
    answer = curator.total(name, query, mu_squared)
    counts, sums, seconds = query.unpack(answer.values)
    count_sd, sum_sd, second_sd = query.unpack(answer.sd)
    if latent.maps is not None:
        maps = np.stack(latent.maps) / 2.0**MAP_BITS  # as quantised, which is what was applied
    size = np.maximum(counts, marginals.counts / 2.0)  # a rare class's second count may drown
    kept = np.array([unclipped(dim, r, m) for r, m in zip(radii, _spread(scores, identity), strict=True)])
    means = sums / size[:, None]
    covariances = seconds / (size * kept)[:, None, None] - np.einsum("ki,kj->kij", means, means)
    return Look(
        maps,
        counts,
        float(count_sd[0]),
        means,
        sum_sd[:, 0] / size,
        covariances,
        second_sd[:, 0, 0] / (size * kept),
    )


def _spread(scores: Scores, identity: bool) -> FloatArray:
    """The mean squared norm of a latent row in each class."""
    dim = len(scores.columns)
    if not identity:
        return np.full(scores.classes, float(dim))
    return (scores.variances() + scores.means() ** 2).sum(axis=1)


def unclipped(dim: int, clip: float, spread: float) -> float:
    """The share of the second moment that survives clipping, for normal rows of mean square norm `spread`.

    E min(X, c) / d for X chi-square with d degrees of freedom is F_{d+2}(c) + c (1 - F_d(c)) / d.
    """
    c = clip**2 * dim / spread
    return float(chi2.cdf(c, dim + 2) + c * chi2.sf(c, dim) / dim)


def entry_variance(sd: float, gram: FloatArray) -> FloatArray:
    """Variance of the entries of A W A^T with gram = A A^T, for symmetric noise W with standard deviation
    `sd` on the diagonal and sd / sqrt(2) off it."""
    diagonal = np.diag(gram)
    return np.asarray(0.5 * sd**2 * (np.outer(diagonal, diagonal) + gram**2))


def _noise(view: Look) -> FloatArray:
    """Entry variances of a look's covariances, taken back to the space of scores."""
    back = np.linalg.inv(view.maps)
    grams = back @ np.swapaxes(back, 1, 2)
    return np.stack([entry_variance(sd, gram) for sd, gram in zip(view.covariance_sd, grams, strict=True)])


def settle(covariances: FloatArray, noise: FloatArray, variances: FloatArray, counts: FloatArray) -> FloatArray:
    """Covariances of the scores, with the noise shrunk away and the variances that the marginals imply.

    In units of correlation, all classes together are shrunk towards independence and each class towards
    all classes together, each by the James-Stein weight: noise energy over squared distance.
    """
    live = variances > SMALLEST_VARIANCE
    scale = np.sqrt(np.where(live, variances, 1.0))
    units = np.einsum("ki,kj->kij", scale, scale)
    free = np.einsum("ki,kj->kij", live, live) & ~np.eye(variances.shape[1], dtype=bool)
    rho = np.where(free, covariances / units, 0.0)
    energy = np.where(free, noise / units**2, 0.0).sum(axis=(1, 2))
    precision = 1.0 / np.maximum(energy, 1e-300) if energy.any() else counts
    pooling = precision / precision.sum()
    pooled = np.einsum("k,kij->ij", pooling, rho)
    pooled *= 1.0 - _pull((pooling**2 * energy).sum(), (pooled**2).sum())
    pulls = [_pull(e, ((r - pooled)[f] ** 2).sum()) for r, e, f in zip(rho, energy, free, strict=True)]
    mixed = np.stack([np.where(f, r + p * (pooled - r), 0.0) for r, p, f in zip(rho, pulls, free, strict=True)])
    return np.stack([nearest_correlation(m + np.eye(len(m))) for m in mixed]) * units


def _pull(noise_energy: float, distance: float) -> float:
    return 1.0 if distance <= noise_energy else noise_energy / distance


def nearest_correlation(matrix: FloatArray) -> FloatArray:
    """Lift the eigenvalues of a symmetric matrix to a floor, then scale the diagonal back to one."""
    values, vectors = np.linalg.eigh(matrix)
    lifted = (vectors * np.maximum(values, SMALLEST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(np.diag(lifted))
    result = lifted / np.outer(scale, scale)
    np.fill_diagonal(result, 1.0)
    return np.asarray((result + result.T) / 2.0)


def choose_maps(shapes: FloatArray, pilot: Look, ratio: float, radii: list[float]) -> FloatArray:
    """Whiten each class by its shape, or leave the space alone: whichever predicts the lower KL.

    `ratio` is the budget of the round to come over the pilot's. The covariance's part of the expected KL is
    a quarter of the sum of its entry variances in whitened units. Where the space is left alone, both
    looks together are exactly one look at the whole budget, so nothing is lost by having asked twice.
    """
    dim = shapes.shape[1]
    whitening = np.stack([_inverse_root(shape) for shape in shapes])
    share = pilot.counts.clip(1.0) / pilot.counts.clip(1.0).sum()
    leave = stretch = 0.0
    for k, a in enumerate(whitening):
        first = entry_variance(pilot.covariance_sd[k], a @ a.T)
        again = first / ratio
        sd = pilot.covariance_sd[k] * (radius(dim) / radii[k]) ** 2 / np.sqrt(ratio)
        leave += share[k] * (first * again / (first + again)).sum() / 4.0
        whitened = entry_variance(sd, np.eye(dim))
        stretch += share[k] * (first * whitened / (first + whitened)).sum() / 4.0
    return whitening if stretch < leave else np.stack([np.eye(dim)] * len(shapes))


def _inverse_root(shape: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(shape)
    return np.asarray((vectors / np.sqrt(np.maximum(values, FLATTEST))) @ vectors.T)


def combine(pilot: Look, final: Look) -> tuple[FloatArray, FloatArray]:
    """Both looks' covariances in the space of scores, and the variance of their entries.

    They are averaged in the final look's space, entry by entry, with inverse variances.
    """
    covariances, noise = [], []
    for k, a in enumerate(final.maps):
        back = np.linalg.inv(a)
        first = entry_variance(pilot.covariance_sd[k], a @ a.T)
        second = entry_variance(final.covariance_sd[k], np.eye(len(a)))
        mean = (a @ pilot.covariances[k] @ a.T / first + final.covariances[k] / second) / (1 / first + 1 / second)
        covariances.append(back @ mean @ back.T)
        one = entry_variance(pilot.covariance_sd[k], np.eye(len(a)))
        two = entry_variance(final.covariance_sd[k], back @ back.T)
        noise.append(one * two / (one + two))
    return np.stack(covariances), np.stack(noise)


def latent_means(scores: Scores, marginals: Marginals, pilot: Look, final: Look) -> FloatArray:
    """Where each class's latent mean lies, once the moments have corrected the histograms.

    The histograms put it at zero with an error of known size; the two looks measure it again.
    """
    expected = scores.means()
    means = np.empty_like(expected)
    for k in range(scores.classes):
        back = np.linalg.inv(final.maps[k])
        variance = np.stack([np.full(len(back), pilot.mean_sd[k] ** 2), final.mean_sd[k] ** 2 * (back**2).sum(axis=1)])
        measured = np.stack([pilot.means[k], back @ final.means[k]])
        precision = (1.0 / variance).sum(axis=0)
        offset = (measured / variance).sum(axis=0) / precision - expected[k]
        prior = marginals.sd**2 * _score_energy(scores, marginals, k) / marginals.counts[k] ** 2
        means[k] = offset * prior / (prior + 1.0 / precision) / scores.hermite(k)[:, 0].clip(0.1)
    return means.clip(-1.0, 1.0)


def _score_energy(scores: Scores, marginals: Marginals, k: int) -> FloatArray:
    """Sum of squared scores over the bins that hold more than the pseudo-rows do."""
    return np.array(
        [
            (column.scores[k] ** 2)[column.masses[k] * marginals.counts[k] > 2.0 * sd / len(column.order)].sum()
            for column, sd in zip(scores.columns, marginals.sd, strict=True)
        ]
    )


def _counts(marginals: Marginals, layout: Layout, pilot: Look, final: Look) -> FloatArray:
    """Class counts from all three rounds, weighed by their precision."""
    histogram_precision = (1.0 / (marginals.sd**2 * np.array(layout.sizes))).sum()
    precision = np.array([histogram_precision, pilot.count_sd**-2, final.count_sd**-2])
    looks = np.stack([marginals.counts, pilot.counts, final.counts])
    return np.maximum(precision @ looks / precision.sum(), 1.0)
