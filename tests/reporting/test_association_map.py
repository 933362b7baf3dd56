"""Associations are between 0 and 1, find what is there and nothing that is not."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.reporting import association_map as module
from sfumato.reporting.association_map import association_map, cramers_v
from sfumato.reporting.seen_release import SeenRelease, Sizes


def test_cramers_v_of_what_is_known() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 5, 20_000), rng.integers(0, 7, 20_000)
    assert cramers_v(one, other) < 0.02
    assert cramers_v(one, one // 2) == pytest.approx(1.0, abs=0.01)
    assert cramers_v(one, np.zeros(20_000, dtype=np.int64)) == 0.0
    mixed = np.where(rng.random(20_000) < 0.5, one, rng.integers(0, 5, 20_000))
    assert cramers_v(one, mixed) == pytest.approx(0.5, abs=0.02)


def test_the_map_of_a_release(seen: SeenRelease) -> None:
    found = association_map(seen)
    assert found.names == tuple(seen.columns)
    assert np.array_equal(found.values, found.values.T)
    assert ((found.values >= 0) & (found.values <= 1)).all()
    one, other, value, bought = found.strongest(1)[0]
    assert {one, other} == {"age", "ill"}
    assert value > 0.5
    assert bought
    assert found.bought.sum() == 2 * (len(found.names) - 1)  # the label with every column, by histograms


def test_of_many_columns_the_most_associated_are_shown(seen: SeenRelease, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SIZES", Sizes(map_columns=2))
    found = association_map(seen)
    assert found.names == ("age", "ill")
    assert found.of == len(seen.columns)
