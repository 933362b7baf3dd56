"""The harness of Table 1: splits, schemas, judges, cells that are continued, and the command."""

from __future__ import annotations

import json
import pickle
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the experiments are no part of the package

from experiments.three_a import __main__ as command
from experiments.three_a import ablation, data, figure2, figure3, judge, methods, own_files, table1, tuning
from experiments.three_a.cube import Cube

from sfumato.schema.schema import Category, Schema

HERE = {name: (data.SCHEMAS / f"{name}.yaml") for name in ("census", "fraud", "credit_default")}
ROWS = 600


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> data.DataSet:
    """Adult with few rows, which every part of the harness then sees."""
    whole = data.load("adult")
    small = replace(whole, train=whole.train.iloc[:ROWS], test=whole.test.iloc[:ROWS])
    for module in (table1, ablation):
        monkeypatch.setattr(module, "load", lambda name, split="documented": small)
    return small


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No data beside the project."""
    monkeypatch.setenv("SFUMATO_SHARED", str(tmp_path))
    data.load.cache_clear()
    return tmp_path


def loaded(name: str) -> data.DataSet:
    try:
        return data.load(name)
    except data.MissingData as error:
        pytest.skip(str(error))


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["three_a", *arguments])
    command.main()


# --- data


@pytest.mark.parametrize("name", HERE)
def test_schemas_are_public_and_whole(name: str) -> None:
    schema = Schema.load(HERE[name])
    schema.require_confirmed()
    assert HERE[name].read_text().startswith("# ")  # which says where it is from
    assert schema.label in schema.columns


def test_the_census_code_book_has_as_many_values_as_its_documentation_counts() -> None:
    columns = Schema.load(HERE["census"]).columns
    counted = {"class_of_worker": 9, "detailed_industry_recode": 52, "education": 17, "major_industry_code": 24}
    counted |= {"state_of_previous_residence": 51, "detailed_household_and_family_stat": 38, "hispanic_origin": 10}
    counted |= {"migration_code_change_in_msa": 10, "country_of_birth_self": 43, "citizenship": 5, "year": 2}
    for name, number in counted.items():
        column = columns[name]
        assert isinstance(column, Category)
        assert len(column.values) == number, name
    assert len(columns) == 41
    assert "instance_weight" not in columns


@pytest.mark.parametrize("name", HERE)
def test_tables_have_the_columns_of_their_schema(name: str) -> None:
    found = loaded(name)
    assert found.schema is not None
    assert set(found.train.columns) == set(found.schema.columns)
    assert list(found.train.columns) == list(found.test.columns)


def test_frauds_are_split_the_same_way_every_time_and_in_both_parts_alike() -> None:
    labels = np.repeat([0, 1], [4000, 400])
    test = data._stratified(labels)
    assert (test == data._stratified(labels)).all()
    assert [test[labels == label].sum() for label in (0, 1)] == [1000, 100]


def test_isolet_is_vowels_of_other_speakers() -> None:
    found = loaded("isolet")
    assert len(found.features) == 617
    assert found.train["sound"].eq("vowel").mean() == pytest.approx(5 / 26, abs=0.01)
    assert len(found.test) == 1559  # isolet5, says the documentation


def test_a_quarter_of_each_class_is_the_test_set() -> None:
    whole, found = data.load("adult"), data.load("adult", "quarter")
    assert len(found.train) + len(found.test) == len(whole.train) == 32_561  # the paper's number
    shares = [part["income"].eq(">50K").mean() for part in (found.train, found.test)]
    assert shares[0] == pytest.approx(shares[1], abs=1e-3)
    assert len(found.test) == pytest.approx(len(whole.train) / 4, abs=1)
    assert found.delta == 1 / len(found.train)


@pytest.mark.parametrize("name", own_files.LOADERS)
def test_files_of_one_s_own_are_read_and_fitted(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On small files that are made up."""
    own_files.write_made_up(tmp_path / "data")
    monkeypatch.setenv("SFUMATO_SHARED", str(tmp_path))
    found = data.LOADERS[name]()
    assert found.schema is not None
    assert set(found.train.columns) == set(found.schema.columns)
    assert set(found.train[found.label]) == set(found.classes)
    for column in found.schema.columns.values():
        column.model_dump()  # each is one
    made = methods.METHODS["mixture"](found, 1.0, 1e-3, 0, rows=200).frame
    scores = judge.lightgbm(made, found)
    assert all(0.0 <= score <= 1.0 for score in scores.values())
    assert ("AUC one against one" in scores) == (name == "mimic_stay")


