"""A draft describes the table it saw, says what it took from the rows, and can be fitted once confirmed."""

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.hospital import MEDICINES, codebook, stays

import sfumato as sf
from sfumato.drafting.draft import MOST_LINES, told
from sfumato.drafting.proposals import MOST_CATEGORIES
from sfumato.errors import ArgumentError, SchemaError, TableError
from sfumato.schema.layout import bins_of
from sfumato.tables.coding import code_cells


def column(*cells: Any) -> dict[str, Any] | None:
    """The draft of one column, None if it was left out."""
    frame = pd.DataFrame({"c": pd.Series(cells, dtype=object), "other": np.arange(len(cells)) + 0.5})
    made = sf.draft(frame)
    assert list(made.left_out) == ([] if "c" in made.schema.columns else ["c"])
    return made.schema.dump()["columns"].get("c")


def test_a_mixed_table() -> None:
    frame = pd.DataFrame(
        {
            "age": [30, 41, 19],
            "height": [1.7, 1.85, None],
            "town": ["Ulm", "Kiel", None],
            "seen": ["2020-03-01", "2021-01-05", ""],
            "ill": [1, 0, 1],
            "empty": [None, None, None],
        }
    )
    made = sf.draft(frame, "ill")
    assert list(made.left_out) == ["empty"]
    assert made.schema.dump() == {
        "label": "ill",
        "columns": {
            "age": {"type": "number", "min": 15, "max": 45, "step": 1},
            "height": {"type": "number", "min": 1.7, "max": 1.85, "missing": True},
            "town": {"type": "category", "values": ["Kiel", "Ulm"], "missing": True},
            "seen": {"type": "date", "min": "2020-03-01", "max": "2021-01-31", "missing": True},
            "ill": {"type": "category", "values": [0, 1]},
        },
        "unconfirmed": [
            *(f"columns.age.{fact}" for fact in ("type", "min", "max", "step", "scale", "atoms", "missing")),
            *(f"columns.height.{fact}" for fact in ("type", "min", "max", "step", "scale", "atoms", "missing")),
            *(f"columns.town.{fact}" for fact in ("type", "values", "missing")),
            *(f"columns.seen.{fact}" for fact in ("type", "min", "max", "missing")),
            *(f"columns.ill.{fact}" for fact in ("type", "values")),
            "columns.empty (left out)",
        ],
    }


def test_every_fact_of_a_draft_is_unconfirmed() -> None:
    made = sf.draft(stays(600), "readmitted").schema
    facts = {f"columns.{name}.{key}" for name, said in made.dump()["columns"].items() for key in said}
    assert facts <= set(made.unconfirmed)
    # Also what is not there: one blank would add `missing`, one fraction would take `step` away.
    assert {"columns.gender.missing", "columns.bmi.atoms", "columns.deposit.scale"} <= set(made.unconfirmed)
    assert {"unit.column", "unit.rows", "columns.zip (left out)"} <= set(made.unconfirmed)


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_draft_is_refused_until_it_is_confirmed(suffix: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": range(20), "b": ["x", "y"] * 10})
    schema = sf.draft(frame, "b").schema
    path = tmp_path / f"draft.{suffix}"
    schema.save(path)
    assert sf.Schema.load(path) == schema
    with pytest.raises(SchemaError, match="draft"):
        sf.fit(frame, path, epsilon=1, delta=1e-6)
    path.write_text(json.dumps(schema.dump() | {"unconfirmed": []}))
    assert len(sf.fit(frame, path, epsilon=1, delta=1e-6).sample(5)) == 5


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ((3, 3), {"type": "number", "min": 3, "max": 4, "step": 1}),
        ((2.25, 2.25), {"type": "number", "min": 2, "max": 3.5}),
        ((-5, 7), {"type": "number", "min": -5, "max": 10, "step": 1}),
        (("1", "2.0", " 3 "), {"type": "number", "min": 1, "max": 3, "step": 1}),
        (("1", "x"), {"type": "category", "values": ["1", "x"]}),
        (("yes", "no"), {"type": "category", "values": ["no", "yes"]}),
        (("null", "~"), {"type": "category", "values": ["~"], "missing": ["null"]}),
        (("--5", "3"), {"type": "category", "values": ["3", "--5"]}),
        (("-", "7"), {"type": "number", "min": 7, "max": 8, "step": 1, "missing": ["-"]}),
        (("9" * 5000, "1"), {"type": "category", "values": ["1", "9" * 5000]}),
        (("2020-01-01", "x"), {"type": "category", "values": ["2020-01-01", "x"]}),
        (("2020-01-01",) * 2, {"type": "date", "min": "2020-01-01", "max": "2020-01-31"}),
        (("9999-12-31",) * 2, {"type": "date", "min": "9999-12-01", "max": "9999-12-31"}),
        (
            (datetime.date(2020, 5, 1), datetime.date(2020, 6, 1)),
            {"type": "date", "min": "2020-05-01", "max": "2020-06-30"},
        ),
        ((None, ""), None),
        (("", "  ", "?"), None),
        (tuple(f"text {i}" for i in range(MOST_CATEGORIES + 1)), None),
    ],
)
def test_what_a_column_looks_like(cells: tuple[Any, ...], expected: dict[str, Any] | None) -> None:
    assert column(*cells) == expected


