"""From a raw table to a total: one odd row changes no other row's codes, and no total by more than its share."""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.examples import some
from tests.private.queries.helpers import seen_in, told, told_by

from sfumato.mechanisms.questions import (
    around,
    cells_at,
    label_gradient,
    label_model,
    latent_space,
    score_image,
    wave_image,
)
from sfumato.private.accounting import Adjacency
from sfumato.private.engines.local import LocalEngine
from sfumato.private.queries.base import Batch, Query
from sfumato.private.queries.group_sums import GroupSums, Latent
from sfumato.private.queries.histograms import Histograms
from sfumato.private.source import Source
from sfumato.private.units import Units
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema
from sfumato.tables import Table, open_table

SCHEMA = Schema.parse("""
label: ill
columns:
  age: {type: number, min: 0, max: 100, step: 1}
  dose: {type: number, min: -1, max: 10, bins: 7, atoms: [0, 1.5], missing: true}
  code: {type: category, values: ["1", "01", "1.5", "true"]}
  ward: {type: category, values: [north, south], missing: true}
  seen: {type: date, min: 2020-01-01, max: 2020-12-31}
  ill: {type: category, values: ["1", "0"]}
""")
LAYOUT = Layout.of(SCHEMA)
WITH_UNIT = Layout.of(Schema.of(SCHEMA.dump() | {"unit": {"column": "who", "rows": 1}}))
NAMES = tuple(SCHEMA.columns)

Coded = list[tuple[int, ...]]  # one tuple a counted row: its class and its codes
Build = Callable[[list[Any]], Table]  # from rows to a table


def coded(table: Table) -> Coded:
    found: Coded = []
    source = Source(table, LAYOUT)
    for batch in source.choose(job() for job in source.jobs()):
        found += zip(batch.labels.tolist(), *batch.codes.tolist(), strict=True)
    return found


def queries() -> list[Query]:
    rng = np.random.default_rng(2)
    columns = len(LAYOUT.names)
    tables = [[rng.normal(scale=4.0, size=size) for size in LAYOUT.sizes] for _ in range(2)]
    maps = [rng.normal(size=(columns, columns)) for _ in range(2)]
    cells = cells_at(score_image(tables), [rng.normal(scale=4.0, size=(size, columns)) for size in (3, 2)])
    parted = latent_space(around(cells), [3.0, 1.0, 9.0, 2.0, 5.0], cells=cells)
    waves = wave_image(score_image(tables), rng.normal(size=(6, columns)))
    asked: list[Query] = [
        Histograms(LAYOUT.sizes, 2, (1 / columns,) * columns),
        GroupSums(latent_space(score_image(tables), [3.0, 1.0], maps), (0.1, 0.5, 0.4), "outer"),
        GroupSums(parted, (0.1, 0.5, 0.4), "outer"),
        GroupSums(parted, (0.3, 0.7)),
        label_gradient(label_model(np.array([-0.4]), tables[:1]), tables[1:], 5.0),
        GroupSums(Latent(waves, (waves.longest,) * 2), (0.2, 0.8)),
    ]
    return [seen_in(LAYOUT, query) for query in asked]


QUERIES = queries()


def totals(table: Table) -> list[NDArray[np.int64]]:
    engine = LocalEngine(Source(table, LAYOUT), 1)
    return [told_by(engine, query) for query in QUERIES]


def check_alone(build: Build, base: list[Any], odd: Any, at: int) -> None:
    """The odd row's codes are those it has by itself, and the others keep theirs."""
    before, after = base[:at], base[at:]
    together, without = build([*before, odd, *after]), build(base)
    assert coded(together) == coded(build(before)) + coded(build([odd])) + coded(build(after))
    for query, new, old in zip(QUERIES, totals(together), totals(without), strict=True):
        moved = float(np.linalg.norm(query.weights * (new - old)))
        assert moved <= query.reach.sensitivity(Adjacency.ADD_REMOVE)


SANE: dict[str, list[str]] = {
    "age": ["0", "39", "39.0", "100", "007", "1e1"],
    "dose": ["0", "0.0", "1.5", "-1", "9.99", ""],
    "code": ["1", "01", "1.0", "1.5", "TRUE"],
    "ward": ["north", " south ", "", "east"],
    "seen": ["2020-01-01", "2020-12-31", "2020-02-29 23:59", "2019-01-01"],
    "ill": ["1", "0", "1.0"],
}
ODD = [
    "twelve",
    "",
    " ",
    "9" * 400,
    "1" + "0" * 30,
    "nan",
    "inf",
    "-Infinity",
    "-0.0",
    "1e400",
    "5e-324",
    "0x1p3",
    "1_000",
    "1,5",
    "２",
    "\x00",
    "\ufeff1",
    "\u2028",
    "a\rb",
    '"',
    '1"',
    "2020-02-30",
    "0000-00-00",
    "null",
    "None",
    "\U0001f600",
    "-" * 70_000,
]

