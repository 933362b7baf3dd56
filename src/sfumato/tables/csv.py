"""Delimited text, line by line.

One record is one physical line. A quoted field may hold delimiters and doubled quotes but no line
break: otherwise one stray quote in one person's row would swallow the next person's row. So a line's
cells depend on nothing but its own bytes and the header:

- a line that is ragged or malformed is a row of nulls;
- a cell with bytes that are no text in the file's encoding is null, and the others of its line stand;
- a line that is empty or holds only white space is no row;
- every other cell is text, as it stands between its delimiters.

For the same reason an encoding must be one in which a byte of one line cannot change the next: ASCII
reads as itself and nothing swallows a line break. UTF-16 is none, and is refused.

With `quoted_breaks` a record goes on while a quote that opened a field is open, as RFC 4180 has it. Then what one
record holds can change how others are read: a stray quote swallows lines up to the next one, at most LONGEST_LINE
bytes of them. Whoever asks for it says that no quote is out of place.
"""

import codecs
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import ArgumentError, TableError
from sfumato.tables.cells import TEXT
from sfumato.tables.table import Blocks, Table, reading
from sfumato.text import WHITESPACE

DELIMITERS = {".csv": ",", ".txt": ",", ".tsv": "\t"}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
BLOCK_BYTES = 2**22
LONGEST_LINE = 2**24  # bytes without the line break: a longer line is a bad one, and never held in memory
OTHER_DELIMITERS = ";\t|,"  # that the header of a file may have instead
WORDS = {"tab": "\t", "\\t": "\t"}  # for what is hard to type

# Every ASCII character, and what escapes or shifts in the encodings that have such things.
ASCII_PROBE = bytes(range(128)) + rb"\u000a \n ~{ ~} +AAo- .xn--tda." + b"\x1b$B!! \x0e!!\x0f ~\n"

