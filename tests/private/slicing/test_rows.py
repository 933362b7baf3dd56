"""Noisy rows: one vector for each row whatever is in it, exact projections by a fresh matrix, noise as paid for."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, kstest
from tests.examples import some
from tests.private.queries.helpers import seen_in, vectors_in

from sfumato.accounting import calibrate, delta_of
from sfumato.errors import ArgumentError, BudgetError, TableError
from sfumato.insecure import insecure_bits
from sfumato.mechanisms.asker import Client
from sfumato.mechanisms.questions import row_question, score_image
from sfumato.mechanisms.slicing.row_planning import plan_rows
from sfumato.private.accounting import Adjacency, Budget
from sfumato.private.curator import Curator
from sfumato.private.engines import local
from sfumato.private.engines.local import LocalEngine
from sfumato.private.noise import NORMAL_BITS, normals, secure_bits
from sfumato.private.queries.base import LATENT_BITS
from sfumato.private.queries.histograms import Histograms
from sfumato.private.slicing import rows as rows_module
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import NoisyRows, RowVectors, Whole, matrix_rounding, project, shuffled
from sfumato.private.source import Source
from sfumato.private.units import Units
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema
from sfumato.tables import open_table

SCHEMA = Schema.parse("""
label: ill
columns:
  age: {type: number, min: 0, max: 100, bins: 20}
  dose: {type: number, min: 0, max: 10, bins: 10}
  ward: {type: category, values: [north, south, east]}
  ill: {type: category, values: ["yes", "no"]}
""")
LAYOUT = Layout.of(SCHEMA)
UNIT_LAYOUT = Layout.of(Schema.of(SCHEMA.dump() | {"unit": {"column": "who", "rows": 2}}))
TABLES = np.random.default_rng(4)
IMAGE = score_image([[TABLES.normal(scale=2.0, size=size) for size in LAYOUT.sizes] for _ in range(2)])
VECTORS = vectors_in(LAYOUT, row_question(IMAGE, 2, radius=1.5, height=0.75))
GRID = 2.0**LATENT_BITS

cells = st.tuples(
    st.sampled_from([0.0, 13.0, 50.0, 100.0, 1e9, math.nan]),
    st.sampled_from([0.0, 3.3, 10.0, -5.0]),
    st.sampled_from(["north", "south", "west"]),
    st.sampled_from(["yes", "no", "maybe"]),
)


def frame(rows: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["age", "dose", "ward", "ill"])


def engine(rows: list[Any], workers: int = 1) -> LocalEngine:
    return LocalEngine(Source(open_table(frame(rows)), LAYOUT), workers)


def vectors(rows: list[Any], asked: RowVectors = VECTORS) -> Any:
    return engine(rows).rows(asked)


def curator(rows: list[Any], budget: Budget, bits: Any = secure_bits, unit_rows: int | None = None) -> Client:
    return Client(Curator(engine(rows), budget, Adjacency.REPLACE_ONE, bits, unit_rows=unit_rows))


ROWS = [(20.0, 3.0, "north", "yes"), (70.0, 9.0, "south", "no"), (5.0, 0.5, "east", "no")] * 4


# What a row becomes


@settings(deadline=None, max_examples=some(60))
@given(st.lists(cells, min_size=1, max_size=8), cells, st.integers(0, 7))
def test_a_replaced_row_moves_its_own_vector_and_no_other(rows: list[Any], other: Any, at: int) -> None:
    at %= len(rows)
    before, after = vectors(rows), vectors([*rows[:at], other, *rows[at + 1 :]])
    assert before.shape == after.shape == (VECTORS.dim, len(rows))  # whatever is in the rows
    norms = [(each**2).sum(axis=0) for each in (before, after)]
    assert max(n.max() for n in norms) <= VECTORS.radius
    # Rows that count nowhere come last, so compare as the shuffle leaves them: without order.
    old, new = (sorted(map(tuple, each.T.tolist())) for each in (before, after))
    (mine,) = vectors([rows[at]]).T.tolist()
    (theirs,) = vectors([other]).T.tolist()
    old.remove(tuple(mine))
    new.remove(tuple(theirs))
    assert old == new
    assert math.dist(mine, theirs) / GRID <= VECTORS.distance()


def test_the_bound_is_reached() -> None:
    far = row_question(score_image([[np.array([-9.0, 9.0])] * 4]), 1, radius=2.0)
    ends = clipped_ends(far)
    assert math.dist(*ends) / GRID == pytest.approx(far.distance(), rel=1e-3)
    assert math.dist(*ends) / GRID <= far.distance()


def clipped_ends(asked: RowVectors) -> list[Any]:
    from sfumato.private.queries.base import Batch

    codes = np.array([[0, 1]] * 4, dtype=np.int16)
    return asked.find(Batch(codes, np.zeros(2, dtype=np.int64))).T.tolist()


def test_the_label_is_part_of_the_clipped_vector() -> None:
    (yes,), (no,) = (vectors([(20.0, 3.0, "north", label)]).T for label in ("yes", "no"))
    assert yes[-2] > 0 == yes[-1]
    assert no[-1] > 0 == no[-2]
    assert (vectors([(20.0, 3.0, "north", "maybe")]) == 0).all()
    bare = row_question(IMAGE, 2, radius=1.5)
    assert bare.dim == VECTORS.dim - 2


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_and_workers_change_no_vector(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.private import source

    whole = vectors(ROWS)
    monkeypatch.setattr(source, "BATCH_CELLS", 6)
    assert np.array_equal(engine(ROWS, workers).rows(VECTORS), whole)


def test_a_table_too_large_for_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "KEPT_BYTES", 10)
    with pytest.raises(TableError, match="too large for noisy rows"):
        vectors(ROWS)


def test_whether_a_table_is_too_large_does_not_depend_on_what_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row whose label is none takes as much room as any other: else a refusal would tell of it."""
    bad = [(*row[:3], "no such label") for row in ROWS]
    monkeypatch.setattr(local, "KEPT_BYTES", 2 * VECTORS.dim * len(ROWS) - 1)
    for rows in (ROWS, bad, [*ROWS[:-1], bad[-1]]):
        with pytest.raises(TableError, match="too large"):
            vectors(rows)


