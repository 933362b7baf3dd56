"""New rows for a model to judge: read from any table, coded cell by cell, and handed over in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.special import logsumexp

from sfumato.cores import core_count, over_cores
from sfumato.models.base import CodedRows, Model
from sfumato.release.keeping import Keeping
from sfumato.schema.layout import CategoryBins, FloatArray, IntArray, Layout
from sfumato.schema.rules import Modelling
from sfumato.tables import numbers, open_table
from sfumato.tables.coding import cells_of, code_cells, code_label, read_batches
from sfumato.tables.table import Table
from sfumato.tables.typed import typed_columns

PIECE_ROWS = 1 << 13  # that a thread judges at a time


def class_probabilities(model: Model, table: Any, modelling: Modelling, keeping: Keeping | None) -> FloatArray:
    """p(class | x) for each row of a table, (rows, classes); of classes with which a row keeps the rules, if any."""
    none = np.exp(model.log_posterior(_no_rows(model.layout)))  # a model that cannot says so before a table is opened

    def judge(batch: pa.RecordBatch) -> FloatArray:
        plain = np.exp(model.log_posterior(_coded(batch, model.layout)))
        kept = plain * np.exp(_log_weights(batch, model.layout, modelling, keeping))
        total = kept.sum(axis=1, keepdims=True)
        return np.where(total > 0, kept / np.where(total > 0, total, 1.0), plain)

    return np.concatenate([none, *_judged(judge, _batches(open_table(table), model.layout, modelling))])


def log_density(model: Model, table: Any, modelling: Modelling, keeping: Keeping | None) -> FloatArray:
    """The log density of each row: log p(x, y) where its label is known, else log p(x); -inf where it breaks a rule."""
    layout = model.layout
    model.log_joint(_no_rows(layout))  # a model that cannot says so before a table is opened
    opened = open_table(table)
    with_label = layout.label is not None and layout.label in opened.names

    def judge(batch: pa.RecordBatch) -> FloatArray:
        joint = model.log_joint(_coded(batch, layout)) + _log_weights(batch, layout, modelling, keeping)
        found = np.asarray(logsumexp(joint, axis=1))
        if not with_label:
            return found
        labels = code_label(batch, layout)
        own = np.take_along_axis(joint, labels.clip(0)[:, None], axis=1)[:, 0]
        return np.where(labels >= 0, own - _log_label_width(labels, layout), found)

    return np.concatenate([np.zeros(0), *_judged(judge, _batches(opened, layout, modelling))])


def _judged(judge: Callable[[pa.RecordBatch], FloatArray], batches: Iterable[pa.RecordBatch]) -> Iterator[FloatArray]:
    """What a function says of rows, which are cut into as many pieces as keep the cores busy."""
    pieces = (batch.slice(start, PIECE_ROWS) for batch in batches for start in range(0, batch.num_rows, PIECE_ROWS))
    return over_cores((partial(judge, piece) for piece in pieces), core_count())


def _batches(table: Table, layout: Layout, modelling: Modelling) -> Iterator[pa.RecordBatch]:
    """The batches of a table with what the model reads, and the label and columns of rules that it happens to have."""
    rules = [layout.label, *modelling.checked]
    return read_batches(table, layout, *(n for n in dict.fromkeys(rules) if n in table.names and n not in layout.reads))


def _log_weights(batch: pa.RecordBatch, layout: Layout, modelling: Modelling, keeping: Keeping | None) -> FloatArray:
    """(rows, classes): by how much likelier than by the model a row of that class is, given the rules."""
    n, label, label_bins = batch.num_rows, layout.label, layout.label_bins
    found = np.zeros((n, layout.classes))
    if keeping is None:
        return found
    columns = typed_columns(batch, {name: modelling.columns[name] for name in modelling.checked})
    for name in layout.differences:
        columns[name] = pd.Series(numbers(cells_of(batch, name, layout)))
    for k in range(layout.classes):
        if label is not None and label_bins is not None:
            columns[label] = label_bins.decode(np.full(n, k), np.full(n, 0.5))
        broken = np.logical_or.reduce([np.zeros(n, dtype=bool), *modelling.broken(columns).values()])
        found[:, k] = np.where(broken, -np.inf, keeping.log_weights(columns, n) - keeping.log_share)
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
