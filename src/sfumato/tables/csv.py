"""Delimited text, line by line.

One record is one physical line. A quoted field may hold delimiters and doubled quotes but no line
break: otherwise one stray quote in one person's row would swallow the next person's row. So a line's
cells depend on nothing but its own bytes and the header:

- a line that is ragged, malformed or not UTF-8 is a row of nulls;
- a line that is empty or holds only white space is no row;
- every other cell is text, as it stands between its delimiters.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.errors import TableError
from sfumato.tables.cells import TEXT, bytes_text
from sfumato.tables.table import Table, reading
from sfumato.text import WHITESPACE

BLOCK_BYTES = 2**22
QUOTE = '"'
WHOLLY_QUOTED = '^"[^"]*"$'  # a field that reads the same by trimming its quotes
_QUOTED = re.compile('"([^"]*(?:""[^"]*)*)"')
MALFORMED = QUOTE  # stands for a line that cannot be decoded: a quoted field that never ends


class CsvTable(Table):
    """A file of delimited text with a header line, in UTF-8."""

    def __init__(self, path: Path, delimiter: str) -> None:
        self._path = path
        self._delimiter = delimiter
        with reading(path, "CSV"), path.open("rb") as file:
            header = file.readline()
        super().__init__(str(path), _header_names(header, delimiter, path))

    def _hint(self) -> str:
        # Without a header the first line is somebody's row, so its fields are not repeated.
        return "is the first line a header with that name?"

    def _type(self, place: int) -> pa.DataType:
        return TEXT

    def _blocks(self, places: list[int]) -> Iterator[tuple[float, pa.RecordBatch]]:
        names = [self.names[place] for place in places]
        with reading(self._path, "CSV"), self._path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.readline()
            while block := file.read(BLOCK_BYTES):
                block += file.readline()
                fields, starts = _fields(_lines(block, self._delimiter), self._delimiter, len(self.names))
                columns = [fields.take(pc.add(starts, place)) for place in places]
                yield min(1.0, file.tell() / size), pa.RecordBatch.from_arrays(columns, names)


def _header_names(header: bytes, delimiter: str, path: Path) -> list[str]:
    if not header:
        raise TableError(f"{path} is empty; its first line must name the columns")
    try:
        text = header.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TableError(f"the header of {path} is not UTF-8; convert the file") from None
    text = text.removesuffix("\n").removesuffix("\r")
    fields = _split_quoted(text, delimiter)
    if fields is None or "\r" in text:
        raise TableError(f"the header of {path} is not a line of delimited names; lines end in \\n or \\r\\n")
    names = [field.strip(WHITESPACE) for field in fields]
    if "" in names:
        raise TableError(f"the header of {path} lacks a name; give every column one")
    if len(set(names)) < len(names):
        raise TableError(f"the header of {path} has a name twice; rename one of the columns")
    return names


def _lines(block: bytes, delimiter: str) -> pa.LargeStringArray:
    """The lines of a block of whole lines that are not blank."""
    if b"\r" in block:
        block = block.removesuffix(b"\r").replace(b"\r\n", b"\n")
    block = block.removesuffix(b"\n")
    text = bytes_text(block)
    if text is None:
        decoded = (bytes_text(line) for line in block.split(b"\n"))
        text = "\n".join(MALFORMED if line is None else line for line in decoded)
    lines = pc.split_pattern(pa.array([text], TEXT), "\n").flatten()
    blanks = WHITESPACE.replace(delimiter, "")
    return lines.filter(pc.not_equal(pc.utf8_trim(lines, characters=blanks), ""))


def _fields(lines: pa.LargeStringArray, delimiter: str, width: int) -> tuple[pa.LargeStringArray, pa.Array]:
    """All fields of all lines in one array, and where the fields of each line start: null for a bad line."""
    split = pc.split_pattern(lines, delimiter)
    fields = split.flatten()
    bounds = split.offsets.to_numpy()
    starts = bounds[:-1].astype(np.int64)
    good = np.diff(bounds) == width

    if pc.any(pc.match_substring(lines, QUOTE)).as_py():
        quoted = pc.match_substring(fields, QUOTE)
        tricky = pc.and_not(quoted, pc.match_substring_regex(fields, WHOLLY_QUOTED))
        fields = pc.utf8_trim(fields, characters=QUOTE)
        places = np.flatnonzero(tricky.to_numpy(zero_copy_only=False))
        tricky_lines = np.unique(np.searchsorted(bounds, places, side="right") - 1)
        extra: list[str] = []
        for place, line in zip(tricky_lines, lines.take(pa.array(tricky_lines)).to_pylist(), strict=True):
            row = _split_quoted(line, delimiter)
            good[place] = row is not None and len(row) == width
            if row is not None and good[place]:
                starts[place] = len(fields) + len(extra)
                extra += row
        fields = pa.concat_arrays([fields, pa.array(extra, TEXT)])
    return fields, pa.array(starts, mask=~good)


def _split_quoted(line: str, delimiter: str) -> list[str] | None:
    """The fields of one line by the rules of quoting, or None if it breaks them.

    >>> _split_quoted('1,"a ""b"", c"', ","), _split_quoted('1,"a', ",")
    (['1', 'a "b", c'], None)
    """
    fields: list[str] = []
    start = 0
    while True:
        if line.startswith(QUOTE, start):
            quoted = _QUOTED.match(line, start)
            if quoted is None:
                return None
            end = quoted.end()
            fields.append(quoted[1].replace(QUOTE * 2, QUOTE))
        else:
            end = line.find(delimiter, start)
            end = len(line) if end < 0 else end
            fields.append(line[start:end])
        if end == len(line):
            return fields
        if line[end] != delimiter:
            return None
        start = end + 1
