"""The page: private on every view, one file, no request, readable without eyes."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from tests.evaluation.test_release_evaluation import FOUND

from sfumato.evaluation.evaluation_page import page

PAGE = page(FOUND)
VOID = {"meta", "link", "line", "rect", "circle"}


class Outline(HTMLParser):
    """The elements, and whether they are closed in the order in which they were opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def outline() -> Outline:
    found = Outline()
    found.feed(PAGE)
    assert found.open == []
    return found


def test_private_is_on_every_view() -> None:
    """In the title and a bar that stays, in every heading and picture, and in the margin of every printed sheet."""
    assert "<title>PRIVATE" in PAGE
    assert re.search(r"\.private \{[^}]*position: sticky", PAGE)
    assert '<header class="private">' in PAGE
    parts = re.findall(r"<h2 .*?</h2>|<figcaption>.*?</figcaption>", PAGE)
    assert len(parts) == 10
    assert all("PRIVATE" in part for part in parts)
    assert re.search(r"@page \{[^}]*@top-center \{ content: .PRIVATE", PAGE)
    assert '<div class="watermark" aria-hidden="true">PRIVATE</div>' in PAGE


def test_it_asks_for_nothing_from_anywhere(outline: Outline) -> None:
    assert "default-src 'none'" in PAGE
    assert not re.search(r"https?:|url\(|@import|<script|\ssrc=", PAGE)
    links = [attributes["href"] for tag, attributes in outline.found if "href" in attributes]
    assert all(link is not None and link.startswith(("#", "data:")) for link in links)


def test_links_lead_somewhere(outline: Outline) -> None:
    ids = [attributes["id"] for _, attributes in outline.found if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert {f"#{each}" for each in ids} == {each["href"] for tag, each in outline.found if tag == "a"}


def test_foreign_names_are_text() -> None:
    assert "in<come" not in PAGE
    assert "in&lt;come" in PAGE
    assert "&lt;Ulm&gt;" in PAGE
    assert "b &amp; &lt;i&gt;" in PAGE


def test_tables_and_pictures_can_be_read_aloud(outline: Outline) -> None:
    kinds = [tag for tag, _ in outline.found]
    assert kinds.count("caption") == kinds.count("table")
    assert all("scope" in attributes for tag, attributes in outline.found if tag == "th")
    pictures = [attributes for tag, attributes in outline.found if tag == "svg"]
    assert pictures
    assert all(each["role"] == "img" and each["aria-label"] for each in pictures)
    assert "lang" in dict(outline.found[0][1])


def test_a_strip_says_how_far_the_release_is_between_guessing_and_real_rows() -> None:
    assert "75% of the way from independent columns to real rows" in PAGE  # LightGBM: 0.8 between 0.5 and 0.9
    assert "94% of the way" in PAGE  # pairs: 0.05 between 0.2 and 0.04


def test_dark_and_light() -> None:
    assert "prefers-color-scheme: dark" in PAGE
    assert "color-scheme: light dark" in PAGE
