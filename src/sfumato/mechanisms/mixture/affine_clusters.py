"""Several Gaussians per class in data units, or clusters where there is no label: the space is summed up in many small
cells, the noisy summary is clustered, which is free, and the clusters are looked at like classes.

Every question is a query of the curator; starts come from the noisy histograms, never from rows.
docs/proofs/mixture.md, section 7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from sfumato.encoding.marginals import Marginals
from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.base import Plan
from sfumato.mechanisms.budget import radius
from sfumato.mechanisms.lloyd import move_centres
from sfumato.mechanisms.mixture.affine_looks import affine_image, follow
from sfumato.mechanisms.mixture.beliefs import FEWEST, Beliefs
from sfumato.mechanisms.mixture.mixture_mechanism import MixtureTuning
from sfumato.mechanisms.questions import cells_at
from sfumato.mechanisms.tuning import NoiseTuning
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.private.queries.base import LATENT_BITS
from sfumato.private.queries.images import Cells
from sfumato.schema.layout import FloatArray, Layout, OrderedBins


@dataclass(frozen=True)
class Summary:
    """A class in many small cells: noisy means, in units of its own spread, counts, and a cell's own variance."""

    points: FloatArray
    counts: FloatArray
    variance: float


@dataclass(frozen=True)
class Clusters:
    """What a summary falls into: centres, counts, and variances of the columns, in units of the class's spread."""

    centres: FloatArray
    counts: FloatArray
    variances: FloatArray


@threadpool_limits.wrap(limits=1)  # k-means on a few points is slower on many threads
def fit_clusters(
    curator: Asker, plan: Plan, marginals: Marginals, components: int | None, tuning: MixtureTuning
) -> GaussianMixture:
    """Summarise, cluster, look."""
    layout = plan.layout
    rng = np.random.default_rng(0)  # free choices: the same for every table
    drawn = [draw_independent(marginals, layout, k, tuning.summary_drawn, rng) for k in range(layout.classes)]
    centres, scales = (np.stack([part(points, axis=0) for points in drawn]) for part in (np.mean, np.std))
    image = affine_image(centres, scales, layout)
    inside = [(points - c) / s for points, c, s in zip(drawn, centres, scales, strict=True)]
    small = tuning.summary_cells * (components or tuning.most_components)
    laid = cells_at(image, [lay(z, small) for z in inside])
    summaries = summarise(curator, laid, inside, marginals, plan.budget("summary"), tuning.noise)
    found = [cluster(summary, components, tuning.most_components) for summary in summaries]
    cells = cells_at(image, [each.centres for each in found])
    first = first_beliefs(found, centres, scales, tuning.summary_doubt)
    beliefs = follow(curator, plan.repeats("moments"), first, layout, cells)
    counts = np.maximum(beliefs.counts, FEWEST)
    return GaussianMixture(counts / counts.sum(), beliefs.means, beliefs.covariances, np.array(cells.classes))


def draw_independent(marginals: Marginals, layout: Layout, k: int, number: int, rng: np.random.Generator) -> FloatArray:
    """So many points of class k whose columns follow the noisy histograms, each on its own."""
    columns = []
    for masses, bins in zip(marginals.masses, layout.bins, strict=True):
        assert isinstance(bins, OrderedBins)
        codes = rng.choice(len(masses[k]), size=number, p=masses[k] / masses[k].sum())
        half = (bins.step or 0.0) / 2.0
        low, high = bins.low[codes] - half, bins.high[codes] + half
        columns.append(low + rng.random(number) * (high - low))
    return np.stack(columns, axis=1)


