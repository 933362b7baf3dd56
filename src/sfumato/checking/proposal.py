"""A remark about a schema, and the schema that remarks propose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sfumato.errors import SchemaError
from sfumato.schema.schema import Schema
from sfumato.text import one_line


@dataclass(frozen=True)
class Remark:
    """One thing to look at.

    Attributes:
        column: The column that it is about; None where it is about rows.
        kind: "missing", "unreadable", "unlisted", "clamped", "step", "atoms", "wide", "id", "slip", "unit",
            "rule" or "rows".
        text: What was found and what to do, in one line.
        changes: Facts of the column (of `unit` for a remark about it) that it proposes, None for one to take away.
        drops: Whether it proposes to leave the column out.
    """

    column: str | None
    kind: str
    text: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    drops: bool = False

    def __str__(self) -> str:
        return self.text if self.column is None else f"{one_line(self.column)}: {self.text}"

    def data(self) -> dict[str, Any]:
        """The remark as plain JSON data."""
        return {"column": self.column, "kind": self.kind, "text": self.text}


def proposed(schema: Schema, remarks: Iterable[Remark]) -> Schema:
    """The schema that remarks propose.

    Args:
        schema: The schema as it is.
        remarks: Remarks about it.

    Returns:
        A schema in which every changed fact is listed as unconfirmed, because it was read off private rows.
    """
    data = schema.dump()
    columns: dict[str, Any] = data["columns"]
    facts: dict[str, str | None] = {}  # and the column of each: of a name with a dot the fact does not tell it
    for remark in remarks:
        if remark.kind == "unit" and remark.changes:
            data["unit"] = data.get("unit", {}) | remark.changes
            facts |= {f"unit.{fact}": None for fact in remark.changes}
        elif remark.drops and remark.column in columns and _can_drop(schema, columns, remark.column):
            del columns[remark.column]
            facts = {fact: column for fact, column in facts.items() if column != remark.column}
            facts[f"columns.{remark.column} (left out)"] = remark.column
        elif remark.changes and remark.column in columns:
            for fact, value in remark.changes.items():
                changed = _changed(columns[remark.column], fact, value)
                if _is_column(changed):
                    columns[remark.column] = changed
                    facts[f"columns.{remark.column}.{fact}"] = remark.column
    unconfirmed = list(dict.fromkeys([*schema.unconfirmed, *facts]))
    return Schema.of(data | {"columns": columns} | ({"unconfirmed": unconfirmed} if unconfirmed else {}))


def _can_drop(schema: Schema, columns: dict[str, Any], name: str) -> bool:
    """Whether a schema is left without the column."""
    return name != schema.label and len(columns) > (1 if schema.label is None else 2)


def _changed(column: dict[str, Any], fact: str, value: Any) -> dict[str, Any]:
    """The column with another value of one fact, or without the fact."""
    rest = {name: each for name, each in column.items() if name != fact}
    return rest if value is None else rest | {fact: value}


def _is_column(column: dict[str, Any]) -> bool:
    try:
        Schema.of({"columns": {"column": column}})
    except SchemaError:
        return False
    return True
