"""Delimited text, line by line.

One record is one physical line. A quoted field may hold delimiters and doubled quotes but no line
break: otherwise one stray quote in one person's row would swallow the next person's row. So a line's
cells depend on nothing but its own bytes and the header:

- a line that is ragged, malformed or undecodable is a row of nulls;
- a line that is empty or holds only white space is no row;
- every other cell is text, as it stands between its delimiters.

For the same reason an encoding must be one in which a byte of one line cannot change the next: ASCII
reads as itself and nothing swallows a line break. UTF-16 is none, and is refused.
"""

import codecs
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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

# Every ASCII character, and what escapes or shifts in the encodings that have such things.
ASCII_PROBE = bytes(range(128)) + rb"\u000a \n ~{ ~} +AAo- .xn--tda." + b"\x1b$B!! \x0e!!\x0f ~\n"


@dataclass(frozen=True)
class Dialect:
    """How fields are written: what separates them, what quotes them ("" for nothing), in which encoding."""

    delimiter: str
    quote: str
    encoding: str

    @classmethod
    def of(cls, delimiter: str, quote: str = '"', encoding: str = "utf-8") -> "Dialect":
        """Check the arguments of a user."""
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

    def decode(self, line: bytes) -> str | None:
        """The text of some bytes, or None."""
        try:
            return line.decode(self.encoding)
        except UnicodeDecodeError:
            return None

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
    """A file of delimited text with a header line, compressed or not."""

    def __init__(self, path: Path, dialect: Dialect, compression: str | None = None) -> None:
        self._path = path
        self._dialect = dialect
        self._compression = compression
        with self._open() as (_, lines):
            header = lines.readline(LONGEST_LINE + len(b"\r\n"))
        if len(_unbroken(header)) > LONGEST_LINE:
            raise TableError(f"the header of {path} is not a line of delimited names; lines end in \\n or \\r\\n")
        super().__init__(str(path), _header_names(header, dialect, path))

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
        with self._open() as (file, lines):
            size = os.fstat(file.fileno()).st_size
            lines.readline()
            while block := lines.read(BLOCK_BYTES):
                block, is_cut = _whole_lines(block, lines)
                found = _lines(block, self._dialect, keep_blank=len(self.names) == 1)
                if is_cut:
                    found = pa.concat_arrays([found, pa.nulls(1, TEXT)])
                fields, starts = _fields(found, self._dialect, len(self.names))
                columns = [fields.take(pc.add(starts, place)) for place in places]
                yield min(1.0, file.tell() / size), pa.RecordBatch.from_arrays(columns, names)


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


def _header_names(header: bytes, dialect: Dialect, path: Path) -> list[str]:
    if not header:
        raise TableError(f"{path} is empty; its first line must name the columns")
    text = dialect.decode(header)
    if text is None:
        raise TableError(f"the header of {path} is not {dialect.encoding.upper()}; give the file's encoding=")
    text = text.removeprefix("\ufeff").removesuffix("\n").removesuffix("\r")
    fields = dialect.split(text)
    if fields is None or "\r" in text:
        raise TableError(f"the header of {path} is not a line of delimited names; lines end in \\n or \\r\\n")
    names = [field.strip(WHITESPACE) for field in fields]
    if "" in names:
        raise TableError(f"the header of {path} lacks a name; give every column one")
    if len(set(names)) < len(names):
        raise TableError(f"the header of {path} has a name twice; rename one of the columns")
    return names


def _lines(block: bytes, dialect: Dialect, keep_blank: bool = False) -> pa.LargeStringArray:
    """The lines of a block of whole lines; null for one that cannot be decoded.

    Blank lines are no rows, but for `keep_blank`: where there is one column, a blank line is a row whose cell is
    missing.
    """
    if not block:  # a line that was too long stood alone in it
        return pa.array([], TEXT)
    block = _unbroken(block)
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    text = dialect.decode(block)
    if text is None:
        lines = pa.array([dialect.decode(line) for line in block.split(b"\n")], TEXT)
    else:
        lines = pc.split_pattern(pa.array([text], TEXT), "\n").flatten()
    if keep_blank:
        return lines
    blanks = WHITESPACE.replace(dialect.delimiter, "")
    return lines.filter(pc.not_equal(pc.utf8_trim(lines, characters=blanks), "").fill_null(True))


def _fields(lines: pa.LargeStringArray, dialect: Dialect, width: int) -> tuple[pa.LargeStringArray, pa.Array]:
    """All fields of all lines in one array, and where the fields of each line start: null for a bad line."""
    split = pc.split_pattern(lines, dialect.delimiter)
    fields = split.flatten()
    bounds = split.offsets.to_numpy()
    starts = bounds[:-1].astype(np.int64)
    good = np.diff(bounds) == width

    if dialect.quote and pc.any(pc.match_substring(lines, dialect.quote)).as_py():
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
    return fields, pa.array(starts, mask=~good)