@settings(deadline=None, max_examples=some(40))
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c", ""]), cells), max_size=10), st.lists(cells, max_size=5))
def test_every_unit_has_as_many_vectors(rows: list[Any], own: list[Any]) -> None:
    """Whatever rows a unit has, bad ones or too many, it has two vectors; rows without an id have none."""
    table = [(who, *cells) for who, cells in rows] + [("new", *cells) for cells in own]
    made = pd.DataFrame(table, columns=["who", "age", "dose", "ward", "ill"]).astype({"who": "str"})
    units = len({who for who, *_ in table} - {""})
    found = LocalEngine(Source(open_table(made), UNIT_LAYOUT, Units(2, b"k" * 32)), 1).rows(VECTORS)
    assert found.shape == (VECTORS.dim, 2 * units)
    other = made[made["who"] != "new"]
    rest = LocalEngine(Source(open_table(other), UNIT_LAYOUT, Units(2, b"k" * 32)), 1).rows(VECTORS)
    left = sorted(map(tuple, found.T.tolist()))
    for each in map(tuple, rest.T.tolist()):
        left.remove(each)  # the others are what they were
    assert len(left) == (2 if own else 0)


# The matrix


def test_the_normals_are_those_of_extended_precision() -> None:
    """Every draw decided fast is what the slow path, which is exact, would have said."""
    from fractions import Fraction

    from sfumato.private.noise import _exact_cell

    stream = insecure_bits(5)
    words = np.frombuffer(stream(8 * 300), dtype="<i8")
    fast = normals(300, insecure_bits(5))
    slow = [_exact_cell(int(word), Fraction(0), Fraction(1 << NORMAL_BITS), insecure_bits(9)) for word in words]
    assert fast.tolist() == slow


