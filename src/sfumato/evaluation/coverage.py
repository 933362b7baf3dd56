"""What becomes of the few: rare values of categories, and small groups of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.evaluation.table_distances import tables
from sfumato.evaluation.typed_rows import TypedRows, listed
from sfumato.schema.conditions import Mask
from sfumato.schema.layout import FloatArray
from sfumato.schema.schema import Schema
from sfumato.text import one_line

RAREST, RARE = 5, 0.01
"""A rare value is one of at least 5 real rows, and of less than this share of them."""

SMALL_GROUP = (0.002, 0.02)
"""A small group has a share of the real rows between these."""

MOST_GROUPS = 300  # drawn with a fixed seed where there are more


@dataclass(frozen=True)
class Few:
    """Few of the real rows: those with these values.

    Attributes:
        values: The place of a value among the levels of each column.
    """

    values: tuple[tuple[str, int], ...]

    def members(self, rows: TypedRows) -> Mask:
        """Which rows they are."""
        return np.logical_and.reduce([rows.codes[name] == place for name, place in self.values])

    def title(self, schema: Schema) -> str:
        """What they have in common, in words."""
        return ", ".join(f"{one_line(name)} = {_level(schema, name, place)}" for name, place in self.values)


def rare_values(real: TypedRows, synthetic: TypedRows) -> dict[str, float]:
    """Rare values of categories.

    Args:
        real: Real rows.
        synthetic: Rows of a release.

    Returns:
        `rare_covered`, the share of rare values that come at all, and `rare_error`, the mean difference of their shares
        relative to the real one, 1 at the most. NaN where no value is rare.
    """
    shares = few_shares(real, synthetic, find_rare(real))
    if not len(shares):
        return {"rare_covered": float("nan"), "rare_error": float("nan")}
    return {"rare_covered": float(np.mean(shares[:, 1] > 0)), "rare_error": relative_error(shares[:, 0], shares[:, 1])}


def find_rare(real: TypedRows) -> list[Few]:
    """The rare values of categories, of which there are five real rows at least."""
    counts = {name: np.bincount(real.codes[name], minlength=real.levels(name) + 1) for name in real.codes}
    rare = {name: np.flatnonzero((found >= RAREST) & (found < RARE * real.size)) for name, found in counts.items()}
    return [Few(((name, int(place)),)) for name, places in rare.items() for place in places]


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
    groups = find_groups(real)
    if not groups:
        return {"group_error": float("nan"), "group_label_error": float("nan")}
    shares, label = few_shares(real, synthetic, groups), real.schema.label
    inside = [label_distance(real, synthetic, label, each) for each in groups] if label in real.codes else [np.nan]
    return {
        "group_error": relative_error(shares[:, 0], shares[:, 1]),
        "group_label_error": float(np.mean(inside)),
    }


def find_groups(real: TypedRows) -> list[Few]:
    """The small groups of two categories, the label not among them; 300 of them at the most."""
    names = [name for name in real.codes if name != real.schema.label]
    groups = [found for pair in tables(names, 2) for found in _groups(real, pair[0], pair[1])]
    if len(groups) <= MOST_GROUPS:
        return groups
    return [groups[place] for place in np.random.default_rng(0).permutation(len(groups))[:MOST_GROUPS]]


def few_shares(real: TypedRows, synthetic: TypedRows, few: Sequence[Few]) -> FloatArray:
    """The share of the real and of the synthetic rows that each of these is, (few, 2)."""
    return np.array([[each.members(rows).mean() for rows in (real, synthetic)] for each in few])


def relative_error(real: FloatArray, synthetic: FloatArray) -> float:
    """The mean of |synthetic - real| / real, each counted as 1 at the most."""
    return float(np.mean(np.minimum(np.abs(synthetic - real) / real, 1.0)))


def label_distance(real: TypedRows, synthetic: TypedRows, label: str, few: Few) -> float:
    """The total-variation distance of the label inside of a group; 1 where the group is empty."""
    inside = [few.members(rows) for rows in (real, synthetic)]
    if not inside[1].any():
        return 1.0
    size = real.levels(label) + 1
    shares = [
        np.bincount(rows.codes[label][mask], minlength=size) / mask.sum()
        for rows, mask in zip((real, synthetic), inside, strict=True)
    ]
    return float(0.5 * np.abs(shares[0] - shares[1]).sum())


def _groups(real: TypedRows, one: str, two: str) -> list[Few]:
    """The values of two categories that few real rows share."""
    across = real.levels(two) + 1
    shares = np.bincount(real.codes[one] * across + real.codes[two]) / real.size
    small = np.flatnonzero((shares >= SMALL_GROUP[0]) & (shares < SMALL_GROUP[1]))
    return [Few(((one, int(cell) // across), (two, int(cell) % across))) for cell in small]


def _level(schema: Schema, name: str, place: int) -> str:
    levels = listed(schema.columns[name]).levels
    return one_line(str(levels[place])) if place < len(levels) else "missing"
