"""Columns in groups, such as images: a mixture in the space of their projection, whatever their number.

Rounds, each a Gaussian query of the curator: where classes lie; the second moment of all rows together, whose main
directions (private PCA) are those in which more is asked; cells of each class in these directions, many small ones
with one shape (clustmix) or a single one (mixture); the columns' own moments, for the way back; and noisy gradients of
a label model. docs/proofs/clustmix.md has the proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from sfumato.encoding.projected import SMALLEST_MEAN, Projected, column_variances
from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.cells import Found, calm_means, find_cells
from sfumato.mechanisms.components import divide
from sfumato.mechanisms.moments import pull, unclipped
from sfumato.mechanisms.plan import Plan, moment_costs, radius
from sfumato.mechanisms.questions import clipped_gradient, feature_moments, latent_space, projected_image, unpack
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.models.labellers import QuadraticLabeller
from sfumato.private.queries.base import FIXED_BITS, LATENT_BITS, MAP_BITS
from sfumato.private.queries.features import QuadraticImage, WithOne
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.images import ColumnImage, Within
from sfumato.schema.layout import FloatArray, Layout
from sfumato.schema.projections import Projection

CENTRE_SHARES = (0.1, 0.6, 0.3)  # of the first look, between counts, sums and squared norms
SHAPE_SHARES = (0.6, 0.4)  # of the second, between the second moment and the classes' sums, the means of which stay
ROOM = 1.5  # mean squared norms that a row may have before it is clipped
EDGE = 1.5  # times the edge of the noise's spectrum: a direction below is taken for noise
CLEAR = 4.0  # times the noise of an entry: a coordinate of smaller variance is not looked at
FEWEST_DIRECTIONS = 6  # of those: even what noise tilts has most of its variance in them
MOST_DIRECTIONS = 48  # in which classes may have shapes of their own
MOST_COORDINATES = 64  # that the label model sees: more make its gradients noisier than they are worth
WIDENESS = (0.4, 2.0)  # how far the spread of a class may differ from that of all
STEEPEST = 8.0  # entry of a map: narrower directions are not stretched further
FEWEST = 3.0  # standard deviations of a count that a class is taken to hold at the least
SMALLEST_EIGENVALUE = 0.05  # of a class's shape, in units of that of all classes together
SMALLEST_VARIANCE = 2.0**-20  # of a coordinate
SNAP = 2.0  # standard deviations of a noisy mean within which a bound is taken for it
DRAWN = 20_000  # rows of the mixture that the label model is first fitted to
FREE_STEPS = 100
FREE_RATE = 60.0  # for features of norm one, as the next
RATE = 400.0  # in two dozen rounds 150 does not arrive, and 700 is noisier without getting farther
MOMENTUM = 0.9
CAP = 0.2  # of the residual's norm
NORMED = 0.05  # of the drawn rows have features shorter than the radius: all others are scaled down to it
SHARPER = 6.0  # times the slopes: capped residuals leave the model less sure of itself than it may be


@dataclass(frozen=True)
class Shape:
    """What is known of all classes together: counts, means and the covariance within them, in projected coordinates;
    `wideness` is the spread of each class, in units of that of all, and `edge` the largest eigenvalue that noise alone
    gives the covariance."""

    counts: FloatArray
    means: FloatArray
    within: FloatArray
    wideness: FloatArray
    edge: float

    @property
    def weights(self) -> FloatArray:
        return np.asarray(self.counts / self.counts.sum())

    @property
    def between(self) -> FloatArray:
        apart = self.means - self.weights @ self.means
        return np.asarray(np.einsum("k,ki,kj->ij", self.weights, apart, apart))


@dataclass(frozen=True)
class Directions:
    """The main directions: `matrix` maps coordinates to them, half whitened within classes (so that noise, which is
    the same in all of them, drowns neither the wide nor the narrow ones); `back` leads back, `spread` is the mean
    square norm within classes, and `rest` the covariance of what lies outside."""

    matrix: FloatArray
    back: FloatArray
    spread: float
    rest: FloatArray


def fit_groups(
    curator: Asker, layout: Layout, plan: Plan
) -> tuple[Projected, GaussianMixture, QuadraticLabeller | None]:
    """Ask all queries and build the model from their answers."""
    projection = Projection.of(layout.groups)
    budget = {each.name: each.share * plan.mu**2 for each in plan.rounds}
    shape = look_at_all(curator, layout.classes, projection, budget)
    directions = find_directions(shape)
    image = projected_image(shape.means @ directions.matrix.T, directions.matrix)
    found = find_cells(curator, image, shape.counts, shape.wideness * directions.spread, plan)
    shapes = look_within(curator, found, budget["shapes"])
    mixture = assemble(shape, directions, found, shapes)
    spent = budget["columns"] if plan.label_rounds else curator.remaining
    encoder = look_at_columns(curator, projection, shape, mixture, spent)
    if not plan.label_rounds:
        return encoder, mixture, None
    return encoder, mixture, fit_labels(curator, plan, shape, label_matrix(shape, directions), mixture)


def look_at_all(curator: Asker, classes: int, projection: Projection, budget: dict[str, float]) -> Shape:
    """Where the classes lie, then the second moment of all rows around their common mean."""
    everywhere = projected_image(np.zeros((classes, projection.dim)))
    first = GroupSums(latent_space(everywhere, [projection.radius] * classes), CENTRE_SHARES, "norm")
    answer = curator.total("centres", first, budget["centres"])
    counts, sums, norms = unpack(first, answer.values)
    count_sd, sum_sd, _ = unpack(first, answer.sd)
    counts = np.maximum(counts, FEWEST * count_sd)
    total = counts.sum()
    middle = sums.sum(axis=0) / total
    noise = classes * sum_sd[0, 0] ** 2 / total**2
    spread = norms.sum() / total - (middle**2).sum() + projection.dim * noise
    spread = float(np.clip(spread, SMALLEST_VARIANCE * projection.dim, projection.radius**2))

    around = WithOne(projected_image(np.tile(middle, (classes, 1))))
    second = feature_moments(around, math.sqrt(1.0 + ROOM * spread), classes, SHAPE_SHARES)
    answer = curator.total("shape", second, budget["shape"])
    gram, cross = unpack(second, answer.values)
    sd = float(unpack(second, answer.sd)[0][0, 0])
    again = FEWEST * float(unpack(second, answer.sd)[1][0, 0])
    counts = np.maximum((counts + np.maximum(cross[0], again)) / 2.0, FEWEST * count_sd)
    both = _joined(sums / counts[:, None], sum_sd[:, 0], middle + cross[1:].T / counts[:, None], again / FEWEST)
    spoiled = np.asarray((sum_sd[:, 0] ** -2 + (again / FEWEST) ** -2) ** -1 / counts**2)
    means = calm_means(both, spoiled, counts, np.zeros(classes, dtype=np.int64))
    own = np.maximum(norms / counts - (means**2).sum(axis=1), SMALLEST_VARIANCE)
    wideness = np.clip(own / (counts / counts.sum() @ own), *WIDENESS)
    edge = sd / counts.sum() * math.sqrt(2.0 * projection.dim)
    known = Shape(counts, means, gram[1:, 1:] / counts.sum(), wideness, edge)
    return replace(known, within=known.within - known.between)


def _joined(first: FloatArray, sd: FloatArray, second: FloatArray, other: float) -> FloatArray:
    """The mean of two noisy answers to one question, each weighted by how well it is known."""
    weight = (sd**-2 / (sd**-2 + other**-2))[:, None]
    return np.asarray(weight * first + (1.0 - weight) * second)


def find_directions(shape: Shape) -> Directions:
    """Where class means lie, and the eigenvectors of the covariance of all rows that stand out of the noise."""
    apart, _, _ = np.linalg.svd((shape.means - shape.weights @ shape.means).T, full_matrices=False)
    values, vectors = np.linalg.eigh(shape.within + shape.between)
    kept = min(max(int((values > EDGE * shape.edge).sum()), FEWEST_DIRECTIONS), MOST_DIRECTIONS, len(values))
    main, _ = np.linalg.qr(np.concatenate([apart[:, : len(shape.means) - 1], vectors[:, ::-1][:, :kept]], axis=1))
    inner, rotation = np.linalg.eigh(main.T @ shape.within @ main)
    scale = np.maximum(inner, STEEPEST**-4) ** 0.25
    matrix = (rotation / scale).T @ main.T
    outside = np.eye(len(main)) - main @ main.T
    variances = np.maximum(np.diagonal(shape.within) - np.diagonal(main @ main.T @ shape.within @ main @ main.T), 0.0)
    rest = outside @ np.diag(np.maximum(variances, SMALLEST_VARIANCE)) @ outside
    spread = float((scale**2).sum())
    return Directions(matrix, main @ (rotation * scale), spread, rest + SMALLEST_VARIANCE * np.eye(len(main)))


def look_within(curator: Asker, found: Found, mu_squared: float) -> FloatArray:
    """The shape of each class's cells, all of them together: (classes, dim, dim), shrunk towards that of all classes.

    Entries carry noise, and so do eigenvalues: those of a class's difference from all classes are pulled in as far as
    noise of that size spreads the eigenvalues of anything (Bun, Bouchaud and Potters 2017, the additive case)."""
    cells = found.cells
    dim, classes = cells.image.dim, len(cells.centres)
    counts = np.asarray(np.bincount(cells.classes, found.counts, classes), dtype=np.float64)
    radii = [radius(w) for w in found.within]
    query = GroupSums(latent_space(Within(cells), radii), moment_costs(counts, dim, radius(dim)).shares, "outer")
    answer = curator.total("shapes", query, mu_squared)
    _, sums, seconds = unpack(query, answer.values)
    sd = unpack(query, answer.sd)[2][:, 0, 0] / counts
    kept = np.array([unclipped(dim, radius(w), w) for w in found.within])
    means = sums / counts[:, None]
    shapes = seconds / (counts * kept)[:, None, None] - np.einsum("ki,kj->kij", means, means)
    pooled = np.einsum("k,kij->ij", counts / counts.sum(), shapes)
    pooled = lift(pooled, SMALLEST_EIGENVALUE * float(found.within.mean()) / dim)
    root = np.sqrt(np.diagonal(pooled))
    around = [(pooled + calm(own - pooled, s)) / np.outer(root, root) for own, s in zip(shapes, sd, strict=True)]
    return np.stack([lift(each, SMALLEST_EIGENVALUE) * np.outer(root, root) for each in around])


def calm(matrix: FloatArray, sd: float) -> FloatArray:
    """A symmetric matrix with noise of standard deviation `sd` on the diagonal and sd / sqrt(2) off it, its eigenvalues
    moved to where they were likeliest before: x - 2 s^2 H(x), with H the Hilbert transform of their density and
    s^2 = dim sd^2 / 2."""
    dim = len(matrix)
    values, vectors = np.linalg.eigh(matrix)
    variance = dim * sd**2 / 2.0
    apart = values[:, None] - values[None, :]
    width = math.sqrt(variance / dim) + 1e-12
    hilbert = (apart / (apart**2 + width**2)).mean(axis=1)
    moved = values - 2.0 * variance * hilbert
    energy = sd**2 * dim * (dim + 1) / 2.0
    weight = 1.0 - pull(energy, float((values**2).sum()))
    return np.asarray((vectors * np.sort(moved) * weight) @ vectors.T)


def lift(matrix: FloatArray, floor: float) -> FloatArray:
    """A symmetric matrix with its eigenvalues lifted to a floor."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    lifted = (vectors * np.maximum(values, floor)) @ vectors.T
    return np.asarray((lifted + lifted.T) / 2.0)


