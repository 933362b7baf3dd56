"""A check of whole tables, as careless people have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.checking import table_check
from sfumato.checking.findings import UnitCheck
from sfumato.errors import ArgumentError, SchemaError, TableError
from sfumato.private.source import Source
from sfumato.schema.layout import NOWHERE, Layout
from sfumato.tables import open_table

N = 20_000


def number(low: float, high: float, **facts: Any) -> dict[str, Any]:
    return {"type": "number", "min": low, "max": high, **facts}


def texts(check: sf.Check) -> str:
    return "\n".join(map(str, check.remarks))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_a_fifth_of_the_weights_is_missing(rng: np.random.Generator) -> None:
    weight = rng.normal(75, 15, N)
    weight[::5] = np.nan
    found = sf.check(pd.DataFrame({"weight": weight}), {"columns": {"weight": number(0, 300)}})
    assert found.columns["weight"].tally.missing == N // 5
    assert found.lost == {"weight": 0.2}
    assert found.verdict == "not ready: 20 % of `weight` fits no bin"
    assert found.patch.columns["weight"].missing
    again = sf.check(pd.DataFrame({"weight": weight}), found.patch)
    assert again.verdict == "ready"


def test_an_undeclared_sign_in_a_category(rng: np.random.Generator) -> None:
    frame = pd.DataFrame({"race": rng.choice(["a", "b", "?"], N, p=[0.7, 0.25, 0.05])})
    found = sf.check(frame, {"columns": {"race": {"type": "category", "values": ["a", "b"]}}})
    assert not found.ready
    assert "such as '?'" in texts(found)
    assert sf.check(frame, found.patch).ready


def test_ages_above_the_bounds(rng: np.random.Generator) -> None:
    frame = pd.DataFrame({"age": rng.integers(0, 95, N)})
    found = sf.check(frame, {"columns": {"age": number(0, 20, step=1)}})
    assert not found.ready
    assert found.columns["age"].tally.high == int((frame["age"] > 20).sum())
    assert "of `age` lies outside its bounds" in found.verdict
    assert found.patch.columns["age"].max == 94
    assert found.patch.unconfirmed == ("columns.age.max",)


def test_a_semicolon_file_with_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "de.csv"
    path.write_text("age;weight\n" + "\n".join(f"{20 + i % 50};{60 + i % 30},5" for i in range(500)))
    schema = {"columns": {"age": number(0, 120, step=1), "weight": number(0, 300)}}
    found = sf.check(open_table(path, delimiter=";"), schema)
    assert found.columns["age"].tally.lost == 0
    assert found.columns["weight"].tally.unreadable == 500
    assert "decimal comma" in texts(found)


def test_ids_as_categories() -> None:
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(1000)], "x": np.arange(1000) % 7})
    values = frame["id"].tolist()
    schema = {"columns": {"id": {"type": "category", "values": values}, "x": number(0, 6, step=1)}}
    found = sf.check(frame, schema)
    assert "id: nearly all values are different" in texts(found)
    assert set(found.patch.columns) == {"x"}


def test_ten_rows_a_unit_of_which_one_counts() -> None:
    frame = pd.DataFrame({"person": np.arange(5000) // 10, "x": np.arange(5000) % 7})
    frame.loc[:2, "person"] = None
    schema = {"unit": {"column": "person", "rows": 1}, "columns": {"x": number(0, 6, step=1)}}
    found = sf.check(frame, schema)
    assert found.unit == UnitCheck("person", 1, 500, 4997, 3, 4497, 10, 10, 10)
    assert "4,497 rows (90 %) do not count" in texts(found)
    assert found.patch.unit is not None
    assert found.patch.unit.rows == 10


def test_people_outside_the_schema() -> None:
    frame = pd.DataFrame({"patient": [f"P{i % 400}" for i in range(800)], "age": [i % 90 for i in range(800)]})
    schema = {"columns": {"age": number(0, 99, step=1)}}
    found = sf.check(frame, schema)
    assert found.people == "patient"
    assert found.unmodelled == ("patient",)
    told = "several rows share one `patient`, and the guarantee would speak of rows"
    assert found.verdict == f"ready, with 1 remark; {told}"
    assert "say `unit: {column: patient, rows: 2}`" in texts(found)
    assert found.patch.dump()["unit"] == {"column": "patient", "rows": 2}
    assert found.patch.unconfirmed == ("unit.column", "unit.rows")
    assert sf.check(frame, schema | {"unit": {"column": "patient", "rows": 2}}).verdict == "ready"
    assert sf.check(frame[:400], schema).verdict == "ready"  # one row each
    assert sf.check(frame.rename(columns={"patient": "town"}), schema).verdict == "ready"


def test_the_column_that_was_perhaps_meant(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age\n7\n")
    with pytest.raises(TableError, match=r"a.csv has no column 'agee'; did you mean 'age'\?$"):
        sf.check(path, {"columns": {"agee": number(0, 9)}})


def test_values_that_never_meet(rng: np.random.Generator) -> None:
    frame = pd.DataFrame({"ward": rng.choice(["eye", "birth"], N, p=[0.8, 0.2]), "sex": rng.choice(["F", "M"], N)})
    frame.loc[frame["ward"] == "birth", "sex"] = "F"
    listed = {name: {"type": "category", "values": sorted(set(frame[name]))} for name in frame}
    rule = "if ward == 'birth' then sex != 'M'"
    assert f'constraints: ["{rule}"]' in texts(sf.check(frame, {"columns": listed}))
    ruled = sf.check(frame, {"columns": listed, "constraints": [rule]})
    assert ruled.verdict == "ready"
    assert f"  {rule}: broken by 0 rows" in str(ruled)


def test_rows_with_a_bad_label_are_no_rows_of_a_unit() -> None:
    frame = pd.DataFrame({"person": [1, 1, 2, 2], "x": [1, 2, 3, 4], "y": ["a", "?", "b", None]})
    schema = {
        "label": "y",
        "unit": {"column": "person", "rows": 1},
        "columns": {"x": number(0, 6, step=1), "y": {"type": "category", "values": ["a", "b"]}},
    }
    found = sf.check(frame, schema)
    assert found.unit is not None
    assert (found.unit.rows, found.unit.dropped, found.unit.nameless) == (2, 0, 0)
    assert found.columns["y"].tally.lost == 2
    assert found.patch.columns["y"].missing is False


def test_lines_that_cannot_be_split(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,2\n"3\nx,4",5\n6,7,8\n9,9\n')
    found = sf.check(path, {"columns": {"a": number(0, 9), "b": number(0, 9)}})
    assert found.rows == 5
    assert found.empty_rows == 3
    assert "rows that are empty in every column: 3 (60 %)" in texts(found)


def messy(rng: np.random.Generator, n: int) -> pd.DataFrame:
    odd = np.array(["", "?", "12", "-3", "7.0", "1e9", "x", "Ulm", "Bonn ", "2001-01-31", "1850-01-01", "nan"])
    return pd.DataFrame({name: rng.choice(odd, n) for name in ("a", "b", "c", "d", "y")})


MESSY: dict[str, Any] = {
    "label": "y",
    "columns": {
        "a": number(0, 100, step=1),
        "b": number(-1, 50, missing=True, atoms=[0]),
        "c": {"type": "category", "values": ["Ulm", "Bonn", 7]},
        "d": {"type": "date", "min": "1900-01-01", "max": "2020-01-01"},
        "y": {"type": "category", "values": ["Ulm", "Bonn", "12", "x"]},
    },
}


def test_counts_are_what_the_source_of_a_fit_says(rng: np.random.Generator) -> None:
    frame = messy(rng, 3000)
    found = sf.check(frame, MESSY)
    unlabelled = sf.Schema.of({"columns": {n: c for n, c in MESSY["columns"].items() if n != "y"}})
    codes = np.hstack([job().batch.codes for job in Source(open_table(frame), Layout.of(unlabelled)).jobs()])
    lost = (codes == NOWHERE).sum(axis=1).tolist()
    assert [found.columns[name].tally.lost for name in unlabelled.columns] == lost
    labelled = [job().batch for job in Source(open_table(frame), Layout.of(sf.Schema.of(MESSY))).jobs()]
    assert found.rows - found.columns["y"].tally.lost == sum(map(len, labelled))


@pytest.mark.slow
def test_the_same_whatever_the_source_and_the_workers(rng: np.random.Generator, tmp_path: Path) -> None:
    frame = messy(rng, 70_000)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=9_000)
    wanted = sf.check(frame, MESSY, engine=sf.Local(1)).to_dict()
    for source in (tmp_path / "t.csv", tmp_path / "t.parquet", pa.Table.from_pandas(frame)):
        assert sf.check(source, MESSY, engine=sf.Local(3)).to_dict() == wanted


def test_of_a_long_table_rows_are_drawn(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_check, "SAMPLE_ROWS", 1000)
    pay = np.where(rng.random(N) < 0.3, 0.0, np.round(rng.lognormal(8, 1, N), 2))
    found = sf.check(pd.DataFrame({"pay": pay}), {"columns": {"pay": number(0, 1e6)}})
    assert found.rows == found.columns["pay"].tally.cells == N
    assert 0 < found.sampled <= 1000
    assert (found.patch.columns["pay"].step, found.patch.columns["pay"].atoms) == (0.01, (0.0,))


def test_a_stream_is_read_once(rng: np.random.Generator) -> None:
    table = pa.Table.from_pandas(messy(rng, 500))
    assert sf.check(table.to_reader(), MESSY).to_dict() == sf.check(table, MESSY).to_dict()


def test_broken_rules_are_told() -> None:
    frame = pd.DataFrame({"x": np.arange(100_000) % 10})
    schema: dict[str, Any] = {"columns": {"x": number(0, 9, step=1)}}
    assert "rules: none" in str(sf.check(frame, schema))
    found = sf.check(frame, schema | {"constraints": ["x > 3", "x >= 0"]})
    assert [(each.rule, each.broken) for each in found.rules] == [("x > 3", 40_000), ("x >= 0", 0)]
    assert texts(found) == "rows that break the rule `x > 3`: 40,000 (40 %)"


def test_rules_between_columns_are_held_against_the_cells() -> None:
    day = {"type": "date", "min": "2020-01-01", "max": "2020-12-31"}
    schema = {
        "columns": {"came": day, "left": day, "stay": number(0, 365, step=1) | {"derived": "left - came"}},
        "constraints": ["left >= came"],
    }
    came = ["2020-01-01", "2020-01-05", "?", "2020-01-01"]
    left = ["2020-01-03", "2020-01-02", "2020-01-01", "2020-01-09"]
    found = sf.check(pd.DataFrame({"came": came, "left": left, "stay": [2, 3, 1, 4]}), schema)
    assert {each.rule: each.broken for each in found.rules} == {"left >= came": 1, "stay == left - came": 2}
    assert len(sf.check(pd.DataFrame({"came": came, "left": left}), schema).rules) == 1


def test_groups() -> None:
    frame = pd.DataFrame({f"p{i}": np.arange(300.0) % 256 for i in range(4)})
    frame.loc[:29, "p2"] = np.nan
    found = sf.check(frame, {"groups": {"pixels": {"columns": "p{0..3}", "min": 0, "max": 255, "step": 1}}})
    assert found.lost == {"p2": 0.1}
    assert found.patch == found.schema


def test_absurd_values_are_no_trouble() -> None:
    huge = [1.7e308, -1.7e308, 1e-300, float("inf")]
    frame = pd.DataFrame({"x": huge * 50, "y": huge * 50, "z": ["9" * 400, "-1e400", "1e5000", "0"] * 50})
    stamps = pa.array([2**62, -(2**62), None, 0] * 50, pa.timestamp("s"))
    table = pa.Table.from_pandas(frame).append_column("when", stamps)
    when = {"type": "date", "min": "2000-01-01", "max": "2001-01-01"}
    columns = {"x": number(0, 1, step=0.1), "y": number(0, 1), "z": number(0, 9), "when": when}
    found = sf.check(table, {"columns": columns})
    assert found.columns["x"].tally.high == 100
    assert str(found)
    assert found.patch.columns["when"].max >= found.schema.columns["when"].max


def test_a_table_without_rows() -> None:
    found = sf.check(pd.DataFrame({"x": np.zeros(0)}), {"columns": {"x": number(0, 9)}})
    assert found.verdict == "not ready: the table has no rows"


def test_bad_input() -> None:
    frame = pd.DataFrame({"x": [1.0]})
    with pytest.raises(TableError, match="no column 'y'"):
        sf.check(frame, {"columns": {"y": number(0, 9)}})
    with pytest.raises(TableError, match="no column 'who'"):
        sf.check(frame, {"unit": {"column": "who", "rows": 1}, "columns": {"x": number(0, 9)}})
    with pytest.raises(SchemaError):
        sf.check(frame, {})
    with pytest.raises(ArgumentError, match="engine must be"):
        sf.check(frame, {"columns": {"x": number(0, 9)}}, engine="spark")  # type: ignore[arg-type]


def test_a_format_is_proposed() -> None:
    frame = pd.DataFrame(
        {"comma": [f"{i % 90},5" for i in range(500)], "money": [f"$1,{i % 900:03}" for i in range(500)]}
    )
    found = sf.check(frame, {"columns": {"comma": number(0, 100), "money": number(0, 2000)}})
    assert not found.ready
    assert sf.check(frame, found.patch).ready


def test_what_the_schema_says_means_missing_is_missing() -> None:
    frame = pd.DataFrame({"age": ["41", "-1", "?", "x"] * 50, "town": ["Ulm", "?", "", "Rome"] * 50})
    town = {"type": "category", "values": ["Ulm"], "missing": ["?"]}
    found = sf.check(frame, {"columns": {"age": number(0, 99, missing=["?", -1]), "town": town}})
    age, town_found = (found.columns[name].tally for name in ("age", "town"))
    assert (age.missing, age.unreadable, age.low) == (100, 50, 0)
    assert (town_found.missing, town_found.unlisted) == (100, 50)


@pytest.mark.skipif("constraints" not in sf.Schema.model_fields, reason="a schema has no rules yet")
def test_rules_that_the_table_breaks() -> None:
    frame = pd.DataFrame({"a": ["1", "5", "?", "7"], "b": ["2", "3", "4", "300"]})
    columns = {"a": number(0, 9, step=1), "b": number(0, 9, step=1), "c": number(0, 18, step=1, derived="a + b")}
    found = sf.check(frame, {"columns": columns, "constraints": ["a <= b"]})
    assert [(each.rule, each.broken) for each in found.rules] == [("a <= b", 1)]
    assert "rows that break the rule `a <= b`: 1 (25 %)" in texts(found)
    assert set(found.columns) == {"a", "b"}  # what is computed need not be in the table
    wrong = sf.check(frame.assign(c=["3", "9", "4", "18"]), {"columns": columns})
    assert [each.broken for each in wrong.rules] == [2]
