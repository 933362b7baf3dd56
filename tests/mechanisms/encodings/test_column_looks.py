"""Looks at columns: what they cost is public, and what is looked into depends on noisy answers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.encoding.cleaning import Cleaning
from sfumato.mechanisms import Plan
from sfumato.mechanisms.encodings.column_looks import FINER, ask_columns, looks_of
from sfumato.private.accounting import Adjacency, Budget
from sfumato.private.queries.base import Answer, Batch, Query
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.viewed import Viewed
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema

FINE = {"type": "number", "min": 0, "max": 1000}
SCHEMA = Schema.of(
    {
        "label": "y",
        "columns": {
            "fine": FINE,
            "other": FINE,
            "whole": {"type": "number", "min": 0, "max": 20_000, "step": 1},
            "declared": FINE | {"bins": 32},
            "short": {"type": "number", "min": 0, "max": 50, "step": 1, "missing": True},
            "town": {"type": "category", "values": ["a", "b"]},
            "y": {"type": "category", "values": ["no", "yes"]},
        },
    }
)
LAYOUT = Layout.of(SCHEMA)


@dataclass
class Asked:
    """Answers exactly, or by a script of noisy answers, and keeps what it was asked."""

    budget: Budget
    batch: Batch | None = None
    script: list[Answer] = field(default_factory=list)
    queries: list[tuple[str, Any]] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    @property
    def remaining(self) -> float:
        return self.budget.remaining

    def total(self, name: str, query: Query, mu_squared: float) -> Answer:
        spend = self.budget.charge(name, query.reach.sensitivity(Adjacency.ADD_REMOVE), mu_squared)
        self.queries.append((name, query))
        if self.batch is None:
            return self.script[len(self.queries) - 1]
        sd = spend.sigma / query.weights
        noise = np.random.default_rng(len(self.queries)).standard_normal(query.size)
        self.answers.append(Answer(query.total(self.batch) + sd * noise, sd))
        return self.answers[-1]


def plan(schema: Schema = SCHEMA, epsilon: float = 1.0) -> Plan:
    return sf.plan(schema, epsilon=epsilon, delta=1e-6, mechanism=sf.Mixture(components=1, pairs=None), rows=20_000)


def rows(layout: Layout, count: int = 20_000, seed: int = 0, wide: bool = False) -> Batch:
    """Values in a narrow part of the range, or all over it."""
    rng = np.random.default_rng(seed)
    cells = []
    for bins in layout.bins:
        if not bins.ordered:
            cells.append(rng.integers(0, bins.size, count))
            continue
        low, high = bins.bounds
        spread = rng.uniform(low, high, count) if wide else rng.normal(0.1 * high, 0.002 * high, count)
        cells.append(bins.cell(spread))
    return Batch(np.stack(cells).astype(np.int32), rng.integers(0, layout.classes, count))


def look(schema: Schema = SCHEMA, batch: Batch | None = None, **parts: Any) -> tuple[Asked, list[Any]]:
    made = plan(schema)
    layout = Layout.of(schema)
    asker = Asked(Budget(made.mu), rows(layout) if batch is None and "script" not in parts else batch, **parts)
    return asker, ask_columns(asker, made, Cleaning())  # type: ignore[arg-type]


def histograms(query: Any) -> Histograms:
    return query.query if isinstance(query, Viewed) else query


# What is public


def test_how_many_looks_there_are_is_public() -> None:
    assert looks_of(LAYOUT) == (3, 3, 2, 1, 1, 1)  # declared bins, single values and categories have one look
    assert [each.title for each in plan().rounds][:3] == ["histograms", f"{FINER} 1", f"{FINER} 2"]
    coarse = Schema.of({"columns": {"x": FINE | {"bins": 32}, "k": {"type": "category", "values": ["a", "b"]}}})
    assert not plan(coarse).has(FINER)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_shares_add_up_to_what_histograms_have(epsilon: float) -> None:
    made = plan(epsilon=epsilon)
    opening, looks = made.details.histograms, looks_of(LAYOUT)
    asked = [made.round("histograms"), *made.repeats(FINER)]
    assert math.fsum(each.share for each in asked) == pytest.approx(opening.share)
    assert math.fsum(each.share for each in made.rounds) == pytest.approx(1.0)
    assert math.fsum(s * n for s, n in zip(opening.look_shares, looks, strict=True)) == pytest.approx(1.0)
    for number, each in enumerate(asked):  # a round has what the columns that may need it have for a look
        deep = math.fsum(s for s, n in zip(opening.look_shares, looks, strict=True) if n > number)
        assert each.share == pytest.approx(opening.share * deep)


# What is asked


def test_no_more_is_charged_than_the_plan_says() -> None:
    asker, _ = look()
    made = plan()
    assert [name for name, _ in asker.queries] == ["histograms", f"{FINER} 1", f"{FINER} 2"]
    for spend, (name, _) in zip(asker.budget.spends, asker.queries, strict=True):
        (each,) = (r for r in made.rounds if r.title == name)
        assert spend.mu**2 == pytest.approx(made.spend(each))
    assert made.mu**2 - asker.remaining <= made.details.histograms.share * made.mu**2 * (1 + 1e-9)


def test_a_budget_that_is_nearly_used_up_is_not_overdrawn() -> None:
    made = plan()
    first = made.spend(made.round("histograms"))
    asker = Asked(Budget(math.sqrt(first * 1.01)), rows(LAYOUT))
    ask_columns(asker, made, Cleaning())  # type: ignore[arg-type]
    assert math.fsum(s.mu**2 for s in asker.budget.spends) <= first * 1.01 * (1 + 1e-12)


def test_every_look_is_nested_in_the_one_before_and_follows_the_mass() -> None:
    _, counted = look()
    for c, (column, bins) in enumerate(zip(counted, LAYOUT.bins, strict=True)):
        assert (len(column.finer) > 0) == (c <= 2)
        assert len(column.finer) < looks_of(LAYOUT)[c]
        before = bins.cell_starts if c > 2 else bins.starts
        for each in column.finer:
            assert np.isin(before, each.starts).all()
            new = bins.grid.lows(np.setdiff1d(each.starts, before))
            assert abs(np.median(new) / bins.bounds[1] - 0.1) < 0.01  # where the rows are
            before = each.starts


def test_columns_with_declared_bins_get_one_look() -> None:
    asker, counted = look()
    first, *later = (query for _, query in asker.queries)
    assert histograms(first).sizes == LAYOUT.sizes
    assert all(set(query.view.columns) <= {0, 1, 2} for query in later)
    assert [len(column.finer) for column in counted[3:]] == [0, 0, 0]


def test_a_column_with_nothing_to_look_into_is_asked_for_the_same_again() -> None:
    """Without a row in `other` its bins hold no more than noise: all looks are at the same bins, and are averaged."""
    batch = rows(LAYOUT)
    codes = batch.codes.copy()
    codes[1] = -1
    asker, counted = look(batch=Batch(codes, batch.labels))
    for _, query in asker.queries[1:]:
        np.testing.assert_array_equal(query.view.starts[query.view.columns.index(1)], LAYOUT.bins[1].cell_starts)
    assert counted[1].finer == ()
    first = asker.answers[0].sd[LAYOUT.sizes[0] + 1]  # of the second column
    assert counted[1].sd == pytest.approx(first / math.sqrt(len(asker.queries)), rel=0.2)
    usual, _ = look()
    assert [s.mu for s in asker.budget.spends] == [s.mu for s in usual.budget.spends]  # a round's price is public


def test_where_nothing_stands_out_all_looks_are_alike() -> None:
    empty = Batch(np.full((6, 50), -1, dtype=np.int32), np.zeros(50, dtype=np.int64))
    asker, counted = look(batch=empty)
    assert [name for name, _ in asker.queries] == ["histograms", f"{FINER} 1", f"{FINER} 2"]
    assert all(column.finer == () for column in counted)


# What it depends on


def test_questions_depend_on_noisy_answers_alone() -> None:
    """Whatever rows stand behind the same noisy answers, the next question is the same, to the last bit."""
    first, counted = look()
    again, told = look(script=first.answers)
    assert again.batch is None
    for (name, query), (other, same) in zip(first.queries, again.queries, strict=True):
        assert name == other
        assert histograms(query) == histograms(same)
        assert query.view.columns == same.view.columns
        for one, two in zip(query.view.starts, same.view.starts, strict=True):
            np.testing.assert_array_equal(one, two)
    for one, two in zip(counted, told, strict=True):
        np.testing.assert_array_equal(one.cells, two.cells)


def test_other_answers_lead_to_other_questions() -> None:
    narrow, _ = look()
    wide, _ = look(batch=rows(LAYOUT, wide=True))
    assert histograms(narrow.queries[0][1]) == histograms(wide.queries[0][1])  # the first look is public
    assert histograms(narrow.queries[1][1]) != histograms(wide.queries[1][1])


# What comes of it


def test_what_was_counted_twice_is_known_better() -> None:
    asker, counted = look()
    once = counted[3]
    assert once.nowhere_sd == once.sd
    for column in counted[:3]:
        sds = [column.sd, *(each.sd for each in column.finer)]
        assert column.nowhere_sd == pytest.approx(sum(sd**-2 for sd in sds) ** -0.5)
    assert len(asker.queries) == 3
