"""`sfumato schema`: draft a schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import print_json
from sfumato.cli.parameters import Data, Json
from sfumato.cli.progress import working
from sfumato.cli.tables import opened
from sfumato.text import one_line


def schema(
    context: typer.Context,
    data: Data,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the draft (YAML, or JSON by name).")],
    label: Annotated[str | None, typer.Option(help="The column to predict, if there is one.")] = None,
    as_json: Json = False,
) -> None:
    """Draft a schema by looking at a table. The draft is private until you confirm it.

    Every bound and category in it was read off private rows and is listed under `unconfirmed`. Replace each by
    public knowledge, then empty that list: `fit` refuses the draft until you have.
    """
    from sfumato.schema.draft import draft_schema

    source = opened(context, data)
    with working("reading the table"):
        draft, left_out = draft_schema(source, label)
    draft.save(output)
    if as_json:
        print_json({"schema": draft.dump(), "left_out": left_out, "output": str(output)})
        return
    print(f"wrote {output}: {len(draft.columns)} columns, {len(draft.unconfirmed)} facts read off the rows")
    for name in left_out:
        print(f"left out {one_line(name)}: neither a number, nor a date, nor one of a few categories")
    print("PRIVATE DRAFT: check each fact under `unconfirmed` against public knowledge, then empty that list")