def test_stays_fall_into_the_paper_s_buckets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own_files.write_made_up(tmp_path / "data")
    file = tmp_path / "data" / "ADMISSIONS.csv"
    table = pd.read_csv(file).iloc[:5]
    hours = [71, 72, 167, 168, 336]
    table["DISCHTIME"] = pd.to_datetime(table["ADMITTIME"]) + pd.to_timedelta(hours, unit="h")
    table.to_csv(file, index=False)
    monkeypatch.setenv("SFUMATO_SHARED", str(tmp_path))
    assert own_files._admissions()["stay"].tolist() == [own_files.STAYS[i] for i in (0, 1, 1, 2, 3)]


def test_rows_held_out_are_train_rows(few: data.DataSet) -> None:
    inner = data.held_out(few)
    assert len(inner.train) + len(inner.test) == ROWS
    both = pd.concat([inner.train, inner.test]).sort_values(list(few.train.columns)).to_numpy()
    assert (both == few.train.sort_values(list(few.train.columns)).to_numpy()).all()


# --- judges


@pytest.mark.parametrize("name", judge.JUDGES)
def test_a_judge_knows_real_rows_from_rows_with_shuffled_labels(name: str, few: data.DataSet) -> None:
    shuffled = few.train.assign(income=np.random.default_rng(0).permutation(few.train["income"]))
    assert judge.JUDGES[name](few.train, few)["AUC"] > 0.8
    assert abs(judge.JUDGES[name](shuffled, few)["AUC"] - 0.5) < 0.2


def test_nothing_is_learned_from_one_class(few: data.DataSet) -> None:
    one = few.train[few.train["income"] == ">50K"]
    assert judge.lightgbm(one, few) == {"AUC": 0.5}


def test_one_against_one_is_that_of_scikit_learn() -> None:
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    truth, outputs = rng.integers(4, size=300), rng.random((300, 4))
    outputs[np.arange(300), truth] += 0.3
    outputs /= outputs.sum(axis=1, keepdims=True)
    assert judge.one_against_one(outputs, truth) == pytest.approx(roc_auc_score(truth, outputs, multi_class="ovo"))


def test_the_projection_keeps_what_is_smooth() -> None:
    wave = np.cos(np.pi * (np.arange(28) + 0.5) * 3 / 28)
    image = np.outer(wave, wave).reshape(1, -1)
    assert (judge.project(image, (28, 28)) ** 2).sum() == pytest.approx((image**2).sum())
    assert (judge.project(image, (28, 28), keep=3) ** 2).sum() == pytest.approx(0.0, abs=1e-9)


def test_the_tangent_kernel_of_one_row_with_itself() -> None:
    x = np.random.default_rng(0).standard_normal((5, 7))
    kernel = judge.ntk(x, x)
    # Each layer adds the row's square norm once, and on the diagonal no slope is lost.
    assert np.diag(kernel) == pytest.approx((judge.NTK_DEPTH + 1) * (x**2).mean(axis=1))
    assert np.linalg.eigvalsh(kernel).min() > 0


# --- methods


def test_rows_go_into_the_cube_and_come_back(few: data.DataSet) -> None:
    cube = Cube.of(few)
    points, labels = cube.points(few.train)
    assert points.shape == (ROWS, cube.dim)
    assert points.min() >= 0
    assert points.max() <= 1
    back = cube.frame(points, labels)
    for name in few.train.columns:
        assert (back[name].to_numpy() == few.train[name].to_numpy()).all(), name


def test_points_are_taken_apart_and_put_together(few: data.DataSet) -> None:
    cube = Cube.of(few)
    points, _ = cube.points(few.train)
    numbers, codes = cube.taken_apart(points)
    assert numbers.shape[1] + sum(cube.levels) == cube.dim
    assert (cube.put_together(numbers, codes) == points).all()


def test_bounds_from_rows_are_narrower(few: data.DataSet) -> None:
    public, seen = (Cube.of(few, from_rows=flag).points(few.train)[0] for flag in (False, True))
    assert public[:, 0].max() < 1.0
    assert seen[:, 0].max() == 1.0


