"""The harness of the slicing tables: scores, data, runs that are continued, and the commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # the experiments are no part of the package

from experiments.slicing import __main__ as command
from experiments.slicing import check_sdmetrics, data, judge, methods, mnist, overtake, readme, runs, similarity, tables
from experiments.slicing.frames import CATEGORIES, NUMBERS, frames
from experiments.slicing.plain import MISSING, Plain
from experiments.three_a import data as three_a
from experiments.three_a.data import DataSet, MissingData
from experiments.three_a.methods import Method, NotThere

import sfumato as sf
from sfumato.published import baselines
from sfumato.published.row_generator import LabelledRows, Made
from sfumato.schema.schema import Category, Number, Schema

ROWS = 500
SLICED = ("central", "central-replaced", "rows1", "rows2", "rows3", "few")


def people(rows: int, seed: int) -> pd.DataFrame:
    """Made-up rows with the columns of the ACS excerpt."""
    schema, rng = Schema.load(data.SCHEMAS / "acs.yaml"), np.random.default_rng(seed)
    columns: dict[str, object] = {}
    for name in schema.features:
        column = schema.columns[name]
        if isinstance(column, Category):
            columns[name] = rng.choice(np.array(column.texts, dtype=object), rows)
        else:
            assert isinstance(column, Number)
            drawn = rng.integers(int(column.min), int(column.max) + 1, rows)
            columns[name] = np.where(rng.random(rows) < 0.2 * column.missing, "N", drawn.astype(str).astype(object))
    columns["PINCP"] = (rng.integers(0, 100, rows) * 1000.0 + 500 * (columns["SEX"] == "1")).astype(str)
    return pd.DataFrame(columns)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> dict[str, DataSet]:
    """Adult with few rows, and made-up people, which every part of the harness then sees."""
    adult, schema = data.load("adult"), Schema.load(data.SCHEMAS / "acs.yaml")
    train, test = (data.persons(people(ROWS, seed), schema) for seed in (1, 2))
    small = {
        "adult": replace(adult, train=adult.train.iloc[:ROWS], test=adult.test.iloc[:ROWS]),
        "acs": DataSet("acs", train, test, "income", three_a.INCOMES, 1 / ROWS, ROWS, schema),
    }
    monkeypatch.setattr(runs, "load", small.__getitem__)
    return small


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float, int | None]]:
    """Every method draws from the train rows, and says when it was called."""
    called: list[tuple[str, float, int | None]] = []

    def stand_in(name: str, method: Method) -> Method:
        def make(table: DataSet, epsilon: float, delta: float, seed: int | None, rows: int) -> pd.DataFrame:
            called.append((name, epsilon, seed))
            return table.train.sample(rows, replace=True, random_state=seed)

        return method if name == methods.REAL else replace(method, make=make)

    for name, method in list(methods.METHODS.items()):
        monkeypatch.setitem(methods.METHODS, name, stand_in(name, method))
    return called


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["slicing", *arguments])
    command.main()


# --- scores


def test_scores_are_those_of_sdmetrics() -> None:
    kept = json.loads(check_sdmetrics.KEPT.read_text())
    assert kept["versions"]["sdmetrics"] == "0.32.0"
    real, synthetic = frames()
    found = similarity.scores(real, synthetic, NUMBERS, CATEGORIES)
    assert found == pytest.approx(kept["scores"], abs=check_sdmetrics.TOLERANCE, rel=0)
    assert all(score < 0.99 for score in found.values())  # so that there was something to find


def test_the_frames_have_what_is_hard() -> None:
    real, synthetic = frames()
    assert real["gaps"].isna().any()
    assert synthetic["size"].isna().any()
    assert set(synthetic["colour"]) - set(real["colour"])
    assert set(real["code"]) - set(synthetic["code"])
    assert real["whole"].duplicated().any()


def test_a_table_is_like_itself() -> None:
    real, _ = frames()
    assert similarity.scores(real, real, NUMBERS, CATEGORIES) == dict.fromkeys(
        ["KSComplement", "TVComplement", "ContingencySimilarity", "CorrelationSimilarity"], pytest.approx(1.0)
    )


def test_scores_by_hand() -> None:
    a, b = pd.Series([1.0, 2.0, 3.0, np.nan]), pd.Series([3.0, 4.0])
    assert similarity.ks_complement(a, b) == pytest.approx(1 / 3)
    x, y = pd.Series(["u", "u", "v", None]), pd.Series(["u", "w"])
    assert similarity.tv_complement(x, y) == pytest.approx(1 - 0.5 * (1 / 6 + 1 / 3 + 1 / 2))
    first = pd.DataFrame({"x": ["u", "u", None, "v"], "y": [1, 2, 1, 1]})
    second = pd.DataFrame({"x": ["u", None], "y": [1, 1]})
    assert similarity.contingency_similarity(first, second) == pytest.approx(0.5)
    up, down = ({"x": [0.0, 1.0, 2.0], "y": y} for y in ([0.0, 1.0, 2.0], [2.0, 1.0, 0.0]))
    assert similarity.correlation_similarity(pd.DataFrame(up), pd.DataFrame(down)) == pytest.approx(0.0)


def test_what_has_collapsed_is_not_left_out() -> None:
    up = pd.DataFrame({"x": [0.0, 1.0, 2.0], "y": [0.0, 1.0, 2.0]})
    flat = up.assign(y=1.0)
    assert similarity.correlation_similarity(up, flat) == pytest.approx(0.5)
    assert similarity.correlation_similarity(flat, up) is None
    assert similarity.ks_complement(up["x"], pd.Series([np.nan, np.nan])) == 0.0
    assert similarity.tv_complement(up["x"], pd.Series([None, None], dtype=object)) == 0.0


def test_f1_knows_real_labels_from_shuffled_ones(few: dict[str, DataSet]) -> None:
    adult = few["adult"]
    shuffled = adult.train.assign(income=np.random.default_rng(0).permutation(adult.train["income"]))
    assert judge.logistic_f1(adult.train, adult) > 0.5
    assert judge.logistic_f1(shuffled, adult) < 0.45


@pytest.mark.parametrize(("label", "expected"), [("<=50K", lambda share: 0.0), (">50K", lambda p: 2 * p / (1 + p))])
def test_one_class_teaches_its_own_name(
    label: str, expected: Callable[[float], float], few: dict[str, DataSet]
) -> None:
    adult = few["adult"]
    share = float((adult.test["income"] == ">50K").mean())
    one = adult.train[adult.train["income"] == label]
    assert judge.logistic_f1(one, adult) == pytest.approx(expected(share))


def test_codes_are_compared_as_text(few: dict[str, DataSet]) -> None:
    acs = few["acs"]
    as_numbers = acs.train.assign(SEX=acs.train["SEX"].astype(float), HISP=acs.train["HISP"].astype(int))
    assert judge.likeness(as_numbers, acs) == judge.likeness(acs.train, acs)
    assert judge.likeness(acs.train, acs)["TVComplement"] == pytest.approx(1.0)


# --- data


def test_the_acs_schema_is_public_and_whole() -> None:
    path = data.SCHEMAS / "acs.yaml"
    schema = Schema.load(path)
    schema.require_confirmed()
    assert path.read_text().startswith("# ")  # which says where it is from
    assert len(schema.features) == 20
    assert {"PINCP", "PINCP_DECILE", "INDP", "DENSITY"}.isdisjoint(schema.columns)


def test_the_acs_excerpt_has_the_columns_and_codes_of_its_schema() -> None:
    try:
        found = data.load("acs")
    except MissingData as error:
        pytest.skip(str(error))
    assert found.schema is not None
    assert len(found.train) + len(found.test) == 6514  # persons with an income, of 7,634
    for part in (found.train, found.test):
        assert list(part.columns) == list(found.schema.columns)
        assert part["income"].eq(">50K").mean() == pytest.approx(0.44, abs=0.01)
        for name, column in found.schema.columns.items():
            known = part[name].dropna()
            if isinstance(column, Category):
                assert set(known) <= set(column.texts), name
            else:
                assert isinstance(column, Number)
                assert known.between(column.min, column.max).all(), name
                assert column.missing or len(known) == len(part), name


def test_income_is_what_the_survey_says(few: dict[str, DataSet]) -> None:
    table = people(3, 0).assign(PINCP=["50000.0", "50001.0", "-4600.0"], NOC=["N", "2", "0"])
    made = data.persons(table, Schema.load(data.SCHEMAS / "acs.yaml"))
    assert list(made["income"]) == ["<=50K", ">50K", "<=50K"]
    assert made["NOC"].isna().tolist() == [True, False, False]


def test_plain_rows_come_back(few: dict[str, DataSet]) -> None:
    for table in few.values():
        plain = Plain(table)
        pd.testing.assert_frame_equal(plain.back(plain.rows(table.train)), table.train, check_dtype=False)


def test_plain_rows_lie_within_their_schema(few: dict[str, DataSet]) -> None:
    plain = Plain(few["acs"])
    assert MISSING.format("NOC") in plain.schema.features
    weight = plain.schema.columns["WGTP"]
    assert isinstance(weight, Number)
    assert weight.max == pytest.approx(np.log(10_000))
    assert plain.rows(few["acs"].train)["WGTP"].between(0, weight.max).all()


# --- methods


def test_every_method_that_is_shown_is_there() -> None:
    for shown in (tables.SHOWN, overtake.SHOWN, mnist.SHOWN, mnist.DRAWN):
        assert set(shown) <= set(methods.METHODS)


def test_a_method_that_is_not_there_says_so(few: dict[str, DataSet]) -> None:
    for module in ("baselines", "no_such_module"):
        with pytest.raises(NotThere, match="no_such_name"):
            methods.from_arrays(module, "no_such_name")(few["adult"], 1.0, 1e-3, 0, 10)


@pytest.mark.parametrize("name", SLICED)
def test_slicing_is_asked_for_by_its_options(
    name: str, few: dict[str, DataSet], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, object] = {}

    class Release:
        def sample(self, n: int, seed: int | None) -> pd.DataFrame:
            return few["adult"].train.iloc[:n]

    def fit(table: object, schema: object, **options: object) -> Release:
        asked.update(options)
        return Release()

    monkeypatch.setattr(methods.sf, "fit", fit)
    assert len(methods.METHODS[name](few["adult"], 2.0, 1e-3, 5, rows=7).frame) == 7
    mechanism = asked["mechanism"]
    assert isinstance(mechanism, sf.Slicing)
    assert mechanism.form == ("rows" if name in ("rows1", "rows2", "rows3", "few") else "central")
    assert mechanism.slice_dim == (int(name[-1]) if name.startswith("rows") else 2)
    assert mechanism.slices == (5 if name == "few" else None)
    assert asked["adjacency"] == ("add-remove" if name == "central" else "replace-one")
    assert (asked["epsilon"], asked["insecure_seed"], asked["rows"]) == (2.0, 5, few["adult"].rows)


def test_arrays_become_rows(few: dict[str, DataSet], monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}

    def echo(table: LabelledRows, **options: object) -> Made:
        given.update(options)
        return table.numbers, table.codes, table.y

    monkeypatch.setattr(baselines, "echo", echo, raising=False)
    made = methods.from_arrays("baselines", "echo", slice_dim=1)(few["acs"], 1.0, 1e-3, 0, 10)
    assert set(given) == {"epsilon", "delta", "rng", "rows", "slice_dim"}
    pd.testing.assert_frame_equal(made[few["acs"].train.columns], few["acs"].train, check_dtype=False)


def test_merf_knows_missing_values(few: dict[str, DataSet], monkeypatch: pytest.MonkeyPatch) -> None:
    quick = baselines.Training(width=16, steps=30, batch=32)
    monkeypatch.setattr(baselines, "Training", lambda: quick)
    pytest.importorskip("jax")
    made = methods.METHODS["merf"](few["acs"], 20.0, 1e-3, 0).frame
    assert set(made.columns) == set(few["acs"].train.columns)
    assert 0.02 < made["NOC"].isna().mean() < 0.6
    assert made["AGEP"].notna().all()
    assert (made["WGTP"] % 1 == 0).all()


# --- runs


def test_a_run_that_is_kept_is_not_made_again(
    few: dict[str, DataSet], stand_ins: list[tuple[str, float, int | None]], tmp_path: Path
) -> None:
    settings = {"data": ["adult"], "methods": ["real", "central"], "epsilons": [1.0]}
    tables.make(tmp_path, **settings, releases=1)
    first = runs.kept(tmp_path / tables.FILE)
    tables.make(tmp_path, **settings, releases=2)
    second = runs.kept(tmp_path / tables.FILE)
    assert second[:2] == first
    assert [line["method"] for line in second] == ["real", "central", "central"]
    assert stand_ins == [("central", 1.0, 0), ("central", 1.0, 1)]
    tables.make(tmp_path, **settings, releases=1, again=True)
    assert len(runs.kept(tmp_path / tables.FILE)) == 2
    assert len(stand_ins) == 3


def test_other_settings_are_other_runs(
    few: dict[str, DataSet], stand_ins: list[tuple[str, float, int | None]], tmp_path: Path
) -> None:
    settings = {"methods": ["rows2"], "epsilons": [1.0], "releases": 1}
    tables.make(tmp_path, data=["adult"], **settings)
    few["adult"] = replace(few["adult"], delta=1e-7)
    tables.make(tmp_path, data=["adult"], **settings)
    assert [line["delta"] for line in runs.kept(tmp_path / tables.FILE)] == [1 / 32561, 1e-7]
    assert len(stand_ins) == 2


def test_the_table_has_a_line_for_each_method_and_epsilon(
    few: dict[str, DataSet],
    stand_ins: list[tuple[str, float, int | None]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(tables, "table_scores", lambda frame, found: {"rows": len(frame) / ROWS})
    monkeypatch.setattr(tables, "real_scores", lambda found: {"rows": 1.0})
    text = tables.make(tmp_path, methods=["real", "central", "rows3"], epsilons=[1.0, 5.1], releases=2).read_text()
    lines = [line for line in text.splitlines() if line.startswith("| slicing")]
    assert len(lines) == 2 * 2 * 2
    assert all("| 1.000 ± 0.000 | 2 |" in line for line in lines)
    assert "no guarantee" in text
    assert text.index("## ACS") < text.index("| real rows | none |  |") < text.index("## Adult")


def test_the_tables_command_skips_what_is_not_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("SFUMATO_SHARED", str(tmp_path))
    data.load.cache_clear()
    three_a.load.cache_clear()
    run(monkeypatch, "tables", "--only", "acs", "--methods", "real", "--out", str(tmp_path))
    run(monkeypatch, "mnist", "--out", str(tmp_path))
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert said[0].startswith("acs, real skipped: acs_ma2019.parquet is not in ")
    assert said[1].startswith("mnist skipped: mnist.npz is not in ")


def test_a_wrong_name_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(monkeypatch, "tables", "--methods", "mixtrue")
    assert "mixtrue" in capsys.readouterr().err


# --- over epsilon, digits, README


def test_overtaking_is_for_good() -> None:
    level = dict.fromkeys((1.0, 10.0, 100.0), 0.9)
    assert overtake.overtaken(level, {1.0: 0.5, 10.0: 0.8, 100.0: 0.95}) == pytest.approx(10 * 10 ** (2 / 3))
    assert overtake.overtaken(level, {1.0: 0.95, 10.0: 0.8, 100.0: 1.0}) == pytest.approx(10 * 10**0.5)
    assert overtake.overtaken(level, {1.0: 0.95, 10.0: 0.95, 100.0: 0.8}) is None
    assert overtake.overtaken(level, {1.0: 0.95, 10.0: 0.95, 100.0: 0.95}) == 1.0


def test_the_line_over_epsilon_is_drawn(
    few: dict[str, DataSet], stand_ins: list[tuple[str, float, int | None]], tmp_path: Path
) -> None:
    text = overtake.make(tmp_path, epsilons=[1.0, 30.0], releases=1).read_text()
    assert "| 30 | 0." in text
    assert text.count("overtakes") == 2
    assert (tmp_path / "overtake.png").read_bytes().startswith(b"\x89PNG")


def test_digits_are_judged_and_drawn(
    stand_ins: list[tuple[str, float, int | None]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    digit = np.repeat(np.arange(10), 20)
    shapes = rng.random((10, 28)) * 255  # a digit here is a pattern of stripes
    pixels = np.repeat(shapes[digit], 28, axis=1) * rng.uniform(0.8, 1.0, (200, 1))
    frame = pd.DataFrame(pixels.astype(np.uint8), columns=[f"px_{i}" for i in range(784)]).assign(digit=digit)
    group = {"columns": "px_*", "min": 0, "max": 255, "step": 1, "shape": [28, 28], "projection": "dct2", "keep": 3}
    columns = {"digit": {"type": "category", "values": list(range(10))}}
    schema = Schema.of({"label": "digit", "columns": columns, "groups": {"pixels": group}})
    digits = DataSet("mnist", frame, frame, "digit", tuple(range(10)), 1e-5, 200, schema, (0.0, 255.0), (28, 28))
    for module in (mnist, runs):
        monkeypatch.setattr(module, "load", lambda name: digits)
    monkeypatch.setattr(mnist, "DRAWN_ROWS", 50)
    text = mnist.make(tmp_path, methods=["real", "central"], epsilons=[10.0]).read_text()
    assert "| slicing, central, k = 2 | DP | 10 |" in text
    assert "accuracy, 8 x 8 DCT" in text
    kept = {line["method"]: line["scores"] for line in runs.kept(tmp_path / mnist.FILE)}
    assert kept["real"]["accuracy, 8 x 8 DCT"] > 0.9
    assert (tmp_path / "mnist.png").read_bytes().startswith(b"\x89PNG")


def test_the_readme_has_the_figures_of_the_runs(
    few: dict[str, DataSet], stand_ins: list[tuple[str, float, int | None]], tmp_path: Path
) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"before\n\n{readme.BEGIN}\nold\n{readme.END}\n\nafter\n")
    tables.make(tmp_path, data=["adult"], methods=["central"], epsilons=[1.0], releases=1)
    once = readme.make(tmp_path, page).read_text()
    assert once.startswith("before\n")
    assert once.endswith("after\n")
    assert "old" not in once
    assert "| slicing, central, k = 2 | DP | 1 | 0." in once
    assert once.count("No runs yet.") == 4
    assert readme.make(tmp_path, page).read_text() == once


def test_the_committed_readme_is_up_to_date() -> None:
    results = readme.README.parent / "results"
    assert readme.section(results) in readme.README.read_text()
