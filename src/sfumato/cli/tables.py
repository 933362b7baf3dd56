"""How a table is opened: the options of `sf.open_table`, for every verb that reads one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sfumato.cli.options import ConfigCommand, Section, configured, given, options_of
from sfumato.config import option

if TYPE_CHECKING:
    from sfumato.tables.table import Table

KEY = "table"


@dataclass(frozen=True)
class Opening:
    """What a file does not say about itself."""

    delimiter: str | None = option(None, help="What separates the fields of a CSV file; a comma by default.")
    quote: str | None = option(None, help="What quotes the fields of a CSV file.")
    csv_encoding: str | None = option(None, help="How a CSV file is written; UTF-8 by default.")
    table: str | None = option(None, help="Which table of a DuckDB file.")


def table_section() -> Section:
    """The options, under their heading."""
    return Section(KEY, "Options of the table", options_of(Opening))


class TableCommand(ConfigCommand):
    """A command that reads a table."""

    def sections(self, args: Sequence[str]) -> list[Section]:
        """The options of the table."""
        return [table_section()]


def opening(context: typer.Context) -> dict[str, str]:
    """The options of `sf.open_table` that the command line says."""
    said: Opening = configured(Opening, given(context, KEY))
    options = {"delimiter": said.delimiter, "quote": said.quote, "encoding": said.csv_encoding, "table": said.table}
    return {name: value for name, value in options.items() if value is not None}


def opened(context: typer.Context, data: Path) -> Table:
    """The table in a file, read as the command line says."""
    from sfumato.tables import open_table

    return open_table(data, **opening(context))
