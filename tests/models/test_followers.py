"""Laws of columns that follow others: how bins are drawn, what they are worth, and who can follow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from sfumato.models.followers import Follower, FollowerLaw, can_follow
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema

LEVELS = [np.array([0, 1, 1]), np.array([0, 1, 1, 2])]
SHARES = np.array([0.4, 0.3, 0.1, 0.2])
LAW = FollowerLaw.of(Follower(1, 0, np.array([[0.9, 0.1 - 1e-6, 1e-6], [0.2, 0.3, 0.5]])), LEVELS, SHARES)


def test_bins_are_drawn_by_their_chances() -> None:
    rows = 40_000
    for leader, level in enumerate(LEVELS[0]):
        found = np.bincount(LAW.draw(np.full(rows, leader), np.random.default_rng(leader)), minlength=4)
        wanted = rows * LAW.chances[level]
        assert ((found - wanted) ** 2 / wanted).sum() < chi2.isf(1e-7, 3)
        assert ((found - rows * LAW.chances[1 - level]) ** 2 / wanted).sum() > chi2.isf(1e-7, 3)  # the twin


def test_bins_of_a_level_come_as_they_do_in_all_rows() -> None:
    np.testing.assert_allclose(LAW.chances.sum(axis=1), 1.0)
    np.testing.assert_allclose(LAW.chances[:, 1], 3.0 * LAW.chances[:, 2])


def test_what_is_not_known_is_averaged() -> None:
    masses = np.array([0.5, 0.3, 0.2])
    found = LAW.log_chance(np.array([0, -1, 2, -1]), np.array([3, 0, -1, -1]), masses)
    wanted = [LAW.chances[0, 3], 0.5 * LAW.chances[0, 0] + 0.5 * LAW.chances[1, 0], 1.0, 1.0]
    np.testing.assert_allclose(np.exp(found), wanted)


@given(st.integers(1, 6), st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_every_draw_is_a_bin(leaders: int, bins: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(bins, 0.05), size=leaders).clip(1e-300)
    law = FollowerLaw.of(
        Follower(1, 0, chances / chances.sum(axis=1, keepdims=True)),
        [np.arange(leaders), np.arange(bins)],
        rng.dirichlet(np.full(bins, 0.1)),
    )
    found = law.draw(rng.integers(0, leaders, 500), rng)
    assert found.dtype == np.int32
    assert ((found >= 0) & (found < bins)).all()


@pytest.mark.parametrize(
    ("column", "can"),
    [
        ({"type": "category", "values": ["a", "b"]}, True),
        ({"type": "number", "min": 0, "max": 9, "step": 1}, True),
        ({"type": "number", "min": 0, "max": 9, "step": 1, "bins": 5}, False),
        ({"type": "number", "min": 0, "max": 9}, False),
    ],
)
def test_a_column_with_one_value_a_bin_can_follow(column: dict[str, object], can: bool) -> None:
    layout = Layout.of(Schema.of({"columns": {"x": column}}))
    assert can_follow(layout.bins[0]) == can
