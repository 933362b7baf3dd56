"""`sfumato convert`: write a table as a file of another kind."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.opening import opened
from sfumato.cli.output import print_json, say
from sfumato.cli.parameters import Data, Json, RowFormat
from sfumato.cli.progress import working
from sfumato.errors import ArgumentError


def convert(
    context: typer.Context,
    data: Data,
    output: Annotated[Path, typer.Argument(help="Where to write it: NAME.parquet, .csv, .xlsx, ...; - for stdout.")],
    kind: RowFormat = None,
    as_json: Json = False,
) -> None:
    """Write a private table as a file of another kind. It is as private.

    Such as a CSV file with line breaks in quotes as Parquet, which is read faster:
    sfumato convert people.csv people.parquet --quoted-breaks

    Cells of a CSV, an Excel file or an SQL database are kept as texts, so that a zip code keeps its zeros.
    """
    from sfumato.conversion import convert as run
    from sfumato.rows_file import STDOUT

    if as_json and str(output) == STDOUT:
        raise ArgumentError("--json and stdout as the output would both print on stdout; give one of them")
    source = opened(context, data)
    with working("converting") as reach:
        found = run(source, output, kind, reach)
    if as_json:
        lost = {"lost_rows": found.lost_rows, "lost_cells": found.lost_cells}
        print_json({"output": str(output), "rows": found.rows, "columns": list(source.names)} | lost)
        return
    if str(output) != STDOUT:
        print(f"wrote {output}: {found.rows} rows of {len(source.names)} columns, as PRIVATE as {source.label}")
    if found.lost_rows:
        say(f"not read: {found.lost_rows} rows, whose line has not as many fields as the header, or a stray quote")
    if found.lost_cells:
        say(f"not read: {found.lost_cells} cells, which are no text in the file's encoding; say it with --csv-encoding")
