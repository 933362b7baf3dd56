"""Noisy answers as rounds of tables, and the best linear combination within a round."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.asking.simulated import LAYOUT, LEVELS, PAIRS, SCHEMA, Curated, histograms, people, rows, tables

from sfumato.asking.evidence import Axis, Round, read_rounds, split
from sfumato.guarantee import NoisyAnswer
from sfumato.schema.layout import Layout, bins_of
from sfumato.schema.schema import Category, Schema


def noisy(question: Any, **what: Any) -> NoisyAnswer:
    rng = np.random.default_rng(0)
    return NoisyAnswer(question.name, rng.normal(50.0, 10.0, question.size), question.sd, question.what | what)


def dense(of: Round, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every number of a round as a sum over the joint cells of all columns: the matrix, the values, the variances."""
    sizes = [of.axes[name].size for name in names]
    matrix, values, variances = [], [], []
    for table in of.tables:
        for place in product(*map(range, table.counts.shape)):
            row = np.ones(sizes)
            for name, i in zip(table.columns, place, strict=True):
                shape = [-1 if each == name else 1 for each in names]
                row = row * (np.arange(of.axes[name].size) == i).reshape(shape)
            matrix.append(row.ravel())
            values.append(table.counts[place])
            variances.append(table.sd**2)
    return np.array(matrix), np.array(values), np.array(variances)


@pytest.mark.parametrize("columns", [(), ("a",), ("a", "b"), ("b", "y"), ("c",)])
def test_the_combination_is_the_best_linear_one(columns: tuple[str, ...]) -> None:
    two = {"type": "category", "values": ["0", "1"]}
    schema = Schema.of(
        {"label": "y", "columns": {"a": two, "b": two | {"values": ["0", "1", "2"]}, "c": two, "y": two}}
    )
    layout = Layout.of(schema)
    asked = (tables(layout, 3.0, [(0, 1), (1, 3), (0, 1, 3), (0, 2)]),)
    (of,) = read_rounds([noisy(each) for each in asked], layout)
    names = ("a", "b", "c", "y")
    matrix, values, variances = dense(of, names)
    cells = of.cells(columns)
    rng = np.random.default_rng(1)
    question = rng.normal(size=cells.shape)
    lifted = np.broadcast_to(
        question.reshape([of.axes[n].size if n in columns else 1 for n in names]), [of.axes[n].size for n in names]
    ).ravel()
    # The weights w with w . matrix = question that have the least variance.
    root = np.sqrt(variances)
    weights = np.linalg.pinv((matrix / root[:, None]).T) @ lifted / root
    assert weights @ matrix == pytest.approx(lifted, abs=1e-9)
    assert cells.total(question) == pytest.approx(weights @ values)
    assert cells.variance(question) == pytest.approx((weights**2) @ variances)
    other = rng.normal(size=cells.shape)
    assert cells.covariance(question, other) == pytest.approx(
        (cells.variance(question + other) - cells.variance(question - other)) / 4.0
    )


def test_columns_of_unequal_noise_share_the_total() -> None:
    two = {"type": "category", "values": ["0", "1"]}
    layout = Layout.of(Schema.of({"columns": {"a": two, "b": two}}))
    question = histograms(layout, 1.0)
    answer = NoisyAnswer("histograms", [1.0, 2, 3, 10, 20, 30], np.repeat([1.0, 2.0], 3), question.what)
    (of,) = read_rounds([answer], layout)
    cells = of.cells(())
    assert cells.total(np.array(1.0)) == pytest.approx((6 / 3 + 60 / 12) / (1 / 3 + 1 / 12))
    assert cells.variance(np.array(1.0)) == pytest.approx(1.0 / (1 / 3 + 1 / 12))


def test_without_noise_counts_are_exact() -> None:
    curated = people(300)
    first, second = curated.asked().rounds
    frame = curated.frame
    counts = first.cells(("income", "age")).counts
    assert counts[31, 1] == pytest.approx(((frame.age == 50) & (frame.income == "high")).sum())
    assert second.cells(("age", "sex")).counts.sum() == pytest.approx(300)
    assert [each.kind for each in (first, second)] == ["histograms", "tables"]
    assert second.speaks_of(("age", "sex"))
    assert not second.speaks_of(("age", "wage"))
    assert second.axes["age"].names()[0] == "20..24"
    assert second.axes["sex"].names() == ["f", "m", "unreadable"]
    young = frame.age[frame.age < 25]
    assert second.axes["age"].middles[0] == pytest.approx(young.mean(), abs=0.6)


