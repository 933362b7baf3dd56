"""Delimiters and encodings are found out where nobody says them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sfumato.drafting.sniffing import sniff
from sfumato.errors import ArgumentError, TableError
from sfumato.tables.csv import BLOCK_BYTES


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b"a,b\n1,2\n", {}),
        (b"a;b\n1;2\n", {"delimiter": ";"}),
        (b"a\tb\n1\t2\n", {"delimiter": "\t"}),
        (b"a|b\n1|2\n", {"delimiter": "|"}),
        (b"a\n1\n", {}),
        (b"a;b\n1,5;2,5\n3,5;4\n", {"delimiter": ";"}),
        (b'"a;x",b\n"1;2",3\n', {}),
        (b"", {}),
        ("a,b\nö,2\n".encode(), {}),
        ("a,b\nö,2\n".encode("latin-1"), {"encoding": "latin-1"}),
        ("a,b\n1,“2”\n".encode("cp1252"), {"encoding": "cp1252"}),
        ("ä;b\n1;2\n".encode("latin-1"), {"encoding": "latin-1", "delimiter": ";"}),
    ],
)
def test_what_a_file_needs(tmp_path: Path, content: bytes, options: dict[str, str]) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    assert sniff(path, {}) == options
    packed = tmp_path / "data.csv.gz"
    packed.write_bytes(gzip.compress(content))
    assert sniff(packed, {}) == options


def test_an_accent_far_down_is_found(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * (BLOCK_BYTES // 4) + b"1,\xf6\n")
    assert sniff(path, {}) == {"encoding": "latin-1"}


def test_a_letter_cut_by_a_block_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b\n" + b"1" * (BLOCK_BYTES - 5) + "ö,2\n".encode())
    assert sniff(path, {}) == {}


def test_what_is_said_stands(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(b"a;b\n\xf6;2\n")
    assert sniff(path, {"delimiter": ",", "encoding": "cp1250"}) == {"delimiter": ",", "encoding": "cp1250"}


def test_other_files_need_nothing(tmp_path: Path) -> None:
    assert sniff(tmp_path / "data.parquet", {}) == {}
    with pytest.raises(TableError, match="does not exist"):
        sniff(tmp_path / "none.csv", {})


@pytest.mark.parametrize("name", ["rot13", "zlib_codec", "no such thing", "\0", "utf-16"])
def test_an_encoding_that_is_none_gets_one_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(ArgumentError, match=r"cannot read lines in the encoding .*; convert the file to UTF-8"):
        sniff(path, {"encoding": name})
