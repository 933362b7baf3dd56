"""Questions from real numbers, and answers back in the units of the asker.

The private side works on whole numbers: here latent tables, matrices, radii and frequencies are rounded to its grids,
and flat answers are taken apart again. None of this sees a row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from sfumato.errors import insist
from sfumato.private.queries import base
from sfumato.private.queries.base import (
    LATENT_BITS,
    LATENT_LIMIT,
    MAP_BITS,
    MAP_LIMIT,
    FloatArray,
    Image,
    IntArray,
    Query,
)
from sfumato.private.queries.features import FeatureImage
from sfumato.private.queries.gradients import PROBABILITY_BITS, ClippedGradient, Gradient, LabelModel
from sfumato.private.queries.group_sums import FeatureMoments, GroupSums, Latent
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.images import MAPPED_LIMIT, Cells, ProjectedImage, ScoreImage, Shifted
from sfumato.private.queries.tables import TARGET_BITS, Distances, Tables
from sfumato.private.queries.viewed import Viewed
from sfumato.private.queries.waves import FREQUENCY_BITS, WaveImage
from sfumato.private.slicing.rows import RowVectors


def quantise(values: FloatArray, bits: int, limit: int) -> IntArray:
    """Real numbers on a grid of so many fractional bits, cut off at a limit."""
    insist(not np.isnan(values).any(), "latent tables and maps must be numbers")
    return np.clip(np.rint(values * 2.0**bits), -limit, limit).astype(np.int64)


def squared_radius(radius: float, unit: float = 2.0**-LATENT_BITS) -> int:
    """The square of a radius on a grid, rounded down."""
    return max(1, math.floor((radius / unit) ** 2))


def score_image(tables: Sequence[Sequence[FloatArray]]) -> ScoreImage:
    """Bins looked up in tables of real numbers, one for each class and column."""
    rows = (tuple(np.append(quantise(t, LATENT_BITS, LATENT_LIMIT), 0) for t in row) for row in tables)
    return ScoreImage(tuple(rows))


def projected_image(centres: FloatArray, matrix: FloatArray | None = None) -> ProjectedImage:
    """The public projection, mapped by a matrix and seen from centres."""
    limit = LATENT_LIMIT if matrix is None else MAPPED_LIMIT
    mapped = None if matrix is None else quantise(matrix, MAP_BITS, MAP_LIMIT)
    return ProjectedImage(quantise(centres, LATENT_BITS, limit), mapped)


def cells_at(image: Image, centres: Sequence[FloatArray]) -> Cells:
    """Each class's space cut into cells around these centres."""
    return Cells(image, tuple(quantise(c, LATENT_BITS, LATENT_LIMIT) for c in centres))


def around(cells: Cells) -> Shifted:
    """The image seen from each cell's centre."""
    return Shifted(cells)


def latent_space(
    image: Image,
    radii: Sequence[float],
    maps: Sequence[FloatArray] | None = None,
    cells: Cells | None = None,
) -> Latent:
    """The space of an image, with the radius of every group and its matrix."""
    squares = tuple(squared_radius(r, image.unit) for r in radii)
    return Latent(
        image, squares, None if maps is None else tuple(quantise(m, MAP_BITS, MAP_LIMIT) for m in maps), cells
    )


def feature_image(image: Image, gates: FloatArray, values: FloatArray, bias: float) -> FeatureImage:
    """Random features; the matrices stand before (z / sqrt(dim), bias)."""
    scale = _input_scale(image.dim, bias)
    return FeatureImage(image, *(quantise(each * scale, MAP_BITS, MAP_LIMIT) for each in (gates, values)))


def feature_matrices(image: FeatureImage, bias: float) -> tuple[FloatArray, FloatArray]:
    """The matrices before (z / sqrt(dim), bias) as quantised, which is what is applied."""
    scale = _input_scale(image.image.dim, bias) * 2.0**MAP_BITS
    return image.gates / scale, image.values / scale


def _input_scale(dim: int, bias: float) -> FloatArray:
    insist(bias > 0.0, "the bias must be positive")
    return np.append(np.full(dim, 1.0 / math.sqrt(dim)), bias)


def wave_image(image: Image, frequencies: FloatArray) -> WaveImage:
    """Cosines and sines at frequencies in radians a latent unit."""
    turns = np.asarray(frequencies) / (2.0 * math.pi) * 2.0**FREQUENCY_BITS
    insist(bool((np.abs(turns) < base.EXACT).all()), "frequencies must be numbers, and not too high")
    return WaveImage(image, np.rint(turns).astype(np.int64))


def wave_radians(image: WaveImage) -> FloatArray:
    """The frequencies as they are asked for, in radians a latent unit."""
    return image.frequencies.astype(np.float64) * (2.0 * math.pi * 2.0**-FREQUENCY_BITS)


def feature_moments(image: Image, radius: float, classes: int, shares: tuple[float, float]) -> FeatureMoments:
    """Moments of features clipped to a radius in the kernel's units."""
    return FeatureMoments(image, squared_radius(radius, image.unit), classes, shares)


