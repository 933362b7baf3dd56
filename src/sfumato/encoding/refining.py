"""Bins that follow the mass: which of a column's bins to look into, and what several looks at one column say together.

A look is a noisy count of every bin; the next look's bins are the same, with those cut up that hold more than noise.
Bins are runs of the column's public grid, so every look is nested in the one before. In the end looks are put together
by least squares, and neighbours that noise cannot tell apart are one bin again. All of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from scipy.special import ndtri
from scipy.stats import chi2

from sfumato.encoding.cleaning import Cleaning
from sfumato.schema.grid import FloatArray, Grid, IntArray, Marks, Steps

BoolArray: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

PRICE_BISECTIONS = 60
TAIL = 4.0  # the power by which the density of what noise hides falls with distance: its variance is finite
NEGLIGIBLE = 1e-9  # the variance of a count that is known to be none
MOST_PARTS = 1 << 20  # that one look cuts bins into: all are answered, and where they begin goes into the file
WIDEST_CUT = 256  # cells that one look may cut a bin into, if there is another look for the rest


@dataclass(frozen=True)
class Look:
    """Noisy counts of a column's bins in every class, (classes, bins), each with the same noise."""

    starts: IntArray
    counts: FloatArray
    sd: float


@dataclass(frozen=True)
class Level:
    """The bins that one look cut others into: where they begin, their widths, which bin of the look before they were
    cut from, whether the next look cuts them again, and their counts, (classes, bins), with variances.
    """

    starts: IntArray
    widths: FloatArray
    parents: IntArray
    again: BoolArray
    counts: FloatArray
    variances: FloatArray

    def joined(self, first: IntArray) -> Level:
        """Runs of bins as one bin each."""
        widths, counts, variances = (
            np.add.reduceat(part, first, axis=-1) for part in (self.widths, self.counts, self.variances)
        )
        return Level(self.starts[first], widths, self.parents[first], self.again[first], counts, variances)


def looks_needed(grid: Grid, starts: IntArray) -> int:
    """How many looks it takes to come from these bins down to single cells of the grid: 1 where they are that."""
    widest = int(np.diff(starts, append=grid.size).max())
    return 1 + (widest > 1) + (widest > WIDEST_CUT)


def finer(
    looks: Sequence[Look], grid: Grid, looks_left: int, cleaning: Cleaning, most: int = MOST_PARTS
) -> IntArray | None:
    """Where the next look's bins begin: every bin that the last look cut from another, and that holds more than noise
    and a fair share of all, is cut up, the fullest first, into at most so many parts together; None where none is.
    """
    look = looks[-1]
    width = np.diff(look.starts, append=grid.size)
    full = beyond_noise(look.counts, np.full(len(width), look.sd), look.counts.size, cleaning)
    held = look.counts.sum(axis=0)
    full &= held > cleaning.refine_share * held.sum()
    if len(looks) > 1:
        parents = np.searchsorted(looks[-2].starts, look.starts, "right") - 1
        full &= np.bincount(parents)[parents] > 1
    parts = _parts(width, looks_left)
    cut = _fullest(held, np.flatnonzero(full & (width > 1)), parts, most)
    if len(cut) == 0:
        return None
    runs = (_cut(int(look.starts[i]), int(width[i]), int(parts[i]), grid) for i in cut)
    return np.unique(np.concatenate([look.starts, *runs]))


def beyond_noise(counts: FloatArray, sd: FloatArray, candidates: int, cleaning: Cleaning) -> BoolArray:
    """Which bins hold more than noise, in all classes together or in one: so much that noise alone would rarely make
    any of so many candidates look so.
    """
    bar = _bar(candidates, cleaning)
    together = counts.sum(axis=0) > bar * sd * np.sqrt(len(counts))
    return np.asarray(together | (counts > bar * sd).any(axis=0))


def _bar(candidates: int, cleaning: Cleaning) -> float:
    """So many standard deviations does noise alone rarely lift any of so many candidates."""
    return float(ndtri(1.0 - cleaning.refine_level / candidates))


def _fullest(held: FloatArray, bins: IntArray, parts: IntArray, most: int) -> IntArray:
    """Of some bins the fullest, as many as may be cut: where rows share a value, a bin is fuller than others."""
    order = bins[np.argsort(-held[bins], kind="stable")]
    return np.sort(order[np.cumsum(parts[order]) <= most])