UNREADABLE = "\uffff"  # stands for a byte that is no text: Unicode promises that no text has this character
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _mark(error: UnicodeError) -> tuple[str, int]:
    """Mark one byte that cannot be decoded, and go on behind it: no delimiter or line break is lost with it."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return UNREADABLE, error.start + 1


codecs.register_error("sfumato.mark", _mark)


@dataclass(frozen=True)
class Dialect:
    """How fields are written: what separates them, what quotes them ("" for nothing), in which encoding."""

    delimiter: str
    quote: str
    encoding: str

    @classmethod
    def of(cls, delimiter: str, quote: str = '"', encoding: str = "utf-8") -> "Dialect":
        """Check the arguments of a user."""
        delimiter = WORDS.get(delimiter, delimiter)
        if len(delimiter) != 1 or delimiter in "\r\n":
            raise ArgumentError("the delimiter must be one character, and no line break")
        if len(quote) > 1 or quote in ("\r", "\n", delimiter):
            raise ArgumentError(
                'the quote must be one character, neither the delimiter nor a line break; or "" for none'
            )
        return cls(delimiter, quote, _known_encoding(encoding))

    @cached_property
    def wholly_quoted(self) -> str:
        """A pattern of the fields that read the same by trimming their quotes."""
        quote = re.escape(self.quote)
        return f"^{quote}[^{quote}]*{quote}$"

    @cached_property
    def _quoted(self) -> re.Pattern[str]:
        quote = re.escape(self.quote)
        return re.compile(f"{quote}([^{quote}]*(?:{quote}{quote}[^{quote}]*)*){quote}")

    @cached_property
    def _closed(self) -> re.Pattern[str]:
        """What is left of a field that is open, up to the delimiter behind it."""
        quote, delimiter = re.escape(self.quote), re.escape(self.delimiter)
        return re.compile(f"[^{quote}]*+(?:{quote}{quote}[^{quote}]*+)*+{quote}[^{delimiter}]*+")

    @cached_property
    def _plain(self) -> re.Pattern[str]:
        """Fields that no quote opens, with the delimiters behind them."""
        quote, delimiter = re.escape(self.quote), re.escape(self.delimiter)
        return re.compile(f"(?:(?!{quote})[^{delimiter}]*+{delimiter})*+")

    def decode(self, line: bytes) -> str:
        """The text of some bytes, with a mark for each that is none."""
        return line.decode(self.encoding, "sfumato.mark")

    def ends_open(self, line: str, is_open: bool) -> bool:
        """Whether a quoted field goes on behind a line, which begins in one or not.

        >>> csv = Dialect.of(",")
        >>> csv.ends_open('1,"a', False), csv.ends_open('b"",c', True), csv.ends_open('d",5"', True)
        (True, True, False)
        """
        place = 0
        while is_open or self.quote in line:
            if is_open:
                closed = self._closed.match(line, place)
                if closed is None:
                    return True
                place = closed.end() + 1
            place = self._plain.match(line, place).end()  # type: ignore[union-attr]  # which may be nothing
            is_open = line.startswith(self.quote, place)
            if not is_open:
                return False
            place += 1
        return False

    def split(self, line: str) -> list[str] | None:
        """The fields of one line by the rules of quoting, or None if it breaks them.

        >>> Dialect.of(",").split('1,"a ""b"", c"'), Dialect.of(",").split('1,"a')
        (['1', 'a "b", c'], None)
        """
        fields: list[str] = []
        start = 0
        while True:
            if self.quote and line.startswith(self.quote, start):
                quoted = self._quoted.match(line, start)
                if quoted is None:
                    return None
                end = quoted.end()
                fields.append(quoted[1].replace(self.quote * 2, self.quote))
            else:
                end = line.find(self.delimiter, start)
                end = len(line) if end < 0 else end
                fields.append(line[start:end])
            if end == len(line):
                return fields
            if line[end] != self.delimiter:
                return None
            start = end + 1


class CsvTable(Table):
    """A file of delimited text with a header line, compressed or not.

    Args:
        path: The file.
        dialect: How its fields are written.
        compression: By what it is compressed.
        assumed: Whether nobody said what the delimiter is: then a header that has another one is refused.
        quoted_breaks: Whether a quoted field may hold line breaks.
    """

    def __init__(
        self,
        path: Path,
        dialect: Dialect,
        compression: str | None = None,
        assumed: bool = False,
        quoted_breaks: bool = False,
    ) -> None:
        if quoted_breaks and not dialect.quote:
            raise ArgumentError("quoted_breaks needs a quote; leave one of the two out")
        self._path = path
        self._dialect = dialect
        self._compression = compression
        self._quoted_breaks = quoted_breaks
        self._strict = False  # about quotes: whether one is closed depends on what rows hold
        with self._open() as (_, lines):
            header = lines.readline(LONGEST_LINE + len(b"\r\n"))
        super().__init__(str(path), _header_names(header, dialect, path, assumed))

    def over_lines(self) -> "CsvTable":
        """The same file, read as one whose quoted fields may hold line breaks; a quote that is not closed is told."""
        other = copy(self)
        other._quoted_breaks = other._strict = bool(self._dialect.quote)
        return other

    @contextmanager
    def _open(self) -> Iterator[tuple[BinaryIO, BinaryIO]]:
        """The file, and its lines once decompressed."""
        with reading(self._path, "CSV"), self._path.open("rb") as file:
            stream: Any = file
            if self._compression is not None:
                stream = io.BufferedReader(pa.CompressedInputStream(file, self._compression))
            yield file, stream

    def _hint(self) -> str:
        # Without a header the first line is somebody's row, so its fields are not repeated.
        return "is the first line a header with that name?"

    def _type(self, place: int) -> pa.DataType:
        return TEXT

    def _blocks(self, places: list[int]) -> Blocks:
        names = [self.names[place] for place in places]
        keep_blank = len(self.names) == 1
        with self._open() as (file, lines):
            size = os.fstat(file.fileno()).st_size
            lines.readline()
            found = _lines(lines, self._dialect)
            if self._quoted_breaks:
                found = _records(lines, self._dialect, self.label if self._strict else None)
            for records in found:
                rows = records if keep_blank else _without_blanks(records, self._dialect)
                fields, starts = _fields(rows, self._dialect, len(self.names))
                columns = [fields.take(pc.add(starts, place)) for place in places]
                yield min(1.0, file.tell() / size), pa.RecordBatch.from_arrays(columns, names)


def _lines(lines: BinaryIO, dialect: Dialect) -> Iterator[pa.LargeStringArray]:
    """The lines of a file, block by block; null for one that is too long."""
    while block := lines.read(BLOCK_BYTES):
        block, is_cut = _whole_lines(block, lines)
        found = _split_lines(block, dialect)
        yield pa.concat_arrays([found, pa.nulls(1, TEXT)]) if is_cut else found


def _records(lines: BinaryIO, dialect: Dialect, told: str | None) -> Iterator[pa.LargeStringArray]:
    """The records of a file, which go on over line breaks in quotes; null for one that is too long or not closed.

    With `told`, the name of the file, an error for a quote that is not closed.
    """
    record: list[str] = []  # its lines so far
    length = 0
    for found in _lines(lines, dialect):
        if not record and not _may_hold(found, dialect.quote):
            yield found
            continue
        records: list[str | None] = []
        for line in found.to_pylist():
            is_open = line is not None and dialect.ends_open(line, is_open=bool(record))
            record.append(line)
            length += LONGEST_LINE + 1 if line is None else len(line)
            if is_open and length <= LONGEST_LINE:
                continue
            if is_open and told is not None:
                raise _unclosed(told)
            records.append("\n".join(record) if length <= LONGEST_LINE else None)
            record, length = [], 0
        yield pa.array(records, TEXT)
    if record:
        if told is not None:
            raise _unclosed(told)
        yield pa.nulls(1, TEXT)


def _unclosed(name: str) -> TableError:
    return TableError(f"a quote of {name} is opened and not closed; mend it, or say with --quote what quotes fields")


def _whole_lines(block: bytes, lines: BinaryIO) -> tuple[bytes, bool]:
    """A block up to the end of its last line; without that line, and True, where it is longer than a line may be.

    Whether a line is too long depends on its own bytes alone: one that is begins in this block and ends beyond it. Its
    line break does not count, because the last line of a file may have none.
    """
    start = block.rfind(b"\n") + 1
    rest = lines.readline(LONGEST_LINE + len(b"\r\n"))
    if len(_unbroken(block[start:] + rest)) <= LONGEST_LINE:
        return block + rest, False
    while rest and not rest.endswith(b"\n"):
        rest = lines.readline(LONGEST_LINE)
    return block[:start], True


def _unbroken(line: bytes) -> bytes:
    """A line without its line break."""
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _known_encoding(name: str) -> str:
    """Python's name of an encoding in which every line can be read alone."""
    try:
        # The header drops a byte order mark; a codec that does so too would do it line by line.
        known = codecs.lookup(name).name.removesuffix("-sig")
        line_safe = ASCII_PROBE.decode(known) == ASCII_PROBE.decode("ascii")
    except (LookupError, ValueError):
        line_safe = False
    if not line_safe or not all(_keeps_line_break(byte, known) for byte in range(128, 256)):
        raise ArgumentError(f"cannot read lines in the encoding {name!r}; convert the file to UTF-8")
    return known


