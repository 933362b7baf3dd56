"""Who asks for a release and why: the options of every verb that a ledger counts."""

from __future__ import annotations

from dataclasses import dataclass

import typer

from sfumato.cli.options import Section, configured, given, options_of
from sfumato.config import option

KEY = "notes"


@dataclass(frozen=True)
class Notes:
    """What an entry of a ledger says about itself."""

    who: str | None = option(None, help="Who asks for the release: one line, no secret.")
    why: str | None = option(None, help="What it is for: one line, no secret.")


def note_section() -> Section:
    """The options, under their heading."""
    return Section(KEY, "Notes in the ledger's entry", options_of(Notes))


def entry_notes(context: typer.Context) -> Notes:
    """Who and why, as the command line says them."""
    found: Notes = configured(Notes, given(context, KEY))
    return found