def test_the_normals_are_normal() -> None:
    drawn = normals(200_000, insecure_bits(3)) / 2.0**NORMAL_BITS
    assert kstest(drawn, "norm").pvalue > 1e-6
    square = float((drawn**2).sum())
    assert 5e-7 < chi2.sf(square, len(drawn)) < 1 - 5e-7


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**31), st.integers(1, 30), st.integers(1, 20))
def test_products_are_exact_and_a_row_s_own(seed: int, dim: int, projections: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(-(2**16) + 1, 2**16, size=(dim, 7)).astype(np.float64)
    drawn = normals(dim * projections, insecure_bits(seed)).reshape(dim, projections)
    exact = [[sum(int(a) * int(b) for a, b in zip(row, u, strict=True)) for u in drawn.T] for row in rows.T]
    found = project(rows, drawn)
    assert found.tolist() == exact
    assert project(rows[:, 3:4], drawn).tolist() == exact[3:4]


def test_products_that_might_not_be_exact_are_refused() -> None:
    with pytest.raises(ArgumentError, match="too many coordinates"):
        project(np.zeros((4, 1)), np.full((4, 2), 1 << 40))


def test_the_rounding_of_the_matrix_is_what_is_paid_for() -> None:
    """|u^T (U - drawn)| for the worst u is the spectral norm of the rounding errors, at most their Frobenius norm."""
    dim, projections = 50, 20
    errors = np.random.default_rng(1).uniform(-0.5, 0.5, size=(dim, projections)) * 2.0**-NORMAL_BITS / math.sqrt(dim)
    paid = matrix_rounding(Slices(dim, projections, 1.0, 1.0))
    assert np.linalg.norm(errors, 2) <= np.linalg.norm(errors) <= paid
    worst = np.full((dim, projections), 0.5) * 2.0**-NORMAL_BITS / math.sqrt(dim)
    assert np.linalg.norm(worst, 2) == pytest.approx(paid)


# The answer


def sliced_plan(projections: int = 3, mu: float = 0.1, rows: int | None = None) -> Any:
    return plan_rows(1.0, 1e-5, VECTORS, mu=mu, projections=projections, unit_rows=rows)


def ask(seed: int | None = 1, plan: Any = None, rows: list[Any] = ROWS) -> NoisyRows:
    plan = plan or sliced_plan()
    bits = secure_bits if seed is None else insecure_bits(seed)
    return curator(rows, Budget(plan.mu, plan.slices), bits).rows("rows", VECTORS, plan.projection)


def test_the_answer_is_the_projection_with_the_noise_that_was_paid_for() -> None:
    plan = sliced_plan(projections=4)
    rows = ROWS * 500
    found = ask(1, plan, rows)
    assert found.values.shape == (len(rows), 4)
    assert found.sd == pytest.approx(plan.projection.sigma, rel=1e-9)
    assert found.sd >= plan.projection.sigma
    true = vectors(rows).T / GRID @ found.directions
    order = shuffled(len(rows), insecure_bits(1))  # what this seed gives
    noise = (found.values - true[order]) / found.sd
    assert 5e-7 < chi2.sf((noise**2).sum(), noise.size) < 1 - 5e-7
    assert abs(np.corrcoef(noise.T) - np.eye(4)).max() < 5.5 / math.sqrt(len(rows))


def test_the_directions_are_drawn_anew_each_time_and_have_their_law() -> None:
    plan = sliced_plan()
    first, second = (ask(None, plan).directions for _ in range(2))
    assert first is not None
    assert second is not None
    assert not np.isin(first, second).any()
    many = np.stack([ask(seed, plan).directions for seed in range(200)])
    assert kstest(many.ravel() * math.sqrt(VECTORS.dim), "norm").pvalue > 1e-6


def test_the_order_is_shuffled() -> None:
    found = [shuffled(40, insecure_bits(seed)) for seed in range(200)]
    assert all(sorted(order.tolist()) == list(range(40)) for order in found)
    first = np.bincount([order[0] for order in found], minlength=40)
    assert chi2.sf(((first - 5.0) ** 2 / 5.0).sum(), 39) > 1e-6


def test_it_charges_says_looks_then_draws() -> None:
    plan = sliced_plan()
    events: list[str] = []

    class Watched:
        public = engine(ROWS).public

        def total(self, query: Any) -> Any:
            raise NotImplementedError

        def rows(self, asked: RowVectors) -> Any:
            events.append("look")
            assert budget._taken == 1
            return vectors(ROWS)

    def bits(n: int, /) -> bytes:
        events.append("draw")
        return secure_bits(n)

    budget = Budget(plan.mu, plan.slices)
    asked = Client(
        Curator(
            Watched(),
            budget,
            Adjacency.REPLACE_ONE,
            bits,
            lambda spend: events.append("announce"),
            before_noise=lambda: events.append("write down"),
        )
    )
    asked.rows("rows", VECTORS, plan.projection)
    assert events[:4] == ["announce", "look", "write down", "draw"]
    with pytest.raises(BudgetError, match="are not the slices that were set aside"):
        asked.rows("again", VECTORS, plan.projection)


@pytest.mark.parametrize("adjacency", [Adjacency.ADD_REMOVE, Adjacency.LABEL])
def test_rows_are_replace_one_only(adjacency: Adjacency) -> None:
    plan = sliced_plan()
    asked = Client(Curator(engine(ROWS), Budget(plan.mu, plan.slices), adjacency, secure_bits))
    with pytest.raises(ArgumentError, match="they need adjacency 'replace-one'"):
        asked.rows("rows", VECTORS, plan.projection)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dim": 7}, "dim=7, .* are not set aside for 5 coordinates"),
        ({"distance": 1.0}, "distance=1.0, .* for 5 coordinates that move by 3 in 1 rows"),
        ({"rounding": 0.0}, "whose rounding has to be paid for"),
    ],
)
def test_slices_that_do_not_pay_for_the_vectors_are_refused(change: dict[str, Any], message: str) -> None:
    slices = dataclasses.replace(sliced_plan().projection, **change)
    budget = Budget(0.1, [slices])
    with pytest.raises(ArgumentError, match=message):
        curator(ROWS, budget).rows("rows", VECTORS, slices)
    budget.take(slices)  # nothing was taken


