"""`sfumato merge`: several releases as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.claim import claim_name
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Json, Replace
from sfumato.cli.progress import steps, working
from sfumato.cli.releases import check_apart, release_data


def merge(
    releases: Annotated[list[Path], typer.Argument(help="Two release files or more, best on one layout.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write the merged release, NAME.sfumato.")],
    same_people: Annotated[
        bool, typer.Option("--same-people", help="They are of the same table: sharpen them; the guarantees compose.")
    ] = False,
    replace_file: Replace = False,
    as_json: Json = False,
) -> None:
    """Put releases of different people together, as one. Reads no row and costs no privacy."""
    from sfumato.api import load
    from sfumato.merging import merge as run
    from sfumato.progress import listening

    check_apart(output, releases)
    claim_name(output, replace_file)
    with working("merging") as reach, listening(steps(reach)):
        made = run([load(path) for path in releases], same_people=same_people)
        made.save(output)
    if as_json:
        print_json({"output": str(output)} | release_data(made))
    else:
        print(f"wrote {output}\n{made.guarantee}")
