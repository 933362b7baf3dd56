"""A field of a config holds its default, and beside it what it is for."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, fields

import pytest

from sfumato.config import option


@dataclass(frozen=True)
class Toy:
    steps: int = option(600, help="Steps, at most.", unit="steps", source="a search")
    name: str = option("mlp", help="Which.")


def test_an_option_is_a_field_with_a_default() -> None:
    assert Toy() == Toy(600, "mlp")
    assert Toy(name="conv").steps == 600
    with pytest.raises(FrozenInstanceError):
        Toy().steps = 1  # type: ignore[misc]


def test_an_option_says_what_it_is_for() -> None:
    steps, name = fields(Toy)
    assert dict(steps.metadata) == {"help": "Steps, at most.", "unit": "steps", "source": "a search"}
    assert dict(name.metadata) == {"help": "Which.", "unit": "", "source": ""}
