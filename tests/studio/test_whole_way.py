"""The whole way, with the commands that really run: what is shown does the same, and nothing that was spent is lost."""

from __future__ import annotations

import html
import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.studio.conftest import TABLE
from tests.studio.serving import Served, serving

import sfumato as sf
from sfumato.studio.jobs import RUN

pytestmark = pytest.mark.slow
EPSILON = {"epsilon": "1", "delta": "1e-6", "rows": "100", "way": "number"}


class Visit:
    """Somebody at the studio's page, who notes the commands that it shows."""

    def __init__(self, served: Served) -> None:
        self._client = httpx2.Client(base_url=served.place, follow_redirects=True, timeout=60)
        self._client.get(served.address)
        self._client.headers["Origin"] = served.origin
        self.commands: list[str] = []

    def send(self, step: str, **fields: str) -> str:
        """Send a form, wait for the command that it starts, and read the page again."""
        fields |= self.hidden(step)
        found = self._client.get(f"/commands/{step}", params=fields).json()
        answer = self._client.post(f"/{step}", data=fields)
        assert answer.status_code == 200, answer.text
        self.commands += found[:1]
        return self.wait(step)

    def wait(self, step: str) -> str:
        """The page of a step, once nothing runs."""
        while self.job()["running"]:
            time.sleep(0.2)
        return self._client.get(f"/{step}").text

    def job(self) -> dict[str, object]:
        """How far a command has come."""
        found: dict[str, object] = self._client.get("/job").json()
        return found

    def begin_fit(self) -> None:
        """Confirm all, enter a data set, and begin a fit that is not waited for."""
        self.send("table", file="people.csv")
        self.send("draft", label="ill")
        self.confirm()
        self.send("epsilon", **EPSILON)
        self.send("ledger", action="open", place="clinic.db", name="people", epsilon="2", delta="1e-6")
        self.send("ledger", action="count", place="clinic.db", dataset="people")
        assert self._client.post("/fit", data=self.hidden("fit") | {"output": "people.sfumato"}).status_code == 200

    def hidden(self, step: str) -> dict[str, str]:
        """What the page of a fit sends along with what is typed."""
        page = self._client.get("/fit").text if step == "fit" else ""
        return dict(re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', page))

    def confirm(self) -> int:
        """Say yes to all questions; how many there were."""
        count = 0
        while found := re.search(r'name="question" value="(\w+)"', self._client.get("/confirm").text):
            self._client.post("/confirm", data={"question": found[1], "action": "yes"})
            count += 1
        self.commands += self._client.get("/commands/confirm").json()
        return count


@pytest.fixture
def office(tmp_path: Path) -> Path:
    place = tmp_path / "office"
    place.mkdir()
    (place / "people.csv").write_text(TABLE)
    return place


@pytest.fixture
def served(office: Path) -> Iterator[Served]:
    with serving(office) as found:
        yield found


def test_the_commands_that_are_shown_do_the_same(served: Served, office: Path, tmp_path: Path) -> None:
    visit = Visit(served)
    visit.send("table", file="people.csv")
    visit.commands.clear()  # of opening alone there is none
    assert "facts" in visit.send("draft", label="ill", missing="999")
    questions = visit.confirm()
    assert "verdict" in visit.send("check", action="check")
    visit.send("epsilon", way="wishes", max_advantage="0,2", delta="1e-6", rows="100")
    visit.send("epsilon", **EPSILON)
    visit.send("ledger", action="open", place="clinic.db", name="people", epsilon="2", delta="1e-6")
    visit.send("ledger", action="count", place="clinic.db", dataset="people")
    assert "Wrote people.sfumato" in visit.send("fit", output="people.sfumato", who="me", why="it's -x")
    assert "people.html" in visit.send("report", title="People")
    assert "people-PRIVATE-evaluation.html" in visit.send("evaluate", rows="few")
    visit.send("ask", question="mean", column="age", by="town")
    visit.send("ask", question="quantile", column="age", q="0,5")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "people.csv").write_text(TABLE)
    for line in visit.commands:
        words = shlex.split(html.unescape(line))
        assert words[0] == "sfumato"
        command = [sys.executable, "-P", "-c", RUN, *words[1:]]
        done = subprocess.run(command, cwd=elsewhere, input="y\n" * questions, capture_output=True, text=True)
        assert done.returncode == 0, (line, done.stderr)
    assert [line.split()[1] for line in visit.commands] == [
        *("schema", "confirm", "check", "plan", "plan", "ledger", "ledger", "fit", "report", "evaluate", "ask", "ask")
    ]
    assert (elsewhere / "people.yaml").read_bytes() == (office / "people.yaml").read_bytes()
    ours, theirs = (sf.load(place / "people.sfumato").guarantee for place in (office, elsewhere))
    assert (ours.epsilon, ours.delta, ours.mu) == (theirs.epsilon, theirs.delta, theirs.mu)
    (entry,) = sf.Ledger(office / "clinic.db").accounts("people")[0].entries
    assert (entry.state, entry.who, entry.why, entry.id) == ("released", "me", "it's -x", ours.entry)


def test_ctrl_c_while_a_fit_runs_leaves_nothing_spent_unbooked(served: Served, office: Path) -> None:
    visit = Visit(served)
    visit.begin_fit()
    while not json.dumps(visit.job()).count('"done"'):  # noise was drawn
        time.sleep(0.01)
    told = served.interrupt()
    assert "stopping sfumato fit" in told
    (entry,) = sf.Ledger(office / "clinic.db").accounts("people")[0].entries
    assert entry.counts
    if not (office / "people.sfumato").exists():  # it may have been quicker
        assert "the ledger may have counted the release" in told
    assert served.process.returncode == 0


def test_a_fit_outlives_the_page_and_the_server(served: Served, office: Path) -> None:
    Visit(served).begin_fit()
    served.process.kill()
    served.process.wait()
    while not (office / "people.sfumato").exists():
        time.sleep(0.2)
    assert sf.load(office / "people.sfumato").guarantee.entry is not None
    while sf.Ledger(office / "clinic.db").accounts("people")[0].entries[0].state != "released":
        time.sleep(0.2)
    with serving(office) as again:
        page = httpx2.Client(base_url=again.place, follow_redirects=True)
        page.get(again.address)
        assert "people.sfumato" in page.get("/table").text
