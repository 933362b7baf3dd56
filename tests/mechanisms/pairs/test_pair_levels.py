"""Bins are put together into levels: few, in order, and what stands out stays alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.mechanisms.pairs.pair_levels import _rare_together, _runs

SHARES = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=60).filter(lambda shares: sum(shares) > 1e-6)


@given(SHARES, st.integers(2, 20), st.booleans())
def test_levels_of_numbers_are_runs_and_what_is_missing_is_apart(shares: list[float], most: int, gaps: bool) -> None:
    missing = len(shares) if gaps else -1
    found = _runs(np.array(shares + [0.3] * gaps), missing, most)
    assert found[0] == 0
    assert set(np.diff(found)) <= {0, 1}
    assert found.max() + 1 <= 2 * most + 1 + gaps  # bins that are levels of their own part runs
    if gaps:
        assert (found == found[-1]).sum() == 1


@given(SHARES, st.integers(2, 20))
def test_of_categories_the_rarest_share_a_level(shares: list[float], most: int) -> None:
    found = _rare_together(np.array(shares), most)
    assert sorted(set(found)) == list(range(min(len(shares), most)))
    sizes = np.bincount(found)
    assert (sizes > 1).sum() <= 1
    if len(shares) > most:
        together = np.array(shares)[found == most - 1]
        assert together.max() <= np.array(shares)[found != most - 1].min()


@pytest.mark.parametrize("bins", [1, 2, 16])
def test_few_bins_stay_as_they_are(bins: int) -> None:
    shares = np.full(bins, 1.0 / bins)
    assert _runs(shares, -1, 16).tolist() == _rare_together(shares, 16).tolist() == list(range(bins))
