"""The site builds without a warning, asks nobody for anything, and has every public name and every page."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from tests.docs.building import build
from tests.docs.shown import ROOT, run_page

import sfumato as sf

pytest.importorskip("mkdocs")
pytest.importorskip("mkdocstrings")
pymdownx = pytest.importorskip("pymdownx")

import markdown  # noqa: E402
import yaml  # noqa: E402
from markdown_it import MarkdownIt  # noqa: E402

FETCHED = re.compile(r"<(?:script|link|img|iframe|source|video)\b[^>]*?\b(?:src|href|srcset)=[\"']?(?:https?:)?//")
IN_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//")
PARTS = re.compile(r"<(li|em|strong|table|tr|ol|ul|h\d|pre|img)\b")
EXTENSIONS = ["tables", "attr_list", "md_in_html", "sane_lists", "pymdownx.betterem", "pymdownx.superfences"]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("site"))


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not FETCHED.search(page.read_text(encoding="utf-8")), page
    for style in site.rglob("*.css"):
        assert not IN_STYLES.search(style.read_text(encoding="utf-8")), style


def test_what_is_fetched_would_be_seen() -> None:
    assert FETCHED.search('<script async src="https://unpkg.com/x"></script>')
    assert FETCHED.search("<link rel=stylesheet href=//fonts.example.org/a.css>")
    assert IN_STYLES.search("body{background:url( 'https://example.org/a.png')}")
    assert not FETCHED.search('<a href="https://example.org">elsewhere</a> <img src="a.png">')


def test_every_page_is_there_and_what_pages_link_to_outside_of_docs(site: Path) -> None:
    for page in PAGES:
        name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert (site / name.replace("README", "index")).is_file(), name
    for name in ("CHANGELOG.html", "experiments/liu2025/index.html", "audits/index.html"):
        assert (site / name).is_file(), name


def test_the_reference_has_every_public_name(site: Path) -> None:
    shown = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/api").glob("*.md"))
    names = set(re.findall(r"^::: sfumato\.(\w+)", shown, re.MULTILINE))
    assert names == set(sf.__all__) - {"__version__"}
    release = (site / "api/release.html").read_text(encoding="utf-8")
    for part in ("Examples", "Parameters", "Returns", "Raises", "predict_proba", "quantile"):
        assert part in release, part


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT / "docs").as_posix())
def test_a_page_reads_the_same_on_the_site_and_in_the_repository(page: Path) -> None:
    """The two dialects of Markdown differ in lists after a line of text and in stars within formulas."""
    text = re.sub(r"\A---\n.*?\n---\n", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    options = {"pymdownx.betterem": {"smart_enable": "all"}}
    ours = markdown.markdown(text, extensions=EXTENSIONS, extension_configs=options)
    theirs = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert Counter(PARTS.findall(ours)) == Counter(PARTS.findall(theirs))


def test_the_site_is_configured_as_the_comparison_takes_it() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    (found,) = re.findall(r"^markdown_extensions:\n((?: +.*\n)+)", settings, re.MULTILINE)
    named = [next(iter(each)) if isinstance(each, dict) else each for each in yaml.safe_load(found)]
    assert set(EXTENSIONS) <= set(named)


def test_the_page_about_a_mechanism_of_ones_own_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato import mechanisms

    monkeypatch.setattr(mechanisms, "_registered", dict(mechanisms._registered))
    known = run_page("docs/own-mechanism.md", tmp_path)
    assert known["release"].guarantee.spends[0].name == "histograms"
    shown = (ROOT / "docs/own-mechanism.md").read_text(encoding="utf-8")
    assert (ROOT / "tests/mechanisms/toy.py").read_text(encoding="utf-8") in shown, "the page shows the tested file"
