"""How a server is reached that answers for a table: the options of `sf.remote`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from sfumato.cli.opening import TableCommand
from sfumato.cli.options import Section, configured, given, options_of
from sfumato.config import option
from sfumato.errors import ArgumentError

if TYPE_CHECKING:
    from sfumato.serving.remote import Remote

KEY = "reaching"


@dataclass(frozen=True)
class Reaching:
    """What a server asks for, and whom to trust for it."""

    token_file: str | None = option(None, help="A file with the token that the server asks for.")
    ca: str | None = option(None, help="A file of certificates to trust for tls:; the system's by default.")


class ReachingCommand(TableCommand):
    """A command that reads a table, or asks a server that answers for it."""

    def sections(self, args: Sequence[str]) -> list[Section]:
        """The options of the table and of the server."""
        return [*super().sections(args), reach_section()]


def reach_section() -> Section:
    """The options, under their heading."""
    return Section(KEY, "Options of a server, where DATA is unix:PATH or tls:HOST:PORT", options_of(Reaching))


def reached(context: typer.Context, data: str) -> Remote | None:
    """The server that is meant by DATA; None where it is a table."""
    from sfumato.serving.addresses import is_address, read_token

    said: Reaching = configured(Reaching, given(context, KEY))
    if not is_address(data):
        if said != Reaching():
            raise ArgumentError("--token-file and --ca are for a server: DATA is then unix:PATH or tls:HOST:PORT")
        return None
    from sfumato.serving.remote import remote

    return remote(data, token=None if said.token_file is None else read_token(said.token_file), ca=said.ca)
