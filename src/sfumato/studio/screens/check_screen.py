"""Check what of the table the schema cannot read, before anything is spent."""

from __future__ import annotations

from typing import Any

from sfumato.cli.verbs.check import NOT_READY
from sfumato.studio import commands
from sfumato.studio.screens import Form, Step, View, said
from sfumato.studio.screens.draft_screen import take
from sfumato.studio.screens.table_screen import stem
from sfumato.studio.work import Work

COUNTS_TOLD = {  # what is told of each column, by its name in the check's JSON
    "missing": "missing",
    "unreadable": "unreadable",
    "unlisted": "not listed",
    "clamped_low": "below min",
    "clamped_high": "above max",
    "lost": "lost",
}


def view(work: Work) -> View:
    """What the last check found, if it was of this schema."""
    found = found_now(work)
    return {
        "job": work.runs("check"),
        "found": found,
        "heads": list(COUNTS_TOLD.values()),
        "lines": [] if found is None else _lines(found),
    }


def words(work: Work, form: Form) -> list[list[str]]:
    """What finds the same."""
    return [commands.check(work)]


def act(work: Work, form: Form) -> str:
    """Check; or take what a check proposes, which is then to be confirmed."""
    if said(form, "action") == "take":
        output = work.folder.free(f"{stem(work.table)}-checked", ".yaml")

        def taken(found: dict[str, Any]) -> None:
            take(work, output)
            work.go = "confirm"

        work.start(commands.check(work, output), taken, good=(0, NOT_READY))
        return ""
    which = work.digest()

    def then(found: dict[str, Any]) -> None:
        work.checked = which, found

    work.start(commands.check(work), then, good=(0, NOT_READY))
    return ""


def found_now(work: Work) -> dict[str, Any] | None:
    """What was found with the schema as it is now."""
    return work.checked[1] if work.checked is not None and work.checked[0] == work.digest() else None


def _lines(found: dict[str, Any]) -> list[dict[str, Any]]:
    """One line a column: shares of its cells, those of nothing left out."""
    from sfumato.text import percent

    return [
        {
            "name": name,
            "shares": [percent(each[key] / max(each["cells"], 1)) if each[key] else "" for key in COUNTS_TOLD],
        }
        for name, each in found["columns"].items()
    ]


def _needs(work: Work) -> str:
    return "" if work.table and work.schema else "draft a schema first"


def _is_done(work: Work) -> bool:
    return bool(work.schema) and found_now(work) is not None


STEP = Step("check", "Check the table", view, words, act, _needs, _is_done, private=True, verb="check")
