"""Where a release is written that was paid for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.calls import Call

from sfumato.cli.claim import Claim, claim_name
from sfumato.errors import OutputError


class Paid:
    """What stands for a release here."""

    def __init__(self, problem: Exception | None = None) -> None:
        self._problem = problem

    def save(self, path: Path) -> None:
        if self._problem is not None:
            raise self._problem
        path.write_bytes(b"ours")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "r.sfumato"


def names(place: Path) -> list[str]:
    return sorted(path.name for path in place.parent.iterdir())


def save(claim: Claim, paid: Any = None) -> None:
    claim.save(paid or Paid())


@pytest.mark.parametrize("there", [True, False])
def test_it_is_written_where_it_was_to_be(place: Path, there: bool) -> None:
    if there:
        place.write_bytes(b"of last year")
    claim = Claim(place, replace=there)
    save(claim)
    assert (claim.path, place.read_bytes(), names(place)) == (place, b"ours", ["r.sfumato"])
    assert not claim.is_untouched


@pytest.mark.parametrize("there", [True, False])
def test_what_came_meanwhile_is_kept(place: Path, there: bool, capsys: pytest.CaptureFixture[str]) -> None:
    if there:
        place.write_bytes(b"of last year")
    claims = [Claim(place, replace=there) for _ in range(3)]
    for claim in claims:
        save(claim)
    assert [claim.path.name for claim in claims] == ["r.sfumato", "r-2.sfumato", "r-3.sfumato"]
    assert names(place) == sorted(claim.path.name for claim in claims)
    assert "r-3.sfumato" in capsys.readouterr().err


@pytest.mark.parametrize("link", [True, False])
def test_what_is_there_stays_without_being_asked(place: Path, link: bool) -> None:
    if link:
        place.symlink_to("nowhere")
    else:
        place.write_bytes(b"of last year")
    for claim in (Claim, lambda path: claim_name(path, replace=False)):
        with pytest.raises(OutputError, match="is there already; give another name, or --replace"):
            claim(place)
    assert names(place) == ["r.sfumato"]


def test_a_link_is_replaced_where_it_stands(place: Path) -> None:
    place.symlink_to("nowhere")
    claim = Claim(place, replace=True)
    save(claim, type("Renamed", (), {"save": lambda self, path: (path.unlink(), path.write_bytes(b"ours"))})())
    assert names(place) == ["r.sfumato"]


def test_nothing_empty_is_left_where_it_cannot_be_written(place: Path) -> None:
    for problem in (OutputError("cannot write"), KeyboardInterrupt()):
        claim = Claim(place)
        with pytest.raises(type(problem)):
            save(claim, Paid(problem))  # type: ignore[arg-type]
        assert claim.is_untouched
    with pytest.raises(OutputError, match="does not exist"):
        Claim(place / "deeper")
    assert names(place) == []


def test_the_name_is_taken_by_whole_files_alone(place: Path) -> None:
    """Whoever is killed while a release is written leaves nothing under its name."""
    claim = Claim(place)

    class Watched(Paid):
        def save(self, path: Path) -> None:
            assert not place.exists()
            assert path.name.startswith(".")
            super().save(path)

    save(claim, Watched())
    assert place.read_bytes() == b"ours"


def test_a_disk_without_links_keeps_what_came_too(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr("os.link", no_links)
    claims = [Claim(place) for _ in range(2)]
    for claim in claims:
        save(claim)
    assert names(place) == ["r-2.sfumato", "r.sfumato"]
    assert [path.read_bytes() for path in sorted(place.parent.iterdir())] == [b"ours", b"ours"]


WRITERS = {
    "report": ("report", "r.sfumato", "-o"),
    "evaluate": ("evaluate", "r.sfumato", "--train", "data.parquet", "--html"),
    "plan": ("plan", "s.yaml", "--epsilon", 1, "--delta", 1e-6, "--plot"),
    "audit": ("audit", "mixture", "--trials", 10, "--plot"),
    "layout": ("layout", "s.yaml", "--epsilon", 1, "--delta", 1e-6, "-o"),
    "sample": ("sample", "r.sfumato", "-n", 3, "-o"),
}


@pytest.mark.parametrize("words", WRITERS.values(), ids=WRITERS)
def test_no_verb_writes_over_the_private_table_unasked(folder: Path, call: Call, words: tuple[Any, ...]) -> None:
    before = (folder / "data.csv").read_bytes()
    refused = call(*words, "data.csv")
    assert refused.code == 2
    assert refused.err == "error: data.csv is there already; give another name, or --replace to write over it\n"
    assert (folder / "data.csv").read_bytes() == before