def assemble(shape: Shape, directions: Directions, found: Found, shapes: FloatArray) -> GaussianMixture:
    """Cells and shapes taken back to the projected coordinates, with what lies outside the main directions."""
    classes = np.array(found.cells.classes)
    means = shape.means[classes] + found.means @ directions.back.T
    covariances = np.stack([directions.back @ s @ directions.back.T + directions.rest for s in shapes])
    weights = divide(shape.weights, classes, found.counts)
    return GaussianMixture(weights, means, (covariances + covariances.swapaxes(1, 2)) / 2.0, classes, found.scales)


def look_at_columns(
    curator: Asker, projection: Projection, shape: Shape, mixture: GaussianMixture, mu_squared: float
) -> Projected:
    """The mean and variance of every column, by class, beside what the mixture makes of them."""
    expected = np.clip(0.5 + mixture.class_means @ projection.back.T, 0.0, 1.0)
    explained = column_variances(projection, mixture)
    image = ColumnImage(np.rint(expected * 2.0**FIXED_BITS).astype(np.int64), factor=1)
    far = math.sqrt(2.0 * float(explained.sum(axis=1).max()) + 1e-3)
    query = GroupSums(latent_space(image, [far] * len(expected)), (0.05, 0.95))
    answer = curator.total("columns", query, mu_squared)
    total, width = shape.counts.sum(), expected.shape[1]
    told = unpack(query, answer.values)[1].sum(axis=0) / total
    noise = float(np.linalg.norm(unpack(query, answer.sd)[1][:, 0])) / total
    common = told[:width] * (1.0 - pull(width * noise**2, float((told[:width] ** 2).sum())))
    before = shape.weights @ expected
    means = shift(expected, before, np.clip(before + common, 0.0, 1.0), noise)
    variances = spread(means, shape.weights, told[width:] - common**2, noise)
    return Projected.of(projection, means, np.maximum(variances, explained), mixture)


