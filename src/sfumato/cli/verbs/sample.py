"""`sfumato sample`: draw synthetic rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.claim import claim_name
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Json, Replace, RowFormat
from sfumato.cli.progress import counted, working
from sfumato.errors import ArgumentError

if TYPE_CHECKING:
    from sfumato.release.release import Release


def sample(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Where to write them: a file (.csv, .parquet, ...), or - for stdout.")
    ],
    n: Annotated[
        int | None, typer.Option("-n", "--rows", help="How many synthetic rows; needed, but with --draws.", min=0)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same rows.", min=0)] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE", help="Fix a column: --given income='>50K'. May be repeated."),
    ] = None,
    where: Annotated[str | None, typer.Option(help="Keep only rows like this: --where 'age > 40'.")] = None,
    draws: Annotated[
        int | None, typer.Option(help="Draw the population so often; each draw gets a file of its own: rows-1.csv, ...")
    ] = None,
    kind: RowFormat = None,
    replace_file: Replace = False,
    as_json: Json = False,
) -> None:
    """Draw synthetic rows. Costs no privacy, however many.

    sfumato sample people.sfumato -n 10000 -o rows.csv

    In text files dates are written as 2024-12-31, numbers with a decimal point, and missing cells are empty.
    """
    from sfumato.api import load
    from sfumato.rows_file import STDOUT, write_rows

    if as_json and str(output) == STDOUT:
        raise ArgumentError("--json and -o - would both print on stdout; give one of them")
    if n is None and draws is None:
        raise ArgumentError("give -n, the number of rows; only --draws has a number of its own")
    if draws is not None and str(output) == STDOUT:
        raise ArgumentError("--draws writes a file for each draw; give -o a name")
    places = [output] if draws is None else _numbered(output, draws)
    for place in places if str(output) != STDOUT else []:
        claim_name(place, replace_file)  # the private table may be there
    made, held = load(release), _given(given or [])
    if draws is not None:
        written = _write_draws(made, draws, n, seed, held, where, places, kind)
    else:
        assert n is not None
        with working("sampling") as reach:
            write_rows(made.sample_batches(n, seed=seed, given=held, where=where), output, counted(reach, n), kind)
        written = {output: n}
    if str(output) == STDOUT:
        return
    columns = list(made.schema.columns)
    told = [{"output": str(path), "rows": rows, "columns": columns} for path, rows in written.items()]
    if as_json:
        print_json(told[0] if draws is None else {"draws": told})
        return
    for path, rows in written.items():
        print(f"wrote {path}: {rows} synthetic rows of {len(columns)} columns")


def _write_draws(
    made: Release,
    draws: int,
    n: int | None,
    seed: int | None,
    given: dict[str, str],
    where: str | None,
    places: list[Path],
    kind: str | None,
) -> dict[Path, int]:
    """One file a draw: the files, and how many rows each has."""
    from sfumato.release.population import draw_populations
    from sfumato.rows_file import write_rows

    if given:
        raise ArgumentError("draws are of whole rows: use --where in the place of --given")
    written = {}
    with working("drawing") as reach:
        for number, (path, each) in enumerate(zip(places, draw_populations(made, n, draws, seed), strict=True), 1):
            write_rows(each.release.sample_batches(each.rows, each.seed, where=where), path, kind=kind)
            written[path] = each.rows
            reach(number / draws)
    return written


def _numbered(output: Path, draws: int) -> list[Path]:
    """A file a draw, numbered before what its name ends in."""
    name, dot, ends = output.name.partition(".")
    return [output.with_name(f"{name}-{number}{dot}{ends}") for number in range(1, draws + 1)]


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
