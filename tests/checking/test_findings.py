"""What a check says about itself."""

from __future__ import annotations

import json
from collections import Counter

from sfumato.checking.cell_counts import Tally
from sfumato.checking.findings import COLUMNS_TOLD, PRIVATE, Check, ColumnCheck, RuleCheck, UnitCheck
from sfumato.checking.proposal import Remark
from sfumato.schema.schema import Schema

SCHEMA = Schema.parse("""
unit: {column: person, rows: 1}
columns:
  age: {type: number, min: 0, max: 20}
  town: {type: category, values: [Ulm]}
""")


def found(*, age: Tally, town: Tally | None = None, remarks: tuple[Remark, ...] = (), rows: int = 1000) -> Check:
    columns = {
        "age": ColumnCheck("age", "number", age),
        "town": ColumnCheck("town", "category", town or Tally(cells=rows)),
    }
    return Check(SCHEMA, rows, columns, sampled=rows, remarks=remarks)


def test_verdicts() -> None:
    remark = Remark("age", "wide", "far apart")
    assert found(age=Tally(cells=1000)).verdict == "ready"
    assert found(age=Tally(cells=1000), remarks=(remark,)).verdict == "ready, with 1 remark"
    told = found(age=Tally(cells=1000, high=90, low=10), remarks=(remark, remark)).verdict
    assert told == "ready, with 2 remarks; 10 % of `age` is clamped"
    outside = found(age=Tally(cells=1000, high=95, low=10), remarks=(remark,))
    assert not outside.ready
    assert outside.verdict == "not ready: 10.5 % of `age` lies outside its bounds, and would count as a bound"
    assert found(age=Tally(cells=1000, lost=10)).ready
    lost = found(age=Tally(cells=1000, lost=11), town=Tally(cells=1000, lost=200), remarks=(remark,))
    assert not lost.ready
    assert lost.lost == {"age": 0.011, "town": 0.2}
    assert lost.verdict == "not ready: 20 % of `town` fits no bin, and more than 1 % of 1 other column"
    some = found(age=Tally(cells=1000), town=Tally(cells=1000, unlisted=300), remarks=(remark,))
    assert some.verdict == "ready, with 1 remark; 30 % of `town` is unknown to the schema, and missing"
    wrong = found(age=Tally(cells=1000), town=Tally(cells=1000, unlisted=947), remarks=(remark,))
    assert not wrong.ready
    assert wrong.verdict == "not ready: the schema does not know 94.7 % of `town`"


def test_no_rows() -> None:
    empty = found(age=Tally(), rows=0)
    assert not empty.ready
    assert empty.verdict == "not ready: the table has no rows"
    assert str(empty).endswith(empty.verdict)


def test_everything_says_that_it_is_private() -> None:
    check = found(age=Tally(cells=1000, lost=500))
    assert str(check).startswith("PRIVATE")
    assert repr(check).startswith("Check(PRIVATE, 1,000 rows, 2 columns; not ready")
    assert check.to_dict()["private"] == PRIVATE


def test_as_data() -> None:
    age = Tally(cells=1000, missing=3, unreadable=2, lost=5, examples=Counter({"?": 2}))
    unit = UnitCheck("person", 1, 10, 900, 100, 890, 90, 95, 99, exact=False)
    columns = {"age": ColumnCheck("age", "number", age)}
    remark = Remark("age", "missing", "gaps", {"missing": True})
    check = Check(SCHEMA, 1000, columns, 7, 500, unit, (RuleCheck("age > 3", 2),), ("zip",), (remark,))
    data = json.loads(json.dumps(check.to_dict()))
    assert data["columns"]["age"]["examples"] == {"?": 2}
    assert data["columns"]["age"]["smallest"] is None
    assert data["columns"]["age"]["share_lost"] == 0.005
    assert data["unit"]["dropped"] == 890
    assert data["rules"] == [{"rule": "age > 3", "broken": 2}]
    assert data["patch"]["columns"]["age"]["missing"] is True
    assert data["patch"]["unconfirmed"] == ["columns.age.missing"]
    told = str(check)
    for words in (
        "about 10 units",
        "  age > 3: broken by 2 rows",
        "not in the schema: zip",
        "500 rows drawn at random",
    ):
        assert words in told


def test_of_a_wide_table_columns_with_remarks_are_listed() -> None:
    names = [f"x{i}" for i in range(COLUMNS_TOLD + 40)]
    columns = {name: ColumnCheck(name, "number", Tally(cells=5)) for name in names}
    check = Check(SCHEMA, 5, columns, sampled=5, remarks=(Remark("x7", "wide", "far apart"),))
    lines = str(check).splitlines()
    assert [line.split()[0] for line in lines if line.startswith("x")] == ["x7"]
    assert f"and {COLUMNS_TOLD + 39} columns with nothing to remark" in lines
