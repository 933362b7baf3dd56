"""Units of privacy: whatever happens to one unit moves a total by no more than is charged."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare
from tests.examples import some
from tests.private.queries.helpers import told_by

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.mechanisms.questions import latent_space, score_image
from sfumato.private.accounting import Adjacency
from sfumato.private.engines.local import LocalEngine
from sfumato.private.queries.base import Batch, IntArray, Query
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.histograms import Histograms
from sfumato.private.source import Source
from sfumato.private.units import TagArray, Units, unit_delta
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema
from sfumato.tables import open_table

KEY = b"0123456789abcdef0123456789abcdef"
SCHEMA = Schema.of(
    {
        "label": "y",
        "unit": {"column": "who", "rows": 2},
        "columns": {
            "a": {"type": "number", "min": 0, "max": 3, "step": 1},
            "y": {"type": "category", "values": ["n", "p"]},
        },
    }
)
LAYOUT = Layout.of(SCHEMA)


def queries() -> list[Query]:
    table = [np.array([-3.0, -1.0, 1.0, 3.0])]
    latent = latent_space(score_image([table, table]), [3.0, 3.0])
    return [Histograms(LAYOUT.sizes, 2, (1.0,)), GroupSums(latent, (0.1, 0.5, 0.4), "outer")]


def totals(rows: list[tuple[str, int, str]], unit_rows: int, units: type[Units] = Units) -> list[IntArray]:
    frame = pd.DataFrame(rows, columns=["who", "a", "y"], dtype=object)
    engine = LocalEngine(Source(open_table(frame), LAYOUT, units(unit_rows, KEY)), workers=1)
    return [told_by(engine, query) for query in queries()]


ROW = st.tuples(st.sampled_from(["", "u", "v", "w"]), st.integers(0, 3), st.sampled_from(["n", "p", "bad"]))
OWN = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["n", "p", "bad"])), max_size=5)


def moved(before: list[IntArray], after: list[IntArray]) -> list[float]:
    return [
        float(np.linalg.norm(query.weights * (a - b))) for query, a, b in zip(queries(), after, before, strict=True)
    ]


@settings(deadline=None, max_examples=some(150))
@given(st.lists(ROW, max_size=12), OWN, OWN, st.integers(1, 3))
def test_one_unit_moves_a_total_by_no_more_than_is_charged(
    others: list[tuple[str, int, str]], old: list[tuple[int, str]], new: list[tuple[int, str]], unit_rows: int
) -> None:
    without = totals(others, unit_rows)
    with_old = totals(others + [("me", a, y) for a, y in old], unit_rows)
    with_new = totals([("me", a, y) for a, y in new] + others, unit_rows)
    for query, added, replaced in zip(queries(), moved(without, with_old), moved(with_old, with_new), strict=True):
        assert added <= query.reach.sensitivity(Adjacency.ADD_REMOVE, unit_rows)
        assert replaced <= query.reach.sensitivity(Adjacency.REPLACE_ONE, unit_rows)


@settings(deadline=None, max_examples=some(150))
@given(st.lists(ROW, max_size=8), OWN, st.lists(st.sampled_from(["n", "p", "bad"]), min_size=5, max_size=5))
def test_changed_labels_of_one_unit_are_charged_as_a_replacement(
    others: list[tuple[str, int, str]], own: list[tuple[int, str]], labels: list[str]
) -> None:
    before = totals(others + [("me", a, y) for a, y in own], 2)
    after = totals(others + [("me", a, y) for (a, _), y in zip(own, labels, strict=False)], 2)
    for query, change in zip(queries(), moved(before, after), strict=True):
        assert change <= query.reach.sensitivity(Adjacency.LABEL, 2)


class FirstComeFirstServed(Units):
    """A planted fault: the rows of a unit are shared out over the whole table, not chosen within the unit."""

    def choose(self, tags: np.ndarray) -> np.ndarray:
        return np.arange(len(tags)) % 2 == 0


def test_a_choice_that_looks_at_other_units_is_caught() -> None:
    others = [("u", a, "n") for a in (0, 1, 2, 3, 0, 1)]
    change = moved(totals(others, 1, FirstComeFirstServed), totals([("me", 3, "p"), *others], 1, FirstComeFirstServed))
    assert change[0] > queries()[0].reach.sensitivity(Adjacency.ADD_REMOVE, 1)


def test_at_most_so_many_rows_count_and_none_without_an_id() -> None:
    rows = [("u", 1, "n")] * 5 + [("v", 2, "p")] + [("", 3, "p")] * 4
    histogram = totals(rows, 2)[0].reshape(2, 5)
    assert histogram.tolist() == [[0, 0, 2, 0, 0], [0, 0, 0, 1, 0]]


def test_another_key_chooses_other_rows() -> None:
    frame = pd.DataFrame({"who": "u", "a": np.arange(400) % 4, "y": "n"})
    chosen = set()
    for i in range(20):
        engine = LocalEngine(Source(open_table(frame), LAYOUT, Units(1, bytes([i]) * 32)), workers=1)
        chosen.add(tuple(engine.total(queries()[0])))
    assert len(chosen) > 1


def test_the_guarantee_names_the_unit_and_charges_its_rows() -> None:
    frame = pd.DataFrame({"who": np.arange(50) // 5, "a": np.arange(50) % 4, "y": ["n", "p"] * 25})
    release = sf.fit(frame, SCHEMA, epsilon=1, delta=1e-5)
    assert release.guarantee.unit == "who"
    assert "all rows of one who" in str(release.guarantee)
    assert [spend.sensitivity for spend in release.guarantee.spends] == pytest.approx([2.0, 2.0, 2.0])
    assert "who" not in release.sample(3).columns


def test_a_delta_that_collisions_would_use_up_is_refused() -> None:
    assert unit_delta(1e-6) < 1e-6
    with pytest.raises(ArgumentError, match="delta"):
        unit_delta(1e-30)


def test_a_batch_without_rows_has_no_tags() -> None:
    empty = Batch(np.zeros((1, 0), dtype=np.int16), np.zeros(0, dtype=np.int64))
    assert Units(1, KEY).tags(pa.array([], pa.large_string()), empty).shape == (0, 4)


PEOPLE = 4_000


def visits_that_count(visits: np.ndarray, units: Units) -> np.ndarray:
    """How often each visit number counts, where every person has all these visits."""
    people = pa.array(np.repeat(np.arange(PEOPLE), len(visits)).astype(str).tolist(), pa.large_string())
    codes = np.tile(visits, PEOPLE)
    batch = Batch(codes[None, :].astype(np.int16), np.zeros(len(codes), dtype=np.int64))
    return np.bincount(codes[units.choose(units.tags(people, batch))], minlength=10)


class ContentAlone(Units):
    """A planted fault: the hash of a row's content does not know whose it is."""

    def tags(self, ids: pa.Array, batch: Batch) -> np.ndarray:
        nobody = super().tags(pa.array([""] * len(batch), pa.large_string()), batch)
        return np.hstack([self.names(ids), nobody[:, 2:]])


