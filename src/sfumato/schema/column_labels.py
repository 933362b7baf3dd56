"""A label that is a column like all others: where classes are too many or too small to be asked about one by one."""

from __future__ import annotations

from dataclasses import replace

from sfumato.schema.layout import CategoryBins, Layout


def can_unlabel(layout: Layout) -> bool:
    """Whether the label may be a column like all others: a category, beside columns that are in no group.

    Args:
        layout: With a label or without.

    Returns:
        Whether it may.
    """
    return isinstance(layout.label_bins, CategoryBins) and not layout.groups


def unlabelled(layout: Layout) -> Layout:
    """The same columns, with the label as the last of them.

    Args:
        layout: One with a label.

    Returns:
        The layout, of one class.
    """
    assert layout.label is not None
    assert layout.label_bins is not None
    names, bins = (*layout.names, layout.label), (*layout.bins, layout.label_bins)
    return replace(layout, names=names, bins=bins, label=None, label_bins=None)


def labelled(layout: Layout) -> Layout:
    """The other way round: the last column is the label again.

    Args:
        layout: One without a label.

    Returns:
        The layout.
    """
    last = layout.names[-1], layout.bins[-1]
    return replace(layout, names=layout.names[:-1], bins=layout.bins[:-1], label=last[0], label_bins=last[1])
