"""What a config is made of: fields that say what they are for.

It stands alone, so that the command line can list the options of a config without importing what runs it.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

ROUND = "a round number that was not searched for"
UNRECORDED = "chosen by hand; no search is on record"


def option(default: Any, *, help: str, unit: str = "", source: str = "") -> Any:
    """A field of a frozen config.

    Args:
        default: The value where the user says nothing.
        help: One line for the command line and the documentation.
        unit: What the number counts, where it is not plain.
        source: The page or experiment that the default comes from.

    Returns:
        A dataclass field with these as its metadata.

    Example:
        >>> from dataclasses import dataclass, fields
        >>> @dataclass(frozen=True)
        ... class Toy:
        ...     steps: int = option(600, help="Steps, at most.")
        >>> Toy(), fields(Toy)[0].metadata["help"]
        (Toy(steps=600), 'Steps, at most.')
    """
    return field(default=default, metadata={"help": help, "unit": unit, "source": source})
