"""Open a table: a file below the folder, and how it is written."""

from __future__ import annotations

import os
from typing import Any

from sfumato.studio.folder import RELEASES
from sfumato.studio.screens import Form, Step, View, asked_for, said
from sfumato.studio.work import Work

DIALECT = ("delimiter", "encoding", "sheet", "table")  # no query: a SELECT can read files elsewhere
ESCAPES = {"\\t": "\t", "tab": "\t"}


def view(work: Work, place: str = ".") -> View:
    """The tables and the folders of a folder."""
    from sfumato.tables import parquet

    here = work.folder.word(work.path(place))
    parted = [each for each in work.folder.folders(here) if work.folder.files(parquet.SUFFIXES, each)]
    return {
        "here": here,
        "above": None if here == "." else os.path.dirname(here) or ".",
        "folders": work.folder.folders(here),
        "tables": [*work.folder.tables(here), *parted],
        "releases": work.folder.files(RELEASES, here),
        "root": str(work.folder.root),
    }


def words(work: Work, form: Form) -> list[list[str]]:
    """What drafts a schema for the table that is chosen: to open it alone takes no command."""
    name = said(form, "file") or work.table
    return (
        [["sfumato", "schema", work.folder.existing(name), "-o", work.folder.free(stem(name), ".yaml")]] if name else []
    )


def act(work: Work, form: Form) -> str:
    """Open the table that was chosen, or a release that is there already."""
    if release := said(form, "release"):
        from sfumato.api import load

        name = work.folder.existing(release)
        load(work.path(name))
        work.begin(release=name)
        return "report"
    name = work.folder.existing(said(form, "file"))
    options = {key: ESCAPES.get(value, value) for key, value in asked_for(form, *DIALECT).items()}
    opening, columns = opened(work, name, options)
    opened_alone = work.release if not work.table else ""  # to be evaluated beside this table
    work.begin(table=name, opening=opening, columns=columns, release=opened_alone)
    return "draft"


def opened(work: Work, name: str, options: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """How a table has to be opened, and the names of its columns: no more of it is read here."""
    from sfumato.drafting.sniffing import sniff
    from sfumato.tables import open_table

    path = work.path(name)
    opening = sniff(path, options)
    return opening, tuple(open_table(path, **opening).names)


def stem(name: str) -> str:
    """A table's name, without what it ends in."""
    return os.path.basename(name.rstrip("/")).lstrip(".-").split(".")[0] or "table"


STEP = Step("table", "Open a table", view, words, act, needs=lambda work: "", is_done=lambda work: bool(work.table))
