"""The demo does what the README says, and its yardsticks measure what they claim."""

import csv
import importlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

import sfumato as sf
from sfumato.demo import SAMPLE_ROWS, Demo, adult, run_demo
from sfumato.errors import OutputError
from sfumato.evaluation.marginals_plot import draw_marginals
from sfumato.evaluation.usefulness import auc, features, marginal, total_variation
from sfumato.schema.schema import Schema

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """The tests share the cores among processes; OpenMP threads on top of that wait for each other."""
    importlib.import_module("sklearn.ensemble")  # a limit holds for the libraries that are loaded
    with threadpool_limits(1):
        yield


@pytest.mark.slow
def test_the_demo(tmp_path: Path) -> None:
    """One test, so that the demo runs once however many processes share the tests."""
    said: list[str] = []
    result = run_demo(tmp_path / "deep" / "folder", said.append)
    assert len(said) >= 3
    check_files(result)
    check_figures(result)
    check_table(result)


def check_files(result: Demo) -> None:
    folder = result.folder
    assert sorted(path.name for path in folder.iterdir()) == ["adult.sfumato", "marginals.png", "synthetic.csv"]
    picture = (folder / "marginals.png").read_bytes()
    assert picture.startswith(PNG)
    assert len(picture) > 20_000
    with (folder / "synthetic.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == list(adult()[2].columns)
    assert len(rows) == SAMPLE_ROWS == 10_000
    assert all(len(row) == len(header) and "" not in row for row in rows)
    release = sf.load(folder / "adult.sfumato")
    assert release.guarantee == result.guarantee
    assert release.schema == adult()[2]


def check_figures(result: Demo) -> None:
    promise = result.guarantee
    assert promise.secure
    assert promise.epsilon == 1.0
    assert promise.delta is not None
    assert promise.delta <= 1 / 32_561
    assert 0.88 < result.auc_synthetic < result.auc_real
    assert 0.92 < result.auc_real < 0.95
    assert 0 < result.distance <= 0.02
    assert 0 < result.fit_seconds < result.seconds


def check_table(result: Demo) -> None:
    table = result.table()
    assert "(1, 3.08e-05)-differentially private" in table
    assert f"AUC, trained on synthetic rows  {result.auc_synthetic:.3f}" in table
    assert f"AUC, trained on real rows       {result.auc_real:.3f}" in table
    assert f"seconds in all                  {result.seconds:.1f}" in table
    assert "total variation" in table
    assert str(result.folder) in table
    data = result.data()
    assert data["guarantee"]["epsilon"] == 1.0
    assert data["folder"] == str(result.folder)


def test_the_demo_into_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match="cannot write into"):
        run_demo(tmp_path / "file", lambda line: None)
    assert (tmp_path / "file").read_text() == "mine"


def test_adult_is_the_data_set_it_says() -> None:
    train, test, schema = adult()
    assert (len(train), len(test)) == (32_561, 16_281)
    assert list(train) == list(test) == list(schema.columns)
    assert (train["income"] == ">50K").mean() == pytest.approx(0.2408, abs=1e-4)
    assert schema.unconfirmed == ()


# --- the yardsticks

SCHEMA = Schema.of(
    {
        "label": "y",
        "columns": {
            "n": {"type": "number", "min": 0, "max": 10, "missing": True},
            "d": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "missing": True},
            "c": {"type": "category", "values": [0, 1]},
            "b": {"type": "category", "values": ["true", "false"]},
            "y": {"type": "category", "values": ["p", "q"]},
        },
    }
)


def frame(rows: int, seed: int, gap: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.5
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, rows), unit="D")
    made = pd.DataFrame(
        {
            "n": np.clip(5 + gap * np.where(y, 1, -1) + rng.normal(size=rows), 0, 10),
            "d": day,
            "c": rng.integers(0, 2, rows).astype(float),
            "b": rng.random(rows) < 0.5,
            "y": np.where(y, "q", "p"),
        }
    )
    made.loc[::10, ["n", "d"]] = None
    return made


def test_equal_tables_are_at_distance_zero_and_disjoint_ones_at_one() -> None:
    one = frame(500, 0)
    assert set(total_variation(one, one, SCHEMA).values()) == {0.0}
    other = one.assign(c=1 - one["c"], y="p")
    found = total_variation(other, one.assign(c=0.0, y="q"), SCHEMA)
    assert found["y"] == 1.0
    assert found["n"] == 0.0


def test_categories_compare_as_the_schema_compares_them() -> None:
    """1.0 is 1 and True is true, so no mass is lost."""
    rows = frame(500, 0)
    for name in ("c", "b", "y"):
        assert marginal(rows[name], rows[name], SCHEMA.columns[name]).sum() == pytest.approx(1.0)
    assert not features(rows, SCHEMA)[["c", "b"]].isna().any(axis=None)


def test_dates_and_missing_numbers_become_features() -> None:
    found = features(frame(500, 0), SCHEMA)
    assert list(found) == ["n", "d", "c", "b"]
    assert found["d"].isna().sum() == found["n"].isna().sum() == 50
    assert found["d"].min() >= 18_262  # days since 1970
    assert found["d"].max() <= 18_262 + 365


def test_auc_measures_what_a_model_learns() -> None:
    test = frame(2000, 1)
    informed, blind = auc(frame(2000, 0), test, SCHEMA, "q"), auc(frame(2000, 0, gap=0.0), test, SCHEMA, "q")
    assert informed > 0.85
    assert blind < 0.75


def test_a_picture_of_every_kind_of_column(tmp_path: Path) -> None:
    draw_marginals(frame(300, 0), frame(300, 1), SCHEMA, tmp_path / "p.png", "title")
    assert (tmp_path / "p.png").read_bytes().startswith(PNG)
    assert [path.name for path in tmp_path.iterdir()] == ["p.png"]
