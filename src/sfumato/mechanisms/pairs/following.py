"""Which columns follow others, by the noisy tables of both and their histograms: post-processing.

A row of a table, the counts y of a leader's level of which the histogram tells how many rows h it has, is explained in
three ways, each by its likelihood beside that of an empty row:

- all h rows are in one cell b, any of them as likely as the column has it: (2 h y_b - h^2) / (2 s^2);
- they are spread as the column is: the same with h alone_b in every cell;
- they are in a few cells as y says: sum of y_b^2 / (2 s^2) over the cells that stand out of the noise, for which each
  cell costs twice the log of how many there are, so that noise alone seldom does, and one nat for its height.

What the leader's level says of the column is the mean of the three by their probabilities. The histogram of the column
then says more: a level that noise leaves undecided finds no room in cells of the column that other levels fill. Rows
that are beside where they should be drown in the noise of single cells, not in that of all cells together: of those
beyond two standard deviations, and of a thousandth of a row at the least, the column is taken to come by chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import entr, logsumexp, softmax

from sfumato.mechanisms.pairs.column_margins import raked
from sfumato.models.followers import Follower, can_follow
from sfumato.schema.layout import Bins, CategoryBins, FloatArray

NEVER_LESS = 1e-12  # of a chance, so that columns' histograms may still raise it
LEAK = 1e-3  # rows of all that come by chance, at the least: none is impossible
NEARLY_ALL = 0.95  # of the rows, in one cell for each level of either column: both say the same
UNDECIDED = 0.1  # chance below which a level is not taken to stand for another, however well they fit together
CLEAR_OF_NOISE = 2.0  # standard deviations of the rows beside where they should be, beyond which these are no noise


@dataclass(frozen=True)
class TwoColumns:
    """Noisy counts of two columns, (levels, levels), and their noise."""

    counts: FloatArray
    sd: float

    @property
    def turned(self) -> TwoColumns:
        """With the other column first."""
        return TwoColumns(self.counts.T, self.sd)

    def laws(self, rows: FloatArray, alone: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What each level of the first column says of the second one.

        >>> near = TwoColumns(np.array([[400.0, 3.0], [-5.0, 390.0]]), 5.0)
        >>> law, in_several = near.laws(np.array([398.0, 391.0]), np.array([0.5, 0.5]))
        >>> law.round(3), in_several
        (array([[1., 0.],
               [0., 1.]]), array([0., 0.]))
        >>> TwoColumns(np.array([[6.0, -3.0]]), 5.0).laws(np.array([4.0]), np.array([0.7, 0.3]))[0].round(1)
        array([[0.8, 0.2]])

        Args:
            rows: How many rows each of these levels has, by its histogram.
            alone: The distribution of the second column, all of it above 0.

        Returns:
            Distributions, one a row, and how likely it is of each level that several cells hold its rows.
        """
        y, twice = self.counts, 2.0 * self.sd**2
        held = rows[:, None]
        cells = np.log(alone) + (2.0 * held * y - held**2) / twice
        spread = ((2.0 * held * alone * y - (held * alone) ** 2) / twice).sum(axis=1)
        cost = 2.0 * np.log(y.shape[1]) + 1.0
        few = np.where(y > 0.0, np.maximum(y**2 / twice - cost, 0.0), 0.0)
        by_few = np.where(few > 0.0, y, 0.0)
        by_few = np.where(by_few.sum(axis=1, keepdims=True) > 0.0, by_few, alone)
        ways = softmax(np.stack([logsumexp(cells, axis=1), spread, few.sum(axis=1)]), axis=0)[:, :, None]
        by_few = by_few / by_few.sum(axis=1, keepdims=True)
        in_several = np.where((few > 0.0).sum(axis=1) > 1, ways[2, :, 0], 0.0)
        return ways[0] * softmax(cells, axis=1) + ways[1] * alone + ways[2] * by_few, in_several


@dataclass(frozen=True)
class _Tie:
    """How one column may follow another.

    Attributes:
        column: Who follows.
        leader: Whom.
        law: (levels of the leader, levels of the column), what is known of both together.
        in_several: How likely it is of each level of the leader that several cells hold its rows.
        by_chance: The share of rows that come by chance.
        left: How much of the follower's entropy its leader leaves, and what noise may hide: one standard deviation of
            the rows that are beside where they should be, as a share of those that would be there by chance.
    """

    column: int
    leader: int
    law: FloatArray
    in_several: FloatArray
    by_chance: float
    left: float

    def follower(self, shares: Sequence[FloatArray]) -> Follower:
        """The column with its law."""
        chances, alone = decided(self.law, self.in_several), shares[self.column]
        return Follower(self.column, self.leader, (1.0 - self.by_chance) * chances + self.by_chance * alone)