def test_numbers_of_any_size_round_trip_as_a_schema() -> None:
    for cells in ([2**60, 1], [1e-300, 2e-300], [-(2**49), 2**49], [0.1, 1e15], [1e17, 1e17], [-1e307, 1e307]):
        schema = sf.draft(pd.DataFrame({"c": cells})).schema
        assert sf.Schema.parse(schema.to_yaml()) == schema
        assert schema.columns["c"].min <= min(cells) <= max(cells) <= schema.columns["c"].max


def test_a_range_too_wide_for_a_schema_is_left_out_or_listed() -> None:
    assert column(-1.7e308, 1.7e308, 1.5)["type"] == "category"  # type: ignore[index]


def test_categories_are_listed_by_name_not_by_frequency() -> None:
    cells = ["z"] * 50 + ["a"] + ["m"] * 7
    assert column(*cells) == {"type": "category", "values": ["a", "m", "z"]}


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        ([1, 2, 1], [1, 2]),
        (["2020-01-01", "2020-01-02", "2020-01-01"], ["2020-01-01", "2020-01-02"]),
        (["b", None, "a"], ["a", "b"]),
        (["b", "?", "a"], ["a", "b"]),
        ([10, 9, -1], [-1, 9, 10]),
        ([0.5, 1.0, 0.5], ["0.5", "1"]),
    ],
)
def test_a_label_is_a_category(cells: list[Any], values: list[Any]) -> None:
    schema = sf.draft(pd.DataFrame({"x": [1, 2, 3], "y": cells}), "y").schema
    assert schema.dump()["columns"]["y"] == {"type": "category", "values": values}


