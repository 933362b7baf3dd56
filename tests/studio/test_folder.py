"""Which files the studio opens."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from sfumato.errors import ArgumentError
from sfumato.studio.folder import Folder, Outside


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    root = tmp_path / "office"
    (root / "sub" / "deep").mkdir(parents=True)
    for name in ("a.csv", "-odd.csv", "sub/b.parquet", ".hidden.csv", "s.yaml"):
        (root / name).write_text("x\n1\n")
    (tmp_path / "secret.csv").write_text("x\n1\n")
    (root / "link.csv").symlink_to(tmp_path / "secret.csv")
    (root / "inside.csv").symlink_to(root / "a.csv")
    return Folder.of(root)


@pytest.mark.parametrize(
    "name",
    ["../secret.csv", "sub/../../secret.csv", "/etc/passwd", "link.csv", "a.csv\0", "file:///etc/passwd", "sub/.."],
)
def test_what_leads_out_is_refused(folder: Folder, name: str) -> None:
    with pytest.raises(Outside):
        folder.existing(name)
    with pytest.raises(Outside):
        folder.new(name, ("",))


def test_a_folder_with_a_file_that_leads_out_is_refused(folder: Folder) -> None:
    assert folder.existing("sub") == "sub"
    (folder.root / "sub" / "deep" / "c.parquet").symlink_to(folder.root.parent / "secret.csv")
    with pytest.raises(Outside):
        folder.existing("sub")


def test_names_are_as_commands_take_them(folder: Folder) -> None:
    assert folder.existing("a.csv") == "a.csv"
    assert folder.existing(str(folder.root / "a.csv")) == "a.csv"
    assert folder.existing("-odd.csv") == "./-odd.csv"
    assert folder.existing("inside.csv") == "inside.csv"
    assert folder.free("a", ".csv") == "a-2.csv"
    assert folder.free("b", ".csv") == "b.csv"


def test_lists_leave_out_what_is_hidden_or_leads_out(folder: Folder) -> None:
    assert folder.tables() == ["./-odd.csv", "a.csv", "inside.csv"]
    assert folder.tables("sub") == ["sub/b.parquet"]
    assert folder.folders() == ["sub"]


def test_what_is_there_is_not_written_over(folder: Folder) -> None:
    assert folder.new("r.sfumato", (".sfumato",)) == "r.sfumato"
    with pytest.raises(ArgumentError, match="there already"):
        folder.new("a.csv", (".csv",))
    with pytest.raises(ArgumentError, match="must end in"):
        folder.new("r.txt", (".sfumato",))
    with pytest.raises(ArgumentError, match="no file"):
        folder.existing("none.csv")
    with pytest.raises(ArgumentError, match="no folder"):
        Folder.of(folder.root / "a.csv")


def test_one_fits_at_a_time_whichever_studio(folder: Folder) -> None:
    other = Folder.of(folder.root)
    with folder.alone(), pytest.raises(ArgumentError, match="is at work in this folder; wait"), other.alone():
        pass
    with other.alone():
        pass
    assert not [name for name in os.listdir(folder.root) if name.startswith(".sfumato")]  # nothing is left behind


def test_a_file_system_without_locks_lets_fit(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(held: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr("fcntl.flock", refuse)
    with folder.alone(), folder.alone():
        pass
