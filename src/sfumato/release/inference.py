"""New rows for a model to judge: read from any table, coded cell by cell, and handed over in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import logsumexp

from sfumato.models.base import CodedRows, Model
from sfumato.schema.layout import CategoryBins, FloatArray, IntArray, Layout
from sfumato.schema.rules import Plan
from sfumato.tables import numbers, open_table
from sfumato.tables.coding import cells_of, code_cells, code_label, read_batches
from sfumato.tables.table import Table
from sfumato.tables.typed import typed_columns


def class_probabilities(model: Model, table: Any, plan: Plan) -> FloatArray:
    """p(class | x) for each row of a table, (rows, classes); of classes with which a row keeps the rules, if any."""
    parts = [np.exp(model.log_posterior(_no_rows(model.layout)))]  # a model that cannot says so before a table is opened
    opened = open_table(table)
    for batch in _batches(opened, model.layout, plan):
        found = np.exp(model.log_posterior(_coded(batch, model.layout)))
        kept = np.where(_forbidden(batch, model.layout, plan), 0.0, found)
        total = kept.sum(axis=1, keepdims=True)
        parts.append(np.where(total > 0, kept / np.where(total > 0, total, 1.0), found))
    return np.concatenate(parts)


def log_density(model: Model, table: Any, plan: Plan) -> FloatArray:
    """The log density of each row: log p(x, y) where its label is known, else log p(x); -inf where it breaks a rule.

    It is that of rows as the model draws them: the share of those that keep the rules is for the caller to divide by.
    """
    layout = model.layout
    model.log_joint(_no_rows(layout))  # a model that cannot says so before a table is opened
    opened = open_table(table)
    with_label = layout.label is not None and layout.label in opened.names
    parts = [np.zeros(0)]
    for batch in _batches(opened, layout, plan):
        joint = np.where(_forbidden(batch, layout, plan), -np.inf, model.log_joint(_coded(batch, layout)))
        found = np.asarray(logsumexp(joint, axis=1))
        if with_label:
            labels = code_label(batch, layout)
            own = np.take_along_axis(joint, labels.clip(0)[:, None], axis=1)[:, 0]
            found = np.where(labels >= 0, own - _log_label_width(labels, layout), found)
        parts.append(found)
    return np.concatenate(parts)


def _batches(table: Table, layout: Layout, plan: Plan) -> Iterator[pa.RecordBatch]:
    """The batches of a table with what the model reads, and the label and columns of rules that it happens to have."""
    rules = [layout.label, *plan.checked]
    return read_batches(table, layout, *(n for n in dict.fromkeys(rules) if n in table.names and n not in layout.reads))


def _forbidden(batch: pa.RecordBatch, layout: Layout, plan: Plan) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """(rows, classes): where a row of that class would break a rule."""
    found = np.zeros((batch.num_rows, layout.classes), dtype=bool)
    if plan.is_plain:
        return found
    columns = typed_columns(batch, {name: plan.columns[name] for name in plan.checked})
    bins = layout.label_bins if layout.label in plan.checked else None
    for k in range(1 if bins is None else layout.classes):
        if bins is not None and layout.label is not None:
            columns[layout.label] = bins.decode(np.full(batch.num_rows, k), np.full(batch.num_rows, 0.5))
        broken = np.logical_or.reduce([np.zeros(batch.num_rows, dtype=bool), *plan.broken(columns).values()])
        found[:, slice(None) if bins is None else k] = broken[:, None] if bins is None else broken
    return found


def _no_rows(layout: Layout) -> CodedRows:
    codes = () if layout.groups else tuple(np.zeros(0, dtype=np.int64) for _ in layout.bins)
    return CodedRows(codes, tuple(None if isinstance(b, CategoryBins) else np.zeros(0) for b in layout.bins))


def _coded(batch: pa.RecordBatch, layout: Layout) -> CodedRows:
    if layout.groups:  # of numbers, which are projected: nobody asks for their bins
        return CodedRows((), tuple(numbers(batch.column(name)) for name in layout.names))
    read = ((cells_of(batch, name, layout), bins) for name, bins in zip(layout.names, layout.bins, strict=True))
    cells = [code_cells(each, bins) for each, bins in read]
    return CodedRows(tuple(cell.codes for cell in cells), tuple(cell.values for cell in cells))


def _log_label_width(labels: IntArray, layout: Layout) -> FloatArray:
    bins = layout.label_bins
    return np.zeros(len(labels)) if bins is None or isinstance(bins, CategoryBins) else bins.log_width(labels)
