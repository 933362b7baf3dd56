"""The page about tables in a database: its lines run as they are, against a DuckDB file and a PostgreSQL server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.docs.shown import blocks
from tests.engines.questions import postgres

import sfumato as sf

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

PAGE = "docs/scale-databases.md"
MADE = "SELECT 18 + n % 60 AS age, 'ward ' || n % 3 AS ward, n % 7 = 0 AS ill FROM"
SCHEMA = """
columns:
  age: {type: number, min: 0, max: 99, step: 1}
  ward: {type: category, values: [ward 0, ward 1, ward 2]}
  ill: {type: boolean}
"""


def shown(mark: str) -> str:
    return next(block.text for block in blocks(PAGE) if block.mark == mark)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.yaml").write_text(SCHEMA)
    return tmp_path


@pytest.mark.slow
def test_duckdb(folder: Path) -> None:
    with duckdb.connect(folder / "clinic.duckdb") as connection:
        connection.execute(f"CREATE TABLE people AS {MADE} range(500) t(n)")
    known: dict[str, Any] = {"sf": sf, "duckdb": duckdb}
    exec(shown("duckdb"), known)
    assert known["release"].guarantee.unit == "row"


@pytest.mark.slow
def test_postgresql(folder: Path) -> None:
    with postgres() as (url, connection):
        connection.exec_driver_sql(f"CREATE TABLE people AS {MADE.replace('%', '%%')} generate_series(1, 500) n")
        known: dict[str, Any] = {"sf": sf}
        exec(shown("postgresql").replace("postgresql://me@host/clinic", url), known)
        assert sf.load(folder / "people.sfumato").guarantee == known["release"].guarantee
        assert known["release"].guarantee.unit == "row"
        known.clear()
