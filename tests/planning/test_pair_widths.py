"""Correlations where a layout has settled the tables: a release is as sure of them as its plan foretold."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.audit.mixture import SHORT
from sfumato.errors import ArgumentError
from sfumato.planning.pair_widths import Lying
from sfumato.planning.widths import Widths

ROWS = 20_000
SCHEMA: dict[str, Any] = {
    "label": "ill",
    "columns": {
        "age": {"type": "number", "min": 0, "max": 99, "step": 1},
        "visits": {"type": "number", "min": 0, "max": 30, "step": 1, "missing": True},
        "smokes": {"type": "boolean"},
        "ill": {"type": "category", "values": ["no", "yes"]},
    },
}
LAYOUT = sf.SharedLayout.of(SCHEMA, epsilon=4, delta=1e-6, rows=ROWS)
GUESSES, SPREADS = {"age": 45.0, "visits": 8.0}, {"age": 20.0, "visits": 4.0}


def terms(epsilon: float = 4.0, layout: sf.SharedLayout = LAYOUT, rows: int = ROWS) -> dict[str, Any]:
    mechanism = sf.Mixture(layout=layout, tuning=SHORT)
    return {"epsilon": epsilon, "delta": 1e-6, "rows": rows, "mechanism": mechanism}


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    visits = np.clip(rng.normal(8, 4, ROWS).round(), 0, 30)
    return pd.DataFrame(
        {
            "age": np.clip(rng.normal(45, 20, ROWS) + 0.5 * visits - 4, 0, 99).round(),
            "visits": np.where(rng.random(ROWS) < 0.02, np.nan, visits),
            "smokes": rng.random(ROWS) < 0.5,
            "ill": rng.choice(["no", "yes"], ROWS),
        }
    )


def test_a_release_is_as_sure_as_its_plan_foretold() -> None:
    """Within a tenth, and the noise of cells to the last digits."""
    release = sf.fit(frame(), SCHEMA, insecure_seed=0, **terms())
    widths = Widths(sf.plan(SCHEMA, **terms()), GUESSES, SPREADS)
    tables = next(each for each in release.answers if each.what["kind"] == "tables")
    assert widths._settled is not None
    assert tables.sd == pytest.approx(widths._settled.sd)
    for pair in (("age", "visits"), ("age", "smokes"), ("visits", "smokes")):
        assert release.correlation(*pair).width / 2 == pytest.approx(widths.pair(*pair).correlation, rel=0.1)
    assert [each.columns for each in widths.some_correlations()] == [("age", "visits")]


def test_what_noise_will_hide_is_foretold() -> None:
    release = sf.fit(frame().head(300), SCHEMA, insecure_seed=0, **terms(rows=300))
    found = Widths(sf.plan(SCHEMA, **terms(rows=300)), GUESSES, SPREADS).pair("age", "visits")
    assert found.correlation == math.inf
    assert found.told is None
    assert found.drowns
    assert release.correlation("age", "visits").interval is None


def test_fewer_tables_are_surer_and_what_has_none_is_refused() -> None:
    one = replace(LAYOUT, tables=((0, 1),))
    all_pairs, alone = (Widths(sf.plan(SCHEMA, **terms(layout=each)), GUESSES, SPREADS) for each in (LAYOUT, one))
    assert alone.pair("age", "visits").correlation < all_pairs.pair("age", "visits").correlation
    with pytest.raises(ArgumentError, match="the layout has no table of 'age' and 'smokes'"):
        alone.pair("age", "smokes")


def test_guesses_at_spreads_have_bounds() -> None:
    with pytest.raises(ArgumentError, match="a guess at the spread of 'age' must be above 0, up to 99, not 0"):
        Widths(sf.plan(SCHEMA, **terms()), {}, {"age": 0.0})


def test_rows_lie_as_guessed() -> None:
    middles = np.arange(100.0)
    shares, mean, spread = Lying(40.0, 10.0).over(middles)
    assert shares.sum() == pytest.approx(1.0)
    assert (shares @ middles, mean, spread) == pytest.approx((40.0, 40.0, 10.0), rel=1e-3)
    even, mean, spread = Lying().over(middles)
    assert (even.min(), even.max(), mean, spread) == pytest.approx((0.01, 0.01, 49.5, middles.std()))