def _parts(width: IntArray, looks_left: int) -> IntArray:
    """Into how many parts to cut runs of cells: all their cells, or so many that as many looks again come to cells."""
    return width if looks_left == 1 else np.ceil(width ** (1.0 / looks_left)).astype(np.int64)


def _cut(start: int, width: int, parts: int, grid: Grid) -> IntArray:
    """Where the parts of a run of cells begin."""
    starts = start + np.arange(parts) * width // parts
    if isinstance(grid, Marks) and parts < width:
        starts[1:] += starts[1:] % 2  # a bin begins with a mark, unless the mark is a bin of its own
    return np.asarray(starts[starts < start + width])


def settle(
    looks: Sequence[Look], grid: Grid, totals: FloatArray, total_sd: float, cleaning: Cleaning
) -> tuple[IntArray, FloatArray]:
    """Where the final bins begin, and their counts in every class, which are not negative and add up to `totals`.

    From the whole range down, the parts of a bin share out what the bin holds: those that noise cannot tell apart are
    one part, a class that noise hides from the rest is divided as all classes are, and what is left of the noise is
    taken away by the nearest counts that add up.
    """
    whole = Look(np.zeros(1, dtype=np.int64), totals[:, None], total_sd)
    (_, total_variance), *levels = _levels((whole, *looks), grid)
    final: list[tuple[IntArray, FloatArray]] = []
    held = totals[:, None]
    for look, (level, _) in zip(looks, levels, strict=True):
        merged = merge_alike(level, cleaning)
        counts = share_out(*pool_parts(merged, held, cleaning.pool_within), merged.parents, held)
        done = ~merged.again
        if look is looks[0]:
            sd = _sd_given(merged, float(total_variance[0]))
            faint = done & ~beyond_noise(merged.counts, sd, level.counts.size, cleaning)
            final += [taper(merged, counts, i, level.starts) for i in np.flatnonzero(faint).tolist()]
            outer = done & ~faint & _is_outermost(len(done))
            bar = _bar(level.counts.size, cleaning)
            final += [lay_out(level, merged, counts, i, bar) for i in np.flatnonzero(outer).tolist()]
            done &= ~(faint | outer)
        final.append((merged.starts[done], counts[:, done]))
        held = np.zeros((len(totals), len(look.starts)))
        held[:, np.searchsorted(look.starts, merged.starts[merged.again])] = counts[:, merged.again]
    starts = np.concatenate([part for part, _ in final])
    order = np.argsort(starts)
    return starts[order], np.concatenate([part for _, part in final], axis=1)[:, order]


def _sd_given(level: Level, total_variance: float) -> FloatArray:
    """The noise on the counts of the whole range's parts, once they have to add up to its total."""
    share = level.variances / level.variances.sum()
    return np.asarray(np.sqrt(level.variances * (1.0 - share) + share**2 * total_variance))


def _inside(starts: IntArray, runs: Level, i: int) -> IntArray:
    """Which bins are in a run of them."""
    end = runs.starts[i + 1] if i + 1 < len(runs.starts) else np.iinfo(np.int64).max
    return np.flatnonzero((starts >= runs.starts[i]) & (starts < end))


def _beside(counts: FloatArray, runs: Level, i: int) -> list[float]:
    """How dense rows are to the left of a run, in it, and to the right; beyond the bounds there are none."""
    density = counts.sum(axis=0) / np.maximum(runs.widths, 1.0)
    found: list[float] = np.pad(density, 1)[i : i + 3].tolist()
    return found


def taper(level: Level, counts: FloatArray, i: int, cells: IntArray) -> tuple[IntArray, FloatArray]:
    """A run of bins that holds no more than noise, cut into bins that grow and thin out with the distance from its
    neighbours: whatever rows it does hold are likelier near others than anywhere between the bounds, and a few of them
    at a far bound would move a mean.
    """
    own = cells[_inside(cells, level, i)]
    near = np.arange(len(own))
    left, _, right = _beside(counts, level, i)
    weights = (left + NEGLIGIBLE) * (1.0 + near) ** -TAIL + (right + NEGLIGIBLE) * (len(own) - near) ** -TAIL
    doublings = 2 ** np.arange(max(len(own), 1).bit_length()) - 1
    first = np.unique(np.concatenate([doublings, len(own) - doublings]).clip(0, len(own) - 1))
    shares = np.add.reduceat(weights / weights.sum(), first)
    return own[first], counts[:, i, None] * shares