row_of_text = st.tuples(*(st.sampled_from(SANE[name]) for name in NAMES))
bases = st.lists(row_of_text, max_size=8)
odd_text = st.one_of(st.sampled_from(ODD), st.text(max_size=8))


@st.composite
def with_odd_cell(draw: st.DrawFn, odd: st.SearchStrategy[Any]) -> tuple[list[Any], Any, int]:
    base = draw(bases)
    row = list(draw(row_of_text))
    row[draw(st.integers(0, len(row) - 1))] = draw(odd)
    return base, tuple(row), draw(st.integers(0, len(base)))


relaxed = settings(deadline=None, max_examples=some(60), suppress_health_check=[HealthCheck.function_scoped_fixture])


_serial = itertools.count()


def next_path(folder: Path, suffix: str) -> Path:
    """A table is read when it is used, so no two may share a file."""
    return folder / f"{next(_serial)}.{suffix}"


# CSV: rows are lines of bytes


def line_of(cells: tuple[str, ...]) -> bytes:
    return ",".join(f'"{cell}"' if set(cell) & {",", '"'} else cell for cell in cells).encode()


def csv_table(folder: Path) -> Build:
    def build(lines: list[bytes]) -> Table:
        path = next_path(folder, "csv")
        path.write_bytes(b"".join(line + b"\n" for line in [",".join(NAMES).encode(), *lines]))
        return open_table(path)

    return build


odd_bytes = st.binary(max_size=40).filter(lambda line: b"\n" not in line)
odd_line = st.one_of(
    odd_bytes,
    odd_bytes.map(lambda cell: b"39," + cell + b",1,north,2020-01-01,1"),
    st.lists(st.sampled_from([b'"', b",", b"1", b"\xff", b"\r", b" ", b'""', b"north"]), max_size=14).map(b"".join),
    st.sampled_from(
        [
            b"",
            b"39,0,1,north,2020-01-01",  # ragged: too short
            b"39,0,1,north,2020-01-01,1,1",
            b'39,"0,1,north,2020-01-01,1',  # a quote that never closes
            b'39,0,"1,north,2020-01-01,1',
            b"39,0,1,nor\xffth,2020-01-01,1",
            b"\xff\xfe",
            b"39,0,1,north,2020-01-01,1\r",
            b"39,0,1,no\rrth,2020-01-01,1",
        ]
    ),
)


@relaxed
@given(bases, odd_line, st.data())
def test_any_line_of_bytes_stands_alone(
    tmp_path: Path, base: list[tuple[str, ...]], odd: bytes, data: st.DataObject
) -> None:
    lines = [line_of(row) for row in base]
    check_alone(csv_table(tmp_path), lines, odd, data.draw(st.integers(0, len(lines))))


@relaxed
@given(with_odd_cell(odd_text.filter(lambda text: "\n" not in text)))
def test_an_odd_cell_of_a_csv_file_stands_alone(
    tmp_path: Path, case: tuple[list[tuple[str, ...]], tuple[str, ...], int]
) -> None:
    base, odd, at = case
    line = ",".join(odd).encode("utf-8", "surrogatepass")  # unquoted: a comma or a quote makes it ragged
    check_alone(csv_table(tmp_path), [line_of(row) for row in base], line, at)


# Parquet and Arrow: text, bytes and floats