def shift(expected: FloatArray, before: FloatArray, after: FloatArray, noise: float) -> FloatArray:
    """Class means moved by the same log-odds in every class, so that the mean of a column goes from `before` to
    `after`. A column whose mean is at a bound, as far as anyone can tell, is taken to be there in every class."""
    low, high = SMALLEST_MEAN, 1.0 - SMALLEST_MEAN
    moved = expit(logit(expected.clip(low, high)) + logit(after.clip(low, high)) - logit(before.clip(low, high)))
    moved[:, after < SNAP * noise] = low
    moved[:, after > 1.0 - SNAP * noise] = high
    return np.asarray(moved)


def spread(means: FloatArray, weights: FloatArray, seconds: FloatArray, noise: float) -> FloatArray:
    """Class variances: as a share of the largest there can be at the mean they are a column's own, whatever the class,
    pulled to that of all columns together by the James-Stein weight, and more so where there is little to vary."""
    most = means * (1.0 - means)
    pooled = weights @ most
    overall = max(float(seconds.sum()), 0.0) / float(pooled.sum())
    apart = seconds - overall * pooled
    apart *= 1.0 - pull(len(apart) * noise**2, float(apart @ apart))
    return np.asarray(most * np.maximum(overall + apart / (pooled + noise), 0.0))


