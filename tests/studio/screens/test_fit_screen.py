"""Fit."""

from __future__ import annotations

import pytest

from sfumato.errors import ArgumentError
from sfumato.studio.folder import Outside
from sfumato.studio.jobs import Job
from sfumato.studio.screens import fit_screen
from sfumato.studio.work import Choice, Work

FORM = {"spent": ["0"], "output": ["people.sfumato"], "who": ["me"]}


def test_a_form_that_is_sent_twice_spends_once(drafted: Work, started: list[Job]) -> None:
    drafted.choice, drafted.ledger = Choice(0.5), ("clinic.db", "people")
    shown = fit_screen.words(drafted, FORM)
    fit_screen.act(drafted, FORM)
    assert [list(job.words) for job in started] == shown
    assert "--who" in shown[0]
    with pytest.raises(ArgumentError, match="sent already"):
        fit_screen.act(drafted, FORM)
    assert len(started) == 1


def test_a_release_is_never_written_over_nor_elsewhere(drafted: Work, started: list[Job]) -> None:
    drafted.choice = Choice()
    drafted.path("people.sfumato").touch()
    with pytest.raises(ArgumentError, match="there already"):
        fit_screen.act(drafted, FORM)
    with pytest.raises(Outside):
        fit_screen.act(drafted, FORM | {"output": ["../people.sfumato"]})
    assert not started
    assert drafted.spent == 0


def test_rounds_are_done_when_the_next_is_asked(
    drafted: Work, started: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    drafted.choice = Choice()
    fit_screen.act(drafted, FORM)
    lines = ["asking for histograms: 35% of the budget (mu 0.3000)", "asking for moments: 4% of the budget (mu 0.1000)"]
    monkeypatch.setattr(type(started[0]), "lines", lines)
    found = fit_screen.progress(drafted, started[0])
    states = {each["title"]: each["state"] for each in found["rounds"]}
    assert states["histograms"] == "done"
    assert states["moments"] == "asking"
    assert states["tables 1"] == "waiting"
    assert 0.0 < found["share"] < 1.0
    assert found["now"] == "moments"
    monkeypatch.setattr(type(started[0]), "lines", [*lines, "training: step 50 of at most 600, loss 1.250"])
    assert fit_screen.progress(drafted, started[0])["now"] == "training: step 50 of at most 600, loss 1.250"
