"""Whether the rows of a query are rows of one stored table: each there or not, and what it shows, by itself alone.

A guarantee is about the rows that a fit reads. Behind a join, a limit or a window, one row of a stored table can be
many rows of the result, or decide about others. What is accepted here are columns of one table, expressions of them
and a condition, all of functions whose result depends on their arguments; whatever is not known to be that is not.
Only the statement and the catalogue are looked at, never a row, nor a plan that depends on what rows hold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlalchemy as sa
    from duckdb import DuckDBPyRelation

SCANS = {"Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Heap Scan", "Tid Scan", "Tid Range Scan"}
PARTS_OF_SCANS = {"Bitmap Index Scan", "BitmapAnd", "BitmapOr", "Gather", "Gather Merge", "Sort", "Incremental Sort"}
"""Which way is taken depends on how large a table is, what comes out does not."""

OF_THE_ROW_S_PLACE = {"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "rowid"}  # which other rows decide too
EXPRESSIONS = ("Output", "Filter", "Index Cond", "Recheck Cond", "TID Cond")
PLAN_WORDS = {
    "and",
    "or",
    "not",
    "any",
    "all",
    "when",
    "then",
    "else",
    "case",
    "coalesce",
    "greatest",
    "least",
    "in",
    "is",
}
TYPES_OF_CASTS = {"text", "integer", "bigint", "smallint", "double precision", "real", "numeric", "boolean", "date"}
DUCK_EXPRESSIONS = {"STAR", "COLUMN_REF", "CONSTANT", "COMPARISON", "CONJUNCTION", "OPERATOR", "BETWEEN", "CASE"}
DUCK_EMPTY = ("modifiers", "group_expressions", "group_sets", "having", "sample", "qualify")

OWN_OPERATORS = (
    "SELECT count(*) > 0 FROM pg_catalog.pg_operator o JOIN pg_catalog.pg_namespace n ON o.oprnamespace = n.oid "
    "WHERE n.nspname <> 'pg_catalog'"
)
"""Whether the database has operators of somebody's making: a plan does not tell whose it is."""

_COLUMN = re.compile(r'(?:(?:"(?:[^"]|"")*"|[\w$]+)\.)?(?:"(?:[^"]|"")*"|[\w$]+)')
_NAME = re.compile(r"[A-Za-z_][\w$]*")
_TEXT = re.compile(r"'(?:[^']|'')*'")
_CALL = re.compile(r'(?:("(?:[^"]|"")*"|[\w$]+)\.)?("(?:[^"]|"")*"|[\w$]+)\s*\(')
_CAST = re.compile(r"::([a-z ]*[a-z])(?![\w\"(.])|::")


def of_postgres(connection: sa.Connection, rows: str) -> bool:
    """Whether some rows of PostgreSQL are those of one of its tables."""
    explained: Any = connection.exec_driver_sql(f"EXPLAIN (VERBOSE, FORMAT JSON) SELECT * FROM {rows}").scalar()
    nodes = list(_nodes((explained if isinstance(explained, list) else json.loads(explained))[0]["Plan"]))
    scans = [node for node in nodes if node["Node Type"] in SCANS]
    others = {node["Node Type"] for node in nodes} - SCANS - PARTS_OF_SCANS
    if len(scans) != 1 or others or any(node.get("Parent Relationship") in ("InitPlan", "SubPlan") for node in nodes):
        return False
    place = {"schema": scans[0].get("Schema"), "name": scans[0]["Relation Name"]}
    stored = (
        "SELECT relkind = 'r' AND NOT relhassubclass FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n "
        "ON c.relnamespace = n.oid WHERE n.nspname = %(schema)s AND c.relname = %(name)s"
    )
    if connection.exec_driver_sql(stored, place).scalar() is not True:
        return False
    written = [text for node in nodes for key in EXPRESSIONS for text in _listed(node.get(key, []))]
    if not all(map(_COLUMN.fullmatch, written)) and connection.exec_driver_sql(OWN_OPERATORS).scalar() is not False:
        return False
    return all(_depends_on_arguments(connection, _TEXT.sub("''", text)) for text in written)


