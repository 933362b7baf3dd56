"""PostgreSQL's levels are ours, on values that readers do not like; nothing in a schema or a name ends a statement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engines.questions import FLOATS, INTEGERS, TEXTS, postgres
from tests.engines.test_expressions import COLUMNS, VALUES, bins_named, in_levels, readable

from sfumato.engines.expressions import battery, coding_of, own_levels
from sfumato.engines.grouped_counts import Key
from sfumato.engines.postgres_counts import TYPES, PostgresCounts
from sfumato.tables import open_table
from sfumato.tables.sql import SqlTable

pytestmark = pytest.mark.slow
NAME = 'c"%s; --'  # of a column
KINDS = {"float": "float8", "integer": "int8", "date": "date", "boolean": "bool", "text": "text"}
DATES = ["-infinity", "infinity", "0044-03-15 BC", "0001-01-01", "9999-12-31", "10000-01-01", "2001-01-01", None]
CELLS: dict[str, list[Any]] = {
    "float": FLOATS,
    "integer": INTEGERS,
    "date": DATES,
    "boolean": [True, False, None],
    "text": [text for text in TEXTS if text is None or "\0" not in text],
}


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, sa.Connection]]:
    with postgres() as found:
        yield found


def stored(server: tuple[str, sa.Connection], kind: str, cells: list[Any]) -> SqlTable:
    url, connection = server
    quoted = '"' + NAME.replace('"', '""').replace("%", "%%") + '"'
    connection.exec_driver_sql("DROP TABLE IF EXISTS t")
    connection.exec_driver_sql(f"CREATE TABLE t ({quoted} {KINDS[kind]})")
    texts = [None if cell is None else str(cell) for cell in cells]
    connection.exec_driver_sql(f"INSERT INTO t SELECT unnest(%s::text[]::{KINDS[kind]}[])", (texts,))
    table = open_table(url, table="t")
    assert isinstance(table, SqlTable)
    return table


def check(server: tuple[str, sa.Connection], name: str, kind: str, cells: list[Any]) -> None:
    """That the database counts as many rows of every level as we do."""
    table = stored(server, kind, cells)
    bins = bins_named(name)
    levels = in_levels(bins)
    here = np.concatenate([own_levels(batch.column(0), bins, levels) for batch in table.batches([NAME])])
    database = PostgresCounts(table)
    found_kind = database.kind(NAME)
    assert found_kind is not None
    coding = coding_of(found_kind, bins, levels)
    assert coding is not None
    places, counts = database.count([NAME], [coding], [Key(0, ((0, 1),))])
    assert dict(zip(places.tolist(), counts.tolist(), strict=True)) == {
        level: int((here == level).sum()) for level in set(here.tolist())
    }
    ((tried, there),) = database.rehearse([NAME], [coding], [battery(found_kind, coding)])
    np.testing.assert_array_equal(there, own_levels(tried, bins, levels))


@pytest.mark.parametrize(("name", "kind"), [(n, k) for n in COLUMNS for k in KINDS if readable(n, k)])
def test_odd_values_have_the_levels_of_our_own_coding(name: str, kind: str, server: tuple[str, sa.Connection]) -> None:
    check(server, name, kind, CELLS[kind])


@pytest.mark.parametrize(
    ("name", "kind"), [("plain", "float"), ("sentinels", "integer"), ("listed", "text"), ("date", "date")]
)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_value_has_the_level_of_our_own_coding(
    name: str, kind: str, data: st.DataObject, server: tuple[str, sa.Connection]
) -> None:
    cells = data.draw(st.lists(VALUES[kind], min_size=1, max_size=40))
    check(server, name, kind, [None, *(cell for cell in cells if "\0" not in str(cell))])


@pytest.mark.parametrize("declared", ["numeric", "char(3)", "float4", "timestamp", "timestamptz", "uuid", "int4[]"])
def test_other_types_are_read_here(declared: str, server: tuple[str, sa.Connection]) -> None:
    url, connection = server
    connection.exec_driver_sql("DROP TABLE IF EXISTS t")
    connection.exec_driver_sql(f"CREATE TABLE t (c {declared})")
    table = open_table(url, table="t")
    assert isinstance(table, SqlTable)
    assert PostgresCounts(table).kind("c") is None


def test_the_numbers_of_types_are_those_of_the_catalogue(server: tuple[str, sa.Connection]) -> None:
    names = "SELECT oid::int8, typname FROM pg_type WHERE oid = ANY(%s)"
    found = dict(server[1].exec_driver_sql(names, (list(TYPES),)).fetchall())
    assert found == {number: stored.name for number, stored in TYPES.items()} | {1043: "varchar"}


def test_percent_signs_of_a_query_stay(server: tuple[str, sa.Connection]) -> None:
    url, connection = server
    connection.exec_driver_sql("DROP TABLE IF EXISTS t")
    connection.exec_driver_sql("CREATE TABLE t (c text)")
    connection.exec_driver_sql("INSERT INTO t VALUES ('x'), ('ä'), ('100')")
    table = open_table(url, query="SELECT c FROM t WHERE c LIKE '%' AND length(c) % 2 = 1 -- %s")
    assert isinstance(table, SqlTable)
    bins = bins_named("listed")
    levels = np.arange(bins.cells + 1)
    database = PostgresCounts(table)
    kind = database.kind("c")
    assert kind is not None
    coding = coding_of(kind, bins, levels)
    assert coding is not None
    assert sum(database.count(["c"], [coding], [Key(0, ((0, 1),))])[1]) == 3