def test_a_method_repeats_itself_with_a_seed(few: data.DataSet) -> None:
    one, two, other = (methods.METHODS["mixture"](few, 1.0, 1e-3, seed).frame for seed in (1, 1, 2))
    assert one.equals(two)
    assert not one.equals(other)
    assert len(methods.METHODS["mixture"](few, 1.0, 1e-3, 1, rows=50).frame) == 50


def test_the_paper_has_a_figure_for_every_data_set() -> None:
    assert tuple(methods.PUBLISHED) == data.TABLE == tuple(table1.TITLES)[: len(data.TABLE)]
    assert len({tuple(line) for line in methods.PUBLISHED.values()}) == 1
    # Its last line, the average distance from Real, over its seven data sets.
    mimic = 0.896 - 0.749 + 0.728 - 0.624
    away = sum(line["Real"] - line["ClustMix"] for line in methods.PUBLISHED.values())
    assert (away + mimic) / 7 == pytest.approx(0.087, abs=0.001)


# --- the table


def test_a_table_is_continued_where_it_stopped(few: data.DataSet, tmp_path: Path) -> None:
    known = {"data": ["adult"], "methods": ["real", "mixture"]}
    table1.make(tmp_path, releases=1, **known)
    first = table1.kept(tmp_path)
    text = table1.make(tmp_path, releases=2, **known).read_text()
    second = table1.kept(tmp_path)
    assert len(second["adult", "documented", "real"]["releases"]) == 1  # nothing in it is random
    mixture = second["adult", "documented", "mixture"]["releases"]
    assert mixture[0] == first["adult", "documented", "mixture"]["releases"][0]
    assert [release["seed"] for release in mixture] == [0, 1]
    assert {"commit", "command", "versions"} <= set(mixture[0])
    assert "| mixture (DP) |" in text
    assert "0.863" in text
    assert "2 of 50 cells" in text


def test_other_settings_are_made_anew(few: data.DataSet, tmp_path: Path) -> None:
    cell = table1.fill(tmp_path, "adult", "real")
    cell["settings"]["epsilon"] = 2.0
    cell["releases"] *= 3
    table1.keep(table1.cell_path(tmp_path, "adult", "documented", "real"), cell)
    assert len(table1.fill(tmp_path, "adult", "real")["releases"]) == 1