def lay(points: FloatArray, number: int) -> FloatArray:
    """Centres of so many small cells, spread over where rows may be."""
    cells = min(number, len(points) // 10)
    return np.asarray(KMeans(cells, n_init=1, random_state=0).fit(points).cluster_centers_)


def summarise(
    curator: Asker,
    cells: Cells,
    inside: list[FloatArray],
    marginals: Marginals,
    mu_squared: float,
    tuning: NoiseTuning,
) -> list[Summary]:
    """Ask how many rows each small cell holds, and where in it they are. A cell whose count is below
    `tuning.fewest_rows` standard deviations counts as empty.
    """
    classes, radii, variances, expected = np.array(cells.classes), [], [], []
    for k, (points, grid) in enumerate(zip(inside, cells.centres, strict=True)):
        centres = grid * 2.0**-LATENT_BITS
        apart = ((points[:, None, :] - centres) ** 2).sum(axis=2)
        square = float(apart.min(axis=1).mean())
        radii += [radius(square)] * len(centres)
        variances.append(square / points.shape[1])
        expected += [marginals.counts[k] / len(centres)] * len(centres)
    moved, counts, sd = move_centres(curator, "summary", cells, np.array(expected), radii, mu_squared, tuning)
    heavy = np.where(counts > tuning.fewest_rows * sd, counts, 0.0)
    return [
        Summary(np.asarray(grid * 2.0**-LATENT_BITS, dtype=np.float64), heavy[classes == k], variance)
        for k, (grid, variance) in enumerate(zip(moved.centres, variances, strict=True))
    ]


def cluster(summary: Summary, wanted: int | None, most: int) -> Clusters:
    """Weighted k-means of a summary; without a number, the one that the Bayesian information criterion favours."""
    held = max(int((summary.counts > 0).sum()), 1)
    if wanted is not None:
        return _clusters(summary, min(wanted, held), wanted)
    tried = [_clusters(summary, number, number) for number in range(1, min(most, held) + 1)]
    return max(tried, key=_information)


def _clusters(summary: Summary, number: int, wanted: int) -> Clusters:
    weights = summary.counts if summary.counts.any() else np.ones_like(summary.counts)
    made = KMeans(number, n_init=5, random_state=0).fit(summary.points, sample_weight=weights)
    mine = made.labels_[None, :] == np.arange(number)[:, None]
    counts = (mine * weights).sum(axis=1)
    apart = (summary.points[None] - made.cluster_centers_[:, None]) ** 2
    between = np.einsum("mp,mpd->md", mine * weights, apart) / np.maximum(counts, FEWEST)[:, None]
    # Fewer cells held rows than clusters were asked for: the others share the last one's place.
    repeat = np.minimum(np.arange(wanted), number - 1)
    split = np.bincount(repeat, minlength=number)
    return Clusters(made.cluster_centers_[repeat], (counts / split)[repeat], between[repeat] + summary.variance)


def _information(found: Clusters) -> float:
    """BIC of Gaussians with variances of their own along the columns."""
    total, dim = found.counts.sum(), found.centres.shape[1]
    share = found.counts / total
    likelihood = total * (share @ (np.log(share) - 0.5 * np.log(found.variances).sum(axis=1)))
    return float(likelihood - 0.5 * len(share) * (1 + 2 * dim) * np.log(total))


def first_beliefs(found: list[Clusters], centres: FloatArray, scales: FloatArray, doubt: float) -> Beliefs:
    """What the summaries say of the clusters, in data units; `doubt` is of a cluster's variance."""
    sizes = [len(each.counts) for each in found]
    scale = np.repeat(scales, sizes, axis=0)
    counts = np.maximum(np.concatenate([each.counts for each in found]), FEWEST)
    variances = np.concatenate([each.variances for each in found]) * scale**2
    unit = np.eye(scale.shape[1])
    return Beliefs(
        counts,
        counts**2,
        np.repeat(centres, sizes, axis=0) + np.concatenate([each.centres for each in found]) * scale,
        doubt * variances[:, :, None] * unit,
        variances[:, :, None] * unit,
        unit / np.sqrt(variances)[:, :, None],
        np.full(len(counts), 2.0 / (len(unit) + 1)),
    )
