"""Tables held to what histograms told of their columns."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import sfumato as sf
from sfumato.mechanisms.pairs import pair_rounds
from sfumato.mechanisms.pairs.column_margins import raked, within_noise

SHARES = st.floats(0.01, 1.0)


def one(numbers: np.ndarray) -> np.ndarray:
    return numbers / numbers.sum()


@given(arrays(float, (4, 3, 2), elements=SHARES), arrays(float, 4, elements=SHARES), arrays(float, 3, elements=SHARES))
def test_a_table_has_the_margins_that_it_is_given_and_its_other_one_is_free(table, rows, columns) -> None:
    found = raked(one(table), {0: one(rows), 1: one(columns)})
    np.testing.assert_allclose(found.sum(axis=(1, 2)), one(rows), atol=1e-5)
    np.testing.assert_allclose(found.sum(axis=(0, 2)), one(columns), atol=1e-5)
    odds = np.log(found[1:, 1:] * found[:1, :1] / found[1:, :1] / found[:1, 1:])
    known = np.log(table[1:, 1:] * table[:1, :1] / table[1:, :1] / table[:1, 1:])
    np.testing.assert_allclose(odds - odds[..., :1], known - known[..., :1], atol=1e-6)  # what columns have in common


def test_where_no_row_can_be_there_is_none() -> None:
    found = raked(np.array([[0.0, 0.5], [0.5, 0.0]]), {0: np.array([0.8, 0.2])})
    np.testing.assert_allclose(found, [[0.0, 0.8], [0.2, 0.0]])
    found = raked(np.array([[0.0, 0.0], [0.5, 0.5]]), {0: np.array([0.8, 0.2]), 1: np.array([0.3, 0.7])})
    np.testing.assert_allclose(found, [[0.0, 0.0], [0.3, 0.7]], atol=1e-6)


@given(arrays(float, 5, elements=SHARES), arrays(float, 5, elements=SHARES), st.floats(0.0, 0.2))
def test_a_column_is_moved_no_further_than_need_be(shares, told, sd) -> None:
    shares, told, noise = one(shares), one(told), np.full(5, sd)
    found = within_noise(shares, told, noise)
    assert found.sum() == pytest.approx(1.0)
    if (np.abs(shares - told) < sd).all():
        np.testing.assert_allclose(found, shares)
    assert np.abs(found - told).sum() <= 2.0 * min(np.abs(shares - told).sum(), noise.sum()) + 1e-9


def off(release: sf.Release, table: pd.DataFrame) -> float:
    """How far the columns of what samples are balanced to are from the table's, on average."""
    tilt, expected = release.model.tilt, release.model.expected
    apart = []
    for start, end, (first, *_), shape in zip(tilt.starts, tilt.starts[1:], tilt.tables, tilt.shapes, strict=False):
        shares = expected[start:end].reshape(shape[0], -1).sum(axis=1)
        known = np.bincount(tilt.levels[first][table.iloc[:, first].astype(int)], minlength=shape[0]) / len(table)
        apart.append(np.abs(shares - known).sum() / 2)
    return float(np.mean(apart))


@pytest.mark.usefixtures("small_pool")
def test_what_samples_are_balanced_to_has_the_columns_that_were_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool of few rows follows its tables badly; without holding they are ten times as far off."""
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(20_000, 1)) + rng.normal(size=(20_000, 6))
    codes = np.clip(np.rint(2 * np.abs(latent)), 0, 9).astype(int).astype(str)
    table = pd.DataFrame(codes, columns=list("abcdef"))
    columns = {name: {"type": "category", "values": list("0123456789")} for name in table}
    told = {"schema": {"columns": columns}, "epsilon": 8, "delta": 1e-6, "insecure_seed": 1}
    held = off(sf.fit(table, **told), table)
    monkeypatch.setattr(pair_rounds, "raked", lambda cells, margins: cells)
    assert held < 0.005 < 0.01 < off(sf.fit(table, **told), table)