def of_duckdb(relation: DuckDBPyRelation) -> bool:
    """Whether the rows of a relation are those of one table of its database."""
    import duckdb

    try:
        return _of_duckdb(relation)
    except (duckdb.Error, KeyError):  # of another version, which parses otherwise
        return False


def _of_duckdb(relation: DuckDBPyRelation) -> bool:
    import duckdb

    with duckdb.connect() as parser:
        written = parser.execute("SELECT json_serialize_sql(?)", [relation.sql_query()]).fetchone()
    statements = json.loads(written[0]).get("statements", []) if written else []
    if len(statements) != 1:
        return False
    known = relation.limit(0).aggregate(
        "count(*), (SELECT list(lower(table_name)) FROM duckdb_tables()), "
        "(SELECT list(lower(view_name)) FROM duckdb_views()), "
        "(SELECT list(name) FROM (SELECT lower(function_name) AS name FROM duckdb_functions() GROUP BY ALL "
        "HAVING bool_and(internal AND function_type = 'scalar' AND stability = 'CONSISTENT')))"
    )
    if has_own_functions(relation):
        return False
    ((_, tables, views, functions),) = known.fetchall()
    return _is_plain(statements[0]["node"], set(tables or ()) - set(views or ()), set(functions or ()))


def has_own_functions(relation: DuckDBPyRelation) -> bool:
    """Whether the database of a relation has functions of somebody's making: one may have the name of any of DuckDB's
    own, operators among them, and look at other rows.
    """
    own = "EXISTS (SELECT 1 FROM system.main.duckdb_functions() WHERE internal IS DISTINCT FROM true)"
    return relation.limit(0).aggregate(f"count(*), {own}").fetchall() != [(0, False)]


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", []):
        yield from _nodes(part)


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def _depends_on_arguments(connection: sa.Connection, text: str) -> bool:
    """Whether an expression, as a plan writes it, is of known words, casts to plain types and immutable functions."""
    if OF_THE_ROW_S_PLACE & {word.lower() for word in _NAME.findall(text)}:
        return False
    calls = {(schema or "", name.strip('"')) for schema, name in _CALL.findall(text) if name.lower() not in PLAN_WORDS}
    casts = _CAST.findall(text)
    if any(schema or '"' in name for schema, name in calls) or not set(casts) <= TYPES_OF_CASTS:
        return False
    asked = "SELECT count(*) > 0 AND bool_and(provolatile = 'i' AND prokind = 'f' AND NOT proretset) "
    asked += "FROM pg_catalog.pg_proc WHERE proname = %(name)s"
    return all(connection.exec_driver_sql(asked, {"name": name}).scalar() is True for _, name in calls)


def _is_plain(node: dict[str, Any], tables: set[str], functions: set[str]) -> bool:
    if node["type"] != "SELECT_NODE" or any(node.get(part) for part in DUCK_EMPTY) or node["cte_map"]["map"]:
        return False
    if node["aggregate_handling"] != "STANDARD_HANDLING":  # GROUP BY ALL
        return False
    shown = list(_expressions([node["select_list"], node["where_clause"]]))
    for each in shown:
        function = each["function_name"].lower() if each["class"] == "FUNCTION" else ""
        if each["class"] not in DUCK_EXPRESSIONS and function not in functions:
            return False
        if OF_THE_ROW_S_PLACE & {name.lower() for name in each.get("column_names", [])}:
            return False
    source = node["from_table"]
    if source.get("sample"):
        return False
    if source["type"] == "SUBQUERY":
        return _is_plain(source["subquery"]["node"], tables, functions)
    named = source["type"] == "BASE_TABLE" and not source.get("at_clause")
    return named and source["table_name"].lower() in tables


def _expressions(tree: Any) -> Iterator[dict[str, Any]]:
    """All expressions inside of a parsed statement; a subquery is one too, and is looked at no further."""
    if isinstance(tree, dict):
        if "class" in tree:
            yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from _expressions(part)
