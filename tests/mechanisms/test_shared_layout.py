"""Layouts that several fits share: what they hold, files that are read and refused, schemas that do not fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.merging.sites import LAYOUT, SCHEMA, TERMS, adaptive, site, table

import sfumato as sf
from sfumato.audit.mixture import SHORT
from sfumato.errors import ArgumentError
from sfumato.guarantee import NoisyAnswer
from sfumato.mechanisms.shared_layout import FORMAT_NAME, shared_layout


def same(one: sf.SharedLayout, two: sf.SharedLayout) -> bool:
    arrays = zip((*one.levels, *one.starts), (*two.levels, *two.starts), strict=True)
    alike = all(np.array_equal(a, b) if a is not None and b is not None else a is b for a, b in arrays)
    return alike and one.tables == two.tables and one.schema.dump() == two.schema.dump()


def test_a_file_holds_all_of_it(tmp_path: Path) -> None:
    for number, layout in enumerate((LAYOUT, sf.SharedLayout.of_release(adaptive(1)))):
        layout.save(tmp_path / f"{number}.json")
        assert same(sf.SharedLayout.load(tmp_path / f"{number}.json"), layout)
    assert json.loads((tmp_path / "0.json").read_text())["tables"][0] == ["age", "pay", "ill"]


def test_a_release_serves_as_layout() -> None:
    first = adaptive(1)
    layout = sf.Mixture(layout=first).layout
    assert isinstance(layout, sf.SharedLayout)
    pay = first.layout.names.index("pay")
    assert np.array_equal(layout.starts[pay], first.layout.bins[pay].starts)
    assert layout.starts[0] is None, "age has the schema's bins"
    asked = {tuple(t) for a in first.answers if a.what.get("kind") == "tables" for t in a.what["tables"]}
    assert set(layout.tables) == asked


def test_nothing_is_spent_on_choosing() -> None:
    made = sf.plan(SCHEMA, mechanism=sf.Mixture(layout=LAYOUT), **TERMS)
    assert [each.title for each in made.rounds] == ["histograms", "moments", "moments again", "tables"]
    assert sum(each.share for each in made.rounds) == pytest.approx(1.0)
    bare = sf.plan(SCHEMA, mechanism=sf.Mixture(layout=LAYOUT, pairs=None), **TERMS)
    assert not bare.has("tables")


def test_all_sites_ask_by_class_however_few_rows_they_expect() -> None:
    layout = sf.SharedLayout.of(SCHEMA, epsilon=1, delta=1e-6, rows=50_000)
    few = sf.plan(SCHEMA, epsilon=0.1, delta=1e-6, rows=10, mechanism=sf.Mixture(layout=layout))
    assert few.classes == 2


def test_what_is_asked_is_what_the_layout_says() -> None:
    asked = {answer.name: answer.what for answer in site(1).answers}
    assert [tuple(table) for table in asked["tables"]["tables"]] == list(LAYOUT.tables)
    for level, wanted in zip(asked["tables"]["levels"], LAYOUT.levels, strict=True):
        assert level[:-1] == wanted.tolist()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"layout": 3}, "layout must be a SharedLayout"),
        ({"layout": "no such.json"}, "no such.json cannot be read"),
        ({"layout": LAYOUT, "adapt": "labels"}, "labels that are not adapted"),
        ({"layout": LAYOUT, "encoding": "affine"}, "encoding 'scores'"),
        ({"layout": LAYOUT, "label": "column"}, "settled how the label is asked for, not by label='column'"),
    ],
)
def test_options_that_do_not_go_with_it(options: dict[str, Any], line: str) -> None:
    with pytest.raises(ArgumentError, match=line):
        sf.Mixture(**options)


def test_another_schema_is_refused() -> None:
    other = {**SCHEMA, "columns": {**SCHEMA["columns"], "age": {"type": "number", "min": 0, "max": 98, "step": 1}}}
    with pytest.raises(ArgumentError, match="made of another schema"):
        sf.plan(other, mechanism=sf.Mixture(layout=LAYOUT), **TERMS)


def test_columns_in_groups_have_none() -> None:
    grouped = {"columns": {}, "groups": {"g": {"columns": "x_{1..3}", "min": 0, "max": 9, "step": 1}}}
    with pytest.raises(ArgumentError, match="columns in groups"):
        sf.SharedLayout.of(grouped, epsilon=1, delta=1e-6)


def test_releases_that_are_no_layout() -> None:
    numbers = {"columns": {"x0": {"type": "number", "min": 0, "max": 50}}}
    affine = sf.Mixture(encoding="affine")
    made = sf.fit(np.arange(50.0)[:, None], numbers, epsilon=1, delta=1e-6, mechanism=affine)
    with pytest.raises(ArgumentError, match="in affine is no layout"):
        shared_layout(made)
    with pytest.raises(ArgumentError, match="a compact release is no layout"):
        shared_layout(replace(site(1), answers=()))


def test_a_release_with_its_label_as_a_column_serves_as_layout(tmp_path: Path) -> None:
    first = sf.fit(table(1), SCHEMA, mechanism=sf.Mixture(label="column", tuning=SHORT), insecure_seed=1, **TERMS)
    layout = sf.SharedLayout.of_release(first)
    assert layout.label_column
    assert len(layout.levels) == 4
    layout.save(tmp_path / "l.json")
    read = sf.SharedLayout.load(tmp_path / "l.json")
    assert same(read, layout)
    planned = sf.plan(SCHEMA, mechanism=sf.Mixture(layout=read), **TERMS)
    assert planned.layout.names[-1] == "ill"
    assert planned.layout.label is None
    with pytest.raises(ArgumentError, match="the label as a column, which needs add-remove"):
        sf.plan(SCHEMA, mechanism=sf.Mixture(layout=read), adjacency="label", **TERMS)
    with pytest.raises(ArgumentError, match="not by label='classes'"):
        sf.Mixture(layout=read, label="classes")
    unlabelled = sf.Schema.of({"columns": SCHEMA["columns"]})
    with pytest.raises(ArgumentError, match="only a category can be a label and a column"):
        replace(layout, schema=unlabelled)


def test_a_layout_of_seeded_noise_is_for_seeded_fits(tmp_path: Path) -> None:
    layout = sf.SharedLayout.of_release(site(1, noise=1))
    layout.save(tmp_path / "l.json")
    for seeded in (site(1, noise=1), layout, tmp_path / "l.json"):
        with pytest.raises(ArgumentError, match="of a release with seeded noise, which tells of its rows"):
            sf.fit(table(1), SCHEMA, mechanism=sf.Mixture(layout=seeded), **TERMS)
    assert not sf.SharedLayout.of_release(site(1)).seeded


FALSE_LEVELS = [
    None,
    "abc",
    [["a", "b"]],
    [[0, 1]],
    [[1 << 80, 1]],
    3,
    [[], [], []],
    [[0] * 101, [0] * 256, [1 << 40] * 4],
]


@pytest.mark.parametrize("levels", FALSE_LEVELS)
def test_a_release_with_false_answers_is_no_layout(levels: Any) -> None:
    told = {"kind": "tables", "levels": levels, "tables": [[0, 1]]}
    false = replace(site(1), answers=(NoisyAnswer("tables", [1.0], 1.0, told),))
    with pytest.raises(ArgumentError):
        shared_layout(false)


FAULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "another format": lambda d: d.update(format="other"),
    "a newer version": lambda d: d.update(version=2),
    "no tables": lambda d: d.pop("tables"),
    "no levels": lambda d: d.pop("levels"),
    "a table of nothing": lambda d: d["tables"].append([]),
    "a table of strangers": lambda d: d["tables"].append(["age", "height"]),
    "a table with a column twice": lambda d: d["tables"].append(["age", "age"]),
    "a table twice": lambda d: d["tables"].append(d["tables"][0][::-1]),
    "too many cells": lambda d: (
        d["levels"].update(pay=list(range(256)), age=list(range(100)))
        or d["tables"].append(["age", "pay", "town", "ill"])
        or d["levels"].update(town=[0, 1, 2])
        or d.update(tables=[["age", "pay", "ill"]] * 400)
    ),
    "levels that are not numbered": lambda d: d["levels"].update(town=[0, 5, 1]),
    "levels of too few bins": lambda d: d["levels"].update(town=[0]),
    "more levels than memory": lambda d: d["levels"].update(town=[0, 1, 1 << 40]),
    "levels that are no numbers": lambda d: d["levels"].update(town=["a", "b", "c"]),
    "bins of a category": lambda d: d["bins"].update(town=[0, 1]),
    "bins that fall": lambda d: d["bins"].update(age=[0, 5, 3]),
    "bins beyond the grid": lambda d: d["bins"].update(age=[0, 5000]),
    "bins as text": lambda d: d["bins"].update(age="0,1"),
    "huge numbers": lambda d: d["bins"].update(age=[0, 1 << 80]),
    "a schema that is none": lambda d: d["schema"].update(columns={"age": {"type": "odd"}}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_is_no_layout_is_refused_in_one_line(fault: str, tmp_path: Path) -> None:
    LAYOUT.save(tmp_path / "l.json")
    data = json.loads((tmp_path / "l.json").read_text())
    assert data["format"] == FORMAT_NAME
    FAULTS[fault](data)
    (tmp_path / "l.json").write_text(json.dumps(data))
    with pytest.raises(ArgumentError) as error:
        sf.SharedLayout.load(tmp_path / "l.json")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff\xfe", b"[" * 100_000, b'{"format": 1e999}'])
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "l.json").write_bytes(content)
    with pytest.raises(ArgumentError, match="is no layout"):
        sf.SharedLayout.load(tmp_path / "l.json")
