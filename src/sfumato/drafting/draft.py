"""A first draft of a schema, made by looking at a private table.

Everything it takes from the rows is listed under `unconfirmed`: bounds and categories found in private data are
private. The custodian replaces them by public knowledge, or confirms that they are public; `sfumato confirm` walks
through them. What a code book says is public already, and is not listed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.drafting.codebook import Entry, described, read_codebook
from sfumato.drafting.ids import best_unit, names_people, rows_of_unit
from sfumato.drafting.looks import Look
from sfumato.drafting.proposals import ONE_ROW_EACH, propose
from sfumato.drafting.sniffing import sniff
from sfumato.errors import ArgumentError, SchemaError, TableError
from sfumato.near_names import meant
from sfumato.schema.schema import Schema
from sfumato.tables import Table, open_table
from sfumato.tables.table import Progress
from sfumato.text import canonical, one_line

COLUMNS_AT_ONCE = 64  # in one pass: what is kept of them bounds the memory
LEFT_OUT = "(left out)"
MOST_LINES = 100  # on the screen


@dataclass(frozen=True, repr=False)
class Draft:
    """A draft of a schema, as private as the rows that it was read off.

    Attributes:
        schema: The schema; all that was read off rows is under `unconfirmed`.
        left_out: The columns left out, each with why, and what to do.
        notes: What else is worth knowing of columns, a line each.
        options: How the file has to be opened, where it is a CSV file that says so: `open_table(path, **options)`.

    Example:
        >>> import pandas as pd
        >>> draft(pd.DataFrame({"age": [31, 87], "name": [None, None]}))
        <Draft, PRIVATE: 1 columns, 7 facts to confirm, 1 columns left out>
    """

    schema: Schema
    left_out: Mapping[str, str]
    notes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        facts = [fact for fact in self.schema.unconfirmed if not fact.endswith(LEFT_OUT)]
        return (
            f"<Draft, PRIVATE: {len(self.schema.columns)} columns, {len(facts)} facts to confirm, "
            f"{len(self.left_out)} columns left out>"
        )


def draft(
    source: Any,
    label: str | None = None,
    *,
    unit: str | None = None,
    drop: Collection[str] = (),
    missing: Collection[Any] = (),
    codebook: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Draft:
    """Draft a schema for a table. The draft is as private as the rows that it was read off.

    Args:
        source: Whatever `open_table` takes.
        label: The column to predict.
        unit: The column that says whose privacy is meant; one is proposed where there seems to be one.
        drop: Columns to leave out.
        missing: Texts or numbers that mean missing wherever they stand, besides the usual ones.
        codebook: A CSV file of public facts; see docs/draft.md.
        options: How to open a file; what a CSV file needs besides is found out.
        progress: Hears of the fraction of the table that has been read.

    Returns:
        The draft.

    Raises:
        SchemaError: The label, the unit or a column to drop is no column; or nothing can be modelled.
        TableError: The table cannot be read.

    Example:
        >>> import pandas as pd
        >>> found = draft(pd.DataFrame({"age": [31, 87], "town": ["Ulm", "?"]}))
        >>> found.schema.dump()["columns"]["town"]
        {'type': 'category', 'missing': ['?'], 'values': ['Ulm']}
    """
    if isinstance(drop, str) or isinstance(missing, str):
        raise ArgumentError("drop and missing are lists, of columns and of texts")
    opening = dict(options or {})
    if isinstance(source, str | PathLike):
        opening = sniff(Path(source), opening)
    table = open_table(source, **opening)
    book = {} if codebook is None else read_codebook(codebook)
    _check_names(table, label, unit, drop)
    names = [name for name in table.names if name not in drop]
    looks, broken = _look(table, names, frozenset(canonical(str(text)) for text in missing), progress)
    made = _Draft(looks, label, unit, book)
    if broken:
        made.notes.append(f"{broken:,} rows hold nothing at all: in a CSV file, lines that are broken or ragged")
    if opening.keys() - (options or {}).keys():
        made.notes.append("the file is not read with the usual options: use those shown")
    return Draft(made.schema(), made.left_out, tuple(made.notes), opening)


def _check_names(table: Table, label: str | None, unit: str | None, drop: Collection[str]) -> None:
    for what, names in (("label", [label]), ("unit", [unit]), ("column to drop", drop)):
        for name in names:
            if name is not None and name not in table.names:
                _refuse_name(table, what, name)
    if label in drop or (label is not None and label == unit):
        raise SchemaError(f"the label {label!r} cannot be dropped, nor be the unit")


def _refuse_name(table: Table, what: str, name: str) -> NoReturn:
    """Say which column may have been meant; where none is alike, what such a table tells of its columns."""
    if alike := meant(name, table.names):
        raise SchemaError(f"the {what} {name!r} is not a column of the table; did you mean {alike!r}?")
    try:
        table.place(name)
    except TableError as error:
        raise SchemaError(f"the {what}: {error}") from None
    raise AssertionError("a name that is no column was found")


def _look(
    table: Table, names: list[str], missing: frozenset[str], progress: Progress | None
) -> tuple[dict[str, Look], int]:
    """What a pass over each column finds, and how many rows hold nothing."""
    looks = {name: Look(missing) for name in names}
    at_once = COLUMNS_AT_ONCE if table.rereadable else max(1, len(names))
    broken = 0
    for start in range(0, len(names), at_once):
        for batch in table.batches(names[start : start + at_once], _part(progress, start, at_once, len(names))):
            for name, cells in zip(batch.schema.names, batch.columns, strict=True):
                looks[name].add(cells)
            broken += _empty_rows(batch) if len(names) <= at_once and len(names) > 1 else 0
    return looks, broken


def _part(progress: Progress | None, start: int, at_once: int, columns: int) -> Progress | None:
    """What hears of one pass of several, over some of the columns."""
    if progress is None:
        return None
    share = min(at_once, columns - start) / columns
    return lambda fraction: progress(start / columns + fraction * share)


def _empty_rows(batch: pa.RecordBatch) -> int:
    empty = batch.column(0).is_null()
    for cells in batch.columns[1:]:
        if not pc.any(empty).as_py():
            return 0
        empty = pc.and_(empty, cells.is_null())
    return int(pc.sum(empty).as_py() or 0)


class _Draft:
    """The parts of a draft, while it is made."""

    def __init__(self, looks: dict[str, Look], label: str | None, unit: str | None, book: dict[str, Entry]) -> None:
        self.label = label
        self.columns: dict[str, Any] = {}
        self.unconfirmed: list[str] = []
        self.left_out: dict[str, str] = {}
        self.notes = [f"{one_line(name)}: in the code book, not in the table" for name in book if name not in looks]
        self.unit = self._find_unit(looks, unit, book)
        for name, look in looks.items():
            if self.unit is None or name != self.unit["column"]:
                self._add(name, look, book.get(name))
        self.unconfirmed += [f"columns.{name} {LEFT_OUT}" for name in self.left_out]

    def schema(self) -> Schema:
        """The schema, if there is enough for one."""
        if self.label in self.left_out:
            raise SchemaError(f"the label {self.label!r} is empty, or has too many different values to be a label")
        if not self.columns:
            raise SchemaError(
                "no column of the table is a number, a date or one of a few categories; "
                "of a CSV file see --delimiter, --csv-encoding and sfumato convert"
            )
        said = {"label": self.label, "unit": self.unit, "columns": self.columns, "unconfirmed": self.unconfirmed}
        return Schema.of(said)

    def _find_unit(self, looks: dict[str, Look], unit: str | None, book: dict[str, Entry]) -> dict[str, Any] | None:
        """The unit that was named or the best that is seen: how many rows of each count is a proposal."""
        people = [name for name, look in looks.items() if name not in {self.label, *book} and names_people(name, look)]
        chosen = unit or best_unit(people)
        if chosen is None:
            return None
        self.unconfirmed += ([] if unit else ["unit.column"]) + ["unit.rows"]
        others = [name for name in people if name != chosen]
        rows = rows_of_unit(looks[chosen])
        self.notes.append(f"{one_line(chosen)}: {_unit_note(looks[chosen], rows)}")
        self.notes += [f"{one_line(name)}: names people too? --unit takes it instead" for name in others]
        return {"column": chosen, "rows": rows}

    def _add(self, name: str, look: Look, entry: Entry | None) -> None:
        is_label = name == self.label
        if entry is None or (is_label and entry.bounds):  # a number that is the label needs bins
            proposal = propose(name, look, is_label)
        else:
            proposal = described(entry, look, is_label)
        if proposal.column is None:
            self.left_out[name] = proposal.reason
            return
        self.columns[name] = proposal.column
        self.unconfirmed += [f"columns.{name}.{fact}" for fact in proposal.facts]
        self.notes += [f"{one_line(name)}: {note}" for note in proposal.notes]


def _unit_note(look: Look, rows: int) -> str:
    if look.tally.all_differ:
        return f"the unit of privacy: {ONE_ROW_EACH}"
    counted = "1 row of each counts" if rows == 1 else f"{rows} rows of each count"
    return f"names people with several rows: the unit of privacy, {counted}"


def told(drafted: Draft) -> Iterator[str]:
    """Lines for the screen: what was left out and why, and what else to know."""
    lines = [*(f"left out {one_line(name)}: {why}" for name, why in drafted.left_out.items()), *drafted.notes]
    yield from lines[:MOST_LINES]
    if len(lines) > MOST_LINES:
        yield f"and {len(lines) - MOST_LINES} more lines; --json shows all"
