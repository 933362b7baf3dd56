"""The strict slicing mechanism, after Greenewald, Yu, Wang and Xu (2024): buy noisy slices once, train for free.

Two forms. `central` asks for the class sums of cosines and sines along random slices, and counts: one Gaussian query,
whose error falls with the number of rows. `rows` is the paper's: every row's noisy projections. Before either, a few
queries say how columns are encoded. What comes out is not a model but what models are trained on (`train.py`).
docs/proofs/slicing.md has the proofs.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.encoding.marginals import clean
from sfumato.encoding.projected import Projected
from sfumato.encoding.scores import Scores
from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.groups import (
    CENTRE_SHARES,
    FEWEST,
    SMALLEST_VARIANCE,
    Directions,
    Shape,
    find_directions,
    lift,
    look_at_all,
    look_at_columns,
)
from sfumato.mechanisms.mixture import ask_histograms
from sfumato.mechanisms.plan import Plan
from sfumato.mechanisms.questions import latent_space, projected_image, score_image, unpack, wave_image, wave_radians
from sfumato.mechanisms.slices import row_vectors
from sfumato.models.bought import Bought, BoughtRows, BoughtWaves, Space, Start
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.private.queries.base import LATENT_BITS, MAP_BITS, Image
from sfumato.private.queries.group_sums import GroupSums, Latent
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import Whole
from sfumato.schema.layout import FloatArray, Layout
from sfumato.schema.projections import Projection

COUNT_SHARE = 0.02  # of the waves' query
SPAN = 16  # columns that one slice looks at, at most
SCALES = (0.5, 1.0)  # of frequencies, for coordinates of variance about 1
PLANE_SCALES = (0.7, 1.0)
FEWEST_WAVES, MOST_WAVES = 400, 3000
FLATTEST = 0.02  # variance of a main direction that training begins with
WAVES_A_PLANE = 2.5
SEED = 0  # of the frequencies, which are public: a free choice, the same for every table


def fit_slicing(curator: Asker, layout: Layout, plan: Plan) -> tuple[Scores | Projected, Bought]:
    """Ask for the encoding, then for what generators are trained on."""
    if plan.encoding == "projected":
        return _buy_groups(curator, layout, plan)
    marginals = clean(*ask_histograms(curator, layout, plan), layout.bins)
    scores = Scores.of(marginals, layout.bins)
    image, start = score_image(scores.tables()), Start.standard(layout.classes, len(layout.names))
    if plan.asks_rows:
        return scores, buy_rows(curator, image, plan, marginals.counts, start, None)
    frequencies = frames(image.dim, plan.slice_dim)
    return scores, buy_waves(curator, image, frequencies, marginals.counts, start, None)


def _buy_groups(curator: Asker, layout: Layout, plan: Plan) -> tuple[Projected, Bought]:
    """Columns in groups: where classes lie and how far they spread, each column's moments, and then rows, or waves in
    the main directions of the classes' common shape."""
    projection = Projection.of(layout.groups)
    if plan.asks_rows:
        shape = _look_at_centres(curator, layout.classes, projection, plan)
        unit = np.eye(projection.dim)
        root = math.sqrt(float(shape.within[0, 0]))
        image = projected_image(np.zeros_like(shape.means))
        space = Space(root * unit, shape.means, unit, np.zeros_like(shape.means))
        start = Start.standard(layout.classes, projection.dim)
        encoder = _look_at_columns(curator, projection, shape, plan)
        return encoder, buy_rows(curator, image, plan, shape.counts, start, space)
    budget = {name: plan.share(name) * plan.mu**2 for name in ("centres", "shape")}
    shape = look_at_all(curator, layout.classes, projection, budget)
    main = find_directions(shape)
    image = projected_image(shape.means @ main.matrix.T, main.matrix)
    assert image.matrix is not None
    matrix = np.asarray(image.matrix * 2.0**-MAP_BITS, dtype=np.float64)  # as it is applied, and so the centres
    centres = np.asarray(image.centres * 2.0**-LATENT_BITS, dtype=np.float64)
    start, basis = _begin(shape, main)
    encoder = _look_at_columns(curator, projection, shape, plan)
    spread = np.sqrt(np.maximum(np.diagonal(matrix @ shape.within @ matrix.T), SMALLEST_VARIANCE))
    space = Space(basis, shape.means, matrix, centres)
    return encoder, buy_waves(curator, image, planes(image.dim) / spread, shape.counts, start, space)


