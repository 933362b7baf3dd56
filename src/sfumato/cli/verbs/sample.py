"""`sfumato sample`: draw synthetic rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import print_json
from sfumato.cli.parameters import Json, RowFormat
from sfumato.cli.progress import working
from sfumato.errors import ArgumentError


def sample(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    n: Annotated[int, typer.Option("-n", "--rows", help="How many synthetic rows.", min=0)],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where to write them: a file (.csv, .parquet, ...), or - for stdout.")
    ],
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same rows.", min=0)] = None,
    given: Annotated[
        list[str] | None, typer.Option(help="Fix a column: --given income='>50K'. May be repeated.")
    ] = None,
    where: Annotated[str | None, typer.Option(help="Keep only rows like this: --where 'age > 40'.")] = None,
    kind: RowFormat = None,
    as_json: Json = False,
) -> None:
    """Draw synthetic rows. Costs no privacy, however many."""
    from sfumato.api import load
    from sfumato.rows_file import STDOUT, write_rows

    if as_json and str(output) == STDOUT:
        raise ArgumentError("--json and -o - would both print on stdout; give one of them")
    made = load(release)
    with working("sampling", total=n) as advance:
        batches = made.sample_batches(n, seed=seed, given=_given(given or []), where=where)
        write_rows(batches, output, advance, kind)
    if str(output) == STDOUT:
        return
    if as_json:
        print_json({"output": str(output), "rows": n, "columns": list(made.schema.columns)})
    else:
        print(f"wrote {output}: {n} synthetic rows of {len(made.schema.columns)} columns")


def _given(pairs: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ArgumentError(f"given must look like column=value, not {pair!r}")
        if name in found:
            raise ArgumentError(f"given: {name} is given twice")
        found[name] = value
    return found
