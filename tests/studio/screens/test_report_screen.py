"""Look at the report."""

from __future__ import annotations

from sfumato.studio.jobs import Job
from sfumato.studio.screens import report_screen
from sfumato.studio.work import Work


def test_it_is_written_beside_the_release(drafted: Work, started: list[Job]) -> None:
    drafted.release = "people.sfumato"
    shown = report_screen.words(drafted, {})
    report_screen.act(drafted, {})
    assert list(started[0].words) == shown[0] == ["sfumato", "report", "people.sfumato", "-o", "people.html"]
    started[0].then({})  # type: ignore[attr-defined]
    assert drafted.report == "people.html"
    assert report_screen.STEP.is_done(drafted)
    drafted.path("people.html").touch()
    assert report_screen.words(drafted, {})[0][-1] == "people.html"
    assert report_screen.words(drafted, {"title": ["People"]})[0][3:] == ["--title", "People", "-o", "people-2.html"]
