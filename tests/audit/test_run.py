"""What an audit refuses to run."""

from __future__ import annotations

import pytest

from sfumato.audit.run import run
from sfumato.errors import ArgumentError


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "nothing"}, "there is no audit 'nothing'; there are mixture, "),
        ({"trials": 10}, "trials must be a whole number from 100 to"),
        ({"adjacency": "label", "name": "membership"}, "audit membership knows adjacency add-remove, not 'label'"),
        ({"confidence": 1.0}, "confidence must be at least 0.5 and below 1"),
        ({"epsilon": -1.0}, "epsilon must be a finite number above 0"),
    ],
)
def test_bad_arguments_get_one_line(change: dict, message: str) -> None:
    options = {"name": "gaussian-query", "epsilon": 1.0, "delta": 1e-5, "trials": 100} | change
    with pytest.raises(ArgumentError, match=message):
        run(options.pop("name"), **options)
