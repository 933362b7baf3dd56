"""SDMetrics' two similarities of pairs, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.evaluation.pair_similarity import contingency_similarity, correlation_similarity
from sfumato.evaluation.typed_rows import typed
from sfumato.schema.schema import Schema

NUMBER = {"type": "number", "min": -9, "max": 9}
PAIR = Schema.of({"columns": {"u": NUMBER, "v": NUMBER}})
LETTER = {"type": "category", "values": ["a", "b"]}
LETTERS = Schema.of({"columns": {"u": LETTER, "v": LETTER}})


def test_correlations_of_one_and_minus_one_are_not_alike() -> None:
    up = typed(pd.DataFrame({"u": [1, 2, 3], "v": [2, 4, 6]}), PAIR)
    down = typed(pd.DataFrame({"u": [1, 2, 3], "v": [6, 4, 2]}), PAIR)
    flat = typed(pd.DataFrame({"u": [1, 2, 3], "v": [5, 5, 5]}), PAIR)
    assert correlation_similarity(up, up) == pytest.approx(1.0)
    assert correlation_similarity(up, down) == pytest.approx(0.0)
    assert correlation_similarity(up, flat) == pytest.approx(0.5)
    assert np.isnan(contingency_similarity(up, up))


def test_contingency_is_one_minus_half_the_difference_of_shares() -> None:
    one = typed(pd.DataFrame({"u": list("aabb"), "v": list("aabb")}), LETTERS)
    two = typed(pd.DataFrame({"u": list("abab"), "v": list("aabb")}), LETTERS)
    assert contingency_similarity(one, two) == pytest.approx(1 - 0.5 * 4 * 0.25)
    assert np.isnan(correlation_similarity(one, two))