def test_a_unit_of_m_rows_costs_the_root_of_m() -> None:
    one, four = (sliced_plan(rows=rows).projection for rows in (None, 4))
    assert isinstance(one, Slices)
    assert isinstance(four, Slices)
    assert four.distance == pytest.approx(2.0 * one.distance)
    assert 2.0 * one.sigma < four.sigma < 2.5 * one.sigma  # the directions of four rows may all be shown well
    far = dataclasses.replace(one, distance=four.distance)
    for slices in (one, far):
        with pytest.raises(ArgumentError, match="set aside for"):
            curator(ROWS, Budget(0.1, [slices]), unit_rows=4).rows("rows", VECTORS, slices)
    whole = sliced_plan(VECTORS.dim, rows=4).projection
    budget = Budget(1.0)
    curator(ROWS, budget, unit_rows=4).rows("rows", VECTORS, whole)
    assert budget.spends[0].sensitivity == pytest.approx(2.0 * VECTORS.distance())


# Between slices and whole rows


def test_few_projections_are_sliced_and_many_are_not() -> None:
    few, many = sliced_plan(VECTORS.dim - 1), sliced_plan(VECTORS.dim)
    assert isinstance(few.projection, Slices)
    assert few.slices == (few.projection,)
    assert delta_of(1.0, few.mu, few.slices) <= 1e-5
    assert isinstance(many.projection, Whole)
    assert many.slices == ()
    assert many.mu == calibrate(1.0, 1e-5)
    assert many.projection.mu_squared + 0.1**2 == pytest.approx(many.mu**2, rel=1e-9)


def test_whole_rows_share_the_budget_with_other_queries() -> None:
    plan = sliced_plan(VECTORS.dim)
    budget = Budget(plan.mu)
    asked = curator(ROWS * 300, budget, insecure_bits(2))
    asked.total("histograms", seen_in(LAYOUT, Histograms(LAYOUT.sizes, 2, (1 / 3,) * 3)), 0.1**2)
    found = asked.rows("rows", VECTORS, plan.projection)
    assert found.directions is None
    assert budget.remaining == pytest.approx(0.0, abs=1e-9)
    spend = budget.spends[1]
    assert spend.sensitivity == pytest.approx(VECTORS.distance())
    assert found.sd == spend.sigma
    spread = found.values.var(axis=0) - (vectors(ROWS * 300) / GRID).var(axis=1)
    assert spread == pytest.approx(spend.sigma**2, rel=5.5 * math.sqrt(2 / len(found.values)))


def test_a_budget_that_is_used_up_leaves_no_rows() -> None:
    for projections in (3, VECTORS.dim):
        with pytest.raises(ArgumentError, match="leaves nothing of epsilon = 1"):
            sliced_plan(projections, mu=0.3)


def test_a_matrix_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "MOST_ENTRIES", 10)
    with pytest.raises(ArgumentError, match="at most 10 entries"):
        ask()
