"""A draft describes the table it saw, says what it took from the rows, and can be fitted once confirmed."""

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import SchemaError, TableError
from sfumato.schema.draft import MOST_CATEGORIES, draft_schema


def column(*cells: Any) -> dict[str, Any] | None:
    """The draft of one column, None if it was left out."""
    frame = pd.DataFrame({"c": pd.Series(cells, dtype=object), "other": range(len(cells))})
    schema, left_out = draft_schema(frame)
    assert left_out == ([] if "c" in schema.columns else ["c"])
    return schema.dump()["columns"].get("c")


def test_a_mixed_table() -> None:
    frame = pd.DataFrame(
        {
            "age": [30, 41, 19],
            "height": [1.7, 1.85, None],
            "town": ["Ulm", "Kiel", None],
            "seen": ["2020-03-01", "2021-01-05", ""],
            "member": [True, False, True],
            "ill": [1, 0, 1],
            "empty": [None, None, None],
        }
    )
    schema, left_out = draft_schema(frame, "ill")
    assert left_out == ["empty"]
    assert schema.dump() == {
        "label": "ill",
        "columns": {
            "age": {"type": "number", "min": 19, "max": 41, "step": 1},
            "height": {"type": "number", "min": 1.7, "max": 1.85, "missing": True},
            "town": {"type": "category", "values": ["Kiel", "Ulm"], "missing": True},
            "seen": {"type": "date", "min": "2020-03-01", "max": "2021-01-05", "missing": True},
            "member": {"type": "category", "values": ["false", "true"]},
            "ill": {"type": "category", "values": [0, 1]},
        },
        "unconfirmed": [
            *(f"columns.age.{fact}" for fact in ("type", "min", "max", "step", "missing")),
            *(f"columns.height.{fact}" for fact in ("type", "min", "max", "step", "missing")),
            *(f"columns.town.{fact}" for fact in ("type", "values", "missing")),
            *(f"columns.seen.{fact}" for fact in ("type", "min", "max", "missing")),
            *(f"columns.member.{fact}" for fact in ("type", "values", "missing")),
            *(f"columns.ill.{fact}" for fact in ("type", "values")),
            "columns.empty (left out)",
        ],
    }


def test_every_fact_of_a_draft_is_unconfirmed() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": ["2020-01-01", "2020-01-09"], "d": [0.5, None]})
    schema, _ = draft_schema(frame)
    facts = {f"columns.{n}.{k}" for n, c in schema.dump()["columns"].items() for k in c}
    # Also what is not there: one blank would add `missing`, one fraction would take `step` away.
    absent = {"columns.a.missing", "columns.c.missing", "columns.d.step"}
    assert set(schema.unconfirmed) == facts | absent


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_draft_is_refused_until_it_is_confirmed(suffix: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": range(20), "b": ["x", "y"] * 10})
    schema, _ = draft_schema(frame, "b")
    path = tmp_path / f"draft.{suffix}"
    schema.save(path)
    assert sf.Schema.load(path) == schema
    with pytest.raises(SchemaError, match="draft"):
        sf.fit(frame, path, epsilon=1, delta=1e-6)
    confirmed = schema.dump() | {"unconfirmed": []}
    path.write_text(json.dumps(confirmed))
    assert len(sf.fit(frame, path, epsilon=1, delta=1e-6).sample(5)) == 5


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ((3, 3), {"type": "number", "min": 3, "max": 4, "step": 1}),
        ((2.5, 2.5), {"type": "number", "min": 2.5, "max": 3.5}),
        ((-5, 7), {"type": "number", "min": -5, "max": 7, "step": 1}),
        (("1", "2.0", " 3 "), {"type": "number", "min": 1, "max": 3, "step": 1}),
        (("1", "x"), {"type": "category", "values": ["1", "x"]}),
        (("yes", "no"), {"type": "category", "values": ["no", "yes"]}),
        (("null", "~"), {"type": "category", "values": ["null", "~"]}),
        (("--5", "3"), {"type": "category", "values": ["--5", "3"]}),
        (("-", "7"), {"type": "category", "values": ["-", "7"]}),
        (("9" * 5000, "1"), {"type": "category", "values": ["1", "9" * 5000]}),
        ((True, None), {"type": "category", "values": ["true"], "missing": True}),
        (("2020-01-01", "x"), {"type": "category", "values": ["2020-01-01", "x"]}),
        (("2020-01-01",) * 2, {"type": "date", "min": "2020-01-01", "max": "2020-01-02"}),
        (("9999-12-31",) * 2, {"type": "date", "min": "9999-12-30", "max": "9999-12-31"}),
        (("2020-01-01", "9999-12-31T12:00"), {"type": "date", "min": "2020-01-01", "max": "9999-12-31"}),
        (
            (datetime.date(2020, 5, 1), datetime.datetime(2020, 6, 1, 7)),
            {"type": "date", "min": "2020-05-01", "max": "2020-06-01"},
        ),
        ((None, ""), None),
        (("", "  "), None),
        (tuple(f"text {i}" for i in range(MOST_CATEGORIES + 1)), None),
    ],
)
def test_what_a_column_looks_like(cells: tuple[Any, ...], expected: dict[str, Any] | None) -> None:
    assert column(*cells) == expected


