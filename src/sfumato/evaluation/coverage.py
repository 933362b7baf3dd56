"""What becomes of the few: rare values of categories, and small groups of rows."""

from __future__ import annotations

import itertools

import numpy as np

from sfumato.evaluation.typed_rows import TypedRows
from sfumato.schema.layout import FloatArray

RAREST, RARE = 5, 0.01
"""A rare value is one of at least 5 real rows, and of less than this share of them."""

SMALL_GROUP = (0.002, 0.02)
"""A small group has a share of the real rows between these."""

MOST_GROUPS = 300  # drawn with a fixed seed where there are more


def rare_values(real: TypedRows, synthetic: TypedRows) -> dict[str, float]:
    """Rare values of categories.

    Args:
        real: Real rows.
        synthetic: Rows of a release.

    Returns:
        `rare_covered`, the share of rare values that come at all, and `rare_error`, the mean difference of their shares
        relative to the real one, 1 at the most. NaN where no value is rare.
    """
    before, after = [], []
    for name in real.codes:
        size = real.levels(name) + 1
        counts, found = (np.bincount(rows.codes[name], minlength=size) for rows in (real, synthetic))
        rare = (counts >= RAREST) & (counts < RARE * real.size)
        before += list(counts[rare] / real.size)
        after += list(found[rare] / synthetic.size)
    if not before:
        return {"rare_covered": float("nan"), "rare_error": float("nan")}
    return {
        "rare_covered": float(np.mean(np.array(after) > 0)),
        "rare_error": relative_error(np.array(before), np.array(after)),
    }


def small_groups(real: TypedRows, synthetic: TypedRows) -> dict[str, float]:
    """Groups of rows that share the values of two categories, the label not among them.

    Args:
        real: Real rows.
        synthetic: Rows of a release.

    Returns:
        `group_error`, the mean difference of a group's share relative to the real one, 1 at the most, and, where the
        label is a category, `group_label_error`, the mean total-variation distance of the label inside of a group (1
        where the group is empty). NaN where no group is small.
    """
    names = [name for name in real.codes if name != real.schema.label]
    groups = [found for pair in itertools.combinations(names, 2) for found in _groups(real, pair)]
    if len(groups) > MOST_GROUPS:
        drawn = np.random.default_rng(0).permutation(len(groups))[:MOST_GROUPS]
        groups = [groups[place] for place in drawn]
    members = [[_members(rows, *group) for rows in (real, synthetic)] for group in groups]
    if not members:
        return {"group_error": float("nan"), "group_label_error": float("nan")}
    shares = np.array([[rows.mean() for rows in pair] for pair in members])
    label = real.schema.label
    inside = [_label_distance(real, synthetic, label, *pair) for pair in members] if label in real.codes else [np.nan]
    return {
        "group_error": relative_error(shares[:, 0], shares[:, 1]),
        "group_label_error": float(np.mean(inside)),
    }


def relative_error(real: FloatArray, synthetic: FloatArray) -> float:
    """The mean of |synthetic - real| / real, each counted as 1 at the most."""
    return float(np.mean(np.minimum(np.abs(synthetic - real) / real, 1.0)))


def _groups(real: TypedRows, pair: tuple[str, str]) -> list[tuple[tuple[str, str], tuple[int, int]]]:
    """The values of two categories that few real rows share."""
    across = real.levels(pair[1]) + 1
    cells = real.codes[pair[0]] * across + real.codes[pair[1]]
    shares = np.bincount(cells) / real.size
    small = np.flatnonzero((shares >= SMALL_GROUP[0]) & (shares < SMALL_GROUP[1]))
    return [(pair, (int(cell) // across, int(cell) % across)) for cell in small]


def _members(rows: TypedRows, pair: tuple[str, str], values: tuple[int, int]) -> np.ndarray:
    return np.asarray((rows.codes[pair[0]] == values[0]) & (rows.codes[pair[1]] == values[1]))


def _label_distance(real: TypedRows, synthetic: TypedRows, label: str, one: np.ndarray, two: np.ndarray) -> float:
    if not two.any():
        return 1.0
    size = real.levels(label) + 1
    shares = [
        np.bincount(rows.codes[label][inside], minlength=size) / inside.sum()
        for rows, inside in ((real, one), (synthetic, two))
    ]
    return float(0.5 * np.abs(shares[0] - shares[1]).sum())
