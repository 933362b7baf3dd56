"""Counts by groups of columns, made by DuckDB.

Statements are built from expressions of DuckDB's own library, so that no value of a schema is part of a text that is
written here; columns are named by their places. Texts are compared as bytes: a function of texts such as `trim` ends
the whole statement, and the database with it, where one of them is no UTF-8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sfumato.engines.expressions import BOOLEANS, DATES, FLOATS, TEXTS, Coding, Kind, Runs, integer
from sfumato.engines.grouped_counts import Key
from sfumato.errors import TableError
from sfumato.private.queries.base import IntArray
from sfumato.tables.duckdb import DuckTable
from sfumato.tables.one_table import has_own_functions
from sfumato.tables.table import running
from sfumato.text import WHITESPACE

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation, Expression

WORDS_IN_A_ROW = 8  # compared one after the other before halves are taken
STORED: dict[str, Kind] = {
    **{f"{unsigned}{name}": integer(bits, not unsigned) for unsigned in ("", "U")
       for name, bits in {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}.items()},
    "BOOLEAN": BOOLEANS,
    "FLOAT": FLOATS,
    "DOUBLE": FLOATS,
    "DATE": DATES,
    "VARCHAR": TEXTS,
}  # fmt: skip

_BLANK = "|".join(f"{ord(blank):02X}" for blank in WHITESPACE)


class DuckCounts:
    """The rows of a DuckDB table or relation, counted where they are. Every statement sees the state of its time: a
    file is opened for reading, which keeps others from writing to it, and a relation is its owner's.
    """

    most_cuts = 1 << 10  # DuckDB tries every cut on every vector of rows: more take longer than reading the rows here

    def __init__(self, table: DuckTable) -> None:
        self.table = table

    def kind(self, name: str) -> Kind | None:
        """What a column holds, where DuckDB compares it as we do."""
        return STORED.get(self.stored(name))

    def stored(self, name: str) -> str:
        """The declared type of a column."""
        return self.table.types[self.table.names.index(name)]

    def rehearse(self, names: Sequence[str], codings: Sequence[Coding], texts: Sequence[list[str]]) -> list[Any]:
        """What public values are as cells here, and their levels there: a pair for every column.

        The library is the database: no setting of a connection changes how numbers and bytes compare.
        """
        import duckdb

        with running(self.table.label), self.table.lease() as relation:
            if has_own_functions(relation):
                raise TableError("the database has functions of somebody's making, which may stand for DuckDB's own")
        longest = max(map(len, texts))
        padded = [pa.array([*each, *[None] * (longest - len(each))], pa.string()) for each in texts]
        with running(self.table.label), duckdb.connect() as connection:
            made = connection.from_arrow(pa.table(padded, [f"t{place}" for place in range(len(texts))]))
            cells = made.project(
                ", ".join(
                    f"CAST(#{place} AS {self.stored(name)}) AS x{place - 1}" for place, name in enumerate(names, 1)
                )
            )
            raw, coded = (each.to_arrow_table() for each in (cells, _coded(cells, codings)))
        pairs = zip(raw.columns, coded.columns, strict=True)
        return [(cells.combine_chunks(), levels.to_numpy()) for cells, levels in pairs]

    def count(self, names: Sequence[str], codings: Sequence[Coding], keys: Sequence[Key]) -> tuple[IntArray, IntArray]:
        """How many rows have each key."""
        from duckdb import ColumnExpression, ConstantExpression

        places = [self.table.names.index(name) + 1 for name in names]
        cells = ", ".join(f"#{place} AS x{column}" for column, place in enumerate(places))
        made = []
        for number, key in enumerate(keys):
            value = ConstantExpression(key.offset)
            for column, stride in key.strides:
                value = value + ColumnExpression(f"c{column}") * ConstantExpression(stride)
            made.append(value.alias(f"k{number}"))
        every = [f"k{number}" for number in range(len(keys))]
        sets = ", ".join(f"({name})" for name in every)
        with running(self.table.label), self.table.lease() as relation:
            keyed = _coded(relation.project(cells) if names else relation, codings).select(*made)
            asked = f"coalesce({', '.join(every)}, NULL) AS place, count(*) AS n"
            found = keyed.aggregate(asked, f"GROUPING SETS ({sets})").to_arrow_table()
        return found["place"].to_numpy().astype(np.int64), found["n"].to_numpy().astype(np.int64)


def _coded(cells: DuckDBPyRelation, codings: Sequence[Coding]) -> DuckDBPyRelation:
    return cells.select(*(_code(f"x{place}", coding).alias(f"c{place}") for place, coding in enumerate(codings)))


def _code(name: str, coding: Coding) -> Expression:
    """The level of a cell."""
    from duckdb import CaseExpression, CoalesceOperator, ColumnExpression, ConstantExpression, FunctionExpression

    cell, absent = ColumnExpression(name), ConstantExpression(coding.absent)
    known = CaseExpression(cell.isnull(), absent)
    if isinstance(coding, Runs):
        for beyond in _beyond(cell, coding.kind):
            known = known.when(beyond, absent)
        return known.otherwise(_run(cell, coding.cuts, coding.levels))

    def cut(text: Expression, pattern: str) -> Expression:
        return FunctionExpression("regexp_replace", text, ConstantExpression(pattern), ConstantExpression(""))

    def as_bytes(text: Expression) -> Expression:
        return FunctionExpression("encode", text)

    trimmed = cut(cut(FunctionExpression("hex", cell), f"^(?:{_BLANK})+"), f"(?:{_BLANK})+$")
    looked = [(as_bytes(cell), {word.encode(): level for word, level in coding.words.items()})]
    looked += [(as_bytes(trimmed), _in_hex(coding.words)), (as_bytes(cut(trimmed, "(?:30)+$")), _in_hex(coding.stems))]
    found = [_word(text, sorted(words.items())) for text, words in looked if words]
    return known.otherwise(CoalesceOperator(*found, ConstantExpression(coding.other)))


def _beyond(cell: Expression, kind: Kind) -> list[Expression]:
    """What holds for stored values that have no reading."""
    from duckdb import ConstantExpression

    if kind is FLOATS:
        return [cell == ConstantExpression(float("nan"))]
    if kind is DATES:
        return [cell < ConstantExpression(kind.least), cell > ConstantExpression(kind.most)]
    return []


def _run(cell: Expression, cuts: Sequence[Any], levels: Sequence[int]) -> Expression:
    """The level of an ordered value, by halves."""
    from duckdb import CaseExpression, ConstantExpression

    if not cuts:
        return ConstantExpression(levels[0])
    half = len(cuts) // 2
    below = _run(cell, cuts[:half], levels[: half + 1])
    return CaseExpression(cell < ConstantExpression(cuts[half]), below).otherwise(
        _run(cell, cuts[half + 1 :], levels[half + 1 :])
    )


def _word(text: Expression, words: Sequence[tuple[bytes, int]]) -> Expression:
    """The level of a listed text, by halves; null of another."""
    from duckdb import CaseExpression, ConstantExpression

    if len(words) > WORDS_IN_A_ROW:
        half = len(words) // 2
        first = CaseExpression(text < ConstantExpression(words[half][0]), _word(text, words[:half]))
        return first.otherwise(_word(text, words[half:]))
    (word, level), *others = words
    found = CaseExpression(text == ConstantExpression(word), ConstantExpression(level))
    for word, level in others:
        found = found.when(text == ConstantExpression(word), ConstantExpression(level))
    return found.otherwise(ConstantExpression(None))


def _in_hex(words: dict[str, int]) -> dict[bytes, int]:
    return {word.encode().hex().upper().encode(): level for word, level in words.items()}
