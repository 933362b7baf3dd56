"""One record is one physical line, and a line depends on nothing but its own bytes and the header."""

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.errors import ArgumentError, TableError
from sfumato.tables import BATCH_ROWS, open_table
from sfumato.tables import csv as csv_module

Row = tuple[str | None, ...]


def rows(path: Path, content: bytes, columns: Sequence[str] = ("a", "b"), delimiter: str | None = None) -> list[Row]:
    path.write_bytes(content)
    batches = open_table(path, delimiter=delimiter).batches(columns)
    return [row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


MISSING = (None, None)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"1,2", [("1", "2")]),
        (b" 1 , 2", [(" 1 ", " 2")]),
        (b",", [("", "")]),
        (b'"x, y",""', [("x, y", "")]),
        (b'"say ""hi""",2', [('say "hi"', "2")]),
        (b'"1","2"', [("1", "2")]),
        (b'5",2', [('5"', "2")]),
        (b'"",""""', [("", '"')]),
        (b"1\r,2", [("1\r", "2")]),
        (b'1\r,"2,"', [("1\r", "2,")]),
        (b"1\x00,2", [("1\x00", "2")]),
        (b"1,\x0b\xc2\x85\xe2\x80\xa8", [("1", "\x0b\x85\u2028")]),
        (b"1", [MISSING]),
        (b"1,2,3", [MISSING]),
        (b'"1,2', [MISSING]),
        (b'"1"x,2', [MISSING]),
        (b'"', [MISSING]),
        (b'"1,2"', [MISSING]),
        (b"\xff,2", [MISSING]),
        (b"\xed\xa0\x80,2", [MISSING]),
        (b"", []),
        (b" \t\x0c", []),
    ],
)
def test_lines(path: Path, line: bytes, expected: list[Row]) -> None:
    for end in (b"\n", b"\r\n"):
        neighbours = end.join([b"a,b", b"0,0", line, b'9,"9"', b""])
        assert rows(path, neighbours) == [("0", "0"), *expected, ("9", "9")]
        assert rows(path, end.join([b"a,b", line])) == expected


def test_header(path: Path) -> None:
    assert rows(path, b'\xef\xbb\xbf"a", b \r\n1,2\r', ["b", "a"]) == [("2", "1")]
    assert rows(path, b"a,b") == []
    assert rows(path, b"a;b\n1,5;2", delimiter=";") == [("1,5", "2")]
    assert rows(path.with_suffix(".tsv"), b"a\tb\n1\t2\n\t\n \n") == [("1", "2"), ("", "")]
    assert rows(path.with_suffix(".TXT"), b"a,b\n1,2") == [("1", "2")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n1,2", "lacks a name"),
        (b"a,,b\n", "lacks a name"),
        (b"a,a \n", "has a name twice"),
        (b"\xff\xfea\n", "is not UTF-8"),
        (b'"a,b\n', "not a line of delimited names"),
        (b"a,b\r1,2\r", "not a line of delimited names"),
    ],
)
def test_bad_headers(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    with pytest.raises(TableError, match=message):
        open_table(path)


@pytest.mark.parametrize("delimiter", ["", ",,", '"', "\n"])
def test_bad_delimiters(path: Path, delimiter: str) -> None:
    path.write_bytes(b"a,b\n")
    with pytest.raises(ArgumentError):
        open_table(path, delimiter=delimiter)


LINE = st.one_of(
    st.sampled_from(
        [b"1,2", b'"x,y",2', b'"', b'1,"2', b"\xff,1", b"1", b"1,2,3", b"", b"  ", b"\r", b'a"b,c', b'"",""']
    ),
    st.lists(st.sampled_from([b"1", b",", b'"', b"\r", b" ", b"\xc3\xa9", b"\xc3", b"\x00"]), max_size=8).map(b"".join),
    st.binary(max_size=8).map(lambda line: line.replace(b"\n", b"")),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(lines=st.lists(LINE, max_size=12), block=st.integers(1, 40))
def test_each_line_reads_as_if_it_were_alone(path: Path, lines: list[bytes], block: int) -> None:
    alone = [row for line in lines for row in rows(path, b"a,b\n" + line + b"\n")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_module, "BLOCK_BYTES", block)
        assert rows(path, b"a,b\n" + b"\n".join(lines) + b"\n") == alone


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=500)
@given(line=st.text('1," \x00é', max_size=12).filter(lambda line: line.strip(" ") != ""))
def test_quoting_is_that_of_the_standard_library(path: Path, line: str) -> None:
    try:
        fields = next(csv.reader([line], strict=True))
    except csv.Error:
        fields = []
    expected = tuple(fields) if len(fields) == 2 else MISSING
    assert rows(path, f"a,b\n{line}\n".encode()) == [expected]


def test_many_and_long_lines(path: Path) -> None:
    long = "x" * (csv_module.BLOCK_BYTES + 7)
    lines = [f"{place},{place % 3}" for place in range(BATCH_ROWS + 10)]
    content = "\n".join(["a,b", *lines, f"{long},1", f'"{long}",2', f'"{long}""",3', "7,8"]).encode()
    expected = [
        *(tuple(line.split(",")) for line in lines),
        (long, "1"),
        (long, "2"),
        (f'{long}"', "3"),
        ("7", "8"),
    ]
    assert rows(path, content) == expected
    assert max(batch.num_rows for batch in open_table(path).batches(["a"])) == BATCH_ROWS


def test_progress_reaches_the_end(path: Path) -> None:
    path.write_bytes(b"a,b\n" + b"1,2\n" * 9)
    seen: list[float] = []
    list(open_table(path).batches(["a"], progress=seen.append))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_an_error_about_a_missing_column_does_not_repeat_the_first_line(tmp_path: Path) -> None:
    headerless = tmp_path / "people.csv"
    headerless.write_text("39,secret-value\n40,other\n")
    with pytest.raises(TableError, match="has no column 'age'; is the first line a header") as caught:
        open_table(headerless).batches(["age"])
    assert "secret-value" not in str(caught.value)
