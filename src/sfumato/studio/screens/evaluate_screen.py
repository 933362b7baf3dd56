"""Evaluate the release beside real rows: for the custodian's eyes, because nothing of it has noise."""

from __future__ import annotations

from typing import Any

from sfumato.studio import commands
from sfumato.studio.screens import Form, Step, View, said
from sfumato.studio.screens.report_screen import PAGE
from sfumato.studio.screens.table_screen import stem
from sfumato.studio.work import Work


def view(work: Work) -> View:
    """The evaluation, once there is one."""
    return {
        "tables": [each for each in work.folder.tables() if each != work.table],
        "release": work.release,
        "label": work.load_release().schema.label,
        "columns": list(work.load_release().schema.columns),
        "evaluation": work.evaluation,
        "job": work.runs("evaluate"),
    }


def words(work: Work, form: Form) -> list[list[str]]:
    """What finds the same."""
    place = output(work) if form or not work.evaluation else work.evaluation
    return [commands.evaluate(work, place, _given(work, form))]


def act(work: Work, form: Form) -> str:
    """Compare."""
    place = output(work)

    def then(found: dict[str, Any]) -> None:
        work.evaluation = place

    work.start(commands.evaluate(work, place, _given(work, form)), then)
    return ""


def output(work: Work) -> str:
    """Where the page is written: its name says what it is."""
    return work.folder.free(f"{stem(work.release)}-PRIVATE-evaluation", PAGE)


def _given(work: Work, form: Form) -> dict[str, Any]:
    """The options of the comparison: a quick one unless all rows are asked for."""
    test = said(form, "test")
    held_out = work.folder.existing(test) if test else ""
    return {"test": held_out, "target": said(form, "target"), "quick": said(form, "rows") != "all"}


def _needs(work: Work) -> str:
    if not work.release:
        return "fit first, or open a release"
    return "" if work.table else "open the table that the release was made of"


STEP = Step(
    "evaluate",
    "Evaluate in private",
    view,
    words,
    act,
    _needs,
    is_done=lambda work: bool(work.evaluation),
    private=True,
    verb="evaluate",
)
