"""Any table to Arrow batches, cell by cell.

Design decisions:

- Every cell is parsed alone, from its own text or its own stored value. No column type is inferred,
  so an odd cell, a blank or a bad line never changes how another cell is read.
- Layout does not matter: chunks, slices, dictionaries and the kind of file give the same cells.
- What a cell holds never raises. Errors speak of a file, its column names and its declared types.

`open_table` gives a `Table` of batches; `numbers`, `texts`, `days` and `lookup` read the
cells of one column.

Example:
    >>> import pyarrow as pa
    >>> from sfumato.tables import numbers, open_table
    >>> table = open_table(pa.table({"age": ["39", "1.0", "n/a"]}))
    >>> [numbers(batch["age"]).tolist() for batch in table.batches(["age"])]
    [[39.0, 1.0, nan]]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.tables.cells import by_distinct, lookup, numbers, texts
    from sfumato.tables.clock import days
    from sfumato.tables.open import open_table
    from sfumato.tables.table import BATCH_ROWS, Table

__all__ = ["BATCH_ROWS", "Table", "by_distinct", "days", "lookup", "numbers", "open_table", "texts"]

_CELLS = dict.fromkeys(("by_distinct", "lookup", "numbers", "texts"), "cells")
_HOMES = {"BATCH_ROWS": "table", "Table": "table", "days": "clock", "open_table": "open"} | _CELLS


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: whoever codes cells needs none of the readers."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """The public names, for `dir` and tab completion."""
    return sorted(__all__)
