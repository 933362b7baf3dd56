"""The site in a browser: no fault, no request, nothing that a screen reader trips over; it also works from disk."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.docs.building import build

pytest.importorskip("mkdocs")
DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(
    path.relative_to(DOCS).with_suffix("").as_posix().replace("README", "index") for path in DOCS.rglob("*.md")
)
KINDS = ("index", "tutorial", "wall", "guides/images", "api/release", "scoreboard", "proofs/mixture")  # one of each


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and says nothing about it."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served: from disk axe-core could not read its style sheets."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("name", "scheme"), [*((name, "light") for name in PAGES), *((name, "dark") for name in KINDS)]
)
def test_a_page_opens_without_a_fault(address: str, new_page, axe, name: str, scheme: str) -> None:
    page = new_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    page.goto(f"{address}/{name}.html", wait_until="networkidle")
    assert page.locator("h1").count() == 1
    assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
    axe(page)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_phone(site: Path, new_page, name: str) -> None:
    page = new_page(viewport={"width": 390, "height": 844})
    page.goto((site / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_search_finds_a_page_from_disk(site: Path, page) -> None:
    page.goto((site / "index.html").as_uri())
    page.locator(".md-search__input").click()
    page.keyboard.type("epsilon")
    page.locator(".md-search-result__link").first.wait_for(timeout=20_000)
