"""Open a table."""

from __future__ import annotations

import pytest

from sfumato.errors import ReleaseError
from sfumato.studio.screens import table_screen
from sfumato.studio.work import Work


def test_how_a_file_is_written_is_found_out(work: Work) -> None:
    (work.folder.root / "dutch.csv").write_bytes("größe;ort\n1,5;Köln\n2,5;Ulm\n".encode("cp1252"))
    assert table_screen.act(work, {"file": ["dutch.csv"]}) == "draft"
    assert work.opening["delimiter"] == ";"
    assert work.columns == ("größe", "ort")
    table_screen.act(work, {"file": ["people.csv"], "delimiter": ["\\t"]})
    assert work.opening == {"delimiter": "\t"}


def test_folders_are_walked_and_parquet_folders_opened(work: Work) -> None:
    (work.folder.root / "years").mkdir()
    (work.folder.root / "years" / "a.parquet").touch()
    found = table_screen.view(work)
    assert found["tables"] == ["people.csv", "years"]
    assert found["folders"] == ["years"]
    inner = table_screen.view(work, "years")
    assert (inner["tables"], inner["above"]) == (["years/a.parquet"], ".")


def test_a_table_joins_the_release_that_was_opened_alone(work: Work) -> None:
    work.begin(release="people.sfumato")
    table_screen.act(work, {"file": ["people.csv"]})
    assert (work.table, work.release) == ("people.csv", "people.sfumato")
    table_screen.act(work, {"file": ["people.csv"]})
    assert not work.release


def test_a_release_that_is_none_is_refused(work: Work) -> None:
    (work.folder.root / "r.sfumato").write_text("no")
    with pytest.raises(ReleaseError):
        table_screen.act(work, {"release": ["r.sfumato"]})
    assert not work.release
