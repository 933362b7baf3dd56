"""Bins are put together into levels: few, in order, and what stands out stays alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.encoding.marginals import Marginals
from sfumato.mechanisms.pairs.pair_levels import _rare_together, _runs, levels_of
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema

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


def test_a_frequent_category_has_a_level_of_its_own() -> None:
    """Forty of fifty values have 2 % of the rows each: all of them are told apart where noise allows it."""
    bins = Layout.of(Schema.of({"columns": {"job": {"type": "category", "values": [str(i) for i in range(50)]}}})).bins
    shares = np.append(np.full(40, 0.02), np.full(10, 0.001))
    shares /= shares.sum()
    marginals = Marginals(np.array([1000.0]), 1.0, (shares[None],), np.ones(1), np.ones(1), (None,))

    def sizes(frequent: float, most: int) -> list[int]:
        return np.bincount(levels_of(marginals, bins, 16, frequent, most)[0]).tolist()

    assert sizes(0.01, 64) == [1] * 40 + [10]
    assert sizes(0.01, 30) == [1] * 29 + [21]
    assert sizes(0.1, 64) == [1] * 15 + [35]
