"""`sfumato demo`: a real table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import print_json, say
from sfumato.cli.parameters import Json
from sfumato.cli.progress import counted, working

DEMO_PARTS = 4  # of the demo, of which three are told: it begins each with a line


def demo(
    folder: Annotated[Path, typer.Argument(help="Where to write the demo's files.")] = Path("sfumato-demo"),
    as_json: Json = False,
) -> None:
    """Release a real table, and see what that is good for.

    The table is UCI Adult, which is public and comes with sfumato. It takes about a minute, and writes a release,
    synthetic rows and a picture.
    """
    from sfumato.demo import run_demo

    with working("running the demo") as reach:
        further = counted(reach, DEMO_PARTS)

        def tell(line: str) -> None:
            say(line)
            further(1)

        result = run_demo(folder, tell)
    if as_json:
        print_json(result.data())
    else:
        print(result.table())
