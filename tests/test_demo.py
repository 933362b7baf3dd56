"""The demo does what the README says."""

import csv
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

import sfumato as sf
from sfumato.demo import Demo, adult, run_demo
from sfumato.errors import OutputError

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
    assert len(rows) == 10_000
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
