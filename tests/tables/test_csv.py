"""One record is one physical line, and a line depends on nothing but its own bytes and the header."""

import bz2
import csv
import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import some

from sfumato.errors import ArgumentError, TableError
from sfumato.tables import BATCH_ROWS, open_table
from sfumato.tables import csv as csv_module

REFUSED_ENCODINGS = [
    "nope",
    "utf-7",
    "utf-32",
    "iso2022_jp",
    "iso2022_kr",
    "hz",
    "cp037",
    "unicode_escape",
    "raw_unicode_escape",
    "idna",
    "punycode",
    "hex",
    "rot13",
    "a\0b",
    "undefined",
]

Row = tuple[str | None, ...]


def rows(path: Path, content: bytes, columns: Sequence[str] = ("a", "b"), **options: Any) -> list[Row]:
    path.write_bytes(content)
    batches = open_table(path, **options).batches(columns)
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
        (b"\xff,2", [(None, "2")]),
        (b"\xed\xa0\x80,2", [(None, "2")]),
        (b'1,"\xff, x"', [("1", None)]),
        (b'"say ""hi""",\xff', [('say "hi"', None)]),
        (b"\xc3,\xa9", [MISSING]),
        (b"\xff,2,3", [MISSING]),
        ("1,x\uffff".encode(), [("1", None)]),
        (b"", []),
        (b" \t\x0c", []),
    ],
)
def test_lines(path: Path, line: bytes, expected: list[Row]) -> None:
    for end in (b"\n", b"\r\n"):
        neighbours = end.join([b"a,b", b"0,0", line, b'9,"9"', b""])
        assert rows(path, neighbours) == [("0", "0"), *expected, ("9", "9")]
        assert rows(path, end.join([b"a,b", line])) == expected


def test_a_blank_line_is_a_missing_cell_where_there_is_one_column(path: Path) -> None:
    """Else how many rows there are would depend on what is in them."""
    assert rows(path, b"a\n1\n\n3\n", ["a"]) == [("1",), ("",), ("3",)]
    assert rows(path, b"a,b\n1,2\n\n3,4\n") == [("1", "2"), ("3", "4")]


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
        (b"\xffa\n", "is not UTF-8; say how it is written: --csv-encoding latin-1, in Python encoding='latin-1'$"),
        ("a,b\n".encode("utf-16"), "is written in UTF-16; save it as UTF-8$"),
        (b'"a,b\n', "is not one line of names, with every quote closed"),
        (b"a,b\r1,2\r", r"lines end in \\n or \\r\\n$"),
        (
            b"a;b\n",
            "by ';', not by ','; say --delimiter ';', in Python sf.open_table.path, delimiter=';'.$",
        ),
        (b'"a";"b"\n', "say --delimiter ';'"),
        (b'"a, b";"c"\n', "say --delimiter ';'"),
        (b"a\tb\n", "say --delimiter 'tab', in Python sf.open_table.path, delimiter='tab'.$"),
        (b"a|b\n", "say --delimiter '|'"),
    ],
)
def test_bad_headers(path: Path, content: bytes, message: str) -> None:
    path.write_bytes(content)
    with pytest.raises(TableError, match=message.replace("|", "[|]")):
        open_table(path)


def test_a_delimiter_that_is_given_is_taken(path: Path) -> None:
    assert rows(path, b"a;b\n1;2\n", ["a;b"], delimiter=",") == [("1;2",)]
    assert rows(path, b"a\tb\n1\t2\n", delimiter="tab") == [("1", "2")]


