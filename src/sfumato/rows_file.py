"""Rows on disk or on stdout, in every format that can be read: streamed, and a file never half-written."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import OutputError
from sfumato.files import replacing
from sfumato.row_writers import FILES, STREAMS, Write, file_writer, stream_writer
from sfumato.tables.csv import COMPRESSIONS

STDOUT = "-"


def write_rows(
    batches: Iterable[pa.RecordBatch],
    path: str | Path,
    advance: Callable[[int], None] = lambda rows: None,
    kind: str | None = None,
) -> None:
    """Write batches of one schema, at least one of them.

    Args:
        batches: The rows.
        path: Where to write them; "-" is stdout.
        advance: Hears of every batch that is written.
        kind: The format, as names of such files end: `csv`, `csv.gz`, `parquet` and so on. By default what the path
            ends in; on stdout csv.

    Raises:
        OutputError: The format is none, or the rows cannot be written in it, or there.
        MissingExtraError: The format needs an extra that is not installed.
    """
    to_stdout = str(path) == STDOUT
    chosen, compression = _chosen(path, kind or ("csv" if to_stdout else None))
    stream = iter(batches)
    if to_stdout:
        first = next(stream)  # what is refused is refused before anything is printed
        with _printing(chosen, compression, first.schema) as write:
            _write_all(first, stream, write, advance)
        return
    with replacing(path) as temporary:
        first = next(stream)
        with _opened(temporary, chosen, compression, first.schema, Path(path).name) as write:
            _write_all(first, stream, write, advance)


def _write_all(
    first: pa.RecordBatch, others: Iterable[pa.RecordBatch], write: Write, advance: Callable[[int], None]
) -> None:
    write(first)
    advance(first.num_rows)
    for batch in others:
        write(batch)
        advance(batch.num_rows)


def _chosen(path: str | Path, kind: str | None) -> tuple[str, str | None]:
    """The format and the compression that a name ends in, or that somebody named."""
    name = Path(path if kind is None else f"rows.{kind}")
    compression = COMPRESSIONS.get(name.suffix.lower())
    found = (name if compression is None else Path(name.stem)).suffix.lower().removeprefix(".")
    if found in STREAMS or (found in FILES and compression is None):
        return found, compression
    known = ", ".join([*STREAMS, *(f"csv{end}" for end in COMPRESSIONS), *FILES])
    if kind is not None:
        raise OutputError(f"cannot write {kind!r}; formats are {known}")
    raise OutputError(f"cannot write {path}: give it a name that ends in one of {known}")


@contextmanager
def _opened(path: Path, kind: str, compression: str | None, schema: pa.Schema, name: str) -> Iterator[Write]:
    if kind in FILES:
        with file_writer(path, kind, schema, name.split(".")[0]) as write:
            yield write
        return
    with path.open("wb") as file, stream_writer(file, kind, compression, schema) as write:
        yield write


class _Stdout(io.RawIOBase):
    """Stdout for writers that close what they are given."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return sys.stdout.buffer.write(data)


@contextmanager
def _printing(kind: str, compression: str | None, schema: pa.Schema) -> Iterator[Write]:
    """Write to stdout: at once where a format is a stream, at the end where it is a file that has to be whole."""
    try:
        if kind in FILES:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, f"rows.{kind}")
                with _opened(path, kind, None, schema, path.name) as write:
                    yield write
                with path.open("rb") as file:
                    shutil.copyfileobj(file, sys.stdout.buffer)
        else:
            with stream_writer(_Stdout(), kind, compression, schema) as write:
                yield write
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # whoever read has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
