"""What a plan means, together: in words, and in numbers that go into JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.planning.test_widths import SCHEMA, plan

import sfumato as sf
from sfumato.errors import ArgumentError


def test_the_words_say_the_numbers() -> None:
    meant = sf.outlook(plan())
    cells = meant.cells()
    assert cells["attacker's advantage"] == f"{meant.risk.advantage:.3f}"
    assert cells["found at 1 % false alarms"] == "1.8 %"
    assert cells["belief of 50 % becomes at most"] == "76 %"
    assert cells["a count (widest column), ±"] == f"{meant.widths.count:.0f}"
    assert cells["pairs that drown"].endswith(" of 3")
    assert cells["fit for"] == meant.verdict.fit_for
    lines = meant.lines()
    assert lines[0].split("  ")[0] == "half-widths of 95 % intervals"
    assert lines[1].split()[:3] == ["age", "±", f"{meant.widths.columns[0].count:.0f}"]
    assert lines[-1] == f"verdict: {meant.verdict}"


def test_numbers_go_into_json_and_agree() -> None:
    meant = sf.outlook(plan())
    data: dict[str, Any] = json.loads(json.dumps(meant.data()))
    assert data["risk"]["advantage"] == meant.risk.advantage
    assert [each["prior"] for each in data["risk"]["beliefs"]] == [0.01, 0.1, 0.5]
    assert all(each["prior"] < each["mean"] < each["most"] for each in data["risk"]["beliefs"])
    assert [each["column"] for each in data["widths"]["columns"]] == ["age", "sex", "weight"]
    assert data["widths"]["columns"][1]["mean"] is None
    assert data["verdict"]["words"] == str(meant.verdict)


def test_correlations_are_told_where_tables_may_tell_them() -> None:
    chosen = sf.outlook(plan())
    told = chosen.widths.pair("age", "weight").correlation
    assert chosen.cells()["a correlation, if bought, least ±"] == f"{told:.3g}"
    assert f"correlations such as: age x weight ± {told:.3g}, at about the least, where" in "\n".join(chosen.lines())
    assert chosen.data()["widths"]["correlations"]["pairs"] == [{"columns": ["age", "weight"], "half_width": told}]
    layout = sf.SharedLayout.of(SCHEMA, epsilon=1, delta=1e-6, rows=10**6)
    settled = sf.outlook(plan(rows=10**6, mechanism=sf.Mixture(layout=layout)), {"age": 4.5}, {"age": 3, "weight": 40})
    assert "a correlation, ±" in settled.cells()
    assert any(line.startswith("correlations such as: age x weight ±") for line in settled.lines())
    assert not any("at about the least" in line for line in settled.lines())
    assert not any("correlation" in line for line in sf.outlook(plan(mechanism=sf.Mixture(pairs=None))).lines())


def test_few_rows_drown_and_the_words_say_so() -> None:
    meant = sf.outlook(plan(rows=30))
    assert meant.cells()["columns that drown"] == "4"  # the label is a column like all others here
    assert meant.cells()["a share (widest column), ±"] == "100 %"
    assert all(line.endswith("drowns") for line in meant.lines()[1:5])
    assert "fit for nothing" in meant.lines()[-1]


def test_a_plan_without_a_guess_says_which_it_took() -> None:
    assert sf.outlook(plan(rows=None)).lines()[-1].endswith("(no --rows was given: 10000 are taken)")
    assert "--rows" not in sf.outlook(plan(rows=10_000)).lines()[-1]


def test_of_many_columns_the_first_are_listed() -> None:
    many = {"columns": {f"c{i}": {"type": "number", "min": 0, "max": 9, "step": 1} for i in range(50)}}
    lines = sf.outlook(plan(many, rows=200_000)).lines()
    assert "and 10 more columns: see --json" in lines
    assert len(lines) == 1 + 40 + 1 + 1 + 2


def test_columns_in_groups_have_a_risk_and_no_verdict() -> None:
    groups = {"columns": {}, "groups": {"image": {"columns": "px_*", "shape": [4, 4], "min": 0, "max": 16, "step": 1}}}
    meant = sf.outlook(plan(groups))
    assert meant.verdict.fit_for == "unknown"
    assert set(meant.cells()) == {*list(sf.outlook(plan()).cells())[:5]}
    assert meant.lines() == [f"verdict: {meant.verdict}"]
    assert meant.data()["widths"] == {}


def test_a_guess_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(ArgumentError, match="the schema has no column 'height'"):
        sf.outlook(plan(SCHEMA), {"height": 1.0})


def test_some_pairs_that_drown_are_named() -> None:
    assert "such as: age x sex, age x weight, age x ill, sex x weight" in "\n".join(sf.outlook(plan(rows=30)).lines())
    assert "pairs that drown" not in "\n".join(sf.outlook(plan(rows=100_000)).lines())
