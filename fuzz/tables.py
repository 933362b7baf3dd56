"""Tables: files of every kind that `open_table` reads, then a fit of them.

The first byte of a case says what kind of file the rest is; the second, for CSV, in which dialect it is read. Where
a kind ends in `!`, the rest is packed by a sound compressor first, so that atheris reaches what a checksum would hide.
For plain CSV there is one more demand, the privacy of errors: whatever the rows are, the answer is that of the header
alone.
"""

from __future__ import annotations

import bz2
import gzip
import io
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
from hypothesis import strategies as st

import sfumato as sf
from fuzz.harness import FaultFound, Target, edited, scratch
from sfumato.errors import SfumatoError
from sfumato.tables import open_table

SCHEMA = sf.Schema.of(
    {
        "label": "y",
        "columns": {
            "x": {"type": "number", "min": 0, "max": 9, "step": 1},
            "c": {"type": "category", "values": ["a", "b", 1], "missing": True},
            "d": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 4},
            "y": {"type": "category", "values": ["no", "yes"]},
        },
    }
)
BY_UNIT = sf.Schema.of(SCHEMA.dump() | {"unit": {"column": "who", "rows": 2}})
KINDS = [".csv", ".csv", ".tsv", ".csv.gz", ".csv.gz!", ".csv.zst", ".csv.zst!", ".csv.bz2", ".csv.bz2!"]
KINDS += [".parquet", ".arrow", ".feather", ".duckdb"]
CSV, PARQUET, ARROW, FEATHER, DUCKDB = (
    KINDS.index(kind) for kind in (".csv", ".parquet", ".arrow", ".feather", ".duckdb")
)
DIALECTS: list[dict[str, str]] = [
    {},
    {"delimiter": ";"},
    {"delimiter": "\t", "quote": ""},
    {"delimiter": " ", "quote": "'"},
    {"encoding": "latin-1"},
    {"encoding": "utf-8-sig"},
    {"encoding": "cp1252", "delimiter": "\x01"},
    {"delimiter": "€", "quote": "ü"},
    {"encoding": "shift_jis"},
    {"encoding": "koi8-r", "delimiter": "|"},
]
PACKERS: dict[str, Any] = {
    ".gz": lambda content: gzip.compress(content, 1),
    ".bz2": bz2.compress,
    ".zst": lambda content: pa.compress(content, "zstd", asbytes=True),
}


def run(data: bytes) -> None:
    """Open a table and release it."""
    kind = KINDS[data[0] % len(KINDS)] if data else KINDS[0]
    dialect = DIALECTS[data[1] % len(DIALECTS)] if data[1:] and kind.startswith((".csv", ".tsv")) else {}
    content = data[2:]
    path = scratch("tables") / f"case{kind.removesuffix('!')}"
    said = _answer(path, _packed(kind, content), dialect)
    if kind in (".csv", ".tsv") and said != _answer(path, content.partition(b"\n")[0] + b"\n", dialect) and content:
        raise FaultFound(f"what rows hold changed the answer to {said}")
    if isinstance(said, SfumatoError):
        raise said


