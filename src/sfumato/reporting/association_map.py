"""How strongly columns go together, pair by pair: Cramer's V of their classes, over rows that the model drew.

One measure for all kinds of columns: 0 where neither tells anything of the other, 1 where one is a function of the
other. It is corrected for the bias of a finite sample (Bergsma 2013). It is the model's, also where the model follows a
noisy table of the pair: noise in a table would look like association.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.reporting.seen_release import SIZES, SeenRelease
from sfumato.schema.layout import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class AssociationMap:
    """The associations of some columns.

    Attributes:
        names: The columns, in the order of the map.
        values: The association of each pair, (columns, columns).
        bought: Whether a noisy table of a pair was bought, (columns, columns).
        of: Of how many columns these are the most associated.
    """

    names: tuple[str, ...]
    values: FloatArray
    bought: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
    of: int

    def strongest(self, most: int) -> list[tuple[str, str, float, bool]]:
        """The pairs that go together most."""
        one, other = np.triu_indices(len(self.names), 1)
        order = np.argsort(-self.values[one, other], kind="stable")[:most]
        pairs = zip(one[order].tolist(), other[order].tolist(), strict=True)
        return [(self.names[i], self.names[j], float(self.values[i, j]), bool(self.bought[i, j])) for i, j in pairs]


def association_map(seen: SeenRelease) -> AssociationMap:
    """The map of a release.

    Args:
        seen: The release.

    Returns:
        All columns but those of groups; the most associated ones where they are too many.
    """
    names = _chosen(seen)
    values = np.eye(len(names))
    bought = np.zeros(values.shape, dtype=bool)
    for i, one in enumerate(names):
        for j, other in enumerate(names[:i]):
            values[i, j] = values[j, i] = cramers_v(seen.codes[one], seen.codes[other])
            bought[i, j] = bought[j, i] = not seen.why_not(one, other)
    return AssociationMap(names, values, bought, len(seen.columns))


def cramers_v(one: IntArray, other: IntArray) -> float:
    """Cramer's V of two columns of classes, corrected for bias.

    >>> a = np.arange(1000) % 4
    >>> cramers_v(a, a), cramers_v(a, np.arange(1000) // 4 % 2)
    (1.0, 0.0)
    """
    counts = np.bincount(one * (int(other.max()) + 1) + other).astype(np.float64)
    counts = np.append(counts, np.zeros(-len(counts) % (int(other.max()) + 1))).reshape(-1, int(other.max()) + 1)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    (rows, columns), n = counts.shape, counts.sum()
    if min(rows, columns) < 2 or n < 2:
        return 0.0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    squared = float(((counts - expected) ** 2 / expected).sum()) / n
    squared = max(squared - (rows - 1) * (columns - 1) / (n - 1), 0.0)
    smaller = min(rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)) - 1.0
    return min(math.sqrt(squared / smaller), 1.0)


def _chosen(seen: SeenRelease) -> tuple[str, ...]:
    """The columns of the map, in the schema's order: where they are many, those with the largest correlation of ranks
    to another, and the label.
    """
    names = list(seen.columns)
    if len(names) <= SIZES.map_columns:
        return tuple(names)
    ranks = np.stack([_standardised(seen.codes[name]) for name in names])
    related = np.abs(ranks @ ranks.T) / ranks.shape[1]
    np.fill_diagonal(related, 0.0)
    best = related.max(axis=1)
    label = seen.release.schema.label
    if label in names:
        best[names.index(label)] = math.inf
    return tuple(names[i] for i in sorted(np.argsort(-best, kind="stable")[: SIZES.map_columns].tolist()))


def _standardised(codes: IntArray) -> FloatArray:
    spread = codes.std()
    return (codes - codes.mean()) / (spread if spread > 0.0 else 1.0)
