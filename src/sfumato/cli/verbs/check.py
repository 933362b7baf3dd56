"""`sfumato check`: what of a table a schema cannot read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.claim import claim_name
from sfumato.cli.opening import opened
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Data, Json, Replace
from sfumato.cli.progress import working
from sfumato.errors import ArgumentError

if TYPE_CHECKING:
    from sfumato.checking import Check
    from sfumato.planning.outlook import Outlook

EPSILON, DELTA = 1.0, 1e-6  # what a release is usually made with, where nothing was chosen yet
NOT_READY = 1  # the exit code where more than one cell in a hundred of a column is lost


def check(
    context: typer.Context,
    data: Data,
    schema: Annotated[Path, typer.Option(help="The schema to check, a draft too: YAML or JSON.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where to write a proposed schema (YAML, or JSON by name).")
    ] = None,
    replace_file: Replace = False,
    as_json: Json = False,
) -> None:
    """See what of a table a schema cannot read. What is shown is private.

    It costs nothing: do it before a fit spends anything.

    Exit code 1 if more than 1 % of the cells of any column fit no bin, 0 otherwise. In the proposed schema every fact
    that was read off the rows is listed under `unconfirmed`: replace each by public knowledge, then empty that list.
    """
    from sfumato.checking import check as look
    from sfumato.files import real_path
    from sfumato.schema.schema import Schema

    known = Schema.load(schema)
    if output is not None:
        if real_path(output) == real_path(data):
            raise ArgumentError(f"{output} is the table; write the proposed schema somewhere else")
        claim_name(output, replace_file)
    source = opened(context, data)
    with working("reading the table") as reach:
        found = look(source, known, progress=reach)
    if output is not None:
        found.patch.save(output)
    forecast = _forecast(found)
    if as_json:
        worth = None if forecast is None else {"epsilon": EPSILON, "delta": DELTA} | forecast.verdict.data()
        print_json(found.to_dict() | {"forecast": worth, "output": None if output is None else str(output)})
    else:
        print(found)
        if forecast is not None:
            print(f"a release of so many rows at epsilon {EPSILON:g}, delta {DELTA:g}: {forecast.verdict}")
        if output is not None:
            print(f"wrote {output}: PRIVATE until each fact under `unconfirmed` is checked against public knowledge")
    if not found.ready:
        raise typer.Exit(NOT_READY)


def _forecast(found: Check) -> Outlook | None:
    """What a release of so many rows would be worth, by the plan alone; None where no plan tells.

    PRIVATE: the number of rows is the true one.
    """
    from sfumato.api import plan
    from sfumato.errors import SfumatoError
    from sfumato.planning.outlook import outlook

    unit = found.unit
    rows = found.rows if unit is None else unit.rows - unit.dropped
    try:
        return outlook(plan(found.schema, epsilon=EPSILON, delta=DELTA, rows=max(rows, 1)))
    except SfumatoError:
        return None