def arrow_texts(rows: list[tuple[str | None, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(NAMES)
    return pa.table({name: pa.array(cells, pa.string()) for name, cells in zip(NAMES, columns, strict=True)})


def parquet_table(folder: Path) -> Build:
    def build(rows: list[tuple[str | None, ...]]) -> Table:
        path = next_path(folder, "parquet")
        pq.write_table(arrow_texts(rows), path, row_group_size=3)
        return open_table(path)

    return build


@relaxed
@given(with_odd_cell(st.one_of(st.none(), odd_text.filter(lambda text: text.isprintable()))))
def test_an_odd_cell_of_a_parquet_file_stands_alone(
    tmp_path: Path, case: tuple[list[tuple[str, ...]], tuple[str | None, ...], int]
) -> None:
    check_alone(parquet_table(tmp_path), *case)


def bytes_table(rows: list[tuple[Any, ...]]) -> Table:
    """Stored bytes, as a Parquet file of another writer may have them: nothing says they are UTF-8."""
    stored = [[cell.encode() if isinstance(cell, str) else cell for cell in row] for row in rows]
    columns = list(zip(*stored, strict=True)) if rows else [()] * len(NAMES)
    return open_table(pa.table({n: pa.array(c, pa.binary()) for n, c in zip(NAMES, columns, strict=True)}))


@pytest.mark.slow
@relaxed
@given(with_odd_cell(st.one_of(st.none(), st.binary(max_size=6), st.just(b"\xff"))))
def test_an_odd_cell_of_bytes_stands_alone(case: tuple[list[Any], Any, int]) -> None:
    check_alone(bytes_table, *case)


def float_table(folder: Path) -> Build:
    def build(rows: list[tuple[float, float, str]]) -> Table:
        text = {"code": "1", "ward": "north", "seen": "2020-05-05"}
        arrow = {
            "age": pa.array([row[0] for row in rows], pa.float64()),
            "dose": pa.array([row[1] for row in rows], pa.float64()),
            "ill": pa.array([row[2] for row in rows], pa.string()),
            **{name: pa.array([cell] * len(rows), pa.string()) for name, cell in text.items()},
        }
        path = next_path(folder, "parquet")
        pq.write_table(pa.table(arrow), path)
        return open_table(path)

    return build


any_float = st.one_of(
    st.floats(), st.sampled_from([-0.0, math.inf, -math.inf, math.nan, 5e-324, 1.5, math.nextafter(1.5, 2)])
)
float_row = st.tuples(any_float, any_float, st.sampled_from(["1", "0"]))


@relaxed
@given(st.lists(float_row, max_size=8), float_row, st.data())
def test_an_odd_float_stands_alone(tmp_path: Path, base: list[Any], odd: Any, data: st.DataObject) -> None:
    check_alone(float_table(tmp_path), base, odd, data.draw(st.integers(0, len(base))))


# pandas: columns of objects, where anything may turn up


class Spiteful:
    """An object that would raise if anyone looked at it."""

    def __str__(self) -> str:
        raise RuntimeError("looked at")

    __repr__ = __float__ = __bool__ = __len__ = __eq__ = __hash__ = __str__  # type: ignore[assignment]


OBJECTS = [
    None,
    math.nan,
    math.inf,
    -math.inf,
    -0.0,
    10**400,
    -(10**30),
    2**63,
    True,
    1,
    1.0,
    np.int8(1),
    np.float32(1.5),
    Decimal("1.50"),
    Decimal("NaN"),
    Decimal("-Infinity"),
    Decimal("1e999999"),
    pd.NaT,
    pd.NA,
    pd.Timestamp("2020-05-05"),
    np.datetime64("2020-05-05"),
    np.datetime64("NaT"),
    b"1",
    b"\xff",
    "\ud800",
    [1],
    {"a": 1},
    (1, 2),
    {1},
    1 + 2j,
    np.array([1, 2]),
    Spiteful(),
]


def object_frame(rows: list[tuple[Any, ...]]) -> Table:
    columns: dict[str, pd.Series] = {}
    for c, name in enumerate(NAMES):
        cells = np.empty(len(rows), dtype=object)
        for i, row in enumerate(rows):
            cells[i] = row[c]
        columns[name] = pd.Series(cells, dtype=object)
    return open_table(pd.DataFrame(columns))


@pytest.mark.every(4)
@pytest.mark.parametrize("odd", OBJECTS, ids=lambda odd: type(odd).__name__)
def test_an_odd_object_stands_alone(odd: object) -> None:
    base = [tuple(SANE[name][i] for name in NAMES) for i in range(3)]
    for place in range(len(NAMES)):
        row: list[Any] = list(base[0])
        row[place] = odd
        check_alone(object_frame, base, tuple(row), 1)


@pytest.mark.slow
@relaxed
@given(with_odd_cell(st.one_of(odd_text, st.integers(), st.floats(), st.binary(max_size=4))))
def test_an_odd_cell_of_a_frame_stands_alone(case: tuple[list[Any], Any, int]) -> None:
    check_alone(object_frame, *case)


# What an odd cell means


@pytest.mark.parametrize(
    ("column", "cell", "code"),
    [
        ("age", "twelve", -1),
        ("age", "", -1),
        ("age", "nan", -1),
        ("age", "inf", 100),
        ("age", "-inf", 0),
        ("age", "9" * 400, 100),
        ("age", "-0.0", 0),
        ("dose", "twelve", LAYOUT.cells[1] - 1),
        ("dose", "-0.0", LAYOUT.bins[1].cell(np.zeros(1))[0]),  # type: ignore[union-attr]
        ("code", "1.0", 0),
        ("code", "01", 1),
        ("code", "2", -1),
        ("ward", "east", 2),
        ("seen", "2020-02-30", -1),
        ("seen", "1999-01-01", 0),
    ],
)
def test_odd_cells_clamp_go_missing_or_go_nowhere(column: str, cell: str, code: int) -> None:
    row = ["39", "0", "1", "north", "2020-01-01", "0"]
    row[NAMES.index(column)] = cell
    ((label, *codes),) = coded(object_frame([tuple(row)]))
    assert label == 1
    assert codes[NAMES.index(column)] == code


@pytest.mark.parametrize("label", ["2", "", "yes", "nan", "01"])
def test_a_row_of_a_bad_label_counts_nowhere(label: str) -> None:
    table = object_frame([("39", "0", "1", "north", "2020-01-01", label)])
    assert coded(table) == []
    assert all(not total.any() for total in totals(table))


@pytest.mark.parametrize(
    "line", ["39,0,1,north,2020-01-01,1,1", "39,0,1,north,2020-01-01", '39,"0,1,north,2020-01-01,1']
)
def test_a_ragged_line_counts_nowhere(line: str, tmp_path: Path) -> None:
    good = "39,0,1,north,2020-01-01,1"
    assert len(coded(csv_table(tmp_path)([good.encode()]))) == 1
    assert coded(csv_table(tmp_path)([line.encode()])) == []


# A unit of several rows: what counts of it depends on its rows alone


@pytest.mark.slow
@relaxed
@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", ""]), row_of_text), max_size=10),
    st.lists(row_of_text, max_size=6),
    st.integers(1, 3),
    st.integers(0, 2**32 - 1),
)
def test_a_unit_more_moves_totals_by_its_share_and_no_other_unit(
    base: list[tuple[str, tuple[str, ...]]], added: list[tuple[str, ...]], rows: int, seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(len(base) + len(added))
    together = [[*base, *(("new", row) for row in added)][i] for i in order]
    without, alone = chosen(base, rows), chosen([("new", row) for row in added], rows)
    assert sorted(chosen(together, rows)) == sorted([*without, *alone])
    assert len(alone) <= rows
    for query in QUERIES:
        moved = sum_of(query, chosen(together, rows)) - sum_of(query, without)
        reach = query.reach.sensitivity(Adjacency.ADD_REMOVE, rows)
        assert float(np.linalg.norm(query.weights * moved)) <= reach


def chosen(rows: list[tuple[str, tuple[str, ...]]], most: int) -> Coded:
    """The rows that count, by a fixed key, whatever their order."""
    columns = zip(*(cells for _, cells in rows), strict=True) if rows else [()] * len(NAMES)
    table = pa.table(
        {"who": pa.array([who for who, _ in rows], pa.string())}
        | {name: pa.array(cells, pa.string()) for name, cells in zip(NAMES, columns, strict=True)}
    )
    source = Source(open_table(table), WITH_UNIT, Units(most, b"k" * 32))
    found: Coded = []
    for batch in source.choose(job() for job in source.jobs()):
        found += zip(batch.labels.tolist(), *batch.codes.tolist(), strict=True)
    return found


def sum_of(query: Query, rows: Coded) -> NDArray[np.int64]:
    table = np.array(rows, dtype=np.int64).reshape(-1, 1 + len(LAYOUT.names))
    return told(query, Batch(table[:, 1:].T.astype(np.int32), table[:, 0]))


# The check has teeth: readers that infer the type of a column fail it


def inferring_reader(lines: list[bytes]) -> Table:
    text = b"".join(line + b"\n" for line in [",".join(NAMES).encode(), *lines])
    return open_table(pd.read_csv(io.BytesIO(text)))


def test_a_reader_that_infers_types_would_be_seen() -> None:
    base = [b"39,0,01,north,2020-01-01,1", b"40,0,01,north,2020-01-01,0"]
    check = b"41,0,x,north,2020-01-01,1"  # the text in `code` turns every 1 beside it back into 01
    with pytest.raises(AssertionError):
        check_alone(inferring_reader, base, check, 1)


def test_the_search_finds_a_reader_that_infers_types() -> None:
    @settings(deadline=None, derandomize=True, database=None, phases=[Phase.generate])
    @given(with_odd_cell(st.sampled_from(["twelve", "1.5", "x"])))
    def holds(case: tuple[list[tuple[str, ...]], tuple[str, ...], int]) -> None:
        base, odd, at = case
        check_alone(inferring_reader, [line_of(row) for row in base], line_of(odd), at)

    with pytest.raises(AssertionError):
        holds()
