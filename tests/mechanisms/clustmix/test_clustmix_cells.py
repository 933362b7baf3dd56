"""clustmix: how small a cell may be, how cells are merged, what is asked, and that it helps whoever trains on it."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import some
from tests.mechanisms.clustmix.test_clustmix_run import TUNING, TWO

import sfumato as sf
from sfumato.accounting import delta_of, mu_of
from sfumato.mechanisms.budget import radius
from sfumato.mechanisms.clustmix.clustmix_cells import find_cells, merge, smallest_cell
from sfumato.mechanisms.clustmix.clustmix_cells import starts as drawn_starts
from sfumato.mechanisms.questions import score_image, unpack
from sfumato.private.accounting import Adjacency
from sfumato.private.queries.base import Answer
from sfumato.published.clustmix import smallest_mixture
from sfumato.schema.layout import Layout

# How small a cell may be


@settings(max_examples=some(50), deadline=None)
@given(st.floats(0.5, 20.0), st.floats(0.01, 3.0), st.floats(0.01, 2.0))
def test_the_smallest_cell_carries_sigma_max(far: float, mu: float, sigma: float) -> None:
    least = smallest_cell(far, mu**2, sigma)
    noise = far / mu  # of a sum of rows of norm `far` at most
    assert noise / least == pytest.approx(sigma)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_the_smallest_cell_is_that_of_the_paper(epsilon: float) -> None:
    """(8) of Madl et al. is the delta of mu-GDP at mu = sqrt(C d) / (l sigma): rows of the unit cube, of which one is
    replaced, have the distance sqrt(d). Our rows are within a radius, and one is added or removed."""
    classes, dim, delta, sigma = 2, 9, 1e-5, 0.2
    printed = smallest_mixture(epsilon, delta, sigma, classes, dim)
    mu = math.sqrt(classes * dim) / (printed * sigma)
    assert delta_of(epsilon, mu) <= delta * (1 + 1e-9)
    assert delta_of(epsilon, mu * printed / (printed - 1)) > delta, "one row fewer is too few"
    ours = smallest_cell(math.sqrt(classes * dim), mu_of(epsilon, delta) ** 2, sigma)
    assert printed - 1 < ours <= printed


# Merging


def test_small_cells_join_the_nearest_of_their_class() -> None:
    classes = np.array([0, 0, 0, 1, 1])
    counts = np.array([100.0, 10.0, 90.0, 5.0, 4.0])
    means = np.array([[0.0], [4.0], [5.0], [4.1], [9.0]])
    kept, size, moved, spread = merge(classes, counts, means, np.arange(5.0), counts < 50.0)
    assert kept.tolist() == [0, 2, 3], "the largest cell of a class stays, however small"
    assert size.tolist() == [100.0, 100.0, 9.0]
    assert moved[:, 0] == pytest.approx([0.0, 4.9, (4.1 * 5 + 9 * 4) / 9])
    assert spread.tolist() == [0.0, 2.0, 3.0]


@settings(max_examples=some(100), deadline=None)
@given(st.data())
def test_merging_keeps_rows_and_means_and_leaves_nothing_small(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 12))
    classes = np.sort(np.array(data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))))
    counts = np.array(data.draw(st.lists(st.floats(1.0, 1e4), min_size=size, max_size=size)))
    means = np.array(data.draw(st.lists(st.floats(-5, 5), min_size=size, max_size=size)))[:, None]
    before = counts.copy(), means.copy()
    kept, held, moved, _ = merge(classes, counts, means, np.ones(size), counts < 100.0)
    assert all(np.array_equal(a, b) for a, b in zip((counts, means), before, strict=True)), (
        "nothing is changed in place"
    )
    for k in np.unique(classes):
        mine = classes[kept] == k
        assert held[mine].sum() == pytest.approx(counts[classes == k].sum())
        assert held[mine] @ moved[mine] == pytest.approx(counts[classes == k] @ means[classes == k], abs=1e-6)
        assert mine.sum() == 1 or held[mine].min() >= 100.0


class Exact:
    """Answers without noise, but with what the noise would have been."""

    def __init__(self, counts: np.ndarray, mu: float) -> None:
        self.counts, self.remaining, self.asked = counts, mu**2, list[str]()

    def total(self, name: str, query: Any, mu_squared: float) -> Answer:
        self.asked.append(name)
        self.remaining -= mu_squared
        sd = query.reach.sensitivity(Adjacency.ADD_REMOVE) / math.sqrt(mu_squared) / query.weights
        places = np.eye(query.weights.size)
        of_counts = np.stack([unpack(query, place)[0] for place in places], axis=1)
        return Answer(np.linalg.pinv(of_counts) @ self.counts, sd)


def test_no_cell_below_l_min_is_left() -> None:
    layout = Layout.of(sf.Schema.of(TWO))
    plan = sf.plan(TWO, epsilon=4, delta=1e-6, mechanism=sf.Clustmix(adapt=None, components=4))
    sums = TUNING.point_shares[1] * plan.budget("points") / plan.public.noise_factor
    least = smallest_cell(radius(3.0), sums, TUNING.sigma_max)
    held = least * np.array([5.0, 0.2, 2.0, 0.9, 0.5, 0.4, 0.3, 0.1])
    image = score_image([[np.zeros(size) for size in layout.sizes] for _ in range(2)])
    asker = Exact(held, plan.mu)
    learned: Any = SimpleNamespace(image=image, counts=np.array([8.1, 1.3]) * least, spreads=np.array([3.0, 3.0]))
    found = find_cells(asker, plan, learned, 4, TUNING.sigma_max, TUNING)
    assert asker.asked == [*(f"cells {i + 1}" for i in range(TUNING.rounds)), "points"]
    sizes = np.bincount(found.cells.classes)
    assert sizes.tolist() == [2, 1], "a class of small cells keeps one"
    assert (found.counts[:2] >= least).all()
    assert found.counts[:2].sum() == pytest.approx(held[0] + held[2] + 2 * max(least / 2, held[3]), rel=0.2)
    assert (found.scales > 0).all()


def test_starts_are_public_and_apart() -> None:
    first = drawn_starts(8, 2.0, 3, TUNING.starts)
    assert np.array_equal(first, drawn_starts(8, 2.0, 3, TUNING.starts))
    assert np.array_equal(drawn_starts(1, 2.0, 3, TUNING.starts), np.zeros((1, 3)))
    apart = np.linalg.norm(first[:, None] - first[None], axis=2) + 10.0 * np.eye(8)
    assert apart.min() > 0.5


# What is asked


# What it is worth


# What is refused
