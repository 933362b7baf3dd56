"""Arguments and options that several verbs share."""

from __future__ import annotations

from typing import Annotated

import typer

from sfumato.cli.verb_command import completing

Data = Annotated[
    str,
    typer.Argument(
        help="The private table: Parquet (file or folder), CSV (also .gz, .zst), Arrow, Excel, SQLite or DuckDB, or "
        "the URL of an SQL database."
    ),
]
RowFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv, tsv, csv.gz, parquet, arrow, xlsx, sqlite or duckdb; by default what the name ends in.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, and nothing else there.")]
Replace = Annotated[bool, typer.Option("--replace", help="Write over a file that is there already.")]
Adjacency = Annotated[
    str,
    typer.Option(
        help="What a neighbouring table is: add-remove, replace-one (row count public) or label.",
        autocompletion=completing("add-remove", "replace-one", "label"),
    ),
]
Rows = Annotated[
    int | None,
    typer.Option(help="A public guess at the number of rows. It divides the budget better; never the true count."),
]
Mechanism = Annotated[
    str,
    typer.Option(
        help="mixture, for the distribution; clustmix, for rows to train classifiers on; slicing, for a generator.",
        autocompletion=completing("mixture", "clustmix", "slicing"),
    ),
]
Delta = Annotated[float, typer.Option(help="Chance that the epsilon bound fails; far below 1 / number of rows.")]
