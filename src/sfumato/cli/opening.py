"""How a table is opened: the options of `sf.open_table`, for every verb that reads one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import typer

from sfumato.cli.options import ConfigCommand, Section, configured, given, options_of
from sfumato.config import option

if TYPE_CHECKING:
    from sfumato.tables.table import Table

KEY = "table"


@dataclass(frozen=True)
class Opening:
    """What a file does not say about itself."""

    delimiter: str | None = option(
        None, help="What separates the fields of a CSV file; a comma, or what `sfumato schema` sees."
    )
    quote: str | None = option(None, help="What quotes the fields of a CSV file.")
    csv_encoding: str | None = option(None, help="The encoding of a CSV file, such as latin-1; UTF-8 by default.")
    quoted_breaks: bool = option(
        False, help="Quoted fields of a CSV file hold line breaks. It is read slowly: `sfumato convert` it once."
    )
    sheet: str | None = option(None, help="Which sheet of an Excel file.")
    table: str | None = option(None, help="Which table of a database or of its file.")
    query: str | None = option(None, help="A SELECT whose rows are the table, of an SQL database.")


def table_section() -> Section:
    """The options, under their heading."""
    return Section(KEY, "Options of the table", options_of(Opening))


class TableCommand(ConfigCommand):
    """A command that reads a table."""

    def sections(self, args: Sequence[str]) -> list[Section]:
        """The options of the table."""
        return [table_section()]


def opening(context: typer.Context) -> dict[str, Any]:
    """The options of `sf.open_table` that the command line says."""
    said: Opening = configured(Opening, given(context, KEY))
    options = {field.name.removeprefix("csv_"): getattr(said, field.name) for field in fields(said)}
    return {name: value for name, value in options.items() if value not in (None, False)}


def opened(context: typer.Context, data: str) -> Table:
    """The table in a file or a database, read as the command line says."""
    from sfumato.tables import open_table

    return open_table(data, **opening(context))
