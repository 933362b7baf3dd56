"""One picture of real against synthetic marginals."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd

from sfumato.evaluation.typed_rows import numbers, places
from sfumato.files import replacing
from sfumato.schema.columns import Column, Listed
from sfumato.schema.layout import FloatArray
from sfumato.schema.schema import Schema

MARGINAL_BINS = 20
MOST_LEVELS = 12  # categories shown, the most frequent first
REAL, SYNTHETIC = "#9aa7b5", "#c2542d"


def draw_marginals(real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema, path: Path, title: str) -> None:
    """Draw a panel a column: real shares as grey bars, synthetic ones as orange dots.

    Args:
        real: Real rows.
        synthetic: Rows of a release.
        schema: Of both.
        path: Where to write the picture.
        title: What stands above it.

    Raises:
        OutputError: It cannot be written there.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    across = 4
    rows = math.ceil(len(schema.columns) / across)
    figure, axes = plt.subplots(rows, across, figsize=(15, 2.9 * rows), layout="constrained")
    for axis in axes.flat[len(schema.columns) :]:
        axis.set_visible(False)
    for axis, (name, column) in zip(axes.flat, schema.columns.items(), strict=False):
        shares = marginal(real[name], real[name], column)
        ours = marginal(synthetic[name], real[name], column)
        if isinstance(column, Listed):
            order = np.argsort(-shares)[:MOST_LEVELS]
            places, shares, ours = np.arange(len(order), dtype=float), shares[order], ours[order]
            axis.set_xticks(places, [str(column.levels[i])[:14] for i in order], rotation=50, ha="right", fontsize=7)
            width = 0.8
        else:
            known = numbers(real[name], column)
            low, high = float(np.nanmin(known)), float(np.nanmax(known))
            width = (high - low) / MARGINAL_BINS
            places = low + width * (np.arange(MARGINAL_BINS) + 0.5)
            axis.tick_params(axis="x", labelsize=7)
        axis.bar(places, shares, width=width * 0.95, color=REAL, label="real")
        axis.plot(places, ours, "o", color=SYNTHETIC, markersize=4, label="synthetic")
        if max(shares.max(), ours.max()) > 0.85:
            axis.set_yscale("symlog", linthresh=1e-3)
        axis.set_title(name, fontsize=10, loc="left")
        axis.tick_params(axis="y", labelsize=7)
        axis.spines[["top", "right"]].set_visible(False)
    axes.flat[0].legend(frameon=False, fontsize=8)
    figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110)
    plt.close(figure)


def marginal(values: pd.Series, reference: pd.Series, column: Column) -> FloatArray:
    """Shares of a column's values: by category, or in equal bins over the reference's range."""
    if isinstance(column, Listed):
        counts = np.bincount(places(values, column), minlength=len(column.levels))[: len(column.levels)]
        return np.asarray(counts / max(len(values), 1), dtype=np.float64)
    known = numbers(reference, column)
    edges = np.linspace(np.nanmin(known), np.nanmax(known), MARGINAL_BINS + 1)
    counts, _ = np.histogram(np.clip(numbers(values, column), edges[0], edges[-1]), bins=edges)
    return np.asarray(counts / max(len(values), 1), dtype=np.float64)