def _keeps_line_break(byte: int, encoding: str) -> bool:
    try:
        text = bytes([byte, ord("\n")]).decode(encoding)
    except UnicodeDecodeError:
        return True
    return text.find("\n") == 1 == len(text) - 1


def _header_names(header: bytes, dialect: Dialect, path: Path, assumed: bool) -> list[str]:
    """The names in a header; one that cannot be read says what to change, and that depends on the header alone."""
    if not header:
        raise TableError(f"{path} is empty; its first line must name the columns")
    if header.startswith(UTF_16):
        raise TableError(f"{path} is written in UTF-16; save it as UTF-8")
    text = _unbroken(header).decode(dialect.encoding, "sfumato.mark").removeprefix("\ufeff")
    if UNREADABLE in text:
        raise TableError(
            f"the header of {path} is not {dialect.encoding.upper()}; say how it is written: "
            "--csv-encoding latin-1, in Python encoding='latin-1'"
        )
    fields = dialect.split(text)
    if fields is None or (assumed and len(fields) == 1):
        _refuse_other_delimiter(text, dialect, path)
    if fields is None or "\r" in text or len(_unbroken(header)) > LONGEST_LINE:
        raise TableError(
            f"the header of {path} is not one line of names, with every quote closed; lines end in \\n or \\r\\n"
        )
    names = [field.strip(WHITESPACE) for field in fields]
    if "" in names:
        raise TableError(f"the header of {path} lacks a name; give every column one")
    if len(set(names)) < len(names):
        raise TableError(f"the header of {path} has a name twice; rename one of the columns")
    return names


