"""Expected half-widths: against the noise of a fit, and against generalised least squares on its answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import null_space

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.planning.widths import HALF_WIDTH, Widths

AGE = {"type": "number", "min": 0, "max": 9, "step": 1}
SCHEMA: dict[str, Any] = {
    "label": "ill",
    "columns": {
        "age": AGE,
        "sex": {"type": "category", "values": ["f", "m"]},
        "weight": {"type": "number", "min": 0, "max": 200, "bins": 20, "missing": True},
        "ill": {"type": "category", "values": ["no", "yes"]},
    },
}
ROWS = 2000


def plan(schema: Any = SCHEMA, epsilon: float = 1.0, rows: int | None = ROWS, **options: Any) -> sf.Plan:
    return sf.plan(schema, epsilon=epsilon, delta=1e-6, rows=rows, **options)


def frame(rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 10, rows),
            "sex": rng.choice(["f", "m"], rows),
            "weight": rng.uniform(0, 200, rows),
            "ill": rng.choice(["no", "yes"], rows),
        }
    )


PLAIN = sf.Mixture(pairs=None)


@pytest.fixture(scope="module")
def release() -> sf.Release:
    return sf.fit(frame(), SCHEMA, epsilon=1, delta=1e-6, rows=ROWS, mechanism=PLAIN, insecure_seed=0)


def least_squares(sizes: list[int], sds: np.ndarray, weights: np.ndarray, classes: int) -> float:
    """The standard deviation of the best linear unbiased estimate of a weighted sum of cells, by linear algebra.

    Cells of all columns in one class, each with its noise; whatever the counts are, all columns add up to the same.
    """
    ends = np.cumsum([0, *sizes])
    same = np.zeros((len(sizes) - 1, ends[-1]))
    for c in range(len(sizes) - 1):
        same[c, ends[0] : ends[1]] = 1.0
        same[c, ends[c + 1] : ends[c + 2]] = -1.0
    free = null_space(same)  # counts that are possible
    precision = free.T @ np.diag(1.0 / np.repeat(sds, sizes) ** 2) @ free
    direction = free.T @ weights
    return math.sqrt(classes * direction @ np.linalg.solve(precision, direction))


def test_intervals_of_a_release_are_as_wide_as_foretold(release: sf.Release) -> None:
    """Within a tenth: columns lie evenly here, and the noisy number of rows is near the guess."""
    widths = Widths(plan(mechanism=PLAIN))
    age, sex, weight = widths.columns
    for asked, foretold in (
        (release.count(), widths.rows),
        (release.count("age == 3"), age.count),
        (release.count("sex == 'f'"), sex.count),
        (release.share("sex == 'f'"), sex.share),
        (release.share("age == 3"), age.share),
        (release.mean("age"), age.mean),
        (release.mean("weight"), weight.mean),
    ):
        assert asked.width / 2 == pytest.approx(foretold, rel=0.1), asked.estimand


def test_a_plan_foretells_the_noise_and_the_best_estimate(release: sf.Release) -> None:
    """The first noisy answer of a fit has the histograms, whose noise is what a plan foretells."""
    answer = release.answers[0]
    widths = Widths(plan(mechanism=PLAIN))
    sizes = [size + 1 for size in answer.what["bins"]]
    sds = np.split(answer.sd, np.cumsum(sizes)[:-1])  # of the first class
    sd = np.array([part[0] for part in sds[: len(sizes)]])
    middles = np.arange(10.0)

    def best(column: int, own: Any) -> float:
        weights = np.zeros(sum(sizes))
        start = sum(sizes[:column]) + 1  # before the bins, what fits none
        weights[start : start + len(own)] = own
        return HALF_WIDTH * least_squares(sizes, sd, weights, classes=2)

    age, sex, weight = widths.columns
    assert age.count == pytest.approx(best(0, [1.0]))
    assert age.mean == pytest.approx(best(0, middles - 4.5) / ROWS)
    assert age.blur == pytest.approx(best(0, [1.0] * 5) / HALF_WIDTH / (ROWS / 2))
    assert sex.count == pytest.approx(best(1, [1.0]))
    assert sex.share == pytest.approx(best(1, [0.5, -0.5]) / ROWS)
    assert sex.mean is None
    tens = np.arange(20) * 10.0 + 5.0
    assert weight.mean == pytest.approx(best(2, tens - 100.0) / ROWS + 5.0)
    assert weight.share == pytest.approx(best(2, [0.95] + [-0.05] * 19) / ROWS)
    everyone = np.zeros(sum(sizes))
    everyone[: sizes[0]] = 1.0
    assert widths.rows == pytest.approx(HALF_WIDTH * least_squares(sizes, sd, everyone, classes=2))
    assert widths.label == pytest.approx(widths.rows / math.sqrt(2))
    assert widths.count == max(age.count, sex.count, weight.count)


def test_a_guess_at_the_mean_moves_its_width() -> None:
    alone = {"columns": {"age": AGE}}
    middle, low = (Widths(plan(alone), guesses).mean("age") for guesses in ({}, {"age": 0.0}))
    assert Widths(plan(alone), {"age": 4.5}).mean("age") == pytest.approx(middle)
    assert 1.5 < low / middle < 2.0


@pytest.mark.parametrize(("adjacency", "factor"), [("replace-one", math.sqrt(2)), ("label", math.sqrt(2))])
def test_neighbours_that_differ_more_cost_more(adjacency: str, factor: float) -> None:
    wider = Widths(plan(mechanism=PLAIN, adjacency=adjacency)).columns[0].count
    assert wider == pytest.approx(factor * Widths(plan(mechanism=PLAIN)).columns[0].count)
    fitted = sf.fit(
        frame(), SCHEMA, epsilon=1, delta=1e-6, rows=ROWS, mechanism=PLAIN, adjacency=adjacency, insecure_seed=0
    )
    assert Widths(plan(mechanism=PLAIN, adjacency=adjacency))._sd[0] == pytest.approx(fitted.answers[0].sd[0])


def test_a_unit_of_one_row_costs_nothing() -> None:
    named = plan(SCHEMA | {"unit": {"column": "person", "rows": 1}})
    assert named.mu == pytest.approx(plan().mu, rel=1e-9)
    assert Widths(named)._sd == pytest.approx(Widths(plan())._sd, rel=1e-9)


def test_a_unit_of_several_rows_costs_as_many_times() -> None:
    unit = SCHEMA | {"unit": {"column": "person", "rows": 3}}
    fitted = sf.fit(
        frame().assign(person=range(ROWS)), unit, epsilon=1, delta=1e-6, rows=ROWS, insecure_seed=0,
        mechanism=PLAIN,
    )  # fmt: skip
    assert Widths(plan(unit, mechanism=PLAIN))._sd[0] == pytest.approx(fitted.answers[0].sd[0])


def test_pairs_that_drown_are_counted_as_one_by_one() -> None:
    many = {"columns": {f"c{i}": {"type": "number", "min": 0, "max": i + 1, "step": 1} for i in range(20)}}
    for rows in (300, 1000, 3000, 30_000):
        widths = Widths(plan(many, rows=rows))
        names = widths.plan.layout.names
        pairs = [widths.pair(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
        assert widths.drowned_pairs == sum(each.drowns for each in pairs)
        assert widths.pairs == len(pairs) == 190
        shown = widths.some_drowned()
        assert len(shown) == min(5, widths.drowned_pairs)
        assert all(each in pairs and each.drowns for each in shown)
    assert sum(each.drowns for each in pairs) == 0
    widest = max(pairs, key=lambda each: each.correlation)
    assert set(widest.columns) <= {f"c{i}" for i in range(14, 20)}  # of 16 levels


def test_more_rows_or_more_epsilon_are_narrower() -> None:
    base, more_rows, more_epsilon = (Widths(plan(rows=r, epsilon=e)) for r, e in ((ROWS, 1), (20_000, 1), (ROWS, 4)))
    for other in (more_rows, more_epsilon):
        for mine, theirs in zip(base.columns, other.columns, strict=True):
            assert theirs.share < mine.share
            assert theirs.blur < mine.blur
        assert other.pair("age", "sex").correlation < base.pair("age", "sex").correlation


def test_columns_in_groups_have_no_widths() -> None:
    groups = {"columns": {}, "groups": {"image": {"columns": "px_*", "shape": [4, 4], "min": 0, "max": 16, "step": 1}}}
    widths = Widths(plan(groups, rows=None))
    assert not widths.are_known
    assert widths.data() == {}


@pytest.mark.parametrize(
    ("column", "match"),
    [
        ("sex", "'sex' is a category: only numbers have a mean"),
        ("ill", "'ill' is the label: its classes are counted, they have no mean"),
        ("agee", "the schema has no column 'agee'; did you mean 'age'?"),
        ("town", "the schema has no column 'town'; it has 'age', 'sex', 'weight'"),
    ],
)
def test_what_has_no_mean(column: str, match: str) -> None:
    with pytest.raises(ArgumentError, match=match):
        Widths(plan()).mean(column)
    with pytest.raises(ArgumentError, match=match):
        Widths(plan(), {column: 1.0})


def test_a_guess_out_of_bounds_is_refused() -> None:
    with pytest.raises(ArgumentError, match="a guess at the mean of 'age' must lie between 0 and 9, not 10"):
        Widths(plan(), {"age": 10.0})


def test_a_plan_without_tables_has_no_pairs() -> None:
    widths = Widths(plan(mechanism=sf.Mixture(pairs=None)))
    assert widths.tables_bought is None
    assert widths.drowned_pairs == 0
    with pytest.raises(ArgumentError, match="this plan buys no tables of pairs"):
        widths.pair("age", "sex")
