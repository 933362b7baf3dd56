"""Small mixtures whose cells can all be listed, tilts of them, and the probability of every cell by brute force."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from sfumato.encoding.scores import ColumnScores, Scores
from sfumato.models import GaussianMixture, MixtureModel, TiltedModel
from sfumato.models.followers import Follower
from sfumato.models.labellers import Labeller
from sfumato.models.tilt import Tilt
from sfumato.schema.layout import FloatArray, IntArray, Layout
from sfumato.schema.schema import Schema

SCHEMA: dict[str, Any] = {
    "label": "y",
    "columns": {
        "a": {"type": "category", "values": ["p", "q"]},
        "b": {"type": "category", "values": ["p", "q", "r"], "missing": True},
        "c": {"type": "number", "min": 0, "max": 2, "step": 1},
        "y": {"type": "category", "values": ["no", "yes", "so"]},
    },
}
SIZES = (2, 4, 3)
FOLLOWS = Follower(1, 2, np.array([[0.9, 0.07, 0.03], [0.01, 0.98, 0.01], [0.5, 0.1, 0.4]]))  # b by c
FINE = 11  # log2 of the points for the integral over a cell


def schema(label: bool = True) -> Schema:
    columns = {name: column for name, column in SCHEMA["columns"].items() if label or name != "y"}
    return Schema.of({"columns": columns} | ({"label": "y"} if label else {}))


@cache
def mixture(
    label: bool = True, components: int = 1, adapted: bool = False, alpha: float = 0.3, correlated: bool = True
) -> MixtureModel:
    """A mixture of strongly correlated columns, or of columns that are independent within a class, made up."""
    rng = np.random.default_rng(5)
    layout = Layout.of(schema(label))
    k = layout.classes
    masses = [rng.dirichlet(np.full(size, 4.0), size=k) for size in SIZES]
    encoder = Scores(tuple(ColumnScores(rng.permutation(size), m) for size, m in zip(SIZES, masses, strict=True)))
    many = k * components
    loose = rng.normal(size=(many, 3, 3)) * correlated
    covariances = np.stack([np.eye(3) + a @ a.T for a in loose])
    scale = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    correlations = covariances / np.einsum("ki,kj->kij", scale, scale)
    means = rng.normal(size=(many, 3)) * (components > 1)
    classes = np.repeat(np.arange(k), components)
    gaussians = GaussianMixture(rng.dirichlet(np.full(many, 5.0)), means, correlations, classes)
    labeller = Labeller(alpha, rng.normal(size=k), tuple(rng.normal(size=(k, s)) for s in SIZES)) if adapted else None
    return MixtureModel(layout, encoder.matched(gaussians) if components > 1 else encoder, gaussians, labeller)


def tilt(classes: int, strength: float = 1.0) -> Tilt:
    """Pairs, a triple and, where there is one, the label; b has fewer levels than bins."""
    levels = (np.arange(2), np.array([0, 1, 1, 2]), np.arange(3))
    tables: tuple[tuple[int, ...], ...] = ((0, 1), (1, 2), (2, 0, 1))
    if classes > 1:
        tables += ((3, 1), (0, 3, 2), (3,))
    empty = Tilt(levels, classes, (), np.zeros(0)).with_tables(tables)
    return empty.reweighted(np.random.default_rng(7).normal(0, strength, empty.cells))


def cells(classes: int) -> IntArray:
    """(4, cells): the bins of every cell there is, and its class."""
    return np.array(list(itertools.product(*map(range, (*SIZES, classes))))).T


@cache
def log_mixture(model: MixtureModel, follows: bool = False) -> FloatArray:
    """The log probability of every cell under the mixture; b has its own law given c where it follows."""
    *codes, labels = cells(model.layout.classes)
    values = [None, None, codes[2].astype(float)]
    joint = np.empty((len(labels), model.layout.classes))
    for k in range(model.layout.classes):
        boxes = model.encoder.boxes(codes, values, model.layout.bins, k)  # type: ignore[union-attr]
        found = [
            np.log(model.mixture.weights[c]) + model.mixture.log_boxes(c, boxes, FINE) for c in model.mixture.members(k)
        ]
        joint[:, k] = logsumexp(found, axis=0)
    if follows:
        joint = followed(model, joint)
    if isinstance(model.labeller, Labeller):
        joint = model.labeller.blend(codes, joint)
    return joint[np.arange(len(labels)), labels]


def followed(model: MixtureModel, joint: FloatArray) -> FloatArray:
    """Log probabilities of cells with each class, where b is drawn given c: by its level, and in it by its shares."""
    classes, (_, b, c, _) = model.layout.classes, cells(model.layout.classes)
    by_cell = joint.reshape(*SIZES, classes, classes)
    others = logsumexp(by_cell, axis=1, keepdims=True)  # the mixture, whatever b is
    levels = np.array([0, 1, 1, 2])
    own = model.mixture.class_weights @ model.encoder.columns[1].masses  # type: ignore[union-attr]
    chance = FOLLOWS.chances[c, levels[b]] * own[b] / np.bincount(levels, own)[levels[b]]
    return np.asarray(np.broadcast_to(others, by_cell.shape).reshape(joint.shape) + np.log(chance)[:, None])


def shares(model: MixtureModel, tilt: Tilt, follows: bool = False) -> tuple[FloatArray, float]:
    """The probability of every cell under the tilted mixture, and the log of what the weights add up to."""
    *codes, labels = cells(model.layout.classes)
    log = log_mixture(model, follows) + tilt.log_weights(tilt.levels_of(codes, labels))
    return np.exp(log - logsumexp(log)), float(logsumexp(log))


def expected(model: MixtureModel, tilt: Tilt, follows: bool = False) -> FloatArray:
    """The share of rows in every cell of the tilt's tables."""
    *codes, labels = cells(model.layout.classes)
    places = tilt.places(tilt.levels_of(codes, labels))
    return np.bincount(places.ravel(), np.tile(shares(model, tilt, follows)[0], len(places)), minlength=tilt.cells)


def tilted(tilt: Tilt, follows: bool = False, **options: Any) -> TiltedModel:
    """A tilted mixture whose shares and total are exact."""
    model = mixture(**options)
    followers = (FOLLOWS,) if follows else ()
    share, total = expected(model, tilt, follows), shares(model, tilt, follows)[1]
    return TiltedModel(model, tilt, share, total, 0.0, followers=followers)


def frame(classes: int) -> pd.DataFrame:
    """All cells as rows of a table."""
    a, b, c, y = cells(classes)
    values = {"a": np.array(["p", "q"], object)[a], "b": np.array(["p", "q", "r", None], object)[b], "c": c}
    label = {"y": np.array(["no", "yes", "so"], object)[y]} if classes > 1 else {}
    return pd.DataFrame(values | label)


def counts(codes: Any, labels: IntArray, classes: int) -> FloatArray:
    """How many rows are in every cell."""
    shape = (*SIZES, classes)
    return np.bincount(np.ravel_multi_index((*codes, labels), shape), minlength=np.prod(shape)).astype(float)
