"""Which engine adds up the rows of a table: the one that is where they are."""

from __future__ import annotations

from typing import Any

from sfumato.engines.places import Local
from sfumato.engines.pushdown import database_engine, is_of_database
from sfumato.engines.watching import WatchedTable
from sfumato.errors import ArgumentError
from sfumato.private.curator import Engine
from sfumato.private.engines.local import LocalEngine
from sfumato.private.source import Source
from sfumato.private.units import Units
from sfumato.schema.layout import Layout
from sfumato.tables import open_table

CLUSTERS = ("pyspark", "dask")  # whose tables are added up where they are


def engine_for(table: Any, layout: Layout, units: Units | None, values: bool, wish: Local | None = None) -> Engine:
    """The engine for a table.

    Args:
        table: Whatever a fit takes.
        layout: The bins that its rows are seen in.
        units: Which rows of a unit of privacy count, where it is not the row.
        values: Whether questions will need values beside bins.
        wish: What the caller said of where to add up; without a wish a database counts what it can.

    Returns:
        The engine; no row has been read yet.

    Raises:
        ArgumentError: The wish is none.
        TableError: The table cannot be opened, or lacks a column.
    """
    if not isinstance(wish, Local | None):
        raise ArgumentError(f"engine must be sf.Local(workers=...) or None, not {wish!r}")
    library = type(table).__module__.partition(".")[0]
    if library in CLUSTERS:
        return _on_cluster(library, table, layout, units, values, wish)
    opened = open_table(table)
    if is_of_database(opened):
        return database_engine(opened, layout, units, values, wish)
    return LocalEngine(Source(WatchedTable(opened), layout, units, values), (wish or Local()).threads)


def check_rows(engine: Engine) -> None:
    """Refuse a plan that asks for noisy rows, before anything is spent, where rows stay elsewhere."""
    refuse = getattr(engine, "refuse_rows", None)
    if refuse is not None:
        refuse()


def _on_cluster(library: str, table: Any, layout: Layout, units: Units | None, values: bool, wish: object) -> Engine:
    if wish is not None:
        raise ArgumentError("engine is for tables of this machine: one in Spark or Dask is added up there")
    if library == "pyspark":
        from sfumato.engines.spark import SparkEngine

        return SparkEngine(table, layout, units, values)
    from sfumato.engines.dask import DaskEngine

    return DaskEngine(table, layout, units, values)
