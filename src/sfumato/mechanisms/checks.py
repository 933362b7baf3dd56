"""Checks of options that several mechanisms share: one line each that says what to change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.errors import ArgumentError

MOST_COMPONENTS = 1000  # of a class that anyone may ask for


def check_one_of(what: str, value: Any, allowed: Sequence[str], *, or_none: bool = False) -> None:
    """Refuse a word that is not among those allowed."""
    if or_none and value is None:
        return
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(map(repr, allowed)) + (" or None" if or_none else "")
        raise ArgumentError(f"{what} must be one of {words}, not {value!r}")


def check_whole(what: str, value: Any, most: int) -> None:
    """Refuse what is no whole number from 1 to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ArgumentError(f"{what} must be a whole number from 1 to {most}, not {value!r}")


def check_components(components: Any) -> None:
    """Refuse what is no number of components."""
    if components is None or components == "auto":
        return
    if isinstance(components, bool) or not isinstance(components, int) or not 1 <= components <= MOST_COMPONENTS:
        raise ArgumentError(
            f"components must be a whole number from 1 to {MOST_COMPONENTS}, or 'auto', not {components!r}"
        )


def check_share(what: str, value: Any) -> None:
    """Refuse what is no number from 0 to below 1; None is none given."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value < 1.0:
        raise ArgumentError(f"{what} must be a number from 0 to below 1, not {value!r}")
