"""The scoreboard's own logic, with methods that make up rows: cells, resuming, drivers' files, and the page."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the benchmarks are no part of the package

from benchmarks.scoreboard import __main__ as command
from benchmarks.scoreboard import cells, datasets, environments, foreseen, measuring, own, page
from benchmarks.scoreboard.cells import REAL, Cell, summary
from benchmarks.scoreboard.datasets import DATASETS, DataMissing, DataSet, Loaded, xor
from benchmarks.scoreboard.methods import METHODS, Method
from benchmarks.scoreboard.peers.exchange import Task

from sfumato.schema.schema import Schema

SCHEMA = Schema.of(
    {
        "label": "y",
        "columns": {
            "age": {"type": "number", "min": 0, "max": 99, "step": 1, "missing": True},
            "pay": {"type": "number", "min": 0, "max": 1000, "scale": "log", "atoms": [0]},
            "town": {"type": "category", "values": ["Ulm", "Bonn"], "missing": True},
            "state": {
                "type": "category",
                "values": ["south", "west"],
                "missing": True,
                "derived": {"from": "town", "map": {"Ulm": "south", "Bonn": "west"}},
            },
            "y": {"type": "category", "values": [0, 1]},
        },
    }
)


def table(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    town = rng.choice(["Ulm", "Bonn"], rows)
    made = pd.DataFrame(
        {
            "age": rng.integers(0, 100, rows).astype(float),
            "pay": np.where(rng.random(rows) < 0.3, 0.0, rng.random(rows) * 1000),
            "town": town,
            "state": np.where(town == "Ulm", "south", "west"),
            "y": rng.integers(0, 2, rows),
        }
    )
    made.loc[::7, "age"] = None
    made.loc[::9, ["town", "state"]] = None
    return made


LOADED = Loaded(table(200, 0), table(100, 1), SCHEMA, ("age <= 99",))
DATA = DataSet("made-up", "Rows made up", lambda: LOADED)


def copies(method: Method, folder: Path) -> None:
    """A driver that gives the train rows back."""
    task = Task(folder)
    with task.timed():
        rows = task.train
    task.finish(rows, "none", ["numpy"], log_likelihood=-1.0)


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """One data set, a method that copies the rows, cheap scores; the folder of the results."""
    monkeypatch.setitem(DATASETS, "made-up", DATA)
    monkeypatch.setattr(measuring, "run", copies)
    monkeypatch.setattr(measuring, "compare", lambda rows, *_: {"tv1": float(len(rows)), "lightgbm": 0.9})
    return tmp_path / "results"


# --- Cells


def test_a_cell_says_mean_and_spread_and_reads_back(tmp_path: Path) -> None:
    releases = [{"seconds": s, "peak_megabytes": 9.0, "measures": {"tv1": s / 10}} for s in (1.0, 3.0)]
    cell = Cell("adult", "mixture", 0.5, {"rows": 7}, releases)
    cell.save(tmp_path)
    said = json.loads((tmp_path / "adult.mixture.0.5.json").read_text())
    assert said["spread"]["tv1"] == {"mean": 0.2, "sd": pytest.approx(0.14142)}
    assert cells.load(tmp_path) == {("adult", "mixture", 0.5): cell}
    assert summary(cell)["seconds"] == (2.0, pytest.approx(1.41421), 2)
    assert [path.name for path in tmp_path.iterdir()] == ["adult.mixture.0.5.json"]


def test_fast_peers_are_released_three_times_and_ours_five() -> None:
    assert METHODS["mixture"].releases(None) == METHODS["mixture"].releases(900.0) == 5
    assert [METHODS["dpmm-mst"].releases(seconds) for seconds in (None, 10.0, 299.9, 300.0)] == [1, 3, 3, 1]


def test_ours_are_measured_at_four_epsilons_and_peers_at_two() -> None:
    names = {epsilon for _, _, epsilon in command.wanted(["adult"], ["mixture"], None)}
    assert names == {0.5, 1.0, 4.0, 20.0}
    found = list(command.wanted(["adult", "credit"], [REAL, "dpmm-mst"], None))
    assert found[:3] == [("adult", REAL, 0.0), ("adult", "dpmm-mst", 1.0), ("adult", "dpmm-mst", 4.0)]
    assert len(found) == 6


def test_labels_are_adapted_only_where_there_are_some() -> None:
    found = list(command.wanted(["nist21", "adult"], ["mixture", "pairs-adapted", "dpmm-mst"], [1.0]))
    assert found == [
        *(("nist21", "mixture", 1.0), ("nist21", "dpmm-mst", 1.0)),
        *(("adult", name, 1.0) for name in ("mixture", "pairs-adapted", "dpmm-mst")),
    ]


# --- Measuring


def test_a_cell_is_measured_once_unless_asked_again(board: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for again, said in ((False, "measured"), (False, "measured before"), (True, "measured")):
        command.fill("made-up", "mixture", 1.0, again, folder=board)
        assert capsys.readouterr().out == f"made-up, mixture, epsilon 1: {said}\n"
    cell = cells.load(board)["made-up", "mixture", 1.0]
    assert len(cell.releases) == 5
    assert cell.releases[0]["measures"] == {"tv1": 200.0, "lightgbm": 0.9, "log_likelihood": -1.0}
    assert cell.facts["command"].endswith("--data made-up --methods mixture --epsilon 1 --again")
    assert cell.facts["adjacency"] == "none"
    assert set(cell.facts) == {"rows", "delta", "commit", "command", "adjacency", "versions"}


def test_a_run_that_was_stopped_goes_on_where_it_stood(board: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = 0

    def stopped(method: Method, folder: Path) -> None:
        nonlocal runs
        runs += 1
        if runs == 3:
            raise KeyboardInterrupt
        copies(method, folder)

    monkeypatch.setattr(measuring, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        command.fill("made-up", "mixture", 1.0, False, folder=board)
    assert len(cells.load(board)["made-up", "mixture", 1.0].releases) == 2
    command.fill("made-up", "mixture", 1.0, False, most=4, folder=board)
    assert len(cells.load(board)["made-up", "mixture", 1.0].releases) == 4
    command.fill("made-up", "mixture", 1.0, False, folder=board)
    assert (len(cells.load(board)["made-up", "mixture", 1.0].releases), runs) == (5, 6)


def test_a_failure_is_kept_and_not_tried_again_unasked(
    board: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(method: Method, folder: Path) -> None:
        raise measuring.Failed("out of luck")

    monkeypatch.setattr(measuring, "run", fails)
    command.fill("made-up", "dpmm-mst", 1.0, False, folder=board)
    monkeypatch.setattr(measuring, "run", copies)
    command.fill("made-up", "dpmm-mst", 1.0, False, folder=board)
    assert cells.load(board)["made-up", "dpmm-mst", 1.0].failure == "out of luck"
    command.fill("made-up", "dpmm-mst", 1.0, True, folder=board)
    assert len(cells.load(board)["made-up", "dpmm-mst", 1.0].releases) == 3
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[1] for line in lines] == ["out of luck", "measured before", "measured"]


def test_who_ran_out_of_time_is_not_tried_where_it_takes_longer(
    board: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = Cell("acs", "dpmm-aim", 1.0, {}, [], measuring.OUT_OF_TIME)
    known = {(out.data, out.method, out.epsilon): out}
    for data, epsilon, foretold in (("acs", 4.0, True), ("nist24", 1.0, True), ("census", 4.0, True)):
        assert (foreseen.out_of_time(known, data, "dpmm-aim", epsilon) is out) == foretold
    for data, method, epsilon in (
        *(("acs", "dpmm-aim", 1.0), ("acs", "dpmm-aim", 0.5)),  # itself, and less budget
        *(("adult", "dpmm-aim", 4.0), ("digits", "dpmm-aim", 4.0)),  # fewer columns, fewer rows
        *(("acs", "dpmm-mst", 4.0), ("acs", "mixture", 4.0), ("made-up", "dpmm-aim", 4.0)),
    ):
        assert foreseen.out_of_time(known, data, method, epsilon) is None
    out.failure = "out of luck"
    assert foreseen.out_of_time(known, "acs", "dpmm-aim", 4.0) is None

    monkeypatch.setitem(foreseen.SIZES, "made-up", (200, 4, 40))
    Cell("made-up", "dpmm-aim", 1.0, {}, [], measuring.OUT_OF_TIME).save(board)
    command.fill("made-up", "dpmm-aim", 4.0, False, folder=board)
    command.fill("made-up", "dpmm-aim", 4.0, True, folder=board)
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith("epsilon 4: not tried, took more than 30 minutes on made-up at epsilon 1")
    assert said[1].endswith("epsilon 4: measured")


@pytest.mark.slow
@pytest.mark.parametrize("name", DATASETS)
def test_sizes_are_those_of_the_tables(name: str) -> None:
    try:
        loaded = DATASETS[name].load()
    except DataMissing as missing:
        pytest.skip(str(missing))
    columns = measuring.public(loaded.schema)["columns"].values()
    values = (len(each["values"]) + each["missing"] if "values" in each else len(each["bins"]) for each in columns)
    assert foreseen.SIZES[name] == (len(loaded.train), len(columns), sum(values))
    assert DATASETS[name].labelled == (loaded.schema.label is not None)


def test_data_that_is_not_there_is_skipped_in_one_line(
    board: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(datasets, "SHARED", board)
    command.fill("credit", "mixture", 1.0, False, folder=board)
    said = capsys.readouterr().out
    assert said.startswith("credit, mixture, epsilon 1: skipped, no credit_default.parquet in ")
    assert said.count("\n") == 1
    assert cells.load(board) == {}
    with pytest.raises(DataMissing):
        DATASETS["nist21"].load()


class Says(Method):
    """A driver that is a line of Python."""

    def command(self, folder: Path) -> list[str]:
        return [sys.executable, "-c", self.option]


def test_the_last_line_of_a_driver_is_what_went_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def driver(code: str) -> Says:
        return Says("says", "Says", "", code, ours=False)

    measuring.run(driver("pass"), tmp_path)
    with pytest.raises(measuring.Failed, match=r"^ValueError: no such thing$"):
        measuring.run(driver("raise ValueError('no such thing')"), tmp_path)
    with pytest.raises(measuring.Failed, match="status 3 and no word"):
        measuring.run(driver("raise SystemExit(3)"), tmp_path)
    monkeypatch.setattr(measuring, "LIMIT", 0.2)
    with pytest.raises(measuring.Failed, match="took more than"):
        measuring.run(driver("import time; time.sleep(9)"), tmp_path)


def test_what_is_not_ready_is_skipped_and_not_counted_as_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(DATASETS, "made-up", DATA)
    monkeypatch.setattr(environments, "PLACE", tmp_path)
    monkeypatch.setitem(own.MECHANISMS, "mixture", ("Mixture", {"magic": "auto"}))
    for method in ("dpmm-mst", "mixture"):
        command.fill("made-up", method, 1.0, False, folder=tmp_path)
    said = capsys.readouterr().out.splitlines()
    assert said[0].endswith("--prepare dpmm")
    assert said[1] == "made-up, mixture, epsilon 1: skipped, Mixture has no option 'magic' in this version"
    assert cells.load(tmp_path) == {}
    assert {method.environment for method in METHODS.values()} - {""} < set(environments.names())


# --- What drivers read and write


@pytest.fixture
def task(tmp_path: Path) -> Task:
    measuring.write_task(tmp_path, LOADED, "mst", 2.0)
    return Task(tmp_path)


def test_a_driver_reads_what_is_public_and_the_rows(task: Task) -> None:
    assert (task.method, task.epsilon, task.delta, task.rows) == ("mst", 2.0, 1 / 200, 200)
    assert list(task.columns) == ["age", "pay", "town", "y"]  # what is derived is computed, not learned
    assert task.columns["town"] == {"type": "category", "values": ["Ulm", "Bonn"], "missing": True}
    assert len(task.columns["age"]["bins"]) <= measuring.PUBLIC_BINS + 1
    assert task.columns["pay"]["bins"][0] == [0.0, 0.0]
    assert task.train["town"].isna().sum() == LOADED.train["town"].isna().sum()


def test_codes_lead_back_to_the_same_bins(task: Task) -> None:
    codes = task.codes()
    back = task.decoded(codes, np.random.default_rng(0))
    for name, size in task.sizes.items():
        assert codes[name].between(0, size - 1).all()
    assert back["town"].isna().equals(task.train["town"].isna())
    assert back["age"].isna().equals(task.train["age"].isna())
    assert (back["town"].dropna() == task.train["town"].dropna()).all()
    wide = max(high - low for low, high in task.columns["age"]["bins"])
    assert (back["age"] - task.train["age"]).abs().max() <= wide
    assert ((back["pay"] == 0) == (task.train["pay"] == 0)).all()
    assert (back["age"].dropna() % 1 == 0).all()


def test_synthetic_rows_come_back_on_the_grid_and_whole(task: Task) -> None:
    rough = task.train.assign(age=task.train["age"] + 0.3, pay=2000.0)
    task.finish(rough, "add-remove", ["numpy"])
    rows = measuring.completed(pd.read_parquet(task.folder / "synthetic.parquet"), SCHEMA)
    assert list(rows) == list(SCHEMA.columns)
    assert (rows["age"].dropna() == LOADED.train["age"].dropna()).all()
    assert (rows["pay"] == 1000).all()
    wanted = rows["town"].astype(object).map({"Ulm": "south", "Bonn": "west"})
    assert rows["state"].astype(object).fillna("-").tolist() == wanted.fillna("-").tolist()
    made = json.loads((task.folder / "made.json").read_text())
    assert made["peak_megabytes"] > 1
    assert made["versions"]["numpy"] == np.__version__


def test_scores_of_copied_rows_are_those_of_real_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(measuring, "run", copies)
    rows, made = measuring.release(LOADED, METHODS["mixture"], 1.0)
    found = measuring.scores(DATA, LOADED, rows)
    assert found["tv1"] == found["tv2"] == found["tv3"] == found["broken_rules"] == 0.0
    assert made["adjacency"] == "none"


# --- Data


def test_a_split_is_the_same_every_time() -> None:
    one, two = (datasets.split(table(500, 0), SCHEMA) for _ in range(2))
    assert one.train.equals(two.train)
    assert one.test is not None
    assert len(one.train) + len(one.test) == 500
    assert 60 < len(one.test) < 140


def test_the_label_of_xor_is_told_by_all_of_its_columns_and_no_fewer() -> None:
    loaded = xor(3, 8)
    bits = loaded.train.astype(int)
    assert (bits["y"] == bits[["x0", "x1", "x2"]].sum(axis=1) % 2).all()
    assert len(loaded.train) == 40_000
    assert bits.corr()["y"].drop("y").abs().max() < 0.03


@pytest.mark.skipif(not (datasets.SHARED / "nist").exists(), reason="the survey is not here")
def test_real_rows_of_the_survey_keep_its_rules() -> None:
    from sfumato.evaluation.broken_rules import broken_share

    loaded = DATASETS["nist21-derived"].load()
    rows = measuring.completed(measuring.plain(loaded.train, loaded.schema), loaded.schema)
    assert broken_share(rows, loaded.schema, loaded.rules) == 0.0


# --- The page


def made(data: str, method: str, epsilon: float, seconds: float = 1.0, **measures: float) -> Cell:
    facts: dict[str, Any] = {"rows": 1000, "adjacency": "add-remove", "versions": {"numpy": "2"}}
    releases = [{"seconds": seconds, "peak_megabytes": 100.0, "measures": measures}] * 2
    return Cell(data, method, epsilon, facts, releases)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(page, "REMARKS", tmp_path / "remarks.yaml")
    (tmp_path / "remarks.yaml").write_text("adult/tv2: they look at pairs\n")
    found = [
        made("adult", REAL, 0.0, lightgbm=0.93),
        made("adult", "mixture", 1.0, lightgbm=0.95, tv1=0.02, tv2=0.02),
        made("adult", "mixture-adapted", 1.0, lightgbm=0.91, tv1=0.01, tv2=0.05),
        made("adult", "dpmm-mst", 1.0, 9.0, lightgbm=0.88, tv1=0.02, tv2=0.04),
        made("adult", "dpmm-aim", 1.0, 9.0, lightgbm=0.92, tv1=0.03, tv2=0.06),
        Cell("adult", "mbi-aim", 1.0, {"rows": 1000}, [], measuring.OUT_OF_TIME),
    ]
    found += [made("nist21", "mixture", 1.0, tv1=0.02)]
    page.write({(cell.data, cell.method, cell.epsilon): cell for cell in found}, tmp_path / "scoreboard.md")
    assert (tmp_path / "scoreboard-adult.png").exists()
    return (tmp_path / "scoreboard.md").read_text()


def test_what_a_peer_does_better_comes_first_with_its_cause(written: str) -> None:
    first = written.split("## Where a peer is better")[1].split("\n## ")[0]
    assert (
        "| adult | 1 | TV 2 | 0.050 ± 0.000 (mixture adapted) | 0.040 ± 0.000 (MST (dpmm)) | they look at pairs |"
        in first
    )
    assert "| adult | 1 | LightGBM | 0.910 ± 0.000 (mixture adapted) | 0.920 ± 0.000 (AIM (dpmm)) | not looked" in first
    assert "TV 1" not in first
    assert "seconds |" not in first


def test_figures_failures_and_what_is_missing_are_told(written: str) -> None:
    assert "| MST (dpmm) | 1 | 2 | 0.880 ± 0.000 | 0.020 ± 0.000 | 0.040 ± 0.000 | 9.0 ± 0.0 | 100 ± 0 |" in written
    assert "| real rows |  |  | 0.930 ± 0.000 |  |  |  |  |" in written
    assert "AIM (mbi 2.0) at epsilon 1 **failed**: `took more than 30 minutes`" in written
    assert "MST (dpmm) at 4" in written
    assert "Credit default" in written.split("## Not measured yet")[1]
    assert all(len(line) <= 120 for line in written.splitlines() if not line.startswith("|"))


def test_cells_of_peers_are_counted_by_what_became_of_them(written: str) -> None:
    part = written.split("## What is measured of peers")[1].split("\n## ")[0]
    peers = sum(not method.ours for method in METHODS.values())
    cells = 2 * peers * len(DATASETS)
    assert f"{cells} cells of {peers} methods on {len(DATASETS)} data sets" in part
    said = " ".join(part.split())
    assert "2 are measured, 1 **failed** (the reason is told with the data set), 3 were **not tried**" in said
    assert f"and {cells - 6} are **empty**" in said
    lines = {line.split(" | ")[0].strip("| "): line.split(" | ") for line in part.splitlines()}
    assert lines["MST (dpmm)"][1] == "2 ·"
    assert lines["AIM (mbi 2.0)"][1:4] == ["× (×)", "· ·", "(×) (×)"]


def test_our_own_cells_are_counted_without_those_that_labels_are_needed_for(written: str) -> None:
    said = " ".join(written.split())
    methods, tables = sum(method.ours for method in METHODS.values()), len(DATASETS)
    unlabelled = sum(not each.labelled for each in DATASETS.values())
    assert (
        f"0 of {4 * (methods * tables - 2 * unlabelled)} cells have their five releases" in said
    )  # they have two each
    survey = said.split("## NIST's Massachusetts excerpt, 21")[1].split("## ")[0]
    assert "mixture at 0.5, 4, 20; mixture pairs at 0.5, 1, 4, 20; clustmix" in survey
    assert "adapted at" not in survey


def test_remarks_are_found_from_the_special_to_the_general() -> None:
    remarks = {"adult/tv2/4": "zero", "adult/tv2": "one", "adult/*": "two", "*/tv2": "three", "*/seconds": "four"}
    asked = (("adult", "tv2", 4.0), ("adult", "tv2", 1.0), ("adult", "tv1", 4.0), ("credit", "tv2", 1.0))
    assert [page.remark(remarks, *key) for key in asked] == ["zero", "one", "two", "three"]
    assert page.remark(remarks, "adult", "seconds", 1.0) == "four"  # what a run costs is no matter of the table
    assert page.remark(remarks, "credit", "tv1", 1.0) == "not looked into yet"


def test_every_remark_speaks_of_what_there_is() -> None:
    import yaml

    for key in yaml.safe_load(page.REMARKS.read_text()) or {}:
        data, name, *epsilon = key.split("/")
        assert data in (*DATASETS, "*")
        assert epsilon in ([], ["1"], ["4"])
        assert name in (*page.MEASURES, *page.MORE_MEASURES, "*")


# --- The command


@pytest.mark.parametrize("words", [["--data", "nothing"], ["--methods", "magic"], ["--prepare", "nothing"]])
def test_what_there_is_not_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(words)
    assert "there are" in capsys.readouterr().err


def test_the_command_measures_what_it_is_told(board: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(command, "fill", lambda *words: asked.append(words[:3]))
    command.main(["--data", "made-up", "--methods", "mixture, real", "--epsilon", "1,4"])
    assert asked == [("made-up", "mixture", 1.0), ("made-up", "mixture", 4.0), ("made-up", REAL, 0.0)]
    shutil.rmtree(board, ignore_errors=True)
