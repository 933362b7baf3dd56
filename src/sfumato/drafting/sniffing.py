"""How a CSV file is written: its delimiter and its encoding, where nobody said so."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.tables.csv import BLOCK_BYTES, COMPRESSIONS, DELIMITERS, OTHER_DELIMITERS, Dialect
from sfumato.tables.table import reading

SNIFFED_LINES = 50
LATIN = "latin-1"  # has a letter for every byte
WINDOWS = "cp1252"  # the same, but for quotes, dashes and the euro where Latin-1 has control characters
CONTROLS = bytes(range(0x80, 0xA0))


def sniff(path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a CSV file needs beside those that are given; just those for every other kind of file.

    Args:
        path: The file.
        given: Options that are known already.

    Returns:
        Options of `open_table`.

    Raises:
        TableError: There is no such file, or it cannot be decompressed.
        ArgumentError: The encoding that is given is none, or none in which lines can be read one by one.
    """
    suffix = path.suffix.lower()
    inner = Path(path.stem).suffix.lower()
    compression = COMPRESSIONS.get(suffix) if inner in DELIMITERS else None
    usual = DELIMITERS.get(inner if compression else suffix)
    if usual is None or path.is_dir():
        return dict(given)
    found = dict(given)
    if "encoding" not in given:
        with _opened(path, compression) as stream:
            encoding = _encoding(stream)
        found |= {} if encoding is None else {"encoding": encoding}
    if "delimiter" not in given:
        with _opened(path, compression) as stream:
            head = [stream.readline(BLOCK_BYTES) for _ in range(SNIFFED_LINES)]
        known = Dialect.of(usual, encoding=found.get("encoding", "utf-8")).encoding  # refuses what is no text
        lines = [line.decode(known, errors="replace").rstrip("\r\n") for line in head]
        delimiter = _delimiter([line for line in lines if line.strip()], usual, found.get("quote", '"'))
        found |= {} if delimiter == usual else {"delimiter": delimiter}
    return found


@contextmanager
def _opened(path: Path, compression: str | None) -> Iterator[Any]:
    with reading(path, "CSV"), path.open("rb") as file:
        yield file if compression is None else io.BufferedReader(pa.CompressedInputStream(file, compression))


def _encoding(stream: Any) -> str | None:
    """The encoding of a file; None where it is UTF-8. All of it is read: one accent may be far down."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_utf8, has_controls = True, False
    while block := stream.read(BLOCK_BYTES):
        if is_utf8:
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                is_utf8 = False
        has_controls |= len(block.translate(None, CONTROLS)) < len(block)
    return None if is_utf8 else WINDOWS if has_controls else LATIN


def _delimiter(lines: list[str], usual: str, quote: str) -> str:
    """What separates the fields: the usual thing, unless another one cuts all lines into as many parts."""
    if _width(lines, usual, quote) > 1:
        return usual
    widths = {other: _width(lines, other, quote) for other in OTHER_DELIMITERS if other != usual}
    best = max(widths, key=lambda other: widths[other])
    return best if widths[best] > 1 else usual


def _width(lines: list[str], delimiter: str, quote: str) -> int:
    """Into how many fields a delimiter cuts the header, and at least half of the lines; 0 where it does not."""
    widths = [len(fields) for line in lines if (fields := Dialect.of(delimiter, quote).split(line)) is not None]
    return widths[0] if widths and 2 * widths.count(widths[0]) >= len(lines) else 0