def _is_outermost(bins: int) -> BoolArray:
    """Of so many bins, those at the bounds."""
    return np.isin(np.arange(bins), (0, bins - 1))


def lay_out(level: Level, merged: Level, counts: FloatArray, i: int, bar: float) -> tuple[IntArray, FloatArray]:
    """How the rows of a run of bins lie in it: thinning out with the distance from denser neighbours, as near to them
    as its bins' own noisy counts allow; evenly only where anything nearer is `bar` standard deviations less likely.

    A run often holds a slope that fades into noise and nothing beyond it. A few of its rows at a far bound would move
    a mean, so that a wide spread has to be beyond noise.
    """
    own = _inside(level.starts, merged, i)
    left, here, right = _beside(counts, merged, i)
    left, right = (side if side > here else 0.0 for side in (left, right))
    if len(own) == 1 or left + right == 0.0:
        return level.starts[own[:1]], counts[:, i, None]
    near = np.arange(len(own))
    reach = np.append(2.0 ** np.arange(len(own).bit_length()), np.inf)[:, None]  # of which the last is an even spread
    weights = left * (1.0 + near / reach) ** -TAIL + right * (1.0 + near[::-1] / reach) ** -TAIL
    weights *= level.widths[own]
    shares = weights / weights.sum(axis=1, keepdims=True)
    missed = level.counts[:, own] - counts[:, i, None] * shares[:, None]
    unlikely = (missed**2 / level.variances[own]).sum(axis=(1, 2))
    nearest = int(np.argmax(unlikely <= unlikely.min() + bar**2))
    if nearest == len(reach) - 1:
        return level.starts[own[:1]], counts[:, i, None]
    doublings = 2 ** np.arange(len(own).bit_length()) - 1
    cuts = np.append(doublings if left else 0, len(own) - doublings if right else 0)
    first = np.unique(cuts.clip(0, len(own) - 1))
    return level.starts[own[first]], counts[:, i, None] * np.add.reduceat(shares[nearest], first)


def _levels(looks: Sequence[Look], grid: Grid) -> list[tuple[Level, FloatArray]]:
    """For each look the bins that it has and the look before had not, with least-squares counts; and the variances of
    all its counts given all looks.
    """
    levels = []
    before: IntArray = np.zeros(0, dtype=np.int64)
    for depth, (look, (counts, variances, given)) in enumerate(zip(looks, together(looks), strict=True)):
        ends = np.append(look.starts[1:], grid.size)
        later = looks[min(depth + 1, len(looks) - 1)].starts
        parts = np.searchsorted(later, ends) - np.searchsorted(later, look.starts)
        parents = np.maximum(np.searchsorted(before, look.starts, "right") - 1, 0)
        new = np.bincount(parents)[parents] > 1 if depth else np.ones(len(ends), dtype=bool)
        all_of = Level(look.starts, widths(look.starts, grid), parents, parts > 1, counts, variances)
        levels.append((Level(*(getattr(all_of, f.name)[..., new] for f in fields(Level))), given))
        before = look.starts
    return levels


def together(looks: Sequence[Look]) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """The least-squares counts of every look's bins given all looks, those of a tree whose nodes are all measured;
    their variances given what was seen of a bin and its parts; and those given all.

    Upwards each bin's own count is averaged with the sum of its parts', by precision; downwards what parts lack to
    their bin's count is divided between them by variance.
    """
    ups: list[tuple[FloatArray, FloatArray]] = [(looks[-1].counts, np.full(len(looks[-1].starts), looks[-1].sd ** 2))]
    families = [np.searchsorted(child.starts, look.starts) for look, child in pairwise(looks)]
    for look, family in zip(reversed(looks[:-1]), reversed(families), strict=True):
        sums, variances = (np.add.reduceat(part, family, axis=-1) for part in ups[-1])
        precision = 1.0 / variances + 1.0 / look.sd**2
        ups.append(((sums / variances + look.counts / look.sd**2) / precision, 1.0 / precision))
    counts, variances = ups.pop()
    downs = [(counts, variances, variances)]
    for family in families:
        counts, _, variances = downs[-1]
        parts, spreads = ups.pop()
        parent = np.searchsorted(family, np.arange(parts.shape[1]), "right") - 1
        share = spreads / np.add.reduceat(spreads, family)[parent]
        lacking = (counts - np.add.reduceat(parts, family, axis=1))[:, parent]
        downs.append((parts + share * lacking, spreads, spreads * (1.0 - share) + share**2 * variances[parent]))
    return downs