@pytest.mark.parametrize("cells", [[None] * 30, list(range(30)), np.linspace(0, 1, 30).tolist()])
def test_a_column_that_cannot_be_a_label(cells: list[Any]) -> None:
    with pytest.raises(SchemaError, match="'y' is empty, or has too many different values"):
        sf.draft(pd.DataFrame({"x": range(30), "y": cells}), "y")


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"label": "z"}, "the label: the table has no column 'z'; it has: "),
        ({"unit": "z"}, "the unit: the table has no column 'z'; it has: "),
        ({"drop": ["z"]}, "the column to drop: the table has no column 'z'; it has: "),
        ({"label": "x", "drop": ["x"]}, "'x' cannot be dropped"),
        ({"label": "x", "unit": "x"}, "'x' cannot be dropped, nor be the unit"),
    ],
)
def test_names_that_are_no_columns(said: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        sf.draft(pd.DataFrame({"x": [1], "y": [2]}), **said)


def test_the_name_that_may_have_been_meant() -> None:
    frame = pd.DataFrame({"Readmitted": [1], "y": [2]})
    with pytest.raises(SchemaError, match="'readmited' is not a column of the table; did you mean 'Readmitted'\\?"):
        sf.draft(frame, "readmited")


def test_slips_and_codes_for_missing_are_pointed_out() -> None:
    ward = ["Cardiology"] * 60 + ["Surgery"] * 30 + ["Cardiolgy"] * 2
    frame = pd.DataFrame({"ward": ward, "code": ["I21", "J44"] * 45 + ["999"] * 2, "ill": ["Down"] * 91 + ["Dwon"]})
    notes = sf.draft(frame, "ill").notes
    assert [note.partition(":")[0] for note in notes] == ["ward", "code", "ill"]
    assert "'Cardiolgy' (2) beside 'Cardiology' (60): a slip?" in notes[0]
    assert "if it means missing, draft anew with --missing 999" in notes[1]


@pytest.mark.parametrize("frame", [pd.DataFrame({"x": []}), pd.DataFrame({"x": [None]}), pd.DataFrame()])
def test_a_table_with_nothing_to_describe(frame: pd.DataFrame) -> None:
    with pytest.raises(SchemaError, match="no column of the table"):
        sf.draft(frame)


def test_a_column_twice() -> None:
    with pytest.raises(TableError, match="more than one column 'a'"):
        sf.draft(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_lists_that_are_texts() -> None:
    with pytest.raises(ArgumentError, match="drop and missing are lists"):
        sf.draft(pd.DataFrame({"a": [1]}), drop="a")


def test_batches_of_a_long_column_are_looked_at_together() -> None:
    cells = np.zeros(200_000)
    cells[-1], cells[70_000] = 9.5, -3
    schema = sf.draft(pd.DataFrame({"c": cells})).schema
    assert schema.dump()["columns"]["c"] == {"type": "number", "min": -5, "max": 10, "atoms": [0]}


def test_a_stream_is_read_once() -> None:
    batches = pa.table({f"c{i}": np.arange(40) % 7 for i in range(70)}).to_reader()
    assert len(sf.draft(batches).schema.columns) == 70


def test_many_columns_are_read_in_several_passes() -> None:
    frame = pd.DataFrame({f"c{i}": [0.25, i + 1.0, None] for i in range(70)})
    made = sf.draft(frame).schema
    assert len(made.columns) == 70
    assert all(made.columns[f"c{i}"].max >= i + 1 and made.columns[f"c{i}"].missing for i in range(70))


def test_what_is_said_of_a_unit() -> None:
    one = pd.DataFrame({"patient": [f"P{i}" for i in range(300)], "age": [i % 90 for i in range(300)]})
    same = "at one row each the noise stays the same, and the guarantee speaks of people"
    assert sf.draft(one).left_out["patient"].endswith(f"if it names people, --unit takes it: {same}")
    named = sf.draft(one, unit="patient")
    assert named.notes == (f"patient: the unit of privacy: {same}",)
    assert named.schema.unit is not None
    assert named.schema.unit.rows == 1
    few = pd.concat([one, one[:3]])
    assert "names people with several rows: the unit of privacy, 1 row of each counts" in sf.draft(few).notes[0]
    assert "the unit of privacy, 2 rows of each count" in sf.draft(pd.concat([one, one])).notes[0]


def test_the_hospital() -> None:
    made = sf.draft(stays(3000), "readmitted")
    columns = made.schema.dump()["columns"]
    assert made.schema.unit is not None
    assert made.schema.unit.column == "patient_nbr"
    assert made.schema.unit.rows in (2, 3)
    assert {"encounter_id", "zip", "diag_1", "diag_2"} <= set(made.left_out)
    assert "code book" in made.left_out["diag_1"]
    assert "every cell differs" in made.left_out["encounter_id"]
    assert columns["race"]["missing"] == ["?"]
    assert columns["sex_code"] == {"type": "category", "values": [1, 2]}
    assert columns["admission_type_id"]["values"] == [*range(1, 9)]
    assert columns["age_years"] == {"type": "number", "min": 10, "max": 100, "step": 1, "missing": [999]}
    assert columns["number_emergency"]["missing"] == [-1]
    assert columns["number_emergency"]["min"] == 0
    assert columns["glucose"]["missing"] == ["N"]
    assert columns["temperature"]["step"] == 0.1
    assert columns["bmi"]["step"] == 0.01
    assert columns["deposit"]["step"] == 100
    assert columns["copay"]["atoms"] == [0]
    assert columns["admitted"] == {"type": "date", "min": "2019-01-01", "max": "2023-12-31"}
    assert columns["weight"]["values"][1] == "[25-50)"
    assert all(columns[name]["values"] == ["Down", "No", "Steady", "Up"] for name in MEDICINES)


def test_a_code_book_confirms_what_it_says(tmp_path: Path) -> None:
    book = tmp_path / "codes.csv"
    codebook().to_csv(book, index=False)
    made = sf.draft(stays(1000), "readmitted", unit="patient_nbr", drop=["encounter_id"], codebook=book)
    assert "encounter_id" not in {*made.left_out, *made.schema.columns}
    asked = {fact.rpartition(".")[2] for fact in made.schema.unconfirmed if fact.startswith("columns.age_years")}
    assert asked == {"scale", "step", "missing"}
    assert made.schema.unconfirmed[0] == "unit.rows"
    assert "unit.column" not in made.schema.unconfirmed
    assert "columns.race.values" not in made.schema.unconfirmed
    assert len(made.schema.dump()["columns"]["diag_1"]["values"]) > MOST_CATEGORIES


def test_more_texts_that_mean_missing() -> None:
    frame = pd.DataFrame({"a": [*range(40), 77], "b": [*("xy" * 20), "unknown"]})
    made = sf.draft(frame, missing=[77, "unknown"]).schema.dump()["columns"]
    assert made["a"] == {"type": "number", "min": 0, "max": 40, "step": 1, "missing": ["77"]}
    assert made["b"] == {"type": "category", "values": ["x", "y"], "missing": ["unknown"]}


def test_how_a_file_is_written_is_found_out(tmp_path: Path) -> None:
    path = tmp_path / "messy.csv"
    path.write_bytes("stadt;größe\n".encode("latin-1") + "Köln;1\nUlm;2\n".encode("latin-1") * 20)
    made = sf.draft(path)
    assert made.options == {"encoding": "latin-1", "delimiter": ";"}
    assert made.schema.dump()["columns"]["stadt"]["values"] == ["Köln", "Ulm"]
    assert sf.open_table(path, **made.options).names == ("stadt", "größe")


def test_broken_lines_are_told(tmp_path: Path) -> None:
    path = tmp_path / "ragged.csv"
    path.write_text("a,b\n1,2\n3\n" + "4,5\n" * 9)
    assert "1 rows hold nothing at all" in sf.draft(path).notes[0]


def test_a_draft_says_that_it_is_private() -> None:
    made = sf.draft(pd.DataFrame({"secret_town": ["Ulm", "Kiel"]}))
    assert repr(made) == "<Draft, PRIVATE: 1 columns, 3 facts to confirm, 0 columns left out>"


def odd_columns(rows: int = 300) -> pd.DataFrame:
    """Columns of every kind, written in every way."""
    rng = np.random.default_rng(5)
    minutes = rng.integers(0, 60 * 24 * 300, rows)
    when = pd.Series(np.datetime64("2023-03-01T00:00") + minutes.astype("timedelta64[m]"))
    amounts = rng.lognormal(8, 1, rows)
    return pd.DataFrame(
        {
            "iso": when.dt.strftime("%Y-%m-%d %H:%M"),
            "stored": when,
            "american": when.dt.strftime("%m/%d/%Y %I:%M %p"),
            "german": when.dt.strftime("%d.%m.%Y"),
            "compact": when.dt.strftime("%Y%m%d"),
            "clock": when.dt.strftime("%H:%M"),
            "stay": pd.to_timedelta(minutes, unit="min"),
            "span": [f"{minute // 60}h {minute % 60}m" for minute in minutes],
            "comma": [f"{value:.1f}".replace(".", ",") for value in rng.normal(50, 10, rows)],
            "percent": [f"{value:.1f}%" for value in rng.uniform(0, 100, rows)],
            "dollars": [f"${value:,.2f}" for value in amounts],
            "euros": [f"{value:_.2f} €".replace(".", ",").replace("_", ".") for value in amounts],
            "loss": [f"({value:,.0f})" if value > 3000 else f"{value:,.0f}" for value in amounts],
            "flag": rng.choice([True, False], rows),
        }
    )


def test_what_is_drafted_is_read() -> None:
    frame = odd_columns()
    schema = sf.draft(frame).schema
    kinds = {name: column.type for name, column in schema.columns.items()}
    assert kinds == {
        **dict.fromkeys(["iso", "stored", "american"], "datetime"),
        **dict.fromkeys(["german", "compact"], "date"),
        "clock": "time",
        **dict.fromkeys(["stay", "span"], "duration"),
        **dict.fromkeys(["comma", "percent", "dollars", "euros", "loss"], "number"),
        "flag": "boolean",
    }
    for batch in sf.open_table(frame).batches(list(frame)):
        for name, cells in zip(batch.schema.names, batch.columns, strict=True):
            coded = code_cells(cells, bins_of(schema.columns[name]))
            assert (coded.codes >= 0).all(), name
            if coded.values is not None:  # and within the bounds
                span = schema.columns[name].span
                assert span.low <= coded.values.min() <= coded.values.max() <= span.high, name


def test_lines_for_the_screen_are_bounded() -> None:
    made = sf.draft(pd.DataFrame({"x": [1, 2]} | {f"empty {i}": [None, None] for i in range(MOST_LINES + 5)}))
    lines = list(told(made))
    assert lines[0] == "left out empty 0: no cell holds anything; nothing is lost without it"
    assert lines[-1] == "and 5 more lines; --json shows all"
    assert len(lines) == MOST_LINES + 1
