"""Audits of single queries are tight, clear the library, and convict what is broken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.audit import faults
from tests.audit.helpers import ADD_REMOVE, ONE, verdict

from sfumato.audit.queries import (
    LINE,
    QueryGame,
    cell_query,
    distance_query,
    gaussian_query,
    gradient_query,
    histogram_query,
    in_bins,
    moment_query,
    table_query,
    wave_query,
)
from sfumato.private.accounting import Adjacency
from sfumato.private.queries.histograms import Histograms
from sfumato.schema.schema import Schema
from sfumato.whole_numbers import joined


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize(
    "make",
    [
        gaussian_query,
        histogram_query,
        moment_query,
        cell_query,
        gradient_query,
        wave_query,
        table_query,
        distance_query,
    ],
)
def test_single_queries_are_as_private_as_claimed_and_no_more(make, adjacency: Adjacency) -> None:
    (game,) = make(ONE, adjacency)
    found = verdict(game, 2000, adjacency=adjacency)
    assert not found.violation, found.headline()
    assert found.lower["mu"] >= 0.65, found.headline()  # 0.87 on average, spread 0.04
    assert found.lower["epsilon"] > 0.0


@pytest.mark.slow
def test_a_gradient_without_clipping_is_convicted() -> None:
    (game,) = gradient_query(ONE, ADD_REMOVE)
    parts = game.pair, ONE, ADD_REMOVE, game.tables
    asked = game.query.query  # about bins, in a view
    unclipped = in_bins(faults.Unclipped(asked.model, asked.features, asked.radius), game.schema)
    assert verdict(faults.Unsealed(*parts, unclipped, game.schema), 500).violation
    assert not verdict(faults.Unsealed(*parts, game.query, game.schema), 500).violation


@pytest.mark.parametrize("adjacency", Adjacency)
def test_tables_and_their_distances_reach_the_bound_that_is_charged(adjacency: Adjacency) -> None:
    """The two tables of their games are as far apart as any: what an audit finds is then all that could be found."""
    for make in (table_query, distance_query):
        (game,) = make(ONE, adjacency)
        without, with_row = (joined(game.query.answer(engine.total(game.query))) for engine in game._engines)
        moved = float(np.linalg.norm((with_row - without) * game.query.weights))
        assert moved == pytest.approx(game.query.reach.sensitivity(adjacency))


@pytest.mark.slow
def test_distances_that_forget_that_a_label_leaves_one_cell_and_enters_another_are_convicted() -> None:
    (game,) = distance_query(ONE, Adjacency.LABEL)
    parts = game.pair, ONE, Adjacency.LABEL, game.tables
    forgetful = in_bins(faults.OneCellOfALabel(game.query.query.tables, game.query.query.targets), game.schema)
    assert verdict(faults.Unsealed(*parts, forgetful, game.schema), 1000, adjacency=Adjacency.LABEL).violation
    assert not verdict(faults.Unsealed(*parts, game.query, game.schema), 1000, adjacency=Adjacency.LABEL).violation


@pytest.mark.slow
def test_half_the_noise_is_convicted() -> None:
    (game,) = gaussian_query(ONE, ADD_REMOVE)
    assert verdict(replace(game, curator=faults.HalfTheNoise), 1000).violation
    assert not verdict(game, 1000).violation


@pytest.mark.slow
def test_a_forgotten_charge_is_convicted() -> None:
    (once,) = histogram_query(ONE, ADD_REMOVE)
    healthy = faults.AskedTwice(once.pair, ONE, ADD_REMOVE, once.tables, once.query, once.schema)
    assert verdict(replace(healthy, curator=faults.Forgetful), 2500).violation
    assert not verdict(healthy, 500).violation


def test_noise_scaled_to_the_table_is_convicted() -> None:
    (game,) = gaussian_query(ONE, ADD_REMOVE)
    found = verdict(replace(game, curator=faults.ScaledToTheTable), 200)
    assert found.violation
    assert found.findings[1].bound.auc == 1.0, "the stated sd tells the tables apart with certainty"


@pytest.mark.slow
def test_noise_used_twice_is_convicted() -> None:
    (once,) = histogram_query(ONE, ADD_REMOVE)
    healthy = faults.AskedTwice(once.pair, ONE, ADD_REMOVE, once.tables, once.query, once.schema, first=0.8)
    assert verdict(replace(healthy, curator=faults.SameWords), 200).violation
    assert not verdict(healthy, 200).violation


def test_a_row_that_depends_on_its_neighbours_is_convicted() -> None:
    crowd = pd.DataFrame({"x": [0.5] * 30, "group": ["a"] * 30})
    tables = crowd, pd.concat([crowd, pd.DataFrame({"x": [2.5], "group": ["a"]})])
    broken = faults.Unsealed("an outlier", ONE, ADD_REMOVE, tables, in_bins(faults.ScaledByTheBatch(), LINE), LINE)
    assert verdict(broken, 200).violation
    assert not verdict(replace(broken, query=in_bins(faults.OnItsOwn(), LINE)), 200).violation


def test_a_reader_that_infers_types_is_convicted(tmp_path: Path) -> None:
    """One cell that is no number makes text of a column, and `007` is no longer 7."""
    rows = "code,group\n" + "007,a\n008,b\n" * 10
    paths = tmp_path / "without.csv", tmp_path / "with.csv"
    for path, more in zip(paths, ("", "x,a\n"), strict=True):
        path.write_text(rows + more)
    code = {"type": "category", "values": ["007", "008"]}
    schema = Schema.of(
        {"label": "group", "columns": {"code": code, "group": {"type": "category", "values": ["a", "b"]}}}
    )
    healthy = QueryGame("an odd cell", ONE, ADD_REMOVE, paths, Histograms((2,), 2, (1.0,)), schema)
    assert verdict(replace(healthy, read=faults.infer_types), 200).violation
    assert not verdict(healthy, 200).violation
