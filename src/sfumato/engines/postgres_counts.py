"""Counts by groups of columns, made by PostgreSQL.

Whatever comes from a schema is a bound parameter, and names of columns are quoted. Rows meet comparisons, `btrim` and
look-ups in arrays of our own, none of which fails on a value; arithmetic is done on levels alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sfumato.engines.expressions import BOOLEANS, DATES, FLOATS, TEXTS, Coding, Kind, Runs, integer
from sfumato.engines.grouped_counts import Key
from sfumato.private.queries.base import IntArray
from sfumato.tables.objects import object_texts
from sfumato.tables.sql import SqlTable
from sfumato.tables.table import running


class Stored(NamedTuple):
    """A type of PostgreSQL's: its name, and what its cells are."""

    name: str
    kind: Kind


TYPES = {  # by their numbers in the catalogue, which never change
    16: Stored("bool", BOOLEANS),
    20: Stored("int8", integer(64)),
    21: Stored("int2", integer(16)),
    23: Stored("int4", integer(32)),
    25: Stored("text", TEXTS),
    701: Stored("float8", FLOATS),
    1043: Stored("text", TEXTS),  # varchar
    1082: Stored("date", DATES),
}
BLANKS = r"E' \t\n\r\x0b\f'"


class PostgresCounts:
    """The rows of a table or query of a PostgreSQL server, counted there, all in one state of the database."""

    most_cuts = 1 << 16  # they are looked for by halves, in one array

    def __init__(self, table: SqlTable) -> None:
        self.table = table.held()

    def kind(self, name: str) -> Kind | None:
        """What a column holds, where PostgreSQL compares it as we do."""
        stored = self._stored(name)
        if stored is None or (stored.kind is TEXTS and not self.table.in_utf8):
            return None
        return stored.kind

    def _stored(self, name: str) -> Stored | None:
        return TYPES.get(self.table.types[self.table.names.index(name)])

    def rehearse(self, names: Sequence[str], codings: Sequence[Coding], texts: Sequence[list[str]]) -> list[Any]:
        """What public values are as cells here, and their levels there: a pair for every column."""
        stored = [self._stored(name) for name in names]
        made = ", ".join(f"%s::text[]::{each.name}[]" for each in stored if each is not None)
        raw = [f"r{place}" for place in range(len(names))]
        source = f"(SELECT * FROM unnest({made}) AS made({', '.join(raw)})) made"
        codes, bound = self._coded(names, codings, raw, source, [*texts], raw)
        with (
            running(self.table.label),
            self.table.connected() as connection,
            connection.begin_nested(),
        ):  # so that a refusal ends nothing
            rows = self._run(f"SELECT * FROM ({codes}) coded", bound)
        columns = list(zip(*rows, strict=True))
        pairs = zip(columns[: len(names)], columns[len(names) :], strict=True)
        return [(object_texts(cells), np.array(levels)) for cells, levels in pairs]

    def count(self, names: Sequence[str], codings: Sequence[Coding], keys: Sequence[Key]) -> tuple[IntArray, IntArray]:
        """How many rows have each key."""
        codes, bound = self._coded(names, codings, list(map(self.table.quoted, names)), self.table.source, [], [])
        made = [
            " + ".join([str(key.offset), *(f"c{column} * {stride}" for column, stride in key.strides)])
            + f" AS k{number}"
            for number, key in enumerate(keys)
        ]
        every = [f"k{number}" for number in range(len(keys))]
        sets = ", ".join(f"({name})" for name in every)
        rows = self._run(
            f"SELECT coalesce({', '.join(every)}) AS place, count(*) AS n "
            f"FROM (SELECT {', '.join(made)} FROM ({codes} OFFSET 0) coded OFFSET 0) keyed "
            f"GROUP BY GROUPING SETS ({sets})",
            bound,
        )
        found = np.array(rows, dtype=np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def _coded(
        self,
        names: Sequence[str],
        codings: Sequence[Coding],
        cells: Sequence[str],
        source: str,
        bound: list[Any],
        kept: Sequence[str],
    ) -> tuple[str, list[Any]]:
        """The statement of all levels, c0 and so on, and its parameters in order, behind those of the source.

        OFFSET 0 keeps the server from writing an expression out at every place where its result is used.
        """
        inner, outer, own = list(kept), list(kept), []
        for place, (name, cell, coding) in enumerate(zip(names, cells, codings, strict=True)):
            stored = self._stored(name)
            assert stored is not None
            inner.append(f"{_key(cell, stored)} AS x{place}")
            code, given = _code(f"x{place}", coding, stored)
            outer.append(f"{code} AS c{place}")
            own += given
        return f"SELECT {', '.join(outer)} FROM (SELECT {', '.join(inner)} FROM {source} OFFSET 0) cells", own + bound

    def _run(self, statement: str, bound: Sequence[Any]) -> list[Any]:
        with self.table.connected() as connection, running(self.table.label):
            # Also without parameters, percent signs are doubled here.
            found = connection.exec_driver_sql(statement, tuple(bound), execution_options={"no_parameters": False})
            return list(found.fetchall())


def _key(cell: str, stored: Stored) -> str:
    """What is compared of a cell: of a text it is what is between blanks, by its bytes."""
    return f'pg_catalog.btrim({cell}, {BLANKS}) COLLATE "C"' if stored.kind is TEXTS else cell


def _code(cell: str, coding: Coding, stored: Stored) -> tuple[str, list[Any]]:
    """The level of a cell, and the parameters of the expression in order."""
    if isinstance(coding, Runs):
        absent = " OR ".join([f"{cell} IS NULL", *_beyond(cell, stored.kind)])
        if not coding.cuts:
            return f"CASE WHEN {absent} THEN {coding.absent} ELSE {coding.levels[0]} END", []
        found = f"(%s::int4[])[pg_catalog.width_bucket({cell}, %s::{stored.name}[]) + 1]"
        return f"CASE WHEN {absent} THEN {coding.absent} ELSE {found} END", [list(coding.levels), list(coding.cuts)]
    looked, bound = list[str](), list[Any]()
    for text, words in ((cell, coding.words), (f"pg_catalog.rtrim({cell}, '0')", coding.stems)):
        if words:
            looked.append(f'(%s::int4[])[pg_catalog.array_position(%s::text[], {text} COLLATE "C")]')
            bound += [list(words.values()), list(words)]
    listed = ", ".join([*looked, str(coding.other)])
    return f"CASE WHEN {cell} IS NULL THEN {coding.absent} ELSE coalesce({listed}) END", bound


def _beyond(cell: str, kind: Kind) -> list[str]:
    """What holds for stored values that have no reading."""
    if kind is FLOATS:
        return [f"{cell} = 'NaN'::float8"]
    if kind is DATES:
        return [f"{cell} < '{kind.least.isoformat()}'::date", f"{cell} > '{kind.most.isoformat()}'::date"]
    return []