def followers_of(
    tables: Mapping[tuple[int, int], TwoColumns],
    shares: Sequence[FloatArray],
    within: Sequence[float],
    bins: Sequence[Bins],
    rows: float,
    most: float,
) -> tuple[Follower, ...]:
    """The columns that follow others.

    Args:
        tables: Noisy tables, by their columns.
        shares: The share of every level of each column, by its histogram.
        within: The entropy of each column's bins within their levels, of which no table tells.
        bins: Those of the columns.
        rows: How many rows there are, about: nothing is less likely than a thousandth of one of them.
        most: What a leader may leave open of a follower, by entropy and by noise.

    Returns:
        Each with its leader; no leader follows another.
    """
    known = [(np.maximum(each, 0.0) + 1.0 / rows / len(each)) for each in shares]
    known = [each / each.sum() for each in known]
    ties = [tie for pair, table in tables.items() for tie in _ties(pair, table, known, within, bins, rows)]
    ties = [tie for tie in ties if tie.left <= most]
    # Of two that follow each other numbers lead: they have an order.
    ties.sort(key=lambda tie: (round(tie.left, 2), isinstance(bins[tie.leader], CategoryBins), tie.left))
    found: dict[int, _Tie] = {}
    for tie in ties:
        leaders = {each.leader for each in found.values()}
        if tie.column not in found and tie.column not in leaders and tie.leader not in found:
            found[tie.column] = tie
    return tuple(tie.follower(known) for tie in found.values())


def decided(joint: FloatArray, in_several: FloatArray) -> FloatArray:
    """What each level of the first column says of the second; one level, where both say the same in two ways.

    Which level a rare one stands for is uncertain where noise is as large as it is. Where the columns group rows
    differently, chances say so. Where each level of either stands for one of the other, as degrees and their numbers,
    chances would mix some rows of every cell that comes into question, which no table has; so such a level is taken to
    stand for one, by the likeliest way to match levels one for one: a level that is taken has no room for another. It
    is taken where that way holds nearly all rows, and not where counts say that several cells hold the rows of a level.

    >>> joint = np.array([[0.50, 0.02], [0.01, 0.47]])
    >>> decided(joint, np.array([0.0, 1.0])).round(2)
    array([[1.  , 0.  ],
           [0.02, 0.98]])
    >>> groups = np.array([[0.50, 0.02], [0.01, 0.40], [0.04, 0.03]])  # the third level is left open
    >>> decided(groups, np.zeros(3)).round(2)
    array([[0.96, 0.04],
           [0.02, 0.98],
           [0.57, 0.43]])
    """
    soft = joint / joint.sum(axis=1, keepdims=True)
    if joint.shape[0] != joint.shape[1]:
        return soft
    levels, best = linear_sum_assignment(np.log(joint), maximize=True)
    if joint[levels, best].sum() < NEARLY_ALL * joint.sum():
        return soft
    clear = (in_several < 0.5) & (soft[levels, best] >= UNDECIDED)
    return np.where(clear[:, None], np.eye(len(best))[best], soft)


def _ties(
    pair: tuple[int, int],
    table: TwoColumns,
    shares: Sequence[FloatArray],
    within: Sequence[float],
    bins: Sequence[Bins],
    rows: float,
) -> Iterator[_Tie]:
    """Both ways in which one of two columns may follow the other."""
    for leader, column, seen in ((*pair, table), (*pair[::-1], table.turned)):
        if not can_follow(bins[column]):
            continue
        first, alone = shares[leader], shares[column]
        law, in_several = seen.laws(rows * first, alone)
        joint = first[:, None] * np.maximum(law, NEVER_LESS)
        joint = raked(joint / joint.sum(), {0: first, 1: alone})
        by_chance = np.outer(first, alone)
        beside = np.ones(joint.shape, dtype=bool)
        beside[np.arange(len(first)), joint.argmax(axis=1)] = False
        most_by_chance = rows * max(float(by_chance[beside].sum()), NEVER_LESS)
        noise = seen.sd * math.sqrt(beside.sum())
        unexplained = float((seen.counts - rows * joint)[beside].sum()) - CLEAR_OF_NOISE * noise
        share = min(max(unexplained / most_by_chance, LEAK / rows), 1.0)
        chances = (1.0 - share) * joint / joint.sum(axis=1, keepdims=True) + share * alone
        left = float((first @ entr(chances)).sum()) + within[column]
        left = left / max(float(entr(alone).sum()) + within[column], NEVER_LESS) + noise / most_by_chance
        yield _Tie(column, leader, joint, in_several, share, left)
