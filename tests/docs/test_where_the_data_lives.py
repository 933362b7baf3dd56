"""The page for those in a hurry: three lines for each place that a table may be in, and they run as they stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.clusters import in_a_process, needs_java
from tests.docs.shown import blocks
from tests.engines.questions import postgres
from tests.serving.servers import Place, listening

import sfumato as sf

PAGE = "docs/where-the-data-lives.md"
PLACES = ["parquet", "spark", "postgresql", "dask", "duckdb", "server"]
MADE = "SELECT 18 + n % 60 AS age, 'ward ' || n % 3 AS ward, n % 7 = 0 AS ill FROM"
SCHEMA = """
columns:
  age: {type: number, min: 0, max: 99, step: 1}
  ward: {type: category, values: [ward 0, ward 1, ward 2]}
  ill: {type: boolean}
"""
SPARK = f"""
import sfumato as sf
from pyspark.sql import SparkSession
from tests.docs.shown import blocks
spark = SparkSession.builder.getOrCreate()
exec(next(block.text for block in blocks({PAGE!r}) if block.mark == "spark"))
"""


def shown(mark: str) -> str:
    return next(block.text for block in blocks(PAGE) if block.mark == mark)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the page's lines find a folder of Parquet and a schema."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.yaml").write_text(SCHEMA)
    (tmp_path / "people").mkdir()
    for part in range(2):
        n = pd.Series(range(250 * part, 250 * part + 250))
        people = pd.DataFrame({"age": 18 + n % 60, "ward": [f"ward {k % 3}" for k in n], "ill": n % 7 == 0})
        people.to_parquet(tmp_path / "people" / f"{part}.parquet", index=False)
    return tmp_path


def run(lines: str, **given: Any) -> sf.Release:
    """Run lines; the release that they saved."""
    known: dict[str, Any] = {"sf": sf, **given}
    exec(lines, known)
    saved = sf.load("people.sfumato")
    assert saved.guarantee == known.pop("release").guarantee
    assert saved.guarantee.unit == "row"
    known.clear()  # connections end
    return saved


def test_there_are_three_lines_for_every_place() -> None:
    lines = {block.mark: block.text.strip().splitlines() for block in blocks(PAGE) if block.mark}
    assert list(lines) == PLACES
    assert {len(each) for each in lines.values()} == {3}


def test_a_folder_of_parquet(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release = run(shown("parquet"))
    assert abs(release.count("age >= 0").estimate - 500) < 100
    assert "histograms" in capsys.readouterr().out


@needs_java
@pytest.mark.slow
def test_spark(folder: Path) -> None:
    """In a process of its own: Spark stays in the folder in which it was started."""
    in_a_process("-c", SPARK, folder=folder)
    assert sf.load("people.sfumato").guarantee.epsilon == 1


@pytest.mark.slow
def test_dask(folder: Path) -> None:
    pytest.importorskip("dask.dataframe", reason="dask is not installed")
    run(shown("dask"), dask=pytest.importorskip("dask"))


@pytest.mark.slow
def test_duckdb(folder: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect(folder / "clinic.duckdb") as connection:
        connection.execute(f"CREATE TABLE people AS {MADE} range(500) t(n)")
    run(shown("duckdb"), duckdb=duckdb)


@pytest.mark.slow
def test_postgresql(folder: Path) -> None:
    with postgres() as (url, connection):
        connection.exec_driver_sql(f"CREATE TABLE people AS {MADE.replace('%', '%%')} generate_series(1, 500) n")
        run(shown("postgresql").replace("postgresql://me@host/clinic", url))


@pytest.mark.slow
def test_a_server(folder: Path) -> None:
    with listening(Place(folder, cap=2.0)) as address:
        Path("clinic.sock").symlink_to(address.removeprefix("unix:"))
        run(shown("server"))
