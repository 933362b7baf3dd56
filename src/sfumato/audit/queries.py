"""Audits of single queries through the curator: neighbours that reach the sensitivity, and the exact statistic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from sfumato.audit.game import Attack, Claim
from sfumato.audit.insider import NOISE, Insider
from sfumato.insecure import insecure_bits
from sfumato.mechanisms.asker import Client, view_of
from sfumato.mechanisms.questions import (
    around,
    cells_at,
    label_gradient,
    label_model,
    latent_space,
    score_image,
    wave_image,
)
from sfumato.private.accounting import Adjacency, Budget
from sfumato.private.curator import Curator
from sfumato.private.engines.local import LocalEngine
from sfumato.private.noise import secure_bits
from sfumato.private.queries.base import IntArray, Public, Query
from sfumato.private.queries.group_sums import GroupSums, Latent
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.tables import TARGET_BITS, Distances, Tables
from sfumato.private.queries.viewed import Viewed
from sfumato.private.slicing.rows import RowVectors
from sfumato.private.source import Source
from sfumato.schema.layout import FloatArray, Layout
from sfumato.schema.schema import Schema
from sfumato.tables import Table, open_table

Pair = tuple[Any, Any]  # of neighbouring tables

NUMBER = {"type": "number", "min": 0, "max": 3, "bins": 3}
GROUP = {"type": "category", "values": ["a", "b"]}
LINE = Schema.of({"label": "group", "columns": {"x": NUMBER, "group": GROUP}})
PLANE = Schema.of({"label": "group", "columns": {"x": NUMBER, "y": NUMBER, "group": GROUP}})
LOW, MIDDLE, HIGH = 0.5, 1.5, 2.5
CORNER = 5.0  # latent coordinate of the outer bins: two of them are far beyond RADIUS
RADIUS = 2.0
SURE = 15.0  # a logit at which a model has no doubt


@dataclass(frozen=True)
class Summed:
    """An engine whose only answers are known already: the noise is what a run is about."""

    answer: IntArray
    public: Public
    vectors: FloatArray | None = None

    def total(self, query: Query) -> IntArray:
        """The total that was computed beforehand."""
        return self.answer

    def rows(self, vectors: RowVectors) -> FloatArray:
        """The vectors that were computed beforehand."""
        if self.vectors is None:
            raise ValueError("the rows themselves were not looked up")
        return self.vectors


@dataclass(frozen=True)
class QueryGame:
    """One query asked once, with the whole of the claimed mu."""

    pair: str
    claim: Claim
    adjacency: Adjacency
    tables: Pair
    query: Query
    schema: Schema
    curator: Callable[..., Curator] = Curator
    read: Callable[[Any], Table] = open_table

    attacks = (
        Attack("the noisy answers, best statistic", slice(0, 1), threshold=0.0),
        Attack("how the noise behaves, learned statistic", NOISE),
    )

    @cached_property
    def _engines(self) -> tuple[Summed, Summed]:
        layout = Layout.of(self.schema)
        without, with_row = (LocalEngine(Source(self.read(table), layout), workers=1) for table in self.tables)
        public = Public.of(layout)
        return Summed(without.total(self.query), public), Summed(with_row.total(self.query), public)

    def play(self, with_row: bool, seed: int | None) -> FloatArray:
        """One run of the game: what the attacker sees, as numbers."""
        if self.claim.mu is None:
            raise ValueError("a query is audited against a claimed mu")
        bits = secure_bits if seed is None else insecure_bits(seed)
        curator = self.curator(self._engines[with_row], Budget(self.claim.mu), self.adjacency, bits)
        insider = Insider(Client(curator), *self._engines)
        insider.total("the query", self.query, insider.remaining)
        return np.array(insider.view)


def gaussian_query(claim: Claim, adjacency: Adjacency) -> list[QueryGame]:
    """One column's histogram: a row moves a single number, by one."""
    return [_game(claim, adjacency, Histograms((3,), 2, (1.0,)), LINE)]


def histogram_query(claim: Claim, adjacency: Adjacency) -> list[QueryGame]:
    """The histograms of two columns with unequal shares of the budget."""
    return [_game(claim, adjacency, Histograms((3, 3), 2, (0.8, 0.2)), PLANE)]