def test_a_typical_number_stands_for_a_wide_level() -> None:
    """By the last histogram before the table, of bins that hold more than noise."""
    levels = (np.arange(2), np.zeros(40, dtype=int), np.arange(80) // 8, np.arange(20) // 4)
    frame = rows(1000).assign(age=np.where(np.arange(1000) < 900, 25, 50))
    for sd, stands in ((1.0, 27.5), (40.0, 27.5), (1000.0, 39.5)):
        asked = (histograms(LAYOUT, sd), tables(LAYOUT, 1.0, [(0, 1)], levels))
        _, of = Curated(SCHEMA, frame, asked).asked().rounds
        assert of.axes["age"].middles[0] == pytest.approx(stands, abs=2.6 if sd == 40.0 else 1e-6)
    alone = Curated(SCHEMA, frame, (tables(LAYOUT, 1.0, [(0, 1)], levels),)).asked().rounds[0]
    assert alone.axes["age"].middles[0] == 39.5


def test_a_level_of_many_categories_has_a_short_name() -> None:
    bins = bins_of(Category(values=tuple("abcdefgh")))
    axis = Axis("town", bins, np.array([0, 1, 1, 2, 2, 2, 2, 2]), 3)
    assert axis.names() == ["a", "b or c", "d or e or f or 2 others", "unreadable"]


def test_missing_values_and_unreadable_cells_have_levels_of_their_own() -> None:
    schema = Schema.of(
        {
            "columns": {
                "town": {"type": "category", "values": ["Ulm", "Bonn"], "missing": True},
                "wage": {"type": "number", "min": 0, "max": 10, "bins": 5},
            }
        }
    )
    frame = pd.DataFrame({"town": ["Ulm", None, "Bonn", "Ulm"], "wage": [1.0, np.nan, 9.0, np.nan]})
    curated = Curated(schema, frame, (histograms(Layout.of(schema), 1.0),))
    (of,) = curated.asked().rounds
    assert of.axes["town"].names() == ["unreadable", "Ulm", "Bonn", "missing"]
    assert of.axes["town"].known.tolist() == [False, True, True, False]
    assert of.cells(("town",)).counts == pytest.approx([0.0, 2.0, 1.0, 1.0])
    assert of.cells(("wage",)).counts == pytest.approx([2.0, 1.0, 0.0, 0.0, 0.0, 1.0])


GOOD_TABLES = tables(LAYOUT, 2.0, PAIRS, LEVELS)


@pytest.mark.parametrize(
    "what",
    [
        {"kind": "group sums"},
        {"kind": "group sums", "of": "classes", "groups": 7},
        {"nowhere": "first"},
        {"classes": 3},
        {"classes": 2.0},
        {"levels": None},
        {"levels": GOOD_TABLES.what["levels"][:2]},
        {"levels": [[0, 5, 2], *GOOD_TABLES.what["levels"][1:]]},
        {"levels": [[0, 1, 10**12], *GOOD_TABLES.what["levels"][1:]]},
        {"levels": [[0, 1, 10**30], *GOOD_TABLES.what["levels"][1:]]},
        {"levels": [[0, 1, -1], *GOOD_TABLES.what["levels"][1:]]},
        {"levels": [[0, True, 2], *GOOD_TABLES.what["levels"][1:]]},
        {"tables": [[0, 0]]},
        {"tables": [[0, 9]]},
        {"tables": [[0, -1]]},
        {"tables": [[0, 1]]},
        {"tables": "x"},
        {"kind": ["tables"]},
        {"columns": [0]},
        {"columns": [0, 0, 1, 2]},
        {"starts": [[0]]},
        {"starts": [[0, 10**30], *GOOD_TABLES.what.get("starts", [[0]] * 4)[1:]]},
        {"starts": [[0, 1], [3], [0], [0]]},
    ],
)
def test_what_does_not_fit_says_nothing(what: dict[str, Any]) -> None:
    assert len(read_rounds([noisy(GOOD_TABLES)], LAYOUT)) == 1
    assert read_rounds([noisy(GOOD_TABLES, **what)], LAYOUT) == ()


def test_absurd_numbers_say_nothing() -> None:
    good = histograms(LAYOUT, 1.0)
    assert len(read_rounds([noisy(good)], LAYOUT)) == 1
    for values, sd in ((np.full(good.size, 1e300), 1.0), (np.zeros(good.size), 1e-300)):
        assert read_rounds([NoisyAnswer("histograms", values, sd, good.what)], LAYOUT) == ()


def test_of_unequal_noise_the_largest_is_claimed() -> None:
    """As merged releases have it, on bins that are coarser than those of their parts."""
    good, rng = histograms(LAYOUT, 1.0), np.random.default_rng(0)
    sd = rng.choice([1.0, 3.0], good.size)
    column = LAYOUT.names[0]
    questions, found, claimed = [], [], 0.0
    for _ in range(400):
        (each,) = read_rounds([NoisyAnswer("histograms", rng.normal(0.0, sd), sd, good.what)], LAYOUT)
        cells = each.cells((column,))
        questions = questions or [rng.normal(size=cells.shape) for _ in range(20)]
        found.append([cells.total(question) for question in questions])
        claimed = np.array([cells.variance(question) for question in questions])
    ratio = np.var(found, axis=0) / claimed
    assert (ratio < 1.0).all(), "never too small, by far more than a variance of 400 numbers is uncertain"
    assert (ratio > 1.0 / 9.0).all()


def test_parts_add_up_and_are_orthogonal() -> None:
    question = np.random.default_rng(0).normal(size=(2, 3, 4))
    parts = split(question, ("a", "b", "c"))
    assert len(parts) == 8
    size = {"a": 2, "b": 3, "c": 4}
    whole = sum(p.reshape([size[n] if n in some else 1 for n in "abc"]) for some, p in parts.items())
    assert whole == pytest.approx(question)
    squares = sum((p**2).sum() * np.prod([size[n] for n in "abc" if n not in some]) for some, p in parts.items())
    assert squares == pytest.approx((question**2).sum())


def test_the_frame_fits_the_schema() -> None:
    assert set(rows(5).columns) == set(SCHEMA.columns)


def test_counts_of_classes_are_read_from_sums_by_class() -> None:
    what = {"kind": "group sums", "of": "classes", "groups": 2, "dimensions": 2, "second": "none"}
    answer = NoisyAnswer("moments", [40.0, 0.1, 0.2, 60.0, 0.3, 0.4], [2.0, 9, 9, 2, 9, 9], what)
    (of,) = read_rounds([answer], LAYOUT)
    cells = of.cells(("income",))
    assert cells.counts == pytest.approx([40.0, 60.0])
    assert cells.variance(np.ones(2)) == pytest.approx(8.0)
    assert read_rounds([NoisyAnswer("moments", answer.values, answer.sd, what | {"of": "cells"})], LAYOUT) == ()
