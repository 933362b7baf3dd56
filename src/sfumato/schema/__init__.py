"""Schemas: what is publicly known about a table.

Public: `Schema`; `Layout`, its columns as bins. The grammar of conditions on rows is in `conditions`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.schema.layout import Layout
    from sfumato.schema.schema import Schema

__all__ = ["Layout", "Schema"]

_HOMES = {"Layout": "layout", "Schema": "schema"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: the private side needs the layout alone."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """The public names, for `dir` and tab completion."""
    return sorted(__all__)