def moment_query(claim: Claim, adjacency: Adjacency) -> list[QueryGame]:
    """Count, sum and second moment of rows that are clipped; with most of the budget on the sum, a row replaced by its
    opposite moves the answer further than a row that changes its class.
    """
    column = np.array([-CORNER, 0.0, CORNER])
    latent = latent_space(score_image([[column, column]] * 2), [RADIUS] * 2)
    return [_game(claim, adjacency, GroupSums(latent, (0.1, 0.7, 0.2), "outer"), PLANE)]


def cell_query(claim: Claim, adjacency: Adjacency) -> list[QueryGame]:
    """Count and sum of the rows in cells of each class: a row moves the sums of one cell, or of two."""
    column = np.array([-CORNER, 0.0, CORNER])
    image = score_image([[column, column]] * 2)
    cells = cells_at(image, [np.zeros((1, 2)), np.array([[-CORNER, -CORNER], [CORNER, -CORNER]])])
    return [
        _game(claim, adjacency, GroupSums(latent_space(around(cells), [RADIUS] * 3, cells=cells), (0.5, 0.5)), PLANE)
    ]


def gradient_query(claim: Claim, adjacency: Adjacency) -> list[QueryGame]:
    """The gradient of a label model that is sure of the wrong class: residuals are one, features at the radius."""
    column = np.array([-CORNER, 0.0, CORNER])
    wrong = -SURE if adjacency is Adjacency.ADD_REMOVE else SURE  # of the class of the row that comes, or changes
    model = label_model(np.array([wrong]), [[np.zeros(3)] * 2])
    return [_game(claim, adjacency, label_gradient(model, [[column, column]], RADIUS), PLANE)]


def wave_query(claim: Claim, adjacency: Adjacency) -> list[QueryGame]:
    """Sums of cosines and sines; an extreme row and its opposite are half a turn apart."""
    column = np.array([-CORNER, 0.0, CORNER])
    quarter = np.full((1, 2), np.pi / 2.0 / (2.0 * CORNER))
    waves = wave_image(score_image([[column, column]] * 2), quarter * [[1.0], [5.0]])
    query = GroupSums(Latent(waves, (waves.longest,) * 2), (0.2, 0.8))
    return [_game(claim, adjacency, query, PLANE)]


def table_query(claim: Claim, adjacency: Adjacency) -> list[QueryGame]:
    """Counts of two columns by class, and of the two alone: a flipped label moves the first of these tables only."""
    return [_game(claim, adjacency, _tables(), PLANE)]


def distance_query(claim: Claim, adjacency: Adjacency) -> list[QueryGame]:
    """How far these tables are from public ones. Targets are above the count where a row leaves and below where it
    comes, or the other way round, so that both move the distance the same way.
    """
    tables = _tables()
    by_class, plain = (np.zeros(shape) for shape in tables.shapes)
    by_class[0, 0, :] = by_class[2, 2, 1] = plain[0, 0] = 5.0
    steps = np.rint(np.concatenate([by_class.ravel(), plain.ravel()]) * 2.0**TARGET_BITS).astype(np.int64)
    return [_game(claim, adjacency, Distances(tables, steps), PLANE)]


def _tables() -> Tables:
    levels = np.arange(4)  # three bins, and what fits none
    return Tables((levels, levels), 2, ((0, 1, 2), (0, 1)), (0.7, 0.3))


def _game(claim: Claim, adjacency: Adjacency, query: Query, schema: Schema) -> QueryGame:
    pair, tables = neighbours(adjacency)
    return QueryGame(pair, claim, adjacency, tables, in_bins(query, schema), schema)


def in_bins(query: Query, schema: Schema) -> Query:
    """A question about a schema's bins, as mechanisms ask it of rows that are coded to finer cells."""
    view = view_of(Layout.of(schema))
    return query if view is None else Viewed(view, query)


def neighbours(adjacency: Adjacency) -> tuple[str, Pair]:
    """Two tables as far apart as neighbours can be, in words and rows."""
    crowd = [(MIDDLE, MIDDLE, "a")] * 3
    pair, without, with_row = {
        Adjacency.ADD_REMOVE: ("an extreme row in an otherwise empty class", [], [(HIGH, HIGH, "b")]),
        Adjacency.REPLACE_ONE: ("an extreme row replaced by its opposite", [(LOW, LOW, "a")], [(HIGH, HIGH, "a")]),
        Adjacency.LABEL: ("the label of an extreme row flipped", [(HIGH, HIGH, "a")], [(HIGH, HIGH, "b")]),
    }[adjacency]
    return pair, (_frame(crowd + without), _frame(crowd + with_row))


def _frame(rows: list[tuple[float, float, str]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["x", "y", "group"])
