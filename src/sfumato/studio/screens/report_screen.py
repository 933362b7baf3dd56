"""Look at the report, which is made from the release alone and may be published."""

from __future__ import annotations

from sfumato.studio import commands
from sfumato.studio.screens import Form, Step, View, asked_for
from sfumato.studio.screens.table_screen import stem
from sfumato.studio.work import Work

PAGE = ".html"
TOLD_IN_REPORT = ("title", "publisher", "date")  # public words


def view(work: Work) -> View:
    """The report, once there is one."""
    return {
        "release": work.release,
        "guarantee": str(work.load_release().guarantee),
        "report": work.report,
        "job": work.runs("report"),
    }


def words(work: Work, form: Form) -> list[list[str]]:
    """What writes it, and what else there is to do with a release."""
    rows = commands.sample(work, work.folder.free(f"{stem(work.release)}-rows", ".csv"))
    place = output(work) if form or not work.report else work.report
    return [commands.report(work, place, asked_for(form, *TOLD_IN_REPORT)), rows]


def act(work: Work, form: Form) -> str:
    """Write it."""
    place = output(work)

    def then(found: object) -> None:
        work.report = place

    work.start(commands.report(work, place, asked_for(form, *TOLD_IN_REPORT)), then)
    return ""


def output(work: Work) -> str:
    """Where it is written."""
    return work.folder.free(stem(work.release), PAGE)


def _needs(work: Work) -> str:
    return "" if work.release else "fit first, or open a release"


STEP = Step(
    "report", "Look at the report", view, words, act, _needs, is_done=lambda work: bool(work.report), verb="report"
)
