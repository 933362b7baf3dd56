"""The release: a model anyone may have, and the guarantee it was made under.

Everything here is post-processing of noisy answers: free, repeatable and seedable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.special import logsumexp

from sfumato.bins import CategoryBins, FloatArray, IntArray, Layout
from sfumato.coding import Cells, code_cells, code_label, read_batches
from sfumato.encoding.scores import Scores
from sfumato.errors import ArgumentError
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.private.accounting import Adjacency, Spend
from sfumato.schema import Category, Schema
from sfumato.tables import open_table

BATCH_ROWS = 1 << 16
LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)


@dataclass(frozen=True)
class Guarantee:
    """What a release promises about every unit of the private table.

    It covers this release only: another fit on the same table is another release, and their mu add up in
    squares. A release made with a seed was made with noise that anyone can repeat: it has no epsilon.
    """

    epsilon: float | None
    delta: float | None
    mu: float | None
    adjacency: Adjacency
    unit: str
    secure: bool
    spends: tuple[Spend, ...]

    def __str__(self) -> str:
        if not self.secure:
            return "NOT PRIVATE: made with insecure_seed, for tests only"
        neighbours = {
            Adjacency.ADD_REMOVE: "one row added or removed",
            Adjacency.REPLACE_ONE: "one row replaced (the number of rows is public)",
            Adjacency.LABEL: "one row's label changed (everything else is public)",
        }
        return (
            f"({self.epsilon:g}, {self.delta:.3g})-differentially private, {self.mu:.5f}-GDP; "
            f"neighbours: {neighbours[self.adjacency]}"
        )


@dataclass(frozen=True)
class Release:
    """A differentially private model of a table: sample it, score with it, classify with it."""

    schema: Schema
    guarantee: Guarantee
    mechanism: str
    encoding: str
    scores: Scores
    mixture: GaussianMixture

    def __repr__(self) -> str:
        return f"Release({self.mechanism}, {len(self.schema.columns)} columns, {self.guarantee})"

    @cached_property
    def layout(self) -> Layout:
        """The public bins of the schema."""
        return Layout.of(self.schema)

    def sample(self, n: int, seed: int | None = None) -> pd.DataFrame:
        """Draw n synthetic rows, with the schema's columns, order and types."""
        return pd.concat(list(self._frames(n, seed)), ignore_index=True)

    def sample_batches(self, n: int, seed: int | None = None) -> Iterator[pa.RecordBatch]:
        """Draw the same n rows as `sample`, as a stream of Arrow batches."""
        for frame in self._frames(n, seed):
            yield self._arrow(frame)

    def predict_proba(self, table: Any) -> pd.DataFrame:
        """The probability of each class for each row of a table; one column a class, in schema order."""
        if self.schema.label is None:
            raise ArgumentError("this release has no label, so there is nothing to predict")
        parts = [part for part, _ in self._log_joint(table, with_label=False)]
        joint = np.concatenate(parts) if parts else np.zeros((0, self.layout.classes))
        posterior = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        return pd.DataFrame(posterior, columns=self.layout.class_names())

    def log_density(self, table: Any) -> FloatArray:
        """log p(x) for each row, or log p(x, y) where the table has the label column.

        A probability mass in categories, atoms and stepped columns, a density in the others. Cells that
        have no place in the schema are integrated out. Integrals over boxes of the latent Gaussian are
        evaluated on a fixed set of quasi-random points: deterministic, right to a few percent on most rows.
        """
        opened = open_table(table)
        with_label = self.schema.label is not None and self.schema.label in opened.names
        parts = []
        for joint, labels in self._log_joint(opened, with_label):
            own = np.take_along_axis(joint, labels.clip(0)[:, None], axis=1)[:, 0]
            known = (labels >= 0) & with_label
            parts.append(np.where(known, own + self._label_width(labels), logsumexp(joint, axis=1)))
        return np.concatenate(parts) if parts else np.zeros(0)

    def save(self, path: str | Path) -> None:
        """Write the release to one file."""
        from sfumato.release_file import write

        write(self, path)

    def _frames(self, n: int, seed: int | None) -> Iterator[pd.DataFrame]:
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise ArgumentError(f"the number of rows to sample must be 0 or more, not {n!r}")
        if seed is not None and (not isinstance(seed, (int, np.integer)) or seed < 0):
            raise ArgumentError(f"the seed of a sample must be a whole number, 0 or more, not {seed!r}")
        rng = np.random.default_rng(seed)
        for start in range(0, max(int(n), 1), BATCH_ROWS):
            yield self._frame(min(BATCH_ROWS, int(n) - start), rng)

    def _frame(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        labels = self.mixture.sample_classes(n, rng)
        latent = self.mixture.sample(labels, rng)
        columns: dict[str, pd.Series[Any]] = {}
        for c, (name, bins) in enumerate(zip(self.layout.names, self.layout.bins, strict=True)):
            codes, position = np.empty(n, dtype=np.int64), np.empty(n)
            for k in range(self.layout.classes):
                mine = labels == k
                codes[mine], position[mine] = self.scores.columns[c].bins_at(latent[mine, c], k)
            columns[name] = bins.decode(codes, position)
        if self.layout.label is not None and self.layout.label_bins is not None:
            columns[self.layout.label] = self.layout.label_bins.decode(labels, rng.random(n))
        return pd.DataFrame({name: columns[name] for name in self.schema.columns})

    def _arrow(self, frame: pd.DataFrame) -> pa.RecordBatch:
        """Rows as Arrow. Categories get their type from the schema: drawn values would vary it by batch."""
        kinds = {
            name: _arrow_type(column) for name, column in self.schema.columns.items() if isinstance(column, Category)
        }
        for name, kind in kinds.items():
            if pa.types.is_large_string(kind):
                frame[name] = frame[name].map(str, na_action="ignore")
        types = pa.Schema.from_pandas(frame, preserve_index=False)
        for name, kind in kinds.items():
            types = types.set(types.get_field_index(name), pa.field(name, kind))
        return pa.RecordBatch.from_pandas(frame, schema=types, preserve_index=False)

    def _log_joint(self, table: Any, with_label: bool) -> Iterator[tuple[FloatArray, IntArray]]:
        """log p(x, class) for every class, and the class of each row (-1 where unknown)."""
        for batch in read_batches(open_table(table), self.layout, self.layout.label if with_label else None):
            cells = [
                code_cells(batch.column(name), bins)
                for name, bins in zip(self.layout.names, self.layout.bins, strict=True)
            ]
            joint = np.stack([self._log_class(cells, k) for k in range(self.layout.classes)], axis=1)
            yield joint, code_label(batch, self.layout) if with_label else np.full(batch.num_rows, -1)

    def _log_class(self, cells: list[Cells], k: int) -> FloatArray:
        """log(weight of class k) + log p(x | k), by the change of variables from latent to data."""
        rows, columns = len(cells[0].codes), len(cells)
        low, high = np.empty((rows, columns)), np.empty((rows, columns))
        is_point = np.zeros((rows, columns), dtype=bool)
        change = np.full(rows, np.log(self.mixture.weights[k]))
        for c, (cell, bins) in enumerate(zip(cells, self.layout.bins, strict=True)):
            column = self.scores.columns[c]
            low[:, c], high[:, c] = column.box(cell.codes, k)
            if isinstance(bins, CategoryBins) or cell.values is None:
                continue
            point = (cell.codes >= 0) & bins.continuous[cell.codes]
            values = np.clip(cell.values, bins.low[0], bins.high[-1])  # as their bins have it
            z = column.latent_at(cell.codes, bins.position(values, cell.codes), k)
            # dz/dx = (mass / width) / phi(z)
            density = np.log(column.masses[k][cell.codes]) + z**2 / 2.0 + LOG_SQRT_2PI
            low[:, c] = np.where(point, z, low[:, c])
            is_point[:, c] = point
            change += np.where(point, density, 0.0) - bins.log_width(cell.codes)
        return self.mixture.log_boxes(k, low, high, is_point) + change

    def _label_width(self, labels: IntArray) -> FloatArray:
        bins = self.layout.label_bins
        if bins is None or isinstance(bins, CategoryBins):
            return np.zeros(len(labels))
        return -bins.log_width(labels)


def _arrow_type(column: Category) -> pa.DataType:
    if all(isinstance(value, int) for value in column.values):
        return pa.int64()
    return pa.large_string() if any(isinstance(value, str) for value in column.values) else pa.float64()
