"""Pages, and what becomes of forms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.studio.visitor import PLACE, send, visitor

from sfumato.errors import ArgumentError
from sfumato.studio import server
from sfumato.studio.jobs import Job
from sfumato.studio.work import Work


def problem(text: str) -> str:
    """The line that a page says is wrong."""
    found = re.search(r'<p class="problem"[^>]*>(.*?)</p>', text, re.DOTALL)
    return "" if found is None else found[1]


@pytest.mark.parametrize("name", ["../secret.csv", "/etc/passwd", "sub/../../secret.csv"])
def test_a_path_outside_is_refused(work: Work, name: str) -> None:
    client = visitor(work)
    answer = send(client, "/table", file=name)
    assert answer.status_code == 403
    assert "below" in problem(answer.text)
    assert client.get("/table", params={"folder": name}).status_code == 403
    assert client.get("/commands/table", params={"file": name}).status_code == 403
    assert send(client, "/table", release=name).status_code == 403


BAD_FILES = {
    "empty.csv": b"",
    "odd.parquet": b"PAR1 but no more",
    "odd.xlsx": b"no archive",
    "odd.sqlite": b"SQLite format 3\0 but no more",
    "odd.arrow": b"\0\1",
    "two.csv": b"a,a\n1,2\n",
    "odd.csv.gz": b"no archive",
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_gets_one_readable_line(work: Work, name: str) -> None:
    (work.folder.root / name).write_bytes(BAD_FILES[name])
    answer = send(visitor(work), "/table", file=name)
    assert answer.status_code == 422
    assert name in problem(answer.text)
    assert "\n" not in problem(answer.text)
    assert "Traceback" not in answer.text
    assert not work.table


def test_what_was_typed_is_kept_where_something_is_wrong_with_it(confirmed: Work) -> None:
    answer = send(visitor(confirmed), "/epsilon", epsilon="a lot", delta="1e-6", rows="5000")
    assert answer.status_code == 422
    assert "epsilon must be a number" in problem(answer.text)
    assert 'value="a lot"' in answer.text
    assert 'value="5000"' in answer.text


def test_a_step_whose_time_has_not_come_leads_to_the_one_that_has(work: Work) -> None:
    client = visitor(work)
    assert client.get("/fit").headers["location"] == "table"
    assert send(client, "/fit", spent="0", output="r.sfumato").url.path == f"/{PLACE}/table"
    assert client.get("/nowhere").status_code == 404
    assert client.get("/document-report").status_code == 404
    assert client.get("/document-folder").status_code == 404
    assert client.get("/static/../server.py").status_code in (403, 404)


def test_names_are_text_on_a_page(work: Work) -> None:
    (work.folder.root / "<img src=x onerror=alert(1)>.csv").write_text("<b>age</b>,x\n1,2\n")
    client = visitor(work)
    assert "<img" not in client.get("/table").text
    page = send(client, "/table", file="<img src=x onerror=alert(1)>.csv").text
    assert "<b>" not in page
    assert "&lt;b&gt;age&lt;/b&gt;" in page


def test_a_fault_of_the_studio_tells_no_value(
    drafted: Work, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise KeyError("cell 47")

    client = visitor(drafted)
    monkeypatch.setattr(drafted, "settle", broken)
    answer = client.get("/draft")
    assert answer.status_code == 500
    told = answer.text + capsys.readouterr().err
    assert "KeyError" in told
    assert "47" not in told


def test_a_page_that_is_opened_again_shows_the_command_that_still_runs(
    drafted: Work, started: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    send(visitor(drafted), "/check", action="check")
    monkeypatch.setattr(type(started[0]), "running", True)
    monkeypatch.setattr(type(started[0]), "seconds", 7.0)
    again = visitor(drafted)  # another tab, or the same after a lost connection
    page = again.get("/check").text
    assert "data-job" in page
    assert "sfumato check people.csv --schema known.yaml" in page
    assert again.get("/job").json() == {"running": True, "seconds": 7}
    assert send(again, "/check", action="check").status_code == 422
    assert len(started) == 1


def test_the_forecast_and_the_command_follow_a_form(confirmed: Work) -> None:
    client, form = visitor(confirmed), {"epsilon": "0,5", "delta": "1e-6", "rows": "5 000", "way": "number"}
    assert "Forecast at epsilon 0.5" in client.get("/forecast", params=form).text
    assert client.get("/commands/epsilon", params=form).json() == [
        "sfumato plan known.yaml --epsilon 0.5 --delta 1e-06 --rows 5000"
    ]
    assert "must be a number" in client.get("/forecast", params=form | {"epsilon": "x"}).text
    assert client.get("/commands/epsilon", params=form | {"epsilon": "x"}).json() == []


def test_what_a_draft_says_is_on_private_pages_alone(drafted: Work) -> None:
    client, form = visitor(drafted), {"epsilon": "1", "delta": "1e-6"}
    assert "confirm what is public first" in client.get("/forecast", params=form).text
    assert client.get("/commands/epsilon", params=form).json() == []
    assert client.get("/epsilon").headers["location"] == "confirm"
    for step in ("draft", "confirm"):
        assert "<strong>PRIVATE</strong>" in client.get(f"/{step}").text


def test_a_command_that_failed_is_told_until_something_else_is_tried(
    drafted: Work, started: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = visitor(drafted)
    send(client, "/check", action="check")
    monkeypatch.setattr(type(started[0]), "problem", "the table is gone")
    assert problem(client.get("/check").text) == "the table is gone"
    assert problem(client.get("/draft").text) == ""
    send(client, "/draft", schema="known.yaml")
    assert problem(client.get("/check").text) == ""


def test_a_document_is_walled_off(work: Work) -> None:
    (work.folder.root / "r.html").write_text("<script>1</script>")
    work.report = "r.html"
    answer = visitor(work).get("/document-report")
    assert answer.text == "<script>1</script>"
    assert answer.headers["content-security-policy"].startswith(
        "sandbox allow-scripts allow-downloads; default-src 'none'"
    )
    assert answer.headers["cache-control"] == "no-store"


def test_a_port_that_is_taken_is_said_so(work: Work) -> None:
    with server._listening(0) as taken, pytest.raises(ArgumentError, match="cannot be used"):
        server._listening(taken.getsockname()[1])


def test_what_runs_is_stopped_at_the_end(
    work: Work, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sfumato.studio.jobs.RUN", "import time; time.sleep(60)")
    work.start(["sfumato", "fit"])
    server._close(work)
    assert work.job is not None
    assert not work.job.running
    assert "stopping sfumato fit" in capsys.readouterr().err


def test_a_browser_is_told_to_keep_what_is_typed_to_itself(drafted: Work) -> None:
    client = visitor(drafted)
    for step in ("table", "draft", "confirm", "check"):
        text = client.get(f"/{step}").text
        assert text.count("<form ") == text.count('autocomplete="off"') > 0, step
        assert '<body spellcheck="false">' in text
        assert 'content="notranslate"' in text


def test_scripts_and_styles_ask_for_nothing_elsewhere() -> None:
    for path in [
        *Path(server.HERE).rglob("*.html"),
        *Path(server.HERE).rglob("*.js"),
        *Path(server.HERE).rglob("*.css"),
    ]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"https?://|@import|<script(?![^>]*src=)|\son\w+=|style=", text), path
