"""The whole document: it asks nobody for anything, and no name in it becomes markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from tests.reporting.conftest import EVIL, EVIL_VALUES
from tests.reporting.test_markup import Reader

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.release.release import Release
from sfumato.reporting import document
from sfumato.reporting.document import report

GOLDEN = sorted((Path(__file__).parents[1] / "release/golden").rglob("*.sfumato"))


@pytest.fixture(scope="module", autouse=True)
def no_charts() -> object:
    """The script of charts takes seconds to make; tests/browser has it."""
    patch = pytest.MonkeyPatch()
    patch.setattr(document, "vega_bundle", lambda: "window.vegaEmbed = null;")
    patch.setattr(document, "specifications", dict)
    yield
    patch.undo()


@pytest.fixture(scope="module")
def page(promised: Release) -> str:
    return report(promised, title=EVIL, publisher="Office <b>", file="s.sfumato")


def test_nothing_foreign_becomes_markup(page: str) -> None:
    read = Reader(page)
    assert not {"img", "svg", "iframe", "link", "object", "base"} & set(read.elements)
    assert read.elements.count("script") == 3
    assert EVIL in "".join(read.texts)
    assert "</script><img" not in page
    assert EVIL_VALUES[0] not in page


def test_the_policy_lets_only_its_own_scripts_run(page: str) -> None:
    policy = page.split('http-equiv="Content-Security-Policy" content="')[1].split('"')[0]
    assert policy.startswith("default-src &#x27;none&#x27;; script-src &#x27;sha256-")
    scripts = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert digest in policy.replace("&#x3D;", "=")
    assert "unsafe-eval" not in policy
    assert "script-src &#x27;unsafe" not in policy


def test_the_page_names_no_address(page: str) -> None:
    assert not re.search(r"""(?:src|href|url)\s*[=(]\s*["']?(?:https?:)?//""", page)
    assert "http://" not in page
    assert "https://" not in page


def test_the_licences_of_the_script_go_with_it(page: str) -> None:
    for holder in ("University of Washington Interactive Data Lab", "Mike Bostock", "Joachim Wester"):
        assert holder in page.split("<script")[2]
    licences = (Path(document.__file__).parent / "static/vega-licences.txt").read_text(encoding="utf-8")
    notice = Path(__file__).parents[2] / "NOTICE"
    assert not notice.exists() or licences in notice.read_text(encoding="utf-8")


def test_its_data_is_what_it_shows(page: str) -> None:
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert len(data["names"]) == 6
    assert data["sample"]["csv"].startswith("age,cost,came")
    places = re.findall(r'data-figure="([^"]+)"', page)
    assert places == list(data["figures"])
    assert {data["names"][i] for i in data["first"]} == {"age", "ill"}
    mapped = next(each for each in data["figures"].values() if each["kind"] == "map")
    assert mapped["places"] == list(range(6))


@pytest.mark.slow
def test_the_same_release_gives_the_same_report(promised: Release, page: str) -> None:
    told: list[tuple[float, str]] = []
    tell = lambda done, what: told.append((done, what))  # noqa: E731
    again = report(promised, title=EVIL, publisher="Office <b>", file="s.sfumato", progress=tell)
    assert again == page
    assert told == sorted(told, key=lambda each: each[0])
    assert [what for _, what in told] == ["drawing rows", *["columns"] * 6, "pairs of columns", "charts"]
    assert told[0][0] == 0.0
    assert 0.3 < told[-1][0] < 1.0


def test_a_release_without_a_guarantee_says_so_first(release: Release) -> None:
    told = report(release)
    assert told.index('role="alert"') < told.index("<main")
    assert "NOT PRIVATE" in told
    assert "A private table of 6 columns" in told


@pytest.mark.slow
def test_without_answers_it_is_still_a_report(compact: Release) -> None:
    told = report(compact)
    assert "none: the file was saved compact" in told
    assert "have no error bars" in told


@pytest.mark.slow
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: "-".join(path.parts[-2:]))
def test_a_file_of_any_version_and_mechanism_has_a_report(path: Path) -> None:
    assert report(sf.load(path)).count("<h2") == 12


@pytest.mark.parametrize("words", [{"title": ""}, {"publisher": "x" * 201}, {"date": 3}, {"file": " "}])
def test_words_are_short(promised: Release, words: dict[str, str]) -> None:
    with pytest.raises(ArgumentError, match=f"{next(iter(words))} must have from 1 to 200 letters"):
        sf.report(promised, **words)
