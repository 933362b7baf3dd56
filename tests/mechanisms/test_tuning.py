"""What was tuned says where it comes from."""

from collections.abc import Iterator
from dataclasses import Field, dataclass, fields, is_dataclass
from typing import Any

import pytest

import sfumato as sf
from sfumato.config import option
from sfumato.encoding.projected import Bending
from sfumato.training.settings import RowMatching


def numbers(config: Any) -> Iterator[tuple[str, Field[Any]]]:
    """Every field of a config, and of the configs in it, that is a number or several."""
    for field in fields(config):
        value = getattr(config, field.name)
        if is_dataclass(value):
            yield from ((f"{field.name}.{name}", each) for name, each in numbers(value))
        elif isinstance(value, int | float | tuple) and not isinstance(value, bool):
            yield field.name, field


def without(config: Any, what: str) -> set[str]:
    return {name for name, field in numbers(config) if not field.metadata.get(what)}


CONFIGS = (sf.Mixture(), sf.Clustmix(), sf.Slicing(), RowMatching(), Bending())


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: type(config).__name__)
def test_every_number_has_a_source(config: Any) -> None:
    assert without(config, "source") == set()
    assert without(config, "help") == set()


def test_a_number_without_a_source_would_be_seen() -> None:
    @dataclass(frozen=True)
    class Inner:
        share: float = option(0.5, help="Of it.")
        rounds: int = option(3, help="Of it.", source="a table")

    @dataclass(frozen=True)
    class Outer:
        inner: Inner = option(Inner(), help="The inner one.")
        name: str = option("a", help="No number.")

    assert without(Outer(), "source") == {"inner.share"}