def merge_alike(level: Level, cleaning: Cleaning) -> Level:
    """Neighbours cut from one bin whose densities differ by no more than noise become one, the most alike first.

    Without a step a mark has no width: it stays alone if it holds more than noise, for then many rows share its value.
    """
    bar = chi2.isf(cleaning.merge_level / len(level.starts), len(level.counts))
    while len(level.starts) > 1:
        apart = _apart(level.counts, level.variances, level.widths)
        parted = (level.parents[1:] != level.parents[:-1]) | level.again[1:] | level.again[:-1]
        apart = np.where(parted, np.inf, apart)
        before, after = np.append(np.inf, apart[:-1]), np.append(apart[1:], np.inf)
        joined = (apart < bar) & (apart <= before) & (apart < after)
        if not joined.any():
            break
        level = level.joined(np.flatnonzero(np.append(True, ~joined)))
    return level


def widths(starts: IntArray, grid: Grid) -> FloatArray:
    """How many values of a step, or intervals between marks, bins hold: none where a bin is a mark alone."""
    ends = np.append(starts[1:], grid.size)
    if isinstance(grid, Steps):
        return np.asarray(np.minimum(ends * grid.stride, grid.values) - starts * grid.stride, dtype=np.float64)
    return np.asarray(ends // 2 - starts // 2, dtype=np.float64)


def _apart(counts: FloatArray, variances: FloatArray, width: FloatArray) -> FloatArray:
    """How far the densities of neighbours are apart, squared, in units of noise, in all classes together; a bin without
    a width from holding nothing.
    """
    per = np.where(width > 0, width, 1.0)
    density, noise = counts / per, variances / per**2
    apart = (np.diff(density, axis=1) ** 2).sum(axis=0) / (noise[1:] + noise[:-1])
    alone = (counts**2).sum(axis=0) / variances
    apart = np.where(width[:-1] == 0, alone[:-1], apart)
    return np.where(width[1:] == 0, alone[1:], apart)


def pool_parts(level: Level, held: FloatArray, within: float) -> tuple[FloatArray, FloatArray]:
    """Counts and variances in every class, where a class whose parts of a bin differ from all classes' by no more than
    noise, as in `marginals.pool_alike`, has its share of theirs.
    """
    classes = len(level.counts)
    share = held / np.maximum(held.sum(axis=0), NEGLIGIBLE)
    target = share[:, level.parents] * level.counts.sum(axis=0)
    squares = (level.counts - target) ** 2 / level.variances
    distance = np.stack([np.bincount(level.parents, row, held.shape[1]) for row in squares])
    parts = np.bincount(level.parents, minlength=held.shape[1])
    chance = (1.0 - 2.0 * share + classes * share**2) * (parts + within * np.sqrt(2.0 * parts))
    alike = (distance < chance)[:, level.parents]
    pooled = level.variances * share[:, level.parents] ** 2 * classes
    spread = np.broadcast_to(level.variances, pooled.shape)
    return np.where(alike, target, level.counts), np.maximum(np.where(alike, pooled, spread), NEGLIGIBLE)


def share_out(counts: FloatArray, variances: FloatArray, parents: IntArray, held: FloatArray) -> FloatArray:
    """The nearest counts, in units of noise, that are not negative and add up to what each parent holds.

    They are max(count - price * variance, 0), at a price of the parent's own that bisection finds: one for each class.
    """
    first = np.flatnonzero(np.append(True, np.diff(parents) > 0))
    place = np.cumsum(np.append(False, np.diff(parents) > 0))
    wanted = held[:, parents[first]]
    ratio = counts / variances
    high = np.maximum.reduceat(ratio, first, axis=1)
    most = np.add.reduceat(1.0 / variances, first, axis=1)  # one part alone can hold all that is wanted
    low = np.minimum.reduceat(ratio, first, axis=1) - wanted * most
    for _ in range(PRICE_BISECTIONS):
        price = (low + high) / 2.0
        given = np.add.reduceat(np.maximum(counts - price[:, place] * variances, 0.0), first, axis=1)
        low, high = np.where(given > wanted, price, low), np.where(given > wanted, high, price)
    found = np.maximum(counts - low[:, place] * variances, 0.0)
    return np.asarray(found * (wanted / np.maximum(np.add.reduceat(found, first, axis=1), 1e-300))[:, place])
