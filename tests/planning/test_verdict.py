"""The verdict: one word by the blur, as it says."""

from __future__ import annotations

import pytest

import sfumato as sf

ADULT = "src/sfumato/data/adult.schema.yaml"


def verdict(rows: int, epsilon: float) -> object:
    from pathlib import Path

    schema = Path(sf.__file__).parent / "data" / "adult.schema.yaml"
    return sf.outlook(sf.plan(schema, epsilon=epsilon, delta=1e-5, rows=rows)).verdict


@pytest.mark.parametrize(
    ("rows", "epsilon", "fit_for"),
    [
        (157, 1, "nothing"),
        (157, 4, "nothing"),
        (5_000, 1, "tables"),
        (32_561, 0.5, "training"),
        (32_561, 1, "training"),
    ],
)
def test_adult_and_parts_of_it(rows: int, epsilon: float, fit_for: str) -> None:
    found = verdict(rows, epsilon)
    assert found.fit_for == fit_for