def label_model(intercepts: FloatArray, evidence: Sequence[Sequence[FloatArray]]) -> LabelModel:
    """A logistic model of real numbers, looked up by bins."""
    whole = quantise(intercepts, LATENT_BITS, LATENT_LIMIT)
    return LabelModel(tuple(int(value) for value in whole), score_image(evidence))


def label_gradient(model: LabelModel, features: Sequence[Sequence[FloatArray]], radius: float) -> Gradient:
    """The gradient of a label model for features in tables, clipped to a radius."""
    return Gradient(model, score_image(features), squared_radius(radius))


def clipped_gradient(image: Image, slopes: FloatArray, radius: float, cap: float) -> ClippedGradient:
    """The gradient of a linear label model with clipped residuals."""
    return ClippedGradient(image, quantise(slopes, LATENT_BITS, LATENT_LIMIT), squared_radius(radius), cap)


def row_question(image: Image, classes: int, radius: float, height: float = 0.0) -> RowVectors:
    """What is asked of every row, clipped to a radius, with a class of some height."""
    return RowVectors(image, classes, squared_radius(radius), round(height * 2.0**LATENT_BITS))


def describe(query: Query) -> dict[str, Any]:
    """What a question was, for whoever reads its answer: plain JSON values."""
    if isinstance(query, Viewed):
        seen = {"columns": list(query.view.columns), "starts": [starts.tolist() for starts in query.view.starts]}
        return describe(query.query) | (seen if isinstance(query.query, Histograms | Tables | Distances) else {})
    if isinstance(query, Histograms):
        return {"kind": "histograms", "classes": query.classes, "bins": list(query.sizes), "nowhere": "first"}
    if isinstance(query, Distances):
        return describe(query.tables) | {"kind": "distances", "unit": 2.0**-TARGET_BITS}
    if isinstance(query, Tables):
        told = {"levels": [level.tolist() for level in query.levels], "nowhere": "last"}
        return {"kind": "tables", "classes": query.classes, "tables": [list(table) for table in query.tables]} | told
    if isinstance(query, GroupSums):
        groups, dim = len(query.latent.radii), query.latent.image.dim
        of = "classes" if query.latent.cells is None else "cells"
        return {"kind": "group sums", "of": of, "groups": groups, "dimensions": dim, "second": query.second}
    if isinstance(query, FeatureMoments):
        return {"kind": "feature moments", "classes": query.classes, "features": query.image.dim}
    return {"kind": "label gradient", "classes": query.classes}


@overload
def unpack(query: Histograms, flat: FloatArray) -> list[FloatArray]: ...


@overload
def unpack(query: Tables, flat: FloatArray) -> list[FloatArray]: ...


@overload
def unpack(query: Distances, flat: FloatArray) -> FloatArray: ...


@overload
def unpack(query: GroupSums, flat: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]: ...


@overload
def unpack(query: FeatureMoments, flat: FloatArray) -> tuple[FloatArray, FloatArray]: ...


@overload
def unpack(query: Gradient | ClippedGradient, flat: FloatArray) -> FloatArray: ...


def unpack(query: Any, flat: FloatArray) -> Any:
    """A flat answer in the shape of its question, in the units of the asker.

    Histograms: one (classes, 1 + bins) array for each column, first those in no bin. Tables: one array for each table,
    with a dimension for each of its columns. Distances: one for each table, in rows. GroupSums: counts (groups), sums
    (groups, d), and what was asked of second moments: (groups, d, d), (groups) or nothing. FeatureMoments: the second
    moment (features, features) and the sums (features, classes). Gradients: (margins or classes, features).
    """
    if isinstance(query, Histograms):
        return np.split(flat.reshape(query.classes, -1), np.cumsum(np.add(query.sizes, 1))[:-1], axis=1)
    if isinstance(query, Tables):
        parts = np.split(flat, np.cumsum(query.cells)[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, query.shapes, strict=True)]
    if isinstance(query, Distances):
        return flat * 2.0**-TARGET_BITS
    if isinstance(query, GroupSums):
        return _unpack_groups(query, flat)
    if isinstance(query, FeatureMoments):
        dim, unit = query.image.dim, query.image.unit
        upper = dim * (dim + 1) // 2
        return _symmetric(flat[None, :upper], dim)[0] * unit**2, flat[upper:].reshape(dim, query.classes) * unit
    rows = query.model.margins if isinstance(query, Gradient) else len(query.slopes)
    return flat.reshape(rows, -1) * 2.0 ** -(LATENT_BITS + PROBABILITY_BITS)


def _unpack_groups(query: GroupSums, flat: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    d, unit = query.latent.image.dim, query.latent.image.unit
    blocks = flat.reshape(len(query.latent.radii), -1)
    counts, sums, rest = blocks[:, 0], blocks[:, 1 : 1 + d] * unit, blocks[:, 1 + d :]
    if query.second == "outer":
        return counts, sums, _symmetric(rest, d) * unit**2
    return counts, sums, rest.ravel() * np.repeat(query.norm_steps, rest.shape[1]) * unit**2


def _symmetric(upper: FloatArray, dim: int) -> FloatArray:
    """Symmetric matrices from their upper triangles, one a row."""
    rows, columns = np.triu_indices(dim)
    found = np.empty((len(upper), dim, dim))
    found[:, rows, columns] = found[:, columns, rows] = upper
    return found
