"""The studio as people meet it: from a table to a release and its report, by mouse and by keyboard."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from tests.studio.serving import Served, serving

from sfumato.schema.schema import Schema

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow
ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult.parquet"
LONG = 150_000  # ms that a command may take on a machine that is busy
NARROW = {"width": 390, "height": 800}
WIDE = {"width": 1280, "height": 900}
Axe = Callable[["Page"], None]


@pytest.fixture
def office(tmp_path: Path) -> Path:
    place = tmp_path / "office"
    place.mkdir()
    return place


def looked_at(page: Page, axe: Axe) -> None:
    """A page without a serious fault, whose text fits a phone."""
    axe(page)
    page.set_viewport_size(NARROW)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    page.set_viewport_size(WIDE)


def press(page: Page, name: str, role: str = "button") -> None:
    """Click what is named so, in the step itself, and see the page that it leads to."""
    with page.expect_navigation():
        page.locator("main").get_by_role(role, name=name, exact=True).click()  # type: ignore[arg-type]


@pytest.mark.skipif(not ADULT.exists(), reason=f"no {ADULT}")
def test_adult_by_mouse(office: Path, page: Page, axe: Axe) -> None:
    shutil.copy(ADULT, office)
    with serving(office) as served:
        page.goto(served.address)
        page.wait_for_url("**/table")
        look = partial(looked_at, page, axe)
        look()
        page.get_by_label("adult.parquet").check()
        page.wait_for_selector("text=sfumato schema adult.parquet")
        press(page, "Open")
        page.get_by_label("Column to predict, if there is one").select_option("income")
        look()
        press(page, "Draft a schema")
        page.wait_for_selector("main table", timeout=LONG)
        assert "PRIVATE" in page.inner_text("main")
        look()
        press(page, "Confirm what is public", "link")
        look()
        page.get_by_label("Smallest").fill("16")
        with page.expect_navigation():
            page.keyboard.press("Enter")  # takes the change: it does not say that the draft is public as it stands
        assert Schema.load(office / "adult.yaml").dump()["columns"]["age"]["min"] == 16
        page.get_by_text("Accept kinds of facts at once").click()
        for kind in page.locator("input[name=kind]").all():
            kind.check()
        press(page, "These are public")
        while page.locator("button[value=yes]").count():
            press(page, "Public as it stands")
        look()
        press(page, "Check the table", "link")
        press(page, "Check the table")
        page.wait_for_selector(".verdict", timeout=LONG)
        look()
        press(page, "Choose epsilon", "link")
        page.get_by_label("Rows, about").fill("50 000")
        page.get_by_label("By risk and by accuracy").check()
        page.get_by_label("Advantage over guessing").fill("0,1")
        page.wait_for_selector("text=Forecast at epsilon 1.06")
        page.wait_for_selector("code:has-text('--max-advantage 0.1')")
        look()
        press(page, "Take this epsilon")
        look()
        page.get_by_label("Cap, epsilon").fill("2,5")
        press(page, "Enter it, with this cap")
        look()
        press(page, "Count it here: epsilon 1.06 in adult")
        look()
        press(page, "Fit: spend epsilon 1.06")
        page.wait_for_selector("[data-state]:has-text('done')", timeout=LONG)
        look()
        page.close()  # and a tab that is opened anew goes on where the fit is
        again = page.context.new_page()
        finish(again, served, axe)


def finish(page: Page, served: Served, axe: Axe) -> None:
    """From the fit to the report, the evaluation and a question."""
    look = partial(looked_at, page, axe)
    page.goto(f"{served.place}/fit")
    page.wait_for_selector("text=Wrote adult.sfumato", timeout=LONG)
    assert "counted in" in page.inner_text("main")
    look()
    press(page, "Look at the report", "link")
    press(page, "Write the report")
    page.wait_for_selector("iframe", timeout=LONG)
    look()
    report = page.frame_locator("iframe")
    report.locator("h1, h2").first.wait_for(timeout=LONG)
    report.locator("svg, canvas").first.wait_for(timeout=LONG)
    press(page, "Evaluate in private", "link")
    look()
    press(page, "Evaluate")
    page.wait_for_selector("iframe", timeout=LONG)
    assert "PRIVATE" in page.frame_locator("iframe").locator("body").inner_text()
    press(page, "Ask questions", "link")
    page.get_by_label("Question").select_option("mean")
    page.get_by_label("In groups of").select_option("sex")
    press(page, "Ask")
    assert "Female" in page.inner_text(".answer")
    look()
    page.get_by_role("navigation").get_by_role("link", name="Book it in a ledger").click()
    assert "released" in page.inner_text("main")
    look()


def reach(page: Page, selector: str) -> None:
    """Press Tab until what is looked for has the focus."""
    for _ in range(300):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"Tab never reaches {selector}")


def type_into(page: Page, selector: str, text: str) -> None:
    """Replace what a field holds, by keys alone."""
    reach(page, selector)
    page.keyboard.press("Control+A")
    page.keyboard.type(text)


def enter(page: Page, selector: str) -> None:
    """Press Enter on what is looked for, and see the page that it leads to."""
    reach(page, selector)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def wide_table(rows: int = 1500) -> pd.DataFrame:
    """Fifty columns of four kinds."""
    rng = np.random.default_rng(0)
    ages = {f"age_{i}": rng.integers(0, 100, rows) for i in range(20)}
    towns = {f"town_{i}": rng.choice(["Bonn", "Rome", "Ulm"], rows) for i in range(15)}
    flags = {f"flag_{i}": rng.random(rows) < 0.3 for i in range(10)}
    days = {f"day_{i}": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, rows), "D") for i in range(5)}
    return pd.DataFrame(ages | towns | flags | days)


def test_fifty_columns_by_keyboard_in_the_dark(office: Path, new_page: Callable[..., Page], axe: Axe) -> None:
    wide_table().to_csv(office / "wide.csv", index=False)
    page = new_page(viewport=WIDE, color_scheme="dark", reduced_motion="reduce")
    look = partial(looked_at, page, axe)
    with serving(office) as served:
        page.goto(served.address)
        page.wait_for_url("**/table")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")  # past the list of steps
        reach(page, "input[name=file]")
        page.keyboard.press("Space")
        enter(page, "button.main")
        page.wait_for_url("**/draft")
        enter(page, "button.main")
        page.wait_for_selector("main table", timeout=LONG)
        look()
        enter(page, "a.button.main")
        page.wait_for_url("**/confirm")
        answered = 0
        while page.locator("button[value=yes]").count():
            assert page.evaluate("document.activeElement.tagName") == "H2"  # the question is read out first
            page.keyboard.press("Tab")  # to "Public as it stands"
            with page.expect_navigation():
                page.keyboard.press("Enter")
            answered += 1
        assert 1 < answered < 30
        look()
        enter(page, "a.button.main")
        page.wait_for_url("**/check")
        enter(page, "button.main")
        page.wait_for_selector(".verdict", timeout=LONG)
        look()
        enter(page, "a.button[href='epsilon']")
        page.wait_for_url("**/epsilon")
        type_into(page, "input[name=epsilon]", "0,5")
        reach(page, "input[type=range]")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("text=Forecast at epsilon 0.5")
        type_into(page, "input[name=rows]", "1500")
        page.wait_for_selector("code:has-text('--rows 1500')")
        look()
        enter(page, "button.main")
        page.wait_for_url("**/ledger")
        enter(page, "button[value=none]")
        page.wait_for_url("**/fit")
        enter(page, "button.main")
        page.wait_for_selector("text=Wrote wide.sfumato", timeout=LONG)
        look()
        enter(page, "a.button.main")
        page.wait_for_url("**/report")
        enter(page, "button.main")
        page.wait_for_selector("iframe", timeout=LONG)
        look()


@contextmanager
def elsewhere(text: str) -> Iterator[str]:
    """A page of another origin, which shows the cookies that it gets."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f"{text}<p>{self.headers.get('Cookie', 'none')}</p>".encode())

        def log_message(self, *rest: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def test_other_pages_and_strangers_are_refused(
    office: Path, page: Page, new_page: Callable[..., Page], faults: list[str]
) -> None:
    (office / "people.csv").write_text("age\n1\n2\n")
    with serving(office) as served:
        assert page.goto(served.place).status == 403  # type: ignore[union-attr]
        page.goto(served.address)
        page.wait_for_url("**/table")
        assert "token" not in page.url
        assert page.goto(f"{served.place}/table?folder=../..").status == 403  # type: ignore[union-attr]
        assert "below" in page.inner_text("main")
        field = "<input name=file value=people.csv><button>go</button>"
        form = f"<form method=post action='{served.place}/table'>{field}</form>"
        with elsewhere(form) as address:  # of the same site, as far as cookies go, with the cookie in the browser
            page.goto(address)
            assert page.inner_text("p") == "none"
            with page.expect_navigation() as moved:
                page.click("button")
            assert moved.value.status == 403
            page.goto(address)
            called = "fetch(url, {credentials: 'include'}).then(() => 'read').catch(() => 'refused')"
            assert page.evaluate(f"url => {called}", f"{served.place}/table") == "refused"
        page.goto(f"{served.place}/draft")
        assert page.url.endswith("/table")  # nothing was opened by it
        stranger = new_page()
        assert stranger.goto(f"{served.place}/table").status == 403  # type: ignore[union-attr]
        stranger.wait_for_load_state("networkidle")  # a refusal has no icon: the browser asks for that one, too
        stranger.close()
        faults.clear()  # the browser tells of every 403


def test_a_lost_connection_is_said_and_mends(office: Path, page: Page, faults: list[str]) -> None:
    wide_table(200).to_csv(office / "wide.csv", index=False)
    with serving(office) as served:
        page.goto(served.address)
        page.wait_for_url("**/table")
        page.get_by_label("wide.csv").check()
        press(page, "Open")
        press(page, "Draft a schema")
        page.wait_for_selector("[data-job]")
        page.context.set_offline(True)
        page.wait_for_selector("#lost:visible", timeout=LONG)
        page.context.set_offline(False)
        page.wait_for_selector("main table", timeout=LONG)
        faults.clear()


def test_a_bad_file_gets_a_readable_line(office: Path, page: Page, axe: Axe, faults: list[str]) -> None:
    (office / "odd.parquet").write_bytes(b"PAR1 no more")
    with serving(office) as served:
        page.goto(served.address)
        page.wait_for_url("**/table")
        page.get_by_label("odd.parquet").check()
        press(page, "Open")
        assert "odd.parquet" in page.inner_text("[role=alert]")
        assert page.evaluate("document.activeElement.getAttribute('role')") == "alert"
        axe(page)
        faults.clear()  # the browser tells of the 422
