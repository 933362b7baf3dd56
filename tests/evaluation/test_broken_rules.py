"""Rows that break rules are counted once, whichever they break."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.errors import ArgumentError
from sfumato.evaluation.broken_rules import broken_share
from sfumato.schema.schema import Schema

NUMBER = {"type": "number", "min": 0, "max": 9, "step": 1}
ROWS = pd.DataFrame({"a": [1, 5, 9, 0], "b": [2, 3, 9, 0]})


def test_rules_of_the_schema_and_others() -> None:
    schema = Schema.of({"columns": {"a": NUMBER, "b": NUMBER}, "constraints": ["a <= b"]})
    assert broken_share(ROWS, schema) == 0.25
    assert broken_share(ROWS, schema, ["a < 5"]) == 0.5
    with pytest.raises(ArgumentError):
        broken_share(ROWS, schema, ["no rule"])


def test_without_rules_there_is_no_share() -> None:
    assert np.isnan(broken_share(ROWS, Schema.of({"columns": {"a": NUMBER, "b": NUMBER}})))
