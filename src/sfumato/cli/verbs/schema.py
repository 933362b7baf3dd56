"""`sfumato schema`: draft a schema."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.claim import claim_name
from sfumato.cli.opening import opening
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Data, Json, Replace
from sfumato.cli.progress import working

DRAFT_IS_PRIVATE = "PRIVATE: read off the rows, without noise. Do not publish it before it is confirmed."
FLAGS = {"encoding": "csv-encoding"}  # options of `open_table` that have another name here


def schema(
    context: typer.Context,
    data: Data,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the draft (YAML, or JSON by name).")],
    label: Annotated[str | None, typer.Option(help="The column to predict, if there is one.")] = None,
    unit: Annotated[str | None, typer.Option(help="The column that says whose rows they are, if there is one.")] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A column to leave out. May be repeated.")
    ] = None,
    missing: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="A text that means missing, such as 999. May be repeated.")
    ] = None,
    codebook: Annotated[
        Path | None, typer.Option(help="A CSV file of public facts: column, and value or min and max.")
    ] = None,
    replace_file: Replace = False,
    as_json: Json = False,
) -> None:
    """Draft a schema by looking at a table. The draft is private until you confirm it.

    Every bound and category in it was read off private rows and is listed under `unconfirmed`, but for what a code
    book says: `fit` refuses the draft until all is confirmed. `sfumato confirm` walks through the list.
    """
    from sfumato.drafting.draft import draft, told

    claim_name(output, replace_file)
    with working("reading the table") as reach:
        found = draft(
            data,
            label,
            unit=unit,
            drop=drop or (),
            missing=missing or (),
            codebook=codebook,
            options=opening(context),
            progress=reach,
        )
    found.schema.save(output)
    facts = len(found.schema.unconfirmed)
    if as_json:
        told_too = {"left_out": found.left_out, "notes": found.notes, "options": found.options}
        print_json({"private": DRAFT_IS_PRIVATE, "schema": found.schema.dump(), **told_too, "output": str(output)})
        return
    print(f"wrote {output}: {len(found.schema.columns)} columns, {facts} facts read off the rows")
    for line in told(found):
        print(line)
    print("PRIVATE DRAFT: what is above and in the file was read off rows. Say what of it is public:")
    print(f"  {shlex.join(['sfumato', 'confirm', str(output)])}")
    print("then see what of the table it cannot read (private), choose epsilon, and spend it once:")
    for line in _next_lines(data, output, found.options):
        print(f"  {line}")
    print("ROWS is a public guess at the number of rows, a round one that you would name without the table.")


def _next_lines(data: str, output: Path, options: Mapping[str, Any]) -> list[str]:
    """The commands that come after a confirmed draft."""
    table = [data, "--schema", str(output)]
    for name, value in options.items():
        flag = f"--{FLAGS.get(name, name).replace('_', '-')}"
        table += [flag] if value is True else [flag, str(value)]
    guess, release = ["--rows", "ROWS"], output.with_suffix(".sfumato")
    words = [
        ["check", *table],
        ["plan", str(output), *guess, "--epsilon", "0.5,1,2", "--delta", "1e-6"],
        ["fit", *table, *guess, "--epsilon", "1", "--delta", "1e-6", "-o", str(release)],
    ]
    return [shlex.join(["sfumato", *each]) for each in words]