def test_a_constant_that_is_huge_still_has_a_range() -> None:
    found = column(1e17, 1e17)
    assert found is not None
    assert found["min"] == 1e17 < found["max"]


def test_numbers_of_any_size_round_trip_as_a_schema() -> None:
    for cells in ([2**60, 1], [1e-300, 2e-300], [-(2**49), 2**49], [0.1, 1e15]):
        schema, _ = draft_schema(pd.DataFrame({"c": cells}))
        assert sf.Schema.parse(schema.to_yaml()) == schema
        assert schema.columns["c"].min == min(cells)
        assert schema.columns["c"].max == max(cells)


def test_categories_are_listed_by_name_not_by_frequency() -> None:
    cells = ["z"] * 50 + ["a"] + ["m"] * 7
    assert column(*cells) == {"type": "category", "values": ["a", "m", "z"]}


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        ([1, 2, 1], [1, 2]),
        ([True, False, True], ["false", "true"]),
        (["2020-01-01", "2020-01-02", "2020-01-01"], ["2020-01-01", "2020-01-02"]),
        (["b", None, "a"], ["a", "b"]),
        ([10, 9, -1], [-1, 9, 10]),
        ([0.5, 1.0, 0.5], ["0.5", "1"]),
    ],
)
def test_a_label_is_a_category(cells: list[Any], values: list[Any]) -> None:
    schema, _ = draft_schema(pd.DataFrame({"x": [1, 2, 3], "y": cells}), "y")
    assert schema.dump()["columns"]["y"] == {"type": "category", "values": values}


@pytest.mark.parametrize("cells", [[None] * 30, list(range(30)), np.linspace(0, 1, 30).tolist()])
def test_a_column_that_cannot_be_a_label(cells: list[Any]) -> None:
    with pytest.raises(SchemaError, match="'y' is empty, or has too many different values"):
        draft_schema(pd.DataFrame({"x": range(30), "y": cells}), "y")


def test_a_label_that_is_not_there() -> None:
    with pytest.raises(SchemaError, match="'z' is not a column"):
        draft_schema(pd.DataFrame({"x": [1]}), "z")


@pytest.mark.parametrize("frame", [pd.DataFrame({"x": []}), pd.DataFrame({"x": [None]}), pd.DataFrame()])
def test_a_table_with_nothing_to_describe(frame: pd.DataFrame) -> None:
    with pytest.raises(SchemaError, match="no column of the table"):
        draft_schema(frame)


def test_a_column_twice() -> None:
    with pytest.raises(TableError, match="more than one column 'a'"):
        draft_schema(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_batches_of_a_long_column_are_looked_at_together() -> None:
    cells = np.zeros(200_000)
    cells[-1], cells[70_000] = 9.5, -3
    schema, _ = draft_schema(pd.DataFrame({"c": cells}))
    assert schema.dump()["columns"]["c"] == {"type": "number", "min": -3, "max": 9.5}
