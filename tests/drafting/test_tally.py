"""Counts are exact while there are few texts, and right on average beyond."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.drafting.tally import MOST_TEXTS, Tally


def filled(batches: list[list[str]]) -> Tally:
    tally = Tally()
    for batch in batches:
        found = pa.array(batch, pa.large_string()).value_counts()
        tally.add(found.field("values"), found.field("counts").to_numpy())
    return tally


def test_few_texts_are_counted_exactly() -> None:
    tally = filled([["a", "b", "a"], ["b", "c"]])
    assert tally.is_exact
    assert tally.distinct == 3
    assert tally.weights() == {"a": 2.0, "b": 2.0, "c": 1.0}
    assert not tally.all_differ
    assert filled([["a"], ["b"]]).all_differ


def test_of_many_texts_a_share_is_kept_with_all_their_counts() -> None:
    people = [f"p{i}" for i in range(60_000)]
    tally = filled([people[:40_000], people[20_000:], people[:10_000]])
    assert not tally.is_exact
    assert len(tally.sampled) <= MOST_TEXTS
    assert abs(tally.distinct - 60_000) < 6_000  # the share kept is random, within 2 %
    for text, count in tally.sampled.items():
        place = int(text[1:])
        assert count == (place < 40_000) + (place >= 20_000) + (place < 10_000)
    assert abs(sum(tally.weights().values()) - 90_000) < 9_000


def test_common_texts_among_many_are_not_lost() -> None:
    batches = [[f"{i}-{place}" for place in range(9_500)] + ["0"] * 500 for i in range(4)]
    tally = filled(batches)
    assert not tally.is_exact
    assert tally.weights()["0"] == 2_000


def test_all_that_differ_are_known_to_differ() -> None:
    ids = [str(i) for i in np.random.default_rng(0).permutation(50_000)]
    assert filled([ids[:25_000], ids[25_000:]]).all_differ
    assert not filled([ids, ids]).all_differ