def test_more_rows_are_drawn_of_small_tables_alone(
    few: data.DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for least in (len(few.train) + 50, len(few.train)):
        named = f"least-{least}"
        more = replace(methods.METHODS["mixture"], least=least, like="mixture")
        monkeypatch.setitem(methods.METHODS, named, more)
        assert len(more(few, 1.0, few.delta, 0).frame) == least
        table1.fill(tmp_path, "adult", named, releases=1)
    cells = table1.kept(tmp_path)
    own, same = (cells["adult", "documented", f"least-{len(few.train) + by}"] for by in (50, 0))
    assert own["settings"]["drawn"] == len(few.train) + 50
    assert same["releases"] == cells["adult", "documented", "mixture"]["releases"] != own["releases"]


def test_there_are_fifty_cells_and_a_job_for_each_that_is_missing(tmp_path: Path) -> None:
    assert set(methods.TEN) <= set(methods.METHODS)
    assert len(list(table1.jobs(tmp_path, methods=methods.TEN))) == 50
    cell = {"data": "adult", "split": "documented", "method": "dpmix", "releases": [{"seed": i} for i in range(5)]}
    table1.keep(table1.cell_path(tmp_path, "adult", "documented", "dpmix"), cell)
    left = list(table1.jobs(tmp_path, methods=methods.TEN))
    assert len(left) == 49
    assert "python -m experiments.three_a table1 --data mnist --methods dp-gan --releases 3" in left


def test_the_average_difference_is_over_first_scores(tmp_path: Path) -> None:
    def cell(method: str, *found: float) -> table1.Cell:
        return {"releases": [{"scores": {"AUC": score}, "seconds": 1.0} for score in found]}

    cells = {
        ("adult", "documented", "real"): cell("real", 0.9),
        ("adult", "documented", "dpmix"): cell("dpmix", 0.7, 0.6),
        ("fraud", "documented", "real"): cell("real", 0.8),
        ("fraud", "documented", "dpmix"): cell("dpmix", 0.75),
    }
    assert "| 0.150 (2) |" in table1.markdown(cells)  # of 0.25 and 0.05


def test_a_search_goes_on_where_it_stopped_and_says_who_pays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = data.load("adult")
    small = replace(whole, train=whole.train.iloc[:ROWS], test=whole.test.iloc[:ROWS])
    monkeypatch.setattr(tuning, "load", lambda name: small)
    seen: list[dict[str, object]] = []

    def make(table: data.DataSet, settings: dict[str, object], seed: int) -> pd.DataFrame:
        seen.append(settings)
        return table.train

    tuning.tune(tmp_path, "dp-gan", "adult", make, rounds=1)
    path = tuning.tune(tmp_path, "dp-gan", "adult", make, rounds=3)
    kept = json.loads(path.read_text())
    assert kept["privacy"].startswith("UNPAID")
    assert [each["settings"] for each in kept["rounds"]] == seen
    assert len(seen) == 3
    assert tuning.best(tmp_path, "dp-gan", "adult") == seen[0]  # all as good
    assert tuning.best(tmp_path, "dp-gan") is None
    path.write_text(json.dumps(kept | {"rounds": kept["rounds"][::2]}))  # as several processes may leave it
    tuning.tune(tmp_path, "dp-gan", "adult", make, rounds=3)
    again = json.loads(path.read_text())["rounds"]
    assert [each["seed"] for each in again] == [0, 1, 2]
    assert again[1]["settings"] == kept["rounds"][1]["settings"] == seen[3]
    assert len(seen) == 4


def test_processes_share_the_rounds_of_a_search() -> None:
    assert sorted(tuning._played(abs, [-3, 2, -1], workers=2)) == [1, 2, 3]  # type: ignore[arg-type, type-var]
    pickle.dumps(methods.tried("dp-gan"))


@pytest.mark.parametrize("name", ["census", "fraud", "isolet", "mnist"])
def test_cells_without_their_data_are_skipped_and_say_so(
    name: str, empty: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, "table1", "--data", name, "--methods", "real", "--out", str(empty))
    said = capsys.readouterr().err
    assert f"{name}, real skipped: " in said
    assert "SFUMATO_SHARED" in said
    assert ".parquet" in said or ".npz" in said


def test_a_wrong_name_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(monkeypatch, "table1", "--data", "adlut")
    assert "adlut" in capsys.readouterr().err


# --- figures and ablation


def test_toy_data_lies_within_its_public_range() -> None:
    for name in figure2.TOYS:
        toy = figure2.toy(name)
        assert toy.train[toy.features].abs().to_numpy().max() < figure2.REACH
        assert figure2.near(toy.train, toy) > 0.95


def test_figure_2_draws_what_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(figure2, "SHOWN", ("mixture", "no such method"))
    monkeypatch.setattr(figure2, "EPSILONS", (1.0,))
    assert figure2.make(tmp_path).read_bytes().startswith(b"\x89PNG")


def test_a_sheet_of_digits_has_a_column_for_each() -> None:
    names = [f"px_{i}" for i in range(data.PIXELS)]
    frame = pd.DataFrame(np.full((2, data.PIXELS), 9), columns=names).assign(digit=[3, 3])
    digits = data.DataSet("mnist", frame, frame, "digit", tuple(range(10)), 1e-5, 2, None, (0.0, 255.0), (28, 28))
    sheet = figure3.sheet(frame, digits)
    assert sheet.shape == (figure3.EACH * 28, 280)
    assert (sheet[:56, 84:112] == 9).all()
    assert sheet.sum() == 9 * 2 * data.PIXELS


def test_the_ablation_goes_on_where_it_stopped(
    few: data.DataSet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[int] = []

    def step(table: data.DataSet, seed: int) -> pd.DataFrame:
        made.append(seed)
        return table.train

    monkeypatch.setattr(ablation, "STEPS", {"now": step})
    ablation.make(tmp_path, only=["adult"], releases=1)
    text = ablation.make(tmp_path, only=["adult"], releases=2).read_text()
    assert "| adult | now | 2 |" in text
    assert made == [0, 1]
