"""Where files may be written: never over a database, whatever its name."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sfumato.errors import OutputError
from sfumato.files import check_writable, is_database, replacing


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE letters (text TEXT)")
    return path


def listing(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_database_is_not_replaced_by_any_of_its_names(database: Path, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path)
    (tmp_path / "link.csv").symlink_to(database)
    (tmp_path / "log.csv").symlink_to("a.db-wal")
    os.link(database, tmp_path / "hard.csv")
    before = listing(tmp_path)
    names = ["a.db", "sub/../a.db", "linked/a.db", "link.csv", "hard.csv", "a.db-wal", "a.db-shm", "a.db-journal"]
    for name in [*names, "a.db-WAL", "linked/a.db-wal", "log.csv"]:
        for attempt in (check_writable, lambda path: replacing(path).__enter__()):
            with pytest.raises(OutputError, match="SQLite database"):
                attempt(f"{tmp_path}/{name}")
    assert listing(tmp_path) == before


def test_a_database_in_use_is_one_and_stays_as_it_is(database: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO letters VALUES ('a')")
        before = set(listing(tmp_path))
        assert is_database(str(database))
        assert set(listing(tmp_path)) == before
        connection.execute("COMMIT")


@pytest.mark.parametrize("size", [16, 100, 600, 5000])
def test_what_is_left_of_a_database_is_not_replaced(size: int, database: Path) -> None:
    database.write_bytes((database.read_bytes() + b"\xff" * 9000)[:size])
    with pytest.raises(OutputError, match="SQLite database"):
        check_writable(database)


@pytest.mark.parametrize("content", [b"", b"a", b"SQLite format 3", b"text " * 2000, None])
def test_other_files_are_replaced(content: bytes | None, tmp_path: Path) -> None:
    for name in ("a.csv", "a.csv-wal"):
        if content is not None:
            (tmp_path / "a.csv").write_bytes(content)
        with replacing(tmp_path / name) as temporary:
            temporary.write_text("new")
        assert (tmp_path / name).read_text() == "new"


def test_a_name_that_no_file_can_have_is_no_database(tmp_path: Path) -> None:
    check_writable(tmp_path / "a\0b")  # it is refused when it is written


def test_a_file_that_cannot_be_read_is_not_replaced(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (tmp_path / "a.csv").write_text("text")
    (tmp_path / "a.csv").chmod(0)
    with pytest.raises(OutputError, match="cannot be read"):
        check_writable(tmp_path / "a.csv")


def test_only_its_owner_may_read_a_private_file(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        for private, mode in ((True, 0o600), (False, 0o644), (True, 0o600)):
            with replacing(tmp_path / "a.html", private) as place:
                place.write_text("text")
            assert (tmp_path / "a.html").stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)


def test_a_pipe_is_not_done_away_with(tmp_path: Path) -> None:
    """Nor a device: renaming a file to /dev/null would replace it for everybody."""
    pipe = tmp_path / "rows.csv"
    os.mkfifo(pipe)
    (tmp_path / "link.csv").symlink_to(os.devnull)
    for path in (pipe, tmp_path / "link.csv"):
        with pytest.raises(OutputError, match="no ordinary file"), replacing(path):
            pass
    assert pipe.is_fifo()
