"""Fit."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.studio.visitor import send, visitor

from sfumato.errors import ArgumentError
from sfumato.studio.folder import Outside
from sfumato.studio.jobs import Job
from sfumato.studio.screens import fit_screen
from sfumato.studio.work import Choice, Work

FORM = {"spent": ["0"], "output": ["people.sfumato"], "who": ["me"]}


def shown(work: Work, **fields: str) -> dict[str, list[str]]:
    """The form as the page has it now, with what was typed."""
    found = fit_screen.view(work)
    return FORM | {"spent": [str(found["spent"])], "seen": [found["seen"]]} | {k: [v] for k, v in fields.items()}


def test_a_form_that_is_sent_twice_spends_once(drafted: Work, started: list[Job]) -> None:
    drafted.choice, drafted.ledger = Choice(0.5), ("clinic.db", "people")
    form = shown(drafted)
    words = fit_screen.words(drafted, form)
    fit_screen.act(drafted, form)
    assert [list(job.words) for job in started] == words
    assert "--who" in words[0]
    with pytest.raises(ArgumentError, match="sent already"):
        fit_screen.act(drafted, form)
    assert len(started) == 1


def test_a_release_is_never_written_over_nor_elsewhere(drafted: Work, started: list[Job]) -> None:
    drafted.choice = Choice()
    drafted.path("people.sfumato").touch()
    with pytest.raises(ArgumentError, match="there already"):
        fit_screen.act(drafted, shown(drafted))
    with pytest.raises(Outside):
        fit_screen.act(drafted, shown(drafted, output="../people.sfumato"))
    assert not started
    assert drafted.spent == 0


def test_two_studios_of_a_folder_fit_one_after_the_other(
    confirmed: Work, started: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the page: what is refused spends nothing, and may be sent again once the other fit has ended."""
    confirmed.choice, confirmed.booked = Choice(), True
    other = Work(confirmed.folder)
    other.begin(table="people.csv", columns=confirmed.columns, schema="known.yaml", choice=Choice(), booked=True)
    client = visitor(other)
    with confirmed.folder.alone():
        answer = send(client, "/fit", **shown(other))
        assert answer.status_code == 422
        assert "another studio is at work in this folder" in answer.text
    assert (started, other.spent, other.output) == ([], 0, "")
    send(client, "/fit", **shown(other))
    assert [job.words[1] for job in started] == ["fit"]
    started[0].then({"output": "people-2.sfumato"})  # a command was quicker
    assert (other.release, fit_screen.was_written(other)) == ("people-2.sfumato", True)


def test_a_second_tab_does_not_fit_while_one_does(
    confirmed: Work, started: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    confirmed.choice, confirmed.booked = Choice(), True
    client, form = visitor(confirmed), shown(confirmed)
    send(client, "/fit", **form)
    monkeypatch.setattr(type(started[0]), "running", True)
    monkeypatch.setattr(type(started[0]), "seconds", 1.0)
    monkeypatch.setattr(type(started[0]), "lines", [])
    for sent in (form, shown(confirmed, output="another.sfumato")):  # a double click, and a page that was opened since
        answer = send(client, "/fit", **sent)
        assert answer.status_code == 422
        assert "sfumato fit is still at work; wait until it has ended" in answer.text
    assert (len(started), confirmed.spent, confirmed.output) == (1, 1, "people.sfumato")


def test_rounds_are_done_when_the_next_is_asked(
    drafted: Work, started: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    drafted.choice = Choice()
    fit_screen.act(drafted, shown(drafted))
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


def test_a_page_that_was_left_open_spends_what_it_shows_or_nothing(confirmed: Work, started: list[Job]) -> None:
    """Another tab has chosen otherwise since."""
    work, client = confirmed, visitor(confirmed)
    work.choice, work.ledger, work.booked = Choice(1.0), ("clinic.db", "people"), True
    old = shown(work)
    changes = [
        lambda: setattr(work, "choice", Choice(4.0)),
        lambda: setattr(work, "ledger", None),
        lambda: setattr(work, "opening", {"delimiter": ";"}),
        lambda: work.path("known.yaml").write_text(work.path("known.yaml").read_text() + "# another\n"),
    ]
    for change in changes:
        change()
        answer = send(client, "/fit", **old)
        assert answer.status_code == 422
        assert "has changed since" in answer.text
        assert not started
        old = shown(work)
        assert old["seen"][0] in answer.text  # the page that is shown now may be sent
    send(client, "/fit", **old)
    assert [job.words[1] for job in started] == ["fit"]


@pytest.mark.parametrize("entry", [None, "0a1b2c3d"])
def test_a_release_is_said_to_be_counted_where_it_is(
    confirmed: Work, monkeypatch: pytest.MonkeyPatch, entry: str | None
) -> None:
    """Whatever ledger was chosen after the fit."""
    work = confirmed
    work.choice, work.ledger, work.booked = Choice(), None if entry else ("clinic.db", "people"), True
    work.release = work.output = "people.sfumato"
    work.path("people.sfumato").touch()
    released = SimpleNamespace(guarantee=SimpleNamespace(entry=entry, secure=True), unread=None)
    monkeypatch.setattr(work, "load_release", lambda: released)
    monkeypatch.setattr(fit_screen, "_unread", lambda work: [])
    page = visitor(work).get("/fit").text
    assert ("It is counted in" in page) == (entry is not None)
    assert ("No ledger counts it" in page) == (entry is None)
    assert entry is None or entry in page