def _begin(shape: Shape, main: Directions) -> tuple[Start, FloatArray]:
    """The Gaussians that training begins with, and the basis they are in: first the main directions, half whitened,
    in which a class begins as wide as all classes are, times its own wideness; then what lies outside, whitened."""
    e, dim = main.matrix.shape
    values, vectors = np.linalg.eigh(main.rest)
    outside = (vectors * np.sqrt(np.maximum(values, SMALLEST_VARIANCE)))[:, e:].T
    basis = np.concatenate([main.back.T, outside])
    skip = np.zeros((len(shape.means), dim, dim))
    skip[:, range(e, dim), range(e, dim)] = 1.0
    inside, turned = np.linalg.eigh(main.matrix @ shape.within @ main.matrix.T)
    root = (turned * np.sqrt(np.maximum(inside, FLATTEST))) @ turned.T
    skip[:, :e, :e] = np.sqrt(shape.wideness)[:, None, None] * root
    return Start(skip, np.zeros((len(shape.means), dim))), basis


def _look_at_columns(curator: Asker, projection: Projection, shape: Shape, plan: Plan) -> Projected:
    """Every column's mean and variance, beside what one Gaussian a class makes of them."""
    covariance = lift(shape.within, SMALLEST_VARIANCE)
    covariances = shape.wideness[:, None, None] * covariance
    gaussians = GaussianMixture(shape.weights, shape.means, covariances)
    return look_at_columns(curator, projection, shape, gaussians, plan.budget("columns", curator.remaining))


def _look_at_centres(curator: Asker, classes: int, projection: Projection, plan: Plan) -> Shape:
    """Where classes lie and how far rows spread, in the projected coordinates as they are."""
    everywhere = projected_image(np.zeros((classes, projection.dim)))
    query = GroupSums(latent_space(everywhere, [projection.radius] * classes), CENTRE_SHARES, "norm")
    answer = curator.total("centres", query, plan.budget("centres", curator.remaining))
    counts, sums, norms = unpack(query, answer.values)
    counts = np.maximum(counts, FEWEST * unpack(query, answer.sd)[0])
    means = np.clip(sums / counts[:, None], -projection.radius, projection.radius)
    spread = float(np.maximum(norms / counts - (means**2).sum(axis=1), 0.0) @ counts / counts.sum()) / projection.dim
    within = max(spread, SMALLEST_VARIANCE) * np.eye(projection.dim)
    return Shape(counts, means, within, np.ones(classes), 0.0)


def buy_waves(
    curator: Asker, image: Image, frequencies: FloatArray, counts: FloatArray, start: Start, space: Space | None
) -> BoughtWaves:
    """All that is left of the budget, on the class sums of cosines and sines at these frequencies."""
    waves = wave_image(image, frequencies)
    query = GroupSums(Latent(waves, (waves.longest,) * len(counts)), (COUNT_SHARE, 1.0 - COUNT_SHARE))
    answer = curator.total("waves", query, curator.remaining)
    means = unpack(query, answer.values)[1] / counts[:, None]
    return BoughtWaves(counts, start, wave_radians(waves), means, unpack(query, answer.sd)[1][:, 0] / counts, space)


def frames(dim: int, slice_dim: int) -> FloatArray:
    """Frequencies on random slices: for each a random orthonormal frame of `slice_dim` directions in the space of at
    most SPAN random columns, and a normal vector in it."""
    rng = np.random.default_rng(SEED)
    span = min(SPAN, dim)
    found = np.zeros((FEWEST_WAVES, dim))
    for i in range(FEWEST_WAVES):
        columns = rng.choice(dim, span, replace=False)
        frame, _ = np.linalg.qr(rng.standard_normal((span, min(slice_dim, span))))
        found[i, columns] = frame @ rng.standard_normal(frame.shape[1]) * SCALES[i % len(SCALES)]
    return found


def planes(dim: int) -> FloatArray:
    """Frequencies on the planes of every two coordinates, diagonal one way or the other: in many dimensions random
    directions are all alike, and see next to nothing of any two."""
    rng = np.random.default_rng(SEED)
    pairs = [(i, j) for i in range(dim) for j in range(i)] or [(0, 0)]
    count = int(np.clip(WAVES_A_PLANE * len(pairs), FEWEST_WAVES, MOST_WAVES))
    found = np.zeros((count, dim))
    order = rng.permutation(len(pairs))
    for f in range(count):
        i, j = pairs[order[f % len(pairs)]]
        scale = rng.choice(PLANE_SCALES)
        found[f, i], found[f, j] = scale, scale * rng.choice([-1.0, 1.0])
    return found


def buy_rows(
    curator: Asker, image: Image, plan: Plan, counts: FloatArray, start: Start, space: Space | None
) -> BoughtRows:
    """Every row's noisy projections, or noisy rows where the plan found these to carry more."""
    asked = plan.slicing
    assert asked is not None  # this is slicing
    vectors = row_vectors(image, len(counts), asked.reach)
    projection: Whole | Slices = asked.slices[0] if asked.slices else Whole(curator.remaining)
    found = curator.rows("rows", vectors, projection)
    return BoughtRows(
        counts,
        start,
        found.values.astype(np.float32),
        found.directions,
        found.sd,
        math.sqrt(vectors.radius) * 2.0**-LATENT_BITS,
        vectors.height * 2.0**-LATENT_BITS,
        asked.slice_dim,
        space,
    )
