"""The space that slices are asked in: what the first rounds tell, by encoding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.encoding.projected import Projected
from sfumato.encoding.scores import Scores
from sfumato.mechanisms.asker import Asker
from sfumato.mechanisms.base import Plan
from sfumato.mechanisms.encodings.group_columns import ask_columns
from sfumato.mechanisms.encodings.group_encoding import GroupEncoding
from sfumato.mechanisms.encodings.group_shape import VARIANCE_FLOOR, Directions, Shape, ask_centres
from sfumato.mechanisms.encodings.score_encoding import ScoreEncoding
from sfumato.mechanisms.questions import projected_image
from sfumato.mechanisms.shrinkage import floor_eigenvalues
from sfumato.mechanisms.slicing.frequencies import frames, planes
from sfumato.mechanisms.tuning import GroupTuning
from sfumato.models.bought import Space, Start
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.private.queries.base import LATENT_BITS, MAP_BITS, Image
from sfumato.schema.layout import FloatArray, Layout
from sfumato.schema.projections import Projection

if TYPE_CHECKING:
    from sfumato.mechanisms.slicing.slicing_mechanism import Slicing


@dataclass(frozen=True)
class SliceSpace:
    """The bins that were settled on; the encoder; the image of a row that is asked for; counts of classes; the
    Gaussians that training begins with, and the space that these are in; and the frequencies of waves, for the central
    form.
    """

    layout: Layout
    encoder: Scores | Projected
    image: Image
    counts: FloatArray
    start: Start
    space: Space | None
    frequencies: FloatArray


NO_WAVES = np.zeros((0, 0))


def learn_space(mechanism: Slicing, curator: Asker, plan: Plan) -> SliceSpace:
    """Ask the encoding's rounds."""
    if plan.encoding == "scores":
        return _scores(mechanism, curator, plan)
    return _groups(mechanism, curator, plan) if mechanism.form == "central" else _group_rows(mechanism, curator, plan)


def _scores(mechanism: Slicing, curator: Asker, plan: Plan) -> SliceSpace:
    learned = ScoreEncoding(mechanism.tuning.histograms).learn(curator, plan)
    start = Start.standard(plan.classes, plan.columns)
    central = mechanism.form == "central"
    waves = frames(learned.image.dim, mechanism.slice_dim, mechanism.tuning.waves) if central else NO_WAVES
    return SliceSpace(learned.layout, learned.scores, learned.image, learned.counts, start, None, waves)


def _groups(mechanism: Slicing, curator: Asker, plan: Plan) -> SliceSpace:
    """Waves in the main directions of the classes' common shape."""
    tuning = mechanism.tuning
    learned = GroupEncoding(tuning.groups).learn(curator, plan)
    shape, image = learned.shape, learned.image
    assert image.matrix is not None
    matrix = np.asarray(image.matrix * 2.0**-MAP_BITS, dtype=np.float64)  # as it is applied, and so the centres
    centres = np.asarray(image.centres * 2.0**-LATENT_BITS, dtype=np.float64)
    start, basis = _begin(shape, learned.directions, tuning.flattest)
    encoder = _ask_columns(curator, plan, learned.projection, shape, tuning.groups)
    spread = np.sqrt(np.maximum(np.diagonal(matrix @ shape.within @ matrix.T), VARIANCE_FLOOR))
    space = Space(basis, shape.means, matrix, centres)
    return SliceSpace(plan.layout, encoder, image, shape.counts, start, space, planes(image.dim, tuning.waves) / spread)


def _group_rows(mechanism: Slicing, curator: Asker, plan: Plan) -> SliceSpace:
    """Rows in the projected coordinates as they are."""
    projection, tuning = Projection.of(plan.layout.groups), mechanism.tuning.groups
    shape = _round_shape(curator, plan, projection, tuning)
    unit = np.eye(projection.dim)
    root = math.sqrt(float(shape.within[0, 0]))
    space = Space(root * unit, shape.means, unit, np.zeros_like(shape.means))
    start = Start.standard(plan.classes, projection.dim)
    encoder = _ask_columns(curator, plan, projection, shape, tuning)
    return SliceSpace(
        plan.layout, encoder, projected_image(np.zeros_like(shape.means)), shape.counts, start, space, NO_WAVES
    )


def _round_shape(curator: Asker, plan: Plan, projection: Projection, tuning: GroupTuning) -> Shape:
    """Where classes lie, all of them as wide as rows spread on average, in every direction alike."""
    asked = ask_centres(curator, plan, projection, tuning)
    counts = asked.counts
    means = np.clip(asked.sums / counts[:, None], -projection.radius, projection.radius)
    around = np.maximum(asked.norms / counts - (means**2).sum(axis=1), 0.0)
    variance = max(float(around @ counts / counts.sum()) / projection.dim, VARIANCE_FLOOR)
    noise = (asked.sum_sd / counts) ** 2
    return Shape(counts, means, variance * np.eye(projection.dim), np.ones(plan.classes), 0.0, noise)


def _begin(shape: Shape, main: Directions, flattest: float) -> tuple[Start, FloatArray]:
    """The Gaussians that training begins with, and the basis they are in: first the main directions, half whitened,
    in which a class begins as wide as all classes are, times its own width; then what lies outside, whitened.
    """
    e, dim = main.matrix.shape
    values, vectors = np.linalg.eigh(main.rest)
    outside = (vectors * np.sqrt(np.maximum(values, VARIANCE_FLOOR)))[:, e:].T
    basis = np.concatenate([main.back.T, outside])
    skip = np.zeros((len(shape.means), dim, dim))
    skip[:, range(e, dim), range(e, dim)] = 1.0
    inside, turned = np.linalg.eigh(main.matrix @ shape.within @ main.matrix.T)
    root = (turned * np.sqrt(np.maximum(inside, flattest))) @ turned.T
    skip[:, :e, :e] = np.sqrt(shape.widths)[:, None, None] * root
    return Start(skip, np.zeros((len(shape.means), dim))), basis


def _ask_columns(curator: Asker, plan: Plan, projection: Projection, shape: Shape, tuning: GroupTuning) -> Projected:
    """Every column's mean and variance, beside what one Gaussian a class makes of them."""
    covariances = shape.widths[:, None, None] * floor_eigenvalues(shape.within, VARIANCE_FLOOR)
    gaussians = GaussianMixture(shape.weights, shape.means, covariances)
    return ask_columns(curator, projection, shape, gaussians, plan.budget("columns", curator.remaining), tuning)
