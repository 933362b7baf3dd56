"""Rows that keep the rules of a schema: drawn from the model given the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pandas as pd

from sfumato.errors import ArgumentError
from sfumato.models.base import REJECTION
from sfumato.schema.conditions import Mask

Draw: TypeAlias = Callable[[int], tuple[pd.DataFrame, Mask]]  # rows, and which of them keep the rules


def keep_rules(draw: Draw, n: int) -> pd.DataFrame:
    """Rows that keep the rules, by rejection: exactly those of the model given the rules."""
    parts: list[pd.DataFrame] = []
    kept = drawn = 0
    while kept < n or not parts:
        if drawn >= max(n, REJECTION.fewest) * REJECTION.draws_a_row:
            raise ArgumentError(no_mass(kept, drawn))
        size = REJECTION.size(n - kept, max(kept, 1) / max(drawn, 1))
        frame, keeps = draw(size)
        parts.append(frame if keeps.all() and size <= n - kept else frame[keeps].iloc[: n - kept])
        drawn, kept = drawn + size, kept + len(parts[-1])
    return pd.concat(parts, ignore_index=True)


def no_mass(kept: int, drawn: int) -> str:
    """What to tell where the model draws next to no rows that keep the rules."""
    return f"{kept} of {drawn} rows drawn keep the constraints of the schema: the model gives them no mass"
