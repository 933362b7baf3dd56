"""The page of an evaluation in a browser: private wherever one looks, drawn, readable, and quiet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.evaluation.test_release_evaluation import FOUND

if TYPE_CHECKING:
    from playwright.sync_api import Page

NewPage = Callable[..., "Page"]


@pytest.fixture
def address(tmp_path: Path) -> str:
    place = tmp_path / "found.html"
    place.write_text(FOUND.to_html(), encoding="utf-8")
    return place.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_no_fault_of_accessibility_by_day_or_night(
    new_page: NewPage, axe: Callable[[Any], None], address: str, scheme: str, width: int
) -> None:
    page = new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.goto(address)
    axe(page)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width  # only tables scroll sideways, by themselves


def test_the_bar_says_private_wherever_one_scrolls(page: Page, address: str) -> None:
    page.goto(address)
    for place in (0, 0.5, 1):
        page.evaluate("share => scrollTo(0, share * document.body.scrollHeight)", place)
        box = page.locator(".private").bounding_box()
        assert box is not None
        assert box["y"] == 0
        assert box["width"] == 1280
        assert "PRIVATE" in page.locator(".private").inner_text()


def test_pictures_are_drawn(page: Page, address: str) -> None:
    page.goto(address)
    sizes = page.evaluate("[...document.querySelectorAll('svg')].map(s => s.getBoundingClientRect().height)")
    assert sizes
    assert min(sizes) > 10
    bars = page.evaluate("[...document.querySelectorAll('figure rect')].map(r => r.getBBox().width)")
    assert bars == pytest.approx([bars[0], 2 * bars[0], 3 * bars[0], 2 * bars[0]], rel=0.01)  # 1/4, 1/2, 3/4, 1/2


def test_by_keyboard_from_link_to_section(page: Page, address: str) -> None:
    page.goto(address)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.url.endswith("#measures-0")
    heading = page.locator("#measures-0").bounding_box()
    bar = page.locator(".private").bounding_box()
    assert heading is not None
    assert bar is not None
    assert heading["y"] >= bar["height"]  # not behind the bar


def test_on_paper_every_sheet_says_private(page: Page, address: str) -> None:
    page.goto(address)
    page.emulate_media(media="print")
    assert page.locator(".watermark").is_visible()
    assert not page.locator("nav").is_visible()