@pytest.mark.parametrize(("units", "fair"), [(Units, True), (ContentAlone, False)])
def test_which_visit_of_a_person_counts_is_a_fair_draw(units: type[Units], fair: bool) -> None:
    counts = visits_that_count(np.arange(10), units(1, KEY))
    assert counts.sum() == PEOPLE
    assert (chisquare(counts).pvalue > 1e-6) == fair


def test_rows_of_a_unit_that_are_the_same_have_a_chance_each() -> None:
    counts = visits_that_count(np.array([7] * 9 + [3]), Units(1, KEY))
    assert counts[3] + counts[7] == PEOPLE
    assert binomtest(int(counts[3]), PEOPLE, 0.1).pvalue > 1e-6
    assert (visits_that_count(np.array([7] * 9 + [3]), Units(10, KEY))[[3, 7]] == [PEOPLE, 9 * PEOPLE]).all()


@settings(deadline=None, max_examples=25)
@given(st.lists(ROW, max_size=12), st.randoms(use_true_random=False), st.integers(1, 3))
def test_neither_order_nor_other_units_choose(rows: list[tuple[str, int, str]], random: Random, unit_rows: int) -> None:
    shuffled = random.sample(rows, len(rows))
    whole = totals(rows, unit_rows)
    apart = [totals([row for row in rows if row[0] == who], unit_rows) for who in ("u", "v", "w")]
    for place, total in enumerate(totals(shuffled, unit_rows)):
        assert total.tolist() == whole[place].tolist()
        assert total.tolist() == sum(alone[place] for alone in apart).tolist()


def test_every_visit_number_is_in_a_release_of_one_row_a_person() -> None:
    frame = pd.DataFrame({"who": np.repeat(np.arange(PEOPLE), 10), "visit": np.tile(np.arange(10), PEOPLE)})
    visit = {"type": "category", "values": [str(number) for number in range(10)]}
    schema = {"unit": {"column": "who", "rows": 1}, "columns": {"visit": visit}}
    release = sf.fit(frame, schema, epsilon=5, delta=1e-6, insecure_seed=1)
    shares = release.sample(20_000, seed=1)["visit"].value_counts(normalize=True)
    assert len(shares) == 10
    assert (abs(shares - 0.1) < 0.03).all()  # more than five standard deviations of draw and noise


BITS = 10


class FewBits(Units):
    """Hashes of so few bits that they collide."""

    def _hashes(self, rows: Any, purpose: bytes) -> TagArray:
        return super()._hashes(rows, purpose) & np.array([(1 << BITS) - 1, 0], dtype=np.uint64)


@pytest.mark.parametrize(("most", "contents"), [(1, range(12)), (3, [0, 0, 0, 0, 1, 1, 1, 2, 3, 4, 5, 6])])
def test_order_decides_which_rows_count_no_more_often_than_is_set_aside(most: int, contents: Iterable[int]) -> None:
    """docs/proofs/mixture.md, section 5: (m + 1/2) N over the number of hashes, here with one unit of N rows."""
    rows = np.array([*contents])
    batch = Batch(rows[None, :].astype(np.int16), np.zeros(len(rows), dtype=np.int64))
    keys, depends = 1000, 0
    for number in range(keys):
        units = FewBits(most, number.to_bytes(32, "little"))
        tags = units.tags(pa.array(["u"] * len(rows)), batch)
        orders = np.arange(len(rows)), np.arange(len(rows))[::-1]
        chosen = {tuple(sorted(rows[order][units.choose(tags[order])])) for order in orders}
        depends += len(chosen) > 1
    bound = (most + 0.5) * len(rows) / (1 << BITS)
    assert depends > 0
    assert binomtest(depends, keys, bound, alternative="greater").pvalue > 1e-6
    assert bound < len(rows) ** 2 / 2 / (1 << BITS)  # that any two rows share a hash is more likely
