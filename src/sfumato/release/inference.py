"""New rows for a model to judge: read from any table, coded cell by cell, and handed over in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import logsumexp

from sfumato.models.base import CodedRows, Model
from sfumato.schema.layout import CategoryBins, FloatArray, IntArray, Layout
from sfumato.tables import numbers, open_table
from sfumato.tables.coding import code_cells, code_label, read_batches


def class_probabilities(model: Model, table: Any) -> FloatArray:
    """p(class | x) for each row of a table, (rows, classes)."""
    parts = [model.log_posterior(_no_rows(model.layout))]  # a model that cannot says so before a table is opened
    parts += [model.log_posterior(_coded(batch, model.layout)) for batch in _batches(table, model.layout, False)]
    return np.exp(np.concatenate(parts))


def log_density(model: Model, table: Any) -> FloatArray:
    """log p(x) for each row, or log p(x, y) where the table has the label column and a row's label is known."""
    layout = model.layout
    model.log_joint(_no_rows(layout))  # a model that cannot says so before a table is opened
    opened = open_table(table)
    with_label = layout.label is not None and layout.label in opened.names
    parts = [np.zeros(0)]
    for batch in _batches(opened, layout, with_label):
        joint = model.log_joint(_coded(batch, layout))
        found = np.asarray(logsumexp(joint, axis=1))
        if with_label:
            labels = code_label(batch, layout)
            own = np.take_along_axis(joint, labels.clip(0)[:, None], axis=1)[:, 0]
            found = np.where(labels >= 0, own - _log_label_width(labels, layout), found)
        parts.append(found)
    return np.concatenate(parts)


def _batches(table: Any, layout: Layout, with_label: bool) -> Iterator[pa.RecordBatch]:
    return read_batches(open_table(table), layout, layout.label if with_label else None)


def _no_rows(layout: Layout) -> CodedRows:
    codes = () if layout.groups else tuple(np.zeros(0, dtype=np.int64) for _ in layout.bins)
    return CodedRows(codes, tuple(None if isinstance(b, CategoryBins) else np.zeros(0) for b in layout.bins))


def _coded(batch: pa.RecordBatch, layout: Layout) -> CodedRows:
    if layout.groups:  # of numbers, which are projected: nobody asks for their bins
        return CodedRows((), tuple(numbers(batch.column(name)) for name in layout.names))
    cells = [code_cells(batch.column(name), bins) for name, bins in zip(layout.names, layout.bins, strict=True)]
    return CodedRows(tuple(cell.codes for cell in cells), tuple(cell.values for cell in cells))


def _log_label_width(labels: IntArray, layout: Layout) -> FloatArray:
    bins = layout.label_bins
    return np.zeros(len(labels)) if bins is None or isinstance(bins, CategoryBins) else bins.log_width(labels)