def _refuse_other_delimiter(text: str, dialect: Dialect, path: Path) -> None:
    """Refuse a header that another delimiter would split."""
    for other in OTHER_DELIMITERS.replace(dialect.delimiter, ""):
        if len(replace(dialect, delimiter=other).split(text) or []) > 1:
            word = repr("tab" if other == "\t" else other)
            raise TableError(
                f"the header of {path} is separated by {word}, not by {dialect.delimiter!r}; say --delimiter {word}, "
                f"in Python sf.open_table(path, delimiter={word})"
            )


def _split_lines(block: bytes, dialect: Dialect) -> pa.LargeStringArray:
    """The lines of a block of whole lines."""
    if not block:  # a line that was too long stood alone in it
        return pa.array([], TEXT)
    block = _unbroken(block)
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    return pc.split_pattern(pa.array([dialect.decode(block)], TEXT), "\n").flatten()


def _without_blanks(lines: pa.LargeStringArray, dialect: Dialect) -> pa.LargeStringArray:
    """Blank lines are no rows; but where there is one column, a blank line is a row whose cell is missing."""
    blanks = WHITESPACE.replace(dialect.delimiter, "")
    return lines.filter(pc.not_equal(pc.utf8_trim(lines, characters=blanks), "").fill_null(True))


def _fields(lines: pa.LargeStringArray, dialect: Dialect, width: int) -> tuple[pa.LargeStringArray, pa.Array]:
    """All fields of all lines in one array, and where the fields of each line start: null for a bad line."""
    split = pc.split_pattern(lines, dialect.delimiter)
    fields = split.flatten()
    bounds = split.offsets.to_numpy()
    starts = bounds[:-1].astype(np.int64)
    good = np.diff(bounds) == width

    if dialect.quote and _may_hold(lines, dialect.quote):
        quoted = pc.match_substring(fields, dialect.quote)
        tricky = pc.and_not(quoted, pc.match_substring_regex(fields, dialect.wholly_quoted))
        fields = pc.utf8_trim(fields, characters=dialect.quote)
        places = np.flatnonzero(tricky.to_numpy(zero_copy_only=False))
        tricky_lines = np.unique(np.searchsorted(bounds, places, side="right") - 1)
        extra: list[str] = []
        for place, line in zip(tricky_lines, lines.take(pa.array(tricky_lines)).to_pylist(), strict=True):
            row = dialect.split(line)
            good[place] = row is not None and len(row) == width
            if row is not None and good[place]:
                starts[place] = len(fields) + len(extra)
                extra += row
        fields = pa.concat_arrays([fields, pa.array(extra, TEXT)])
    if _may_hold(lines, UNREADABLE):
        fields = pc.if_else(pc.match_substring(fields, UNREADABLE), None, fields)
    return fields, pa.array(starts, mask=~good)


def _may_hold(lines: pa.LargeStringArray, letter: str) -> bool:
    """Whether a letter is in the memory of some texts, which may be that of more: faster than to ask line by line."""
    memory = lines.buffers()[2]
    return memory is not None and letter.encode() in memory.to_pybytes()
