"""Tables that a schema suggests: all pairs, where noise leaves enough of a typical cell."""

from __future__ import annotations

from dataclasses import replace
from math import comb
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.audit.mixture import SHORT
from sfumato.errors import ArgumentError
from sfumato.mechanisms.pairs import public_tables
from sfumato.models import MixtureModel, TiltedModel

NUMBER = {"type": "number", "min": 0, "max": 99, "step": 1}
TERMS: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}


def schema(columns: int, **more: Any) -> dict[str, Any]:
    return {"columns": {f"x{i}": NUMBER for i in range(columns)}, **more}


def test_all_pairs_or_none() -> None:
    assert len(sf.SharedLayout.of(schema(5), rows=50_000, **TERMS).tables) == comb(5, 2)
    assert sf.SharedLayout.of(schema(5), rows=500, **TERMS).tables == ()
    assert sf.SharedLayout.of(schema(1), rows=50_000, **TERMS).tables == ()
    labelled = schema(3)
    labelled["columns"]["y"] = {"type": "category", "values": ["a", "b"]}
    made = sf.SharedLayout.of({**labelled, "label": "y"}, rows=50_000, **TERMS)
    assert made.tables == ((0, 1, 3), (0, 2, 3), (1, 2, 3))


def test_what_many_sites_have_together_counts() -> None:
    """Noise grows by the root of their number, rows by all of it."""
    rows = 2_000
    assert not sf.SharedLayout.of(schema(5), rows=rows, **TERMS).tables
    assert sf.SharedLayout.of(schema(5), rows=rows, sites=20, **TERMS).tables


def test_it_depends_on_units_and_neighbours_as_noise_does() -> None:
    rows = 5_500
    assert sf.SharedLayout.of(schema(5), rows=rows, **TERMS).tables
    assert not sf.SharedLayout.of(schema(5), rows=rows, adjacency="replace-one", **TERMS).tables
    assert not sf.SharedLayout.of(schema(5, unit={"column": "id", "rows": 3}), rows=rows, **TERMS).tables


def test_levels_are_runs_of_bins_and_missing_has_its_own() -> None:
    columns = {"x": {**NUMBER, "missing": True}, "c": {"type": "category", "values": list("abcdefghijklmnopqrst")}}
    made = sf.SharedLayout.of({"columns": columns}, rows=50_000, **TERMS)
    assert made.levels[0].max() == 16
    assert np.bincount(made.levels[0])[-1] == 1
    assert made.levels[1].tolist() == list(range(20))


@pytest.mark.parametrize(
    "bad", [{"rows": 0}, {"rows": 1.5}, {"sites": 0}, {"sites": True}, {"adjacency": "near"}, {"epsilon": -1}]
)
def test_arguments_out_of_range_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        sf.SharedLayout.of(schema(2), **{**TERMS, **bad})


def test_tables_keep_what_the_histograms_know(small_pool: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Followed counts have the histograms' distributions of single columns, in any order of a table's columns."""
    seen: list[Any] = []
    whole = public_tables._Given._told

    def noted(self: Any) -> Any:
        seen.append(self)
        return whole(self)

    monkeypatch.setattr(public_tables._Given, "_told", noted)
    labelled = schema(3)
    labelled["columns"]["y"] = {"type": "category", "values": ["a", "b"]}
    labelled["label"] = "y"
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 100, (500, 3)), columns=["x0", "x1", "x2"])
    rows["y"] = rng.choice(["a", "b"], 500)
    tables = ((0, 1), (3, 2, 0), (1, 3, 2), (0, 1, 2))
    layout = replace(sf.SharedLayout.of(labelled, rows=10**6, **TERMS), tables=tables)
    sf.fit(rows, labelled, mechanism=sf.Mixture(layout=layout, tuning=SHORT), **TERMS)
    given = seen[0]
    for table, bought in given.bought.items():
        counts = bought.counts.reshape([given.sizes[j] for j in table])
        for axis, j in enumerate(table):
            if j < 3:
                others = tuple(a for a in range(len(table)) if a != axis)
                known = given.columns[j].counts.reshape(given.sizes[j], 2).sum(axis=1)
                np.testing.assert_allclose(counts.sum(axis=others), known, atol=1e-6)
    told = {each.columns: each for each in given._told()}
    assert all((told[(j, 3)].trust >= 1.0).all() for j in range(3))


def test_tables_of_a_layout_are_followed() -> None:
    """One column is the size of the other, which no Gaussian says."""
    rng = np.random.default_rng(0)
    x = rng.normal(50, 15, 20_000).clip(0, 99).round()
    table = pd.DataFrame({"x0": x, "x1": np.abs(x - 50) * 2})
    layout = sf.SharedLayout.of(schema(2), epsilon=4, delta=1e-6, rows=20_000)
    terms: dict[str, Any] = {"epsilon": 4, "delta": 1e-6, "rows": 20_000, "insecure_seed": 1}
    made = sf.fit(table, schema(2), mechanism=sf.Mixture(layout=layout), **terms)
    assert isinstance(made.model, TiltedModel)
    rows = made.sample(5000, seed=0)
    assert abs(np.corrcoef(np.abs(rows["x0"] - 50), rows["x1"])[0, 1]) > 0.8
    bare = sf.Mixture(layout=layout, pairs=None, tuning=SHORT)
    plain = sf.fit(table, schema(2), mechanism=bare, **terms)
    assert isinstance(plain.model, MixtureModel)
