"""Every public name says what its arguments are, what it returns, and shows an example that runs."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages
from types import FunctionType, ModuleType
from typing import Any

import pytest

import sfumato as sf

EXEMPT = {"errors", "__version__"}
PACKAGES = (
    "checking",
    "encoding",
    "evaluation",
    "ledger",
    "mechanisms",
    "models",
    "release",
    "schema",
    "tables",
    "training",
)
CONSTANTS = {"BATCH_ROWS"}
MODULES = [each.name for each in walk_packages(sf.__path__, "sfumato.")]
EXTRAS = ("jax", "equinox", "optax")
TOLD_BY_PROTOCOLS = ("encoding.", "models.")  # their methods' arguments are told once, by the protocol


def documented() -> Iterator[tuple[str, Any]]:
    """Each public name with its methods, and what public modules and packages list as theirs."""
    for name in sf.__all__:
        if name not in EXEMPT:
            yield from _with_methods(name, getattr(sf, name))
    for package in PACKAGES:
        listed = import_module(f"sfumato.{package}").__all__
        for name in listed:
            if name not in {*sf.__all__, *CONSTANTS}:
                yield from _with_methods(f"{package}.{name}", getattr(import_module(f"sfumato.{package}"), name))


def _with_methods(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """A name, and the public methods that a class has itself."""
    if isinstance(thing, ModuleType):
        yield from ((f"{name}.{each}", getattr(thing, each)) for each in thing.__all__)
        return
    yield name, thing
    if inspect.isclass(thing) and (not name.startswith(TOLD_BY_PROTOCOLS) or is_protocol(thing)):
        for method, body in vars(thing).items():
            if isinstance(body, FunctionType | classmethod | staticmethod) and not method.startswith("_"):
                yield f"{name}.{method}", getattr(thing, method)


def is_protocol(thing: type) -> bool:
    """Whether a class says what others must implement."""
    return bool(getattr(thing, "_is_protocol", False))


def arguments(thing: Any) -> set[str]:
    """What a docstring has to explain: members of an enumeration, fields of a data class, else parameters."""
    if inspect.isclass(thing) and issubclass(thing, Enum):
        return set(thing.__members__)
    if inspect.isclass(thing) and is_dataclass(thing):
        return {each.name for each in fields(thing) if not each.name.startswith("_")}
    if inspect.isclass(thing) and is_protocol(thing):
        return {name for name in thing.__annotations__ if not name.startswith("_")}
    try:
        return set(inspect.signature(thing).parameters) - {"self", "cls"}
    except ValueError:
        return set()


def missing(thing: Any) -> list[str]:
    """What the docstring of a public name lacks."""
    text = inspect.getdoc(thing) or ""
    told = set(re.findall(r"^ {4}\*{0,2}(\w+)(?: \([^)]*\))?:", text, re.MULTILINE))
    lacking = [f"argument {each}" for each in sorted(arguments(thing) - told)]
    if inspect.isroutine(thing):
        returns = inspect.signature(thing).return_annotation
        if returns not in (None, "None", inspect.Signature.empty) and "Returns:" not in text and "Yields:" not in text:
            lacking.append("Returns")
    return lacking


@pytest.mark.parametrize(("name", "thing"), [pytest.param(*each, id=each[0]) for each in documented()])
def test_a_public_name_is_documented(name: str, thing: Any) -> None:
    assert missing(thing) == []
    assert "." in name or ">>> " in thing.__doc__, "no example"


def undocumented(kind: type) -> list[str]:
    """Public methods and properties of a class that have no docstring, of their own or of a base class."""
    methods = (FunctionType, classmethod, staticmethod, property, cached_property)
    public = [name for name, body in vars(kind).items() if isinstance(body, methods) and not name.startswith("_")]
    return [name for name in public if not any(getattr(vars(b).get(name), "__doc__", None) for b in kind.__mro__)]


@pytest.mark.parametrize("module", MODULES)
def test_every_method_has_a_docstring(module: str) -> None:
    for extra in EXTRAS:
        if f"import {extra}" in Path(find_spec(module).origin).read_text(encoding="utf-8"):
            pytest.importorskip(extra)
    found = [each for each in vars(import_module(module)).values() if inspect.isclass(each)]
    kinds = [each for each in found if each.__module__ == module and not each.__name__.startswith("_")]
    lacking = [f"{kind.__name__}.{method}" for kind in kinds for method in undocumented(kind)]
    assert lacking == []


def test_a_method_without_a_docstring_would_be_seen() -> None:
    class Base:
        def told(self) -> int:
            """A number."""
            return 0

    class Own(Base):
        def told(self) -> int:
            return 1

        @property
        def silent(self) -> int:
            return 2

    assert undocumented(Own) == ["silent"]


def test_a_gap_would_be_seen() -> None:
    def whole(size: int, *, seed: int = 0) -> int:
        """Sum up.

        Args:
            size: How many.
            seed: Of the noise.

        Returns:
            The sum.
        """
        return size + seed

    def gaps(size: int, *, seed: int = 0) -> int:
        """Sum `size` up.

        Args:
            size: How many.
        """
        return size + seed

    assert missing(whole) == []
    assert missing(gaps) == ["argument seed", "Returns"]