@pytest.mark.filterwarnings("ignore:invalid escape sequence")
@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ""},
        {"delimiter": ",,"},
        {"delimiter": '"'},
        {"delimiter": "\n"},
        {"quote": "''"},
        {"quote": "\r"},
        {"quote": ","},
        {"table": "t"},
        *({"encoding": name} for name in REFUSED_ENCODINGS),
    ],
)
def test_bad_options(path: Path, options: dict[str, str]) -> None:
    path.write_bytes(b"a,b\n")
    with pytest.raises(ArgumentError, match=next(iter(options))) as caught:
        open_table(path, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "mac-roman", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encodings(path: Path, encoding: str, end: str) -> None:
    content = end.join(["é,b", "ñ,ü", '"ö, ä","""', "1,2", ""]).encode(encoding)
    assert rows(path, content, ["é", "b"], encoding=encoding) == [("ñ", "ü"), MISSING, ("1", "2")]


@pytest.mark.parametrize("encoding", ["shift_jis", "euc_jp", "gb18030", "big5", "cp949"])
def test_encodings_of_several_bytes(path: Path, encoding: str) -> None:
    assert rows(path, "a,b\n中,山\n".encode(encoding) + b"\x81\n1,2", encoding=encoding) == [
        ("中", "山"),
        MISSING,
        ("1", "2"),
    ]


@pytest.mark.every(2)
@pytest.mark.parametrize("encoding", ["shift_jis", "euc_jp", "gb18030", "big5", "cp949"])
def test_half_a_letter_takes_no_delimiter_with_it(path: Path, encoding: str) -> None:
    for lead in range(0x80, 0x100):
        content = b"a,b\n" + bytes([lead]) + b",2\n3," + bytes([lead]) + b"\n5,6\n"
        (_, second), (third, _), last = rows(path, content, encoding=encoding)
        assert (second, third, last) == ("2", "3", ("5", "6"))


def test_undecodable_cells_of_other_encodings(path: Path) -> None:
    assert rows(path, b"a,b\n\x81,1\n\x80,2\n", encoding="cp1252") == [(None, "1"), ("€", "2")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(cells=st.lists(st.binary(max_size=4).map(lambda cell: cell.translate(None, b',"\r\n')), max_size=9))
def test_an_accent_in_one_column_changes_no_other(path: Path, cells: list[bytes]) -> None:
    lines = [b"%d,x%s,%d" % (place, cell, place % 7) for place, cell in enumerate(cells)]
    found = rows(path, b"\n".join([b"a,town,b", *lines]))
    assert found == [(str(place), str(place % 7)) for place in range(len(cells))]


def test_a_share_of_a_latin_1_file_is_what_it_is(path: Path) -> None:
    towns = ["Köln", "Ulm", "Bonn"]
    text = "id,town,ill\n" + "".join(f"{place},{towns[place % 3]},{place % 3 == 0}\n" for place in range(3_000))
    found = rows(path, text.encode("latin-1"), ["ill", "town"])
    assert [ill for ill, _ in found] == [str(place % 3 == 0) for place in range(3_000)]
    assert {town for _, town in found} == {None, "Ulm", "Bonn"}


BREAKS = b'a,b\n1,"x\ny"\n2,"say ""hi\r\nthere"""\n"3\n\n",4\n5,6" tall\n'
ACROSS = [("1", "x\ny"), ("2", 'say "hi\nthere"'), ("3\n\n", "4"), ("5", '6" tall')]


@pytest.mark.parametrize("block", [1, 5, 8, 13, 2**22])
def test_quoted_breaks_are_read_where_somebody_says_so(path: Path, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_module, "BLOCK_BYTES", block)
    assert rows(path, BREAKS, quoted_breaks=True) == ACROSS
    assert len(rows(path, BREAKS)) > len(ACROSS)
    assert open_table(path).over_lines().names == ("a", "b")  # type: ignore[attr-defined]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=some(200))
@given(text=st.text('1," \n\x00é', max_size=14).filter(lambda text: not text.endswith("\n")))
def test_records_are_those_of_the_standard_library(path: Path, text: str) -> None:
    try:
        expected = [tuple(row) for row in csv.reader(io.StringIO(text, newline=""), strict=True)]
    except csv.Error:
        return  # a record that is malformed ends where its line does, which the standard library does not say
    found = rows(path, f"a,b\n{text}\n".encode(), quoted_breaks=True)
    assert [row for row in found if row != MISSING] == [row for row in expected if len(row) == 2]


def test_a_quote_that_is_never_closed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b'a,b\n0,0\n1,"x\n' + b"2,3\n" * 9
    assert rows(path, content) == [("0", "0"), MISSING, *[("2", "3")] * 9]
    assert rows(path, content, quoted_breaks=True) == [("0", "0"), MISSING]
    monkeypatch.setattr(csv_module, "LONGEST_LINE", 15)  # a quote swallows no more than this
    assert rows(path, content, quoted_breaks=True) == [("0", "0"), MISSING, *[("2", "3")] * 5]
    with pytest.raises(TableError, match=r"^a quote of .* is opened and not closed; mend it"):
        list(open_table(path).over_lines().batches(["a"]))  # type: ignore[attr-defined]


def test_quoted_breaks_need_a_quote(path: Path) -> None:
    with pytest.raises(ArgumentError, match="quoted_breaks needs a quote"):
        rows(path, b"a,b\n", quote="", quoted_breaks=True)


def test_a_header_in_another_encoding(path: Path) -> None:
    path.write_bytes("é,b\nsecret,1".encode("latin-1"))
    with pytest.raises(TableError, match=r"the header of .* is not UTF-8; say how it is written") as caught:
        open_table(path)
    assert "secret" not in str(caught.value)


def test_quotes(path: Path) -> None:
    content = b"a,b\n'x, y','it''s'\n\"1,2\"\n'3,4\n"
    assert rows(path, content, quote="'") == [("x, y", "it's"), ('"1', '2"'), MISSING]
    assert rows(path, b'a,b\n"1,2"\n\xff,1\n"3"",4', quote="") == [('"1', '2"'), (None, "1"), ('"3""', "4")]
    assert rows(path, b"a,b\n^1,2^,^3^^^\n", quote="^") == [("1,2", "3^")]
    assert rows(path, "a,b\n»1,2»,3\n".encode(), quote="»") == [("1,2", "3")]


COMPRESSORS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda content: bytes(pa.Codec("zstd").compress(content)),
}


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_compressed_files(path: Path, suffix: str) -> None:
    content = b"a,b\n" + b"".join(b"%d,%d\n" % (place, place * 7919 % 1009) for place in range(50_000))
    expected = rows(path, content)
    compressed = path.with_suffix(f".CSV{suffix}")
    whole = COMPRESSORS[suffix](content)
    assert rows(compressed, whole) == expected
    assert rows(compressed, whole + COMPRESSORS[suffix](b"7,8\n")) == [*expected, ("7", "8")]
    text = "\n".join(["a;b", "é;1"]).encode("latin-1")
    assert rows(compressed, COMPRESSORS[suffix](text), encoding="latin-1", delimiter=";") == [("é", "1")]
    for damaged in (whole[:-1], whole[: len(whole) // 2], b"a,b\nsecret,1", whole + b"secret"):
        compressed.write_bytes(damaged)
        with pytest.raises(TableError, match=r"^cannot read .* as CSV: OSError$"):
            list(open_table(compressed).batches(["a"]))
    compressed.write_bytes(b"")
    with pytest.raises(TableError, match="is empty"):
        open_table(compressed)


LINE = st.one_of(
    st.sampled_from(
        [b"1,2", b'"x,y",2', b'"', b'1,"2', b"\xff,1", b"1", b"1,2,3", b"", b"  ", b"\r", b'a"b,c', b'"",""']
    ),
    st.lists(st.sampled_from([b"1", b",", b'"', b"\r", b" ", b"\xc3\xa9", b"\xc3", b"\x00"]), max_size=8).map(b"".join),
    st.binary(max_size=8).map(lambda line: line.replace(b"\n", b"")),
)


@pytest.mark.every(2)
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "shift_jis", "gb18030"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(lines=st.lists(LINE, max_size=12), block=st.integers(1, 40))
def test_each_line_reads_as_if_it_were_alone(path: Path, encoding: str, lines: list[bytes], block: int) -> None:
    alone = [row for line in lines for row in rows(path, b"a,b\n" + line + b"\n", encoding=encoding)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_module, "BLOCK_BYTES", block)
        assert rows(path, b"a,b\n" + b"\n".join(lines) + b"\n", encoding=encoding) == alone
        assert rows(path, b"a,b\n" + b"\n".join(lines), encoding=encoding) == alone


def test_a_bad_byte_leaves_byte_order_marks_of_other_lines_alone(path: Path) -> None:
    marked = "a,b\n" + "\ufeff1,2\n" * 3
    before = rows(path, marked.encode(), encoding="utf-8-sig")
    assert rows(path, marked.encode() + b"\xff,2\n", encoding="utf-8-sig") == [*before, (None, "2")]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings_in_which_one_byte_moves_all_that_follow_are_refused(path: Path, encoding: str) -> None:
    path.write_bytes("a,b\n1,2\n".encode(encoding))
    with pytest.raises(ArgumentError, match="convert the file to UTF-8"):
        open_table(path, encoding=encoding)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=some(500))
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


@pytest.mark.parametrize("extra", [-1, 0, 1])
@pytest.mark.parametrize("after", [b"", b"\n7,8"])
def test_a_line_of_the_longest_length_reads_alike_wherever_it_stands(path: Path, extra: int, after: bytes) -> None:
    first = b"x" * (csv_module.LONGEST_LINE + extra - len(b",1"))
    expected = [("x" * len(first), "1") if extra <= 0 else MISSING, *([("7", "8")] if after else [])]
    assert rows(path, b"a,b\n" + first + b",1" + after) == expected


@pytest.mark.every(4)
@pytest.mark.parametrize("length", range(6, 16))
@pytest.mark.parametrize("block", [1, 3, 5, 8, 10, 11, 12, 40])
def test_line_breaks_do_not_count_in_the_length_of_a_line(
    path: Path, length: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_module, "LONGEST_LINE", 10)
    monkeypatch.setattr(csv_module, "BLOCK_BYTES", min(block, 10))  # what a block holds whole is never too long
    line = b"1," + b"x" * (length - 2)
    row = tuple(line.decode().split(",")) if length <= 10 else MISSING
    for before in (b"", b"7,8\n", b"7,8\r\n"):
        for end in (b"", b"\r", b"\n", b"\r\n", b"\n7,8", b"\r\n7,8\n", b"\n\n"):
            found = rows(path, b"a,b\n" + before + line + end)
            assert found == [("7", "8")] * bool(before) + [row] + [("7", "8")] * (b"7" in end), (before, end)


def test_the_length_of_a_header_is_measured_alike(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_module, "LONGEST_LINE", 10)
    for end in (b"", b"\n", b"\r\n", b"\n1,2\n"):
        assert rows(path, b"a,b" + b"b" * 7 + end, ["a"]) == [("1",)] * (b"1" in end)
        with pytest.raises(TableError, match="is not one line of names"):
            rows(path, b"a,b" + b"b" * 8 + end)


@pytest.mark.parametrize("blank", [b"", b"\r", b" "])
def test_a_blank_line_of_one_column_is_a_row_also_at_the_end(path: Path, blank: bytes) -> None:
    cell = (blank.decode().strip("\r"),)
    assert rows(path, b"a\n1\n" + blank + b"\n2", ["a"]) == [("1",), cell, ("2",)]
    assert rows(path, b"a\n1\n" + blank + b"\n", ["a"]) == [("1",), cell]
    if blank:  # else there is no line
        assert rows(path, b"a\n1\n" + blank, ["a"]) == [("1",), cell]


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
