"""What the curator would have seen of made rows: the same numbers, and slopes that many rows have on average."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfumato.encoding.projected import Projected
from sfumato.encoding.scores import ColumnScores, Scores
from sfumato.mechanisms.questions import projected_image, row_question
from sfumato.models.bought import BoughtWaves, Space, Start
from sfumato.models.generator_training import _view
from sfumato.private.engines.local import LocalEngine
from sfumato.private.queries.base import LATENT_BITS, MAP_BITS
from sfumato.private.source import Source
from sfumato.schema.layout import Layout
from sfumato.schema.projections import ENTRY_BITS, Projection
from sfumato.schema.schema import Schema
from sfumato.tables import open_table

eqx = pytest.importorskip("equinox")
jax = pytest.importorskip("jax")


def masses(*rows: list[float]) -> Any:
    found = np.array(rows)
    return found / found.sum(axis=1, keepdims=True)


# Two classes; the second column's bins are in an order of their own, as categories and missing cells are; the third is
# constant; the last has bins that next to nothing falls in.
SCORES = Scores(
    (
        ColumnScores(np.arange(6), masses([1, 2, 3, 3, 2, 1], [5, 4, 3, 2, 1, 1])),
        ColumnScores(np.array([2, 0, 1]), masses([7, 2, 1], [1, 1, 8])),
        ColumnScores(np.array([0]), masses([1], [1])),
        ColumnScores(np.arange(4), masses([1e-17, 1, 1, 1e-17], [1, 1e-300, 1, 1])),
    )
)


def staircase(scores: Scores = SCORES) -> Any:
    bought = BoughtWaves(np.ones(2), Start.standard(2, 4), np.zeros((1, 4)), np.zeros((2, 2)), np.ones(2))
    return eqx.filter_jit(_view(bought, scores))


def test_the_staircase_is_that_of_the_scores() -> None:
    made = np.random.default_rng(0).normal(0, 1.5, (2, 500, 4)).astype(np.float32)
    seen = np.asarray(staircase()(made))
    assert np.isfinite(seen).all()
    for k in range(2):
        for c, column in enumerate(SCORES.columns):
            codes, _ = column.bins_at(made[k, :, c].astype(np.float64), k)
            np.testing.assert_allclose(seen[k, :, c], column.in_order[k][column.rank[codes]], rtol=1e-5, atol=1e-6)
    assert len(np.unique(seen[0, :, 0])) == 6
    assert (seen[:, :, 2] == 0).all()


def slope(made: Any) -> Any:
    """Of every number that the staircase makes, by the number that it was made from."""
    view = staircase()
    return np.asarray(jax.jit(jax.grad(lambda x: view(x).sum()))(made))


def test_its_slope_is_what_many_rows_have_on_average() -> None:
    """Rows at equal distances from end to end move as the smoothed staircase does; a slope of 1 would be wrong by a
    factor in the column of three bins."""
    made = np.broadcast_to(np.linspace(-4.8, 4.8, 4001, dtype=np.float32)[None, :, None], (2, 4001, 4))
    view, step = staircase(), np.float32(0.24)
    moved = (np.asarray(view(made + step)) - np.asarray(view(made - step))).mean(axis=1) / (2 * step)
    found = slope(made).mean(axis=1)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, moved, rtol=0.03, atol=1e-4)
    assert (found[:, 1] < 0.5).all()
    assert (found[:, 2] == 0).all()


def test_its_slope_is_that_of_normal_rows_too() -> None:
    """Smoothing by 0.3 widens a standard normal by 4 %, and the slope is off by no more than twice that."""
    rng = np.random.default_rng(1)
    made = rng.standard_normal((2, 40_000, 4)).astype(np.float32)
    step = np.float32(0.1)
    view = staircase()
    moved = (np.asarray(view(made + step)) - np.asarray(view(made - step))).mean(axis=1) / (2 * step)
    np.testing.assert_allclose(slope(made).mean(axis=1)[:, :2], moved[:, :2], rtol=0.1)


# Columns in groups

GROUPS = Schema.of(
    {
        "label": "kind",
        "columns": {"kind": {"type": "category", "values": ["a", "b"]}},
        "groups": {
            "pixels": {"columns": "px_{1..12}", "min": 0, "max": 10, "shape": [3, 4], "projection": "dct2", "keep": 2}
        },
    }
)


def test_made_rows_are_mapped_to_what_the_curator_sees_of_them() -> None:
    """Rows of a table through the curator's engine, and the same rows as a network would have made them. Quantised
    twice, to 2^-12, and products of a few coordinates."""
    layout = Layout.of(GROUPS)
    projection = Projection.of(layout.groups)
    rng = np.random.default_rng(0)
    dim, pixels = projection.dim, rng.integers(0, 11, (40, 12))
    matrix, means = rng.normal(size=(3, dim)), rng.normal(0, 0.2, (2, 3))
    image = projected_image(means, matrix)
    assert image.matrix is not None
    basis, middles = rng.normal(size=(dim, dim)), rng.normal(0, 0.3, (2, dim))
    space = Space(basis, middles, image.matrix * 2.0**-MAP_BITS, image.centres * 2.0**-LATENT_BITS)
    scale = 2.0 ** -(ENTRY_BITS + projection.halvings)
    coordinates = (pixels / 10 - 0.5) @ projection.matrix.T * scale
    made = np.stack([(coordinates - middle) @ np.linalg.inv(basis) for middle in middles])
    np.testing.assert_allclose(space.coordinates(made[1], np.ones(40, dtype=int)), coordinates, atol=1e-12)
    bought = BoughtWaves(np.ones(2), Start.standard(2, dim), np.zeros((1, 3)), np.zeros((2, 2)), np.ones(2), space)
    encoder = Projected(projection, *[np.zeros((2, 12))] * 2, middles, np.zeros((2, 12)))
    seen = np.asarray(eqx.filter_jit(_view(bought, encoder))(made))
    frame = pd.DataFrame(pixels, columns=list(layout.names))
    for k, kind in enumerate("ab"):
        table = open_table(frame.assign(kind=kind))
        engine = LocalEngine(Source(table, layout, None, values=False), 1)
        asked = engine.rows(row_question(image, 2, 1000.0)).T * 2.0**-LATENT_BITS
        np.testing.assert_allclose(seen[k], asked, atol=6 * 2.0**-LATENT_BITS)
    assert np.abs(seen[0] - seen[1]).max() > 0.05, "classes are seen from centres of their own"
