"""A histogram of mixed resolution, from two looks at a column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.asking.simulated import Curated, histograms

from sfumato.asking.evidence import Round, Table
from sfumato.asking.splicing import Spliced, is_nested, parents_of, spliced_axis
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema

LABELLED = Schema.of(
    {
        "label": "y",
        "columns": {
            "x": {"type": "number", "min": 0, "max": 7, "step": 1, "missing": True},
            "z": {"type": "category", "values": ["a", "b"]},
            "y": {"type": "boolean"},
        },
    }
)
LAYOUT = Layout.of(LABELLED)
WIDE = LAYOUT.refined([np.array([0, 4, 6]), None])
PARTED = np.array([False, True, False, False, False])  # of: unreadable, 0..3, 4..5, 6..7, missing


def looks(others: bool = True) -> tuple[Round, Round]:
    rng = np.random.default_rng(0)
    n = 500
    numbers = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 8, n))
    frame = pd.DataFrame({"x": numbers, "z": rng.choice(["a", "b"], n), "y": rng.random(n) < 0.3})
    asked = (histograms(WIDE, 2.0, [0, 1]), histograms(LAYOUT, 3.0, [0], "finer"))
    first, finer = Curated(LABELLED, frame, asked).asked(rng).rounds
    return (first if others else Round(first.name, first.kind, first.axes, first.tables[:1])), finer


def dense(columns: tuple[str, ...], question: np.ndarray, first: Round, finer: Round) -> tuple[float, float]:
    """By brute force: all numbers but those of the parted bin in the first look, as sums over the cells (x, z, y)."""
    levels = ["unreadable", 0, 1, 2, 3, "4..5", "6..7", "missing"]
    sizes = (len(levels), 3, 2)
    rows, values, variances = [], [], []

    def tell(cells: np.ndarray, value: float, sd: float) -> None:
        rows.append(cells.ravel())
        values.append(value)
        variances.append(sd**2)

    one, two = first.tables[0], finer.tables[0]
    for k in range(2):
        for i, level in ((0, 0), (2, 5), (3, 6), (4, 7)):
            cells = np.zeros(sizes)
            cells[level, :, k] = 1.0
            tell(cells, one.counts[k, i], one.sd)
        for part in range(4):
            cells = np.zeros(sizes)
            cells[1 + part, :, k] = 1.0
            tell(cells, two.counts[k, 1 + part], two.sd)
        for i in range(3) if len(first.tables) > 1 else ():
            cells = np.zeros(sizes)
            cells[:, i, k] = 1.0
            tell(cells, first.tables[1].counts[k, i], first.tables[1].sd)
    matrix, root = np.array(rows), np.sqrt(variances)
    lifted = question.reshape(-1, 1, 2 if "y" in columns else 1) * np.ones(sizes)
    weights = np.linalg.pinv((matrix / root[:, None]).T) @ lifted.ravel() / root
    assert weights @ matrix == pytest.approx(lifted.ravel(), abs=1e-9)
    return float(weights @ values), float(weights**2 @ np.array(variances))


@pytest.mark.parametrize("others", [True, False], ids=["other columns tell the total", "alone"])
@pytest.mark.parametrize("columns", [("x",), ("x", "y")])
def test_it_is_the_best_linear_combination_of_what_may_be_combined(columns: tuple[str, ...], others: bool) -> None:
    first, finer = looks(others)
    cells = Spliced(first, finer, columns, "x", PARTED)
    question = np.random.default_rng(1).normal(size=cells.shape)
    estimate, variance = dense(columns, question, first, finer)
    assert cells.total(question) == pytest.approx(estimate)
    assert cells.variance(question) == pytest.approx(variance)
    assert cells.axes["x"].names() == ["unreadable", 0, 1, 2, 3, "4..5", "6..7", "missing"]


def test_what_the_first_look_said_of_a_parted_bin_has_no_weight() -> None:
    first, finer = looks()
    before = Spliced(first, finer, ("x",), "x", PARTED).counts
    own = first.tables[0]
    other = Table(own.columns, own.counts + 1000.0 * (np.arange(5) == 1), own.sd)
    changed = Round(first.name, first.kind, first.axes, (other, *first.tables[1:]))
    assert Spliced(changed, finer, ("x",), "x", PARTED).counts == pytest.approx(before)


def test_where_levels_come_from() -> None:
    first, finer = looks()
    axis, sources = spliced_axis(first.axes["x"], finer.axes["x"], PARTED)
    assert sources.tolist() == [0, -2, -3, -4, -5, 2, 3, 4]
    assert axis.size == 8
    assert parents_of(first.axes["x"], finer.axes["x"]).tolist() == [0, 1, 1, 1, 1, 2, 2, 3, 3, 4]


def test_looks_within_each_other() -> None:
    first, finer = looks()
    assert is_nested(first.axes["x"], finer.axes["x"])
    assert not is_nested(finer.axes["x"], first.axes["x"])
    assert not is_nested(first.axes["z"], first.axes["z"])
