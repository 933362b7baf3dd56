"""Histograms of every column, and finer ones where there is mass: the first questions of the `scores` encoding.

The first look has the schema's bins. Where these are not the finest that the column's public grid has, and the schema
names none, the bins that hold more than noise are looked into, once or twice more. What is looked into is chosen by
noisy answers, and charged like everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from sfumato.encoding.cleaning import Cleaning
from sfumato.encoding.marginals import Counted
from sfumato.encoding.refining import MOST_PARTS, Look, finer, looks_needed
from sfumato.mechanisms.asker import Asker, Seen
from sfumato.mechanisms.base import Plan
from sfumato.mechanisms.questions import unpack
from sfumato.private.queries.histograms import Histograms
from sfumato.schema.layout import Bins, FloatArray, IntArray, Layout, OrderedBins

FINER = "finer bins"  # the rounds after the first look

Sd = TypeVar("Sd", float, FloatArray)


def looks_of(layout: Layout) -> tuple[int, ...]:
    """How many looks each column may need."""
    return tuple(
        looks_needed(b.grid, b.starts) if isinstance(b, OrderedBins) and b.follows_mass else 1 for b in layout.bins
    )


def ask_columns(curator: Asker, plan: Plan, cleaning: Cleaning) -> list[Counted]:
    """Every column's noisy counts, look by look."""
    layout, looks = plan.layout, looks_of(plan.layout)
    shares = np.array(plan.details.histograms.look_shares)
    every = range(len(looks))
    counted = _ask(curator, "histograms", layout, every, shares, plan.budget("histograms", curator.remaining))
    for number, each in enumerate(plan.repeats(FINER), start=1):
        budget = min(plan.spend(each), curator.remaining)
        if budget <= 0.0:
            break
        deep = [c for c in every if looks[c] > number]
        most = MOST_PARTS // (plan.classes * len(deep))
        cut = {c: _cut(counted[c], plan.layout.bins[c], looks[c] - number, cleaning, most) for c in deep}
        layout = layout.refined([cut.get(c) for c in every])
        found = _ask(curator, each.title, layout, deep, shares[deep], budget)
        for c, seen in zip(deep, found, strict=True):
            counted[c] = _beside(counted[c], seen, cut[c])
    return counted


def _ask(
    curator: Asker, title: str, layout: Layout, columns: Sequence[int], shares: FloatArray, mu_squared: float
) -> list[Counted]:
    """One look at some columns."""
    sizes = tuple(layout.bins[c].size for c in columns)
    query = Histograms(sizes, layout.classes, tuple(float(share) for share in shares / shares.sum()))
    answer = Seen(curator, layout, None if len(columns) == len(layout.bins) else columns).total(
        title, query, mu_squared
    )
    cells, sds = unpack(query, answer.values), unpack(query, answer.sd)
    return [Counted.of(noisy, float(sd[0, 0])) for noisy, sd in zip(cells, sds, strict=True)]


def _cut(counted: Counted, bins: Bins, looks_left: int, cleaning: Cleaning, most: int) -> IntArray | None:
    """Where a column's next bins begin; None where there is nothing to look into."""
    assert isinstance(bins, OrderedBins)
    first = Look(bins.starts, counted.cells[:, : len(bins.starts)], counted.sd)
    return finer((first, *counted.finer), bins.grid, looks_left, cleaning, most)


def _beside(before: Counted, seen: Counted, starts: IntArray | None) -> Counted:
    """A column's counts with one more look: at finer bins, or where there was nothing to look into once more at the
    same. Rows in no bin, and those whose cell is missing, are counted at every look.
    """
    nowhere, nowhere_sd = averaged(before.nowhere, before.nowhere_sd, seen.nowhere, seen.sd)
    if starts is None and not before.finer:
        cells, sd = averaged(before.cells, before.sd, seen.cells, seen.sd)
        return Counted(cells, sd, nowhere, nowhere_sd)
    looks, size = before.finer, len(before.finer[-1].starts if starts is None else starts)
    if starts is None:
        last = looks[-1]
        looks = (*looks[:-1], Look(last.starts, *averaged(last.counts, last.sd, seen.cells[:, :size], seen.sd)))
    else:
        looks = (*looks, Look(starts, seen.cells[:, :size], seen.sd))
    cells = before.cells.copy()
    if seen.cells.shape[1] > size:
        cells[:, -1], _ = averaged(cells[:, -1], before.nowhere_sd, seen.cells[:, -1], seen.sd)
    return replace(before, cells=cells, nowhere=nowhere, nowhere_sd=nowhere_sd, finer=looks)


def averaged(one: FloatArray, one_sd: Sd, other: FloatArray, other_sd: Sd) -> tuple[FloatArray, Sd]:
    """Two noisy answers about the same, by their precision, and the noise that is left."""
    weight = other_sd**-2 / (other_sd**-2 + one_sd**-2)
    return one + weight * (other - one), (1.0 - weight) ** 0.5 * one_sd