def label_matrix(shape: Shape, directions: Directions) -> FloatArray:
    """What the label model sees: the coordinates of largest variance, standardised, where more of them stand out of
    the noise than there are main directions; those otherwise."""
    variances = np.diagonal(shape.within + shape.between)
    order = np.argsort(-variances)[:MOST_COORDINATES]
    order = order[variances[order] > CLEAR * shape.edge / math.sqrt(2.0 * len(variances))]
    if len(order) < len(directions.matrix):
        return directions.matrix
    scales = np.maximum(np.sqrt(variances[order]), 1.0 / STEEPEST)
    return np.asarray(np.eye(len(variances))[order] / scales[:, None])


def fit_labels(
    curator: Asker, plan: Plan, shape: Shape, wanted: FloatArray, mixture: GaussianMixture
) -> QuadraticLabeller:
    """A label model fitted to rows of the mixture, which is free, then moved by noisy gradients of private rows."""
    classes = len(shape.means)
    image = projected_image(np.tile(wanted @ (shape.weights @ shape.means), (classes, 1)), wanted)
    assert image.matrix is not None
    matrix = np.asarray(image.matrix * 2.0**-MAP_BITS, dtype=np.float64)  # as it is applied, and so the centre
    centre = np.asarray(image.centres[0] * 2.0**-LATENT_BITS, dtype=np.float64)
    rng = np.random.default_rng(0)  # free choices: the same for every table
    components = mixture.sample_components(DRAWN, rng)
    labels = mixture.component_class[components]
    latent = mixture.sample(components, rng)
    plain = QuadraticLabeller(matrix, centre, np.zeros((classes, 0)), math.inf)
    features = plain.features(latent)
    reach = min(float(np.quantile(np.linalg.norm(features, axis=1), NORMED)), 15.0)
    features *= np.minimum(1.0, reach / np.linalg.norm(features, axis=1, keepdims=True))
    slopes = _regress(features, labels, classes, reach)
    velocity = np.zeros_like(slopes)
    for i, each in enumerate(plan.label_rounds):
        last = i == len(plan.label_rounds) - 1
        query = clipped_gradient(QuadraticImage(image), slopes, reach, CAP)
        answer = curator.total(each.name, query, curator.remaining if last else each.share * plan.mu**2)
        velocity = MOMENTUM * velocity + unpack(query, answer.values) / shape.counts.sum()
        slopes = slopes + RATE / reach**2 * velocity
    return QuadraticLabeller(matrix, centre, slopes * SHARPER, reach)


def _regress(features: FloatArray, labels: np.ndarray, classes: int, reach: float) -> FloatArray:
    """Slopes that make the labels of drawn rows likelier, by descent with momentum."""
    own = np.eye(classes)[labels]
    slopes = np.zeros((classes, features.shape[1]))
    velocity = np.zeros_like(slopes)
    for _ in range(FREE_STEPS):
        logits = features @ slopes.T
        rises = np.exp(logits - logits.max(axis=1, keepdims=True))
        residuals = own - rises / rises.sum(axis=1, keepdims=True)
        velocity = MOMENTUM * velocity + residuals.T @ features / len(features)
        slopes = slopes + FREE_RATE / reach**2 * velocity
    return slopes
