"""Pages as people meet them: Debian's chromium, driven by Playwright.

A test takes `page` (a fresh profile) or `new_page` (of a given size, scheme or medium). It fails by itself on a
console error, an uncaught exception, or a request that leaves the machine; whoever expects one of these (a 403 of
their own server, say) looks at `faults` and clears it. `axe(page)` asks axe-core for serious faults of accessibility.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

try:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Request, sync_playwright
except ImportError as problem:  # the fixture `browser` says it, so that other folders' tests are not skipped too
    missing: str | None = f"{problem}: pip install 'sfumato[dev]'"
else:
    missing = None

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
SERIOUS = ("serious", "critical")

NewPage = Callable[..., "Page"]


def stays_here(address: str) -> bool:
    """Whether a request goes to this machine only."""
    parts = urlsplit(address)
    return parts.scheme in ("file", "data", "blob", "about") or parts.hostname in LOOPBACK


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    if missing:
        pytest.skip(missing)
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="package")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """One chromium for this folder; its event loop ends with it, because other tests start their own."""
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
    yield browser
    browser.close()


@pytest.fixture
def faults() -> Iterator[list[str]]:
    """What the pages of a test did wrong so far."""
    found: list[str] = []
    yield found
    assert not found


@pytest.fixture
def new_page(browser: Browser, faults: list[str]) -> Iterator[NewPage]:
    """Open a page in a profile of its own; arguments are those of Playwright's `new_context`."""
    contexts = []

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            faults.append(f"console: {message.text}")

    def on_request(request: Request) -> None:
        if not stays_here(request.url):
            faults.append(f"request: {request.url}")

    def open_page(**options: Any) -> Page:
        context = browser.new_context(**options)
        context.on("console", on_console)
        context.on("weberror", lambda error: faults.append(f"exception: {error.error}"))
        context.on("request", on_request)
        contexts.append(context)
        return context.new_page()

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def page(new_page: NewPage) -> Page:
    """A page of desktop size."""
    return new_page(viewport={"width": 1280, "height": 900})


@pytest.fixture
def axe() -> Callable[[Page], None]:
    """A function that fails where axe-core finds a serious fault of the page as it stands."""

    def check(page: Page) -> None:
        found = Axe().run(page).response["violations"]
        lines = [
            f"{fault['id']} ({fault['impact']}): {fault['help']}: {node['html'][:200]}"
            for fault in found
            for node in fault["nodes"][:5]
            if fault["impact"] in SERIOUS
        ]
        assert not lines, "\n".join(lines)

    return check
