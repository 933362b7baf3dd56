"""`sfumato studio`: a page on this machine that leads from a table to a release."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import print_json
from sfumato.cli.parameters import Json
from sfumato.errors import MissingExtraError


def studio(
    folder: Annotated[Path, typer.Argument(help="Where the tables are: nothing outside of it is opened.")] = Path(),
    port: Annotated[int, typer.Option(help="Where to listen; a free one by default.", min=0, max=65535)] = 0,
    as_json: Json = False,
) -> None:
    """Open a page that leads from a private table to a release.

    It is reached from this machine only, and goes step by step: schema, check, epsilon, fit, report, evaluation.
    """
    try:
        from sfumato.studio.server import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("sfumato"):
            raise
        raise MissingExtraError("the studio needs an extra: pip install 'sfumato[studio]'") from error
    serve(folder, port, _print_json if as_json else _print)


def _print(folder: str, address: str) -> None:
    print(f"sfumato studio for {folder}")
    print(f"open  {address}")
    print("It is reached from this machine only, by whoever has this address. Ctrl-C ends it.", flush=True)


def _print_json(folder: str, address: str) -> None:
    print_json({"folder": folder, "address": address})
    sys.stdout.flush()  # whoever waits for it reads a pipe
