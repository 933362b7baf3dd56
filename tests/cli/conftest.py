"""A folder with a table, its schema and releases of it, and the command line as a function."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.calls import Call, caller
from tests.cli.lines import SCHEMA

import sfumato as sf


@pytest.fixture(autouse=True)
def quick(small_pool: None) -> None:
    """How well tables of pairs are followed is not tested here."""


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(monkeypatch, capsys)


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    made = pd.DataFrame({"age": rng.integers(0, 101, 400), "town": rng.choice(["Ulm", "Bonn"], 400), "ill": "no"})
    made.loc[made["age"] > 60, "ill"] = "yes"
    return made


@pytest.fixture(scope="session")
def files(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The table as CSV and Parquet, its schema, and a release of a mixture."""
    place = tmp_path_factory.mktemp("files")
    frame.to_csv(place / "data.csv", index=False)
    frame.to_parquet(place / "data.parquet")
    (place / "s.yaml").write_text(SCHEMA)
    sf.fit(frame, place / "s.yaml", epsilon=1, delta=1e-6).save(place / "r.sfumato")
    return {path.name: path.read_bytes() for path in place.iterdir()}


@pytest.fixture
def folder(tmp_path: Path, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path
