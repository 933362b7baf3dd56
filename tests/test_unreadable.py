"""Cells that fit no bin, in a schema that does not say that they may be missing: they move nothing but themselves.

A column is modelled by the cells that can be read, whatever their share; the other columns keep their means.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sfumato as sf

ROWS = 20_000
DRAWN = 50_000
WITHIN = 0.02


def schema(top: int) -> dict[str, object]:
    return {
        "columns": {
            "weight": {"type": "number", "min": 0, "max": top},
            "height": {"type": "number", "min": 100, "max": 230},
            "town": {"type": "category", "values": ["a", "b", "c"]},
        }
    }


def people(unreadable: float) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    weight = rng.normal(75.0, 15.0, ROWS)
    height = 110.0 + 0.8 * weight + rng.normal(0.0, 6.0, ROWS)
    town = rng.choice(["a", "b", "c"], ROWS, p=[0.5, 0.3, 0.2])
    weight[rng.random(ROWS) < unreadable] = np.nan
    return pd.DataFrame({"weight": weight, "height": height, "town": town})


def drawn(table: pd.DataFrame, top: int, seed: int = 1) -> pd.DataFrame:
    release = sf.fit(table, schema(top), epsilon=1, delta=1e-6, mechanism=sf.Mixture(pairs=None), insecure_seed=seed)
    return release.sample(DRAWN, seed=2)


def check_moments(found: list[pd.DataFrame], real: pd.DataFrame, name: str) -> None:
    """On average over releases: 8,000 rows at epsilon 1 know a standard deviation to 3.5 %, readable or not."""
    assert np.mean([each[name].mean() for each in found]) == pytest.approx(real[name].mean(), rel=WITHIN)
    assert np.mean([each[name].std() for each in found]) == pytest.approx(real[name].std(), rel=WITHIN)


def check_town(found: pd.DataFrame, real: pd.DataFrame) -> None:
    """Shares within five standard errors of the sample, and as much again for the noise."""
    shares, own = (each["town"].value_counts(normalize=True).sort_index() for each in (found, real))
    np.testing.assert_allclose(shares, own, atol=10.0 * np.sqrt(0.25 / DRAWN))


CASES = [
    (0.2, 200, 1),
    (0.6, 1000, 1),
    *(pytest.param(share, top, 24, marks=pytest.mark.slow) for share in (0.05, 0.2, 0.6) for top in (200, 1000)),
]


@pytest.mark.parametrize(("unreadable", "top", "releases"), CASES)
def test_a_column_has_the_moments_of_the_cells_that_can_be_read(unreadable: float, top: int, releases: int) -> None:
    table = people(unreadable)
    assert table["weight"].isna().mean() == pytest.approx(unreadable, abs=0.02)
    found = [drawn(table, top, seed) for seed in range(1, 1 + releases)]
    assert not any(each["weight"].isna().any() for each in found)
    check_moments(found, table, "weight")
    check_moments(found, table, "height")
    check_town(found[0], table)


def test_a_category_that_is_not_declared_moves_no_other_column() -> None:
    table = people(0.0)
    odd = table.assign(town=table["town"].mask(np.random.default_rng(3).random(ROWS) < 0.3, "?"))
    found = drawn(odd, 200)
    check_moments([found], table, "weight")
    check_moments([found], table, "height")
    check_town(found, odd[odd["town"] != "?"])