class _Said(SfumatoError):
    """An answer that can be compared."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Said) and str(self) == str(other)

    __hash__ = SfumatoError.__hash__


def _answer(path: Path, content: bytes, dialect: dict[str, str]) -> _Said | None:
    path.write_bytes(content)
    try:
        table = open_table(path, **dialect)
        schema = BY_UNIT if "who" in table.names else SCHEMA
        sf.fit(table, schema, epsilon=1, delta=1e-6, engine=sf.Local(workers=1))
    except SfumatoError as error:
        return _Said(str(error))
    return None


def _packed(kind: str, content: bytes) -> bytes:
    return PACKERS[Path(kind.removesuffix("!")).suffix](content) if kind.endswith("!") else content


COLUMNS: dict[str, list[Any]] = {
    "x": ["1", "9.5", None, "nan", "1e9"],
    "c": ["a", "b", "", "1.0", "z"],
    "d": ["2020-02-02", None, "2020-13-01", "2020-05-05T12:00:00Z", "x"],
    "y": ["yes", "no", "no", "yes", ""],
}
WRITINGS: list[dict[str, Any]] = [
    {"compression": "none"},
    {"compression": "none", "use_dictionary": False, "data_page_version": "2.0"},
    {"compression": "snappy"},
    {"compression": "zstd", "version": "1.0"},
    {"compression": "gzip", "write_page_checksum": True},
    {"compression": "none", "use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"},
    {"compression": "none", "data_page_size": 8, "row_group_size": 2},
]


def typed(kind: str) -> pa.Table:
    """The same few rows in other stored types."""
    table = pa.table(COLUMNS)
    if kind == "dictionary":
        return pa.table({name: pa.array(cells).dictionary_encode() for name, cells in COLUMNS.items()})
    if kind == "native":
        day = pa.array([18294, None, 0, 10**6, -(10**6)], pa.int32()).cast(pa.date32())
        stamp = pa.array([10**15, None, 0, -(2**62), 2**62], pa.timestamp("us", "UTC"))
        numbers = pa.array([1.5, float("nan"), None, 1e300, -0.0])
        return pa.table(
            {"x": numbers, "c": pa.array([1, 2, None, 3, 1], pa.int8()), "d": day, "y": COLUMNS["y"], "t": stamp}
        )
    if kind == "views":
        return pa.table({name: pa.array(cells, pa.string_view()) for name, cells in COLUMNS.items()})
    if kind == "units":
        return table.append_column("who", pa.array(["p", "p", "p", "q", None]))
    if kind == "decimal":
        cells = pa.array([1, 2, None, 3, 4]).cast(pa.decimal128(30, 3))
        return table.set_column(0, "x", cells).append_column("n", pa.array([[1], None, [], [2, 3], [4]]))
    return table


TYPES = ["text", "dictionary", "native", "views", "units", "decimal"]


def parquet(table: pa.Table, **options: Any) -> bytes:
    """A table as the bytes of a Parquet file."""
    stream = io.BytesIO()
    pq.write_table(table, stream, **options)
    return stream.getvalue()


def arrow(table: pa.Table, as_stream: bool = False, compression: str | None = None) -> bytes:
    """A table as the bytes of an Arrow file or stream."""
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with (pa.ipc.new_stream if as_stream else pa.ipc.new_file)(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def csv(delimiter: str = ",") -> bytes:
    """The example rows as CSV."""
    rows = zip(*COLUMNS.values(), strict=True)
    lines = [
        delimiter.join(COLUMNS),
        *(delimiter.join(cell or "" for cell in row) for row in rows),
        f'"1"{delimiter}"a""b"',
    ]
    return "\n".join(lines).encode()


@cache
def _good() -> tuple[tuple[int, bytes], ...]:
    """Sound files: the place of the kind, and the content."""
    found = [(PARQUET, parquet(typed(kind), **WRITINGS[0])) for kind in TYPES]
    found += [(PARQUET, parquet(typed("text"), **options)) for options in WRITINGS]
    found += [(ARROW, arrow(typed(kind), as_stream)) for kind in TYPES for as_stream in (False, True)]
    found += [(FEATHER, arrow(typed("text"), compression="lz4")), (FEATHER, arrow(typed("text"), compression="zstd"))]
    return tuple(found)


@cache
def duckdb_file() -> bytes:
    """The example rows as the bytes of a DuckDB file."""
    import duckdb

    path = scratch("tables") / "good.duckdb"
    path.unlink(missing_ok=True)
    rows = pa.table(COLUMNS)
    with duckdb.connect(path) as connection:
        connection.register("rows", rows)
        connection.execute("CREATE TABLE t AS SELECT * FROM rows")
    return path.read_bytes()


def seeds() -> list[bytes]:
    found = [bytes([place, 0]) + content for place, content in _good()]
    found += [bytes([place, 0]) + csv() for place, kind in enumerate(KINDS) if kind in (".csv", ".tsv") or "!" in kind]
    found += [
        bytes([KINDS.index(kind), 0]) + _packed(f"{kind}!", csv()) for kind in (".csv.gz", ".csv.zst", ".csv.bz2")
    ]
    return found + [bytes([CSV, place]) + csv(d.get("delimiter", ",")) for place, d in enumerate(DIALECTS)]


cells = st.one_of(
    st.sampled_from(
        ["1", "9", "a", "b", "yes", "no", "2020-02-02", "", " ", '"', '""', '"a"', "\0", "\r", "\x1a", "nan", "1e999"]
    ),
    st.text(max_size=5),
    st.sampled_from(["9" * 400, "-inf", "0x1", "\ufeff", "\u2028", "\ud800", '"a,b"', '"a', 'a"b', "'", "é"]),
)
headers = st.one_of(
    st.just(["x", "c", "d", "y"]),
    st.just(["x", "c", "d", "y"]),
    st.permutations(["x", "c", "d", "y", "who"]),
    st.lists(st.sampled_from(["x", "c", "d", "y", "x", "", "\ufeffx", "a\rb", '"x"', "x\x1b[1m"]) | cells, max_size=6),
)
breaks = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", "\n\n", "\0", "\n\r"])


@st.composite
def csv_cases(draw: Any) -> bytes:
    """Delimited text with odd cells, quotes, line breaks and encodings, compressed or not, damaged or not."""
    place, dialect = draw(st.integers(0, PARQUET - 1)), draw(st.integers(0, len(DIALECTS) - 1))
    said = DIALECTS[dialect]
    delimiter, line_break = said.get("delimiter", ","), draw(breaks)
    rows = [
        draw(headers),
        *draw(st.lists(st.lists(cells, min_size=4, max_size=4) | st.lists(cells, max_size=6), max_size=6)),
    ]
    encoding = draw(st.sampled_from([said.get("encoding", "utf-8"), "utf-8", "utf-16", "latin-1"]))
    errors = "surrogatepass" if encoding.startswith("utf") else "replace"
    text = line_break.join(delimiter.join(row) for row in rows)
    content = text.encode(encoding, "replace" if encoding == "utf-8-sig" else errors)
    if draw(st.integers(0, 2)) == 0:
        content = edited(draw, content)
    kind = KINDS[place]
    if kind.count(".") == 2 and not kind.endswith("!"):
        content = edited(draw, _packed(f"{kind}!", content))
    return bytes([place, dialect]) + content


@st.composite
def file_cases(draw: Any) -> bytes:
    """A Parquet or Arrow file with some of its bytes changed."""
    place, content = draw(st.sampled_from(_good()))
    return bytes([place, 0]) + edited(draw, content)


def cases() -> st.SearchStrategy[bytes]:
    return st.one_of(csv_cases(), file_cases())


TARGET = Target("tables", run, seeds, cases, longest=1 << 14)
