"""From a raw table of columns in groups to a total: by hand and by the engine, whatever the batches and the file."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.examples import some
from tests.private.queries.helpers import told, told_by

from sfumato.mechanisms.questions import (
    around,
    cells_at,
    clipped_gradient,
    feature_moments,
    latent_space,
    projected_image,
    unpack,
)
from sfumato.private import source as source_module
from sfumato.private.accounting import Adjacency
from sfumato.private.engines.local import LocalEngine
from sfumato.private.queries.base import FIXED_BITS, Batch, Query
from sfumato.private.queries.features import QuadraticImage, WithOne
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.images import ColumnImage, Within
from sfumato.private.source import Source
from sfumato.private.units import Units
from sfumato.schema.layout import Layout
from sfumato.schema.projections import Projection
from sfumato.schema.schema import Schema
from sfumato.tables import Table, open_table

SCHEMA = Schema.parse("""
label: kind
columns:
  kind: {type: category, values: [a, b]}
groups:
  pixels: {columns: "p*", min: 0, max: 255, step: 1, shape: [3, 3], projection: dct2, keep: 2}
  rates: {columns: "r{1..5}", min: -1, max: 3, projection: random, keep: 3}
  rest: {columns: [u, v], min: -1.0e+6, max: 1.0e+6}
""")
LAYOUT = Layout.of(SCHEMA)
WITH_UNIT = Layout.of(Schema.of(SCHEMA.dump() | {"unit": {"column": "who", "rows": 2}}))
PROJECTION = Projection.of(LAYOUT.groups)
DIM, COLUMNS, ROWS = 9, 16, 90
TOP = 1 << FIXED_BITS
BOUNDS = [(0.0, 255.0)] * 9 + [(-1.0, 3.0)] * 5 + [(-1e6, 1e6)] * 2

ODD = [
    "",
    " ",
    "nan",
    "twelve",
    "inf",
    "-inf",
    "1e400",
    "-1e400",
    "5e-324",
    "1_0",
    "0x1p3",
    "9" * 300,
    "-0.0",
    "true",
    "２",
]


def value(text: str) -> float:
    """A cell as a number by hand, for the texts used here."""
    try:
        return {"true": 1.0, "1_0": math.nan, "0x1p3": math.nan, "２": math.nan}.get(text) or float(text)
    except ValueError:
        return math.nan


def make_frame() -> pd.DataFrame:
    """Texts: sane ones, some out of range, some that are no numbers, and labels that are none."""
    rng = np.random.default_rng(0)
    cells = {
        name: [repr(float(x)) for x in rng.uniform(low - 0.2 * (high - low), high + 0.2 * (high - low), ROWS)]
        for name, (low, high) in zip(LAYOUT.names, BOUNDS, strict=True)
    }
    for i, odd in enumerate(ODD):
        cells[LAYOUT.names[i % COLUMNS]][3 * i] = odd
    cells["u"] = ["17"] * ROWS  # a column that never changes
    cells["kind"] = rng.choice(["a", "b", "c", ""], ROWS, p=[0.5, 0.4, 0.05, 0.05]).tolist()
    return pd.DataFrame({"not named": rng.random(ROWS), **cells})[["kind", *reversed(LAYOUT.names), "not named"]]


FRAME = make_frame()


def place(text: str, low: float, high: float) -> int:
    x = value(text)
    return -1 if math.isnan(x) else round((min(max(x, low), high) - low) / (high - low) * TOP)


def by_hand(frame: pd.DataFrame) -> Batch:
    """Every cell by itself; the projection in fractions."""
    counted = frame[frame["kind"].isin(["a", "b"])]
    fixed = [[place(text, *b) for text in counted[name]] for name, b in zip(LAYOUT.names, BOUNDS, strict=True)]
    matrix = PROJECTION.matrix.tolist()
    projected = [
        [
            round(Fraction(sum(m * (x - TOP // 2) for m, x in zip(line, row, strict=True) if x >= 0), TOP))
            for row in zip(*fixed, strict=True)
        ]
        for line in matrix
    ]
    return Batch(
        np.empty((0, len(counted)), np.int16),
        (counted["kind"] == "b").to_numpy().astype(np.int64),
        np.array(fixed, dtype=np.int32).reshape(COLUMNS, -1),
        np.array(projected, dtype=np.int32).reshape(DIM, -1),
    )


def read(table: Table, layout: Layout = LAYOUT, units: Units | None = None) -> Batch:
    source = Source(table, layout, units)
    parts = list(source.choose(job() for job in source.jobs()))
    for part in parts:
        assert part.fixed is not None
        assert part.projected is not None
        assert part.codes.shape == (0, len(part))
    return Batch(
        np.empty((0, sum(map(len, parts))), np.int16),
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.fixed for part in parts], axis=1),
        np.concatenate([part.projected for part in parts], axis=1),
    )


def same(one: Batch, other: Batch) -> bool:
    pairs = [(one.labels, other.labels), (one.fixed, other.fixed), (one.projected, other.projected)]
    return all(np.array_equal(a, b) for a, b in pairs)


def queries() -> list[Query]:
    rng = np.random.default_rng(1)
    everywhere = projected_image(np.zeros((2, DIM)))
    image = projected_image(rng.normal(size=(2, 4)), rng.normal(size=(4, DIM)))
    cells = cells_at(image, [rng.normal(size=(size, 4)) for size in (3, 2)])
    quadratic = QuadraticImage(image)
    return [
        GroupSums(latent_space(everywhere, [PROJECTION.radius] * 2), (0.1, 0.6, 0.3), "norm"),
        feature_moments(WithOne(everywhere), 1.2, 2, (0.95, 0.05)),
        GroupSums(latent_space(around(cells), [1.0] * 5, cells=cells), (0.3, 0.7)),
        GroupSums(latent_space(around(cells), [1.0] * 5, cells=cells), (0.05, 0.85, 0.1), "norm"),
        GroupSums(latent_space(Within(cells), [1.0, 0.7]), (0.1, 0.5, 0.4), "outer"),
        GroupSums(latent_space(ColumnImage(rng.integers(0, TOP, (2, COLUMNS))), [1.0, 0.5]), (0.05, 0.95)),
        clipped_gradient(quadratic, rng.normal(size=(2, quadratic.dim)), 1.5, 0.2),
    ]


QUERIES = queries()


def totals(table: Table, workers: int = 1) -> list[NDArray[np.int64]]:
    engine = LocalEngine(Source(table, LAYOUT), workers)
    return [told_by(engine, query) for query in QUERIES]


EXPECTED = [told(query, by_hand(FRAME)) for query in QUERIES]


def check(found: list[NDArray[np.int64]]) -> None:
    assert all(np.array_equal(total, right) for total, right in zip(found, EXPECTED, strict=True))
    assert all(total.any() for total in found)


def test_rows_are_those_found_by_hand() -> None:
    hand = by_hand(FRAME)
    assert same(read(open_table(FRAME)), hand)
    assert hand.fixed is not None
    assert (hand.fixed == -1).any()  # cells that are no numbers
    assert (hand.fixed == 0).any()  # and clamped ones
    assert (hand.fixed == TOP).any()
    assert len(hand) < ROWS  # and labels that are none


def test_columns_come_in_the_schema_s_order_group_by_group() -> None:
    assert LAYOUT.names == (*(f"p{i}" for i in range(9)), *(f"r{i}" for i in range(1, 6)), "u", "v")
    assert PROJECTION.matrix.shape == (DIM, COLUMNS)


def table_of(kind: str, tmp_path: Path) -> Any:
    arrow = pa.Table.from_pandas(FRAME, preserve_index=False)
    if kind == "csv":
        FRAME.to_csv(tmp_path / "t.csv", index=False)
        return tmp_path / "t.csv"
    if kind == "parquet":
        pq.write_table(arrow, tmp_path / "t.parquet", row_group_size=17)
        return tmp_path / "t.parquet"
    if kind == "arrow":
        return pa.concat_tables([arrow.slice(0, 13), arrow.slice(13)])
    return FRAME.astype(object) if kind == "pandas of objects" else FRAME


@pytest.mark.parametrize("kind", ["pandas", "pandas of objects", "csv", "arrow", "parquet"])
def test_every_kind_of_table_gives_the_totals_found_by_hand(kind: str, tmp_path: Path) -> None:
    check(totals(open_table(table_of(kind, tmp_path))))


@pytest.mark.every(2)
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("rows", [1, 7, ROWS])
def test_batches_workers_and_order_do_not_matter(workers: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "BATCH_CELLS", rows * COLUMNS)
    assert len(list(Source(open_table(FRAME), LAYOUT).jobs())) == -(-ROWS // rows)
    check(totals(open_table(FRAME), workers))
    check(totals(open_table(FRAME.sample(frac=1.0, random_state=3)), workers))


def test_batches_of_a_wide_group_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "BATCH_CELLS", 1 << 18)
    schema = Schema.parse("groups: {g: {columns: 'x{1..1100}', min: 0, max: 1, projection: random, keep: 2}}")
    layout = Layout.of(schema)
    cells = np.random.default_rng(4).random((600, 1100), dtype=np.float32)
    frame = pd.DataFrame(cells, columns=layout.names)
    source = Source(open_table(frame), layout)
    parts = [job()[0] for job in source.jobs()]
    assert [len(part) for part in parts] == [238, 238, 124]
    fixed = np.rint(cells.T.astype(float) * TOP).astype(np.int32)
    whole = Projection.of(layout.groups).apply(fixed)
    assert np.array_equal(np.concatenate([part.projected for part in parts], axis=1), whole)


def test_a_row_with_a_bad_label_counts_nowhere_and_one_without_label_column_everywhere() -> None:
    good = FRAME[FRAME["kind"].isin(["a", "b"])]
    check(totals(open_table(good)))
    plain = Layout.of(Schema.of({"groups": SCHEMA.dump()["groups"]}))
    query = GroupSums(latent_space(projected_image(np.zeros((1, DIM))), [2.0]), (0.1, 0.6, 0.3), "norm")
    assert unpack(query, told_by(LocalEngine(Source(open_table(FRAME), plain)), query))[0].tolist() == [ROWS]


def test_a_table_without_rows_gives_zeros() -> None:
    for total, query in zip(totals(open_table(FRAME.iloc[:0])), QUERIES, strict=True):
        assert np.array_equal(total, np.zeros(query.weights.size))


def test_a_table_too_large_to_keep_gives_the_same_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.private.engines.local.KEPT_BYTES", 10)
    check(totals(open_table(FRAME)))


# One odd cell


@settings(max_examples=some(25))
@given(st.one_of(st.sampled_from(ODD), st.text(max_size=6)), st.integers(0, COLUMNS), st.integers(0, 8))
def test_an_odd_cell_changes_its_own_row_alone(odd: str, column: int, at: int) -> None:
    name = ("kind", *LAYOUT.names)[column]
    base = FRAME[FRAME["kind"].isin(["a", "b"])].iloc[:9].reset_index(drop=True)
    changed = base.copy()
    changed.loc[at, name] = odd
    alone, others = read(open_table(changed.iloc[[at]])), np.delete(np.arange(9), at)
    kept = read(open_table(changed))
    mine = slice(at, at + len(alone))
    assert same(kept.only(mine), alone)
    rest = np.delete(np.arange(len(kept)), np.arange(at, at + len(alone)))
    assert same(kept.only(rest), read(open_table(base)).only(others))  # type: ignore[arg-type]
    pair = totals(open_table(base)), totals(open_table(changed))
    for query, old, new in zip(QUERIES, *pair, strict=True):
        moved = float(np.linalg.norm(query.weights * (new - old)))
        assert moved <= query.reach.sensitivity(Adjacency.REPLACE_ONE)
        assert column or moved <= query.reach.sensitivity(Adjacency.LABEL)


# Units


def with_ids(seed: int = 5) -> pd.DataFrame:
    return FRAME.assign(who=np.random.default_rng(seed).choice(["x", "y", "z", None], ROWS))


def unit_totals(frame: pd.DataFrame) -> list[NDArray[np.int64]]:
    engine = LocalEngine(Source(open_table(frame), WITH_UNIT, Units(2, b"k" * 32)), 2)
    return [told_by(engine, query) for query in QUERIES]


@pytest.mark.every(2)
@pytest.mark.parametrize("rows", [1, 20, ROWS])
def test_which_rows_of_a_unit_count_depends_on_no_batch_and_no_order(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = with_ids()
    expected = unit_totals(people)
    assert unpack(QUERIES[0], expected[0])[0].sum() == 3 * 2  # type: ignore[attr-defined]
    monkeypatch.setattr(source_module, "BATCH_CELLS", rows * COLUMNS)
    for total, right in zip(unit_totals(people.sample(frac=1.0, random_state=6)), expected, strict=True):
        assert np.array_equal(total, right)


@pytest.mark.parametrize("seed", range(5))
def test_a_unit_moves_no_total_beyond_its_bound(seed: int) -> None:
    people = with_ids(seed)
    mine = (people["who"] == "x").to_numpy()
    relabelled, others = people.copy(), people.copy()
    relabelled.loc[mine, "kind"] = "a"
    others.loc[mine, list(LAYOUT.names)] = "255"
    base = unit_totals(people)
    for adjacency, changed in (
        (Adjacency.ADD_REMOVE, people[~mine]),
        (Adjacency.LABEL, relabelled),
        (Adjacency.REPLACE_ONE, others),
    ):
        for query, old, new in zip(QUERIES, base, unit_totals(changed), strict=True):
            assert np.linalg.norm(query.weights * (new - old)) <= query.reach.sensitivity(adjacency, 2)
