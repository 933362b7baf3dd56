"""What questions were asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.reporting.spent_for import SPENT_FOR, spent_for

NUMBERS = {"a": {"type": "number", "min": 0, "max": 9, "step": 1}, "b": {"type": "category", "values": ["x", "y"]}}
IMAGE = {"image": {"columns": "px_*", "shape": [4, 4], "min": 0, "max": 16, "step": 1}}
SCHEMAS = [
    {"columns": NUMBERS, "label": "b"},
    {"columns": NUMBERS},
    {"columns": {"b": NUMBERS["b"]}, "label": "b", "groups": IMAGE},
]
MECHANISMS = [sf.Mixture(), sf.Mixture(components=3), sf.Mixture(adapt="labels"), sf.Clustmix(), sf.Slicing()]


@pytest.mark.parametrize("schema", SCHEMAS, ids=["label", "plain", "group"])
def test_every_question_of_a_plan_is_explained(schema: dict[str, object]) -> None:
    asked = set()
    for mechanism in MECHANISMS:
        try:
            plan = sf.plan(schema, epsilon=1, delta=1e-6, rows=10_000, mechanism=mechanism)
        except SfumatoError:  # not for every schema
            continue
        asked |= {each.title for each in plan.rounds}
    assert asked
    assert [name for name in asked if not spent_for(name)] == []


def test_the_page_explains_every_question() -> None:
    page = (Path(__file__).parents[2] / "docs" / "mechanisms.md").read_text()
    assert [name for name in SPENT_FOR if f"| `{name}` |" not in page] == []


def test_a_question_of_a_mechanism_of_one_s_own() -> None:
    assert spent_for("something else") == ""
