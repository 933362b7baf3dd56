"""The release: a model anyone may have, and the guarantee it was made under.

Everything here is post-processing of noisy answers: free, repeatable and seedable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.special import logsumexp

from sfumato.bins import CategoryBins, FloatArray, IntArray, Layout, OrderedBins
from sfumato.coding import Cells, code_cells, code_label, read_batches
from sfumato.conditions import Condition, Drawn, Where, keep_class, keep_where
from sfumato.encoding.affine import Affine
from sfumato.encoding.projected import Projected
from sfumato.encoding.projected import columns as columns_at
from sfumato.encoding.scores import Scores
from sfumato.errors import ArgumentError
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.models.labeller import Labeller
from sfumato.models.quadratic import QuadraticLabeller
from sfumato.private.accounting import Adjacency, Spend
from sfumato.private.slicing_law import Slices
from sfumato.projections import ENTRY_BITS, FIXED_BITS, Projection
from sfumato.schema import ROW, Category, Date, Schema
from sfumato.tables import numbers, open_table
from sfumato.text import one_line, rounded_up

BATCH_ROWS = 1 << 16
CLASS_ROWS = 1 << 14  # drawn to see how often each class comes, where no formula says


@dataclass(frozen=True)
class Guarantee:
    """What a release promises about every unit of the private table.

    It covers this release only: another fit on the same table is another release, and their mu add up in
    squares. A ledger adds them up; `entry` is then the id under which it counts this one.
    A release made with a seed was made with noise that anyone can repeat: it has no epsilon.
    Where noisy projections of every row were asked for (`slices`), mu is that of the other queries; epsilon and delta
    are of all together.
    """

    epsilon: float | None
    delta: float | None
    mu: float | None
    adjacency: Adjacency
    unit: str
    secure: bool
    spends: tuple[Spend, ...]
    entry: str | None = None
    slices: tuple[Slices, ...] = ()

    def __str__(self) -> str:
        if not self.secure:
            return "NOT PRIVATE: made with insecure_seed, for tests only"
        one = "one row" if self.unit == ROW else f"all rows of one {one_line(self.unit)}"
        neighbours = {
            Adjacency.ADD_REMOVE: f"{one} added or removed",
            Adjacency.REPLACE_ONE: f"{one} replaced (how many there are is public)",
            Adjacency.LABEL: f"the label of {one} changed (everything else is public)",
        }
        mu = f"{rounded_up(self.mu, 5)}-GDP"
        beside = f"noisy projections of every row beside queries that are {mu}" if self.slices else mu
        return (
            f"({rounded_up(self.epsilon)}, {rounded_up(self.delta)})-differentially private, "
            f"{beside}; neighbours: {neighbours[self.adjacency]}; {self.scope}"
        )

    @property
    def scope(self) -> str:
        """Whether anyone counts what other releases of the same table tell."""
        return "covers this release only" if self.entry is None else f"counted in a ledger as {self.entry}"


@dataclass(frozen=True)
class Release:
    """A differentially private model of a table: sample it, score with it, classify with it."""

    schema: Schema
    guarantee: Guarantee
    mechanism: str
    encoder: Scores | Affine | Projected
    mixture: GaussianMixture
    labeller: Labeller | QuadraticLabeller | None = None  # where labels are not the mixture's own

    def __repr__(self) -> str:
        return f"Release({self.mechanism}, {len(self.schema.columns)} columns, {self.guarantee})"

    @property
    def encoding(self) -> str:
        return self.encoder.name

    @cached_property
    def layout(self) -> Layout:
        """The public bins of the schema."""
        return Layout.of(self.schema)

    @cached_property
    def class_weights(self) -> FloatArray:
        """How often each class comes; from rows drawn with a fixed seed where labels are adapted."""
        if self.labeller is None:
            return self.mixture.class_weights
        drawn = CLASS_ROWS // (8 if isinstance(self.encoder, Projected) else 1)  # whose columns take their time
        labels = self._draw(drawn, np.random.default_rng(0), None).labels
        return np.asarray(np.bincount(labels, minlength=self.layout.classes) / drawn)

    def sample(
        self,
        n: int,
        seed: int | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        where: Where | None = None,
    ) -> pd.DataFrame:
        """Draw n synthetic rows, with the schema's columns, order and types.

        `given` fixes columns ({"income": ">50K", "age": 40}): the others follow their conditional distribution under
        the model. `where` keeps rows for which a pandas expression ("age > 40 and hours_per_week < 20"), or a function
        of the frame, holds; it draws at most 1000 rows for each one wanted, then says so and stops.
        """
        return pd.concat(list(self._frames(n, seed, given, where)), ignore_index=True)

    def sample_batches(
        self,
        n: int,
        seed: int | None = None,
        *,
        given: Mapping[str, Any] | None = None,
        where: Where | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Draw the same n rows as `sample`, as a stream of Arrow batches."""
        return map(self._arrow, self._frames(n, seed, given, where))

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
        if isinstance(self.encoder, Projected):
            raise ArgumentError("columns in groups have no density: a release of them models a projection")
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

    def _frames(
        self, n: int, seed: int | None, given: Mapping[str, Any] | None, where: Where | None
    ) -> Iterator[pd.DataFrame]:
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise ArgumentError(f"the number of rows to sample must be 0 or more, not {n!r}")
        if seed is not None and (not isinstance(seed, (int, np.integer)) or seed < 0):
            raise ArgumentError(f"the seed of a sample must be a whole number, 0 or more, not {seed!r}")
        rng = np.random.default_rng(seed)
        if given is not None and not isinstance(given, Mapping):
            raise ArgumentError("given must be a mapping of columns to values, like {'income': '>50K'}")
        condition = Condition.of(self, given) if given else None
        if where is not None:
            return keep_where(lambda size: self._frame(size, rng, condition), int(n), where)
        sizes = (min(BATCH_ROWS, int(n) - start) for start in range(0, max(int(n), 1), BATCH_ROWS))
        return (self._frame(size, rng, condition) for size in sizes)

    def _frame(self, n: int, rng: np.random.Generator, condition: Condition | None) -> pd.DataFrame:
        drawn = self._draw(n, rng, condition)
        decoded = self._decode(drawn)
        columns = dict(zip(self.layout.names, decoded, strict=True))
        if self.layout.label is not None and self.layout.label_bins is not None:
            columns[self.layout.label] = self.layout.label_bins.decode(drawn.labels, rng.random(n))
        if condition is not None:
            columns |= {name: fixed.astype(columns[name].dtype) for name, fixed in condition.fixed(n).items()}
        return pd.DataFrame({name: columns[name] for name in self.schema.columns})

    def _decode(self, drawn: Drawn) -> list[pd.Series[Any]]:
        if isinstance(self.encoder, Projected):
            return columns_at(drawn.latent, self.layout.bins)
        return self.encoder.decode(drawn.latent, drawn.own, self.layout.bins)

    def _draw(self, n: int, rng: np.random.Generator, condition: Condition | None) -> Drawn:
        if condition is not None and condition.label is not None:
            return keep_class(lambda size: self._draw(size, rng, condition.without_label()), n, condition.label)
        if condition is None:
            components = self.mixture.sample_components(n, rng)
            latent = self.mixture.sample(components, rng)
        else:
            components, latent = condition.sample(self.mixture, n, rng)
        own = self.mixture.component_class[components]
        if isinstance(self.encoder, Projected):
            return self._draw_columns(self.encoder, latent, own, rng)
        if not isinstance(self.labeller, Labeller):
            return Drawn(latent, own, own)
        assert isinstance(self.encoder, Scores)  # the encoding whose labels can be adapted
        return Drawn(latent, own, self.labeller.relabel(self.encoder.codes(latent, own), own, rng))

    def _draw_columns(self, encoder: Projected, latent: FloatArray, own: IntArray, rng: np.random.Generator) -> Drawn:
        """Rows of columns in groups as places between the bounds. Their labels are those of what they became: bending
        columns to their distributions moves a row's projection."""
        places = encoder.places(latent, own, rng)
        if not isinstance(self.labeller, QuadraticLabeller):
            return Drawn(places, own, own)
        return Drawn(places, own, self.labeller.relabel(encoder.seen(places), rng))

    def _arrow(self, frame: pd.DataFrame) -> pa.RecordBatch:
        """Rows as Arrow. Categories get their type from the schema: drawn values would vary it by batch."""
        kinds = {
            name: _arrow_type(column)
            for name, column in self.schema.columns.items()
            if isinstance(column, (Category, Date))
        }
        for name, kind in kinds.items():
            if pa.types.is_large_string(kind):
                frame[name] = frame[name].map(str, na_action="ignore")
        types = pa.Schema.from_pandas(frame, preserve_index=False)
        for name, kind in kinds.items():
            types = types.set(types.get_field_index(name), pa.field(name, kind))
        table = pa.Table.from_pandas(frame, schema=types, preserve_index=False)
        whole = [pa.concat_arrays([*column.chunks, pa.nulls(0, column.type)]) for column in table.columns]
        return pa.RecordBatch.from_arrays(whole, schema=types)

    def _log_joint(self, table: Any, with_label: bool) -> Iterator[tuple[FloatArray, IntArray]]:
        """log p(x, class) for every class, and the class of each row (-1 where unknown)."""
        for batch in read_batches(open_table(table), self.layout, self.layout.label if with_label else None):
            if isinstance(self.encoder, Projected):
                yield self._log_projected(batch, self.encoder.projection), np.full(batch.num_rows, -1)
                continue
            cells = [
                code_cells(batch.column(name), bins)
                for name, bins in zip(self.layout.names, self.layout.bins, strict=True)
            ]
            joint = np.stack([self._log_class(cells, k) for k in range(self.layout.classes)], axis=1)
            if isinstance(self.labeller, Labeller):
                joint = self.labeller.blend([cell.codes for cell in cells], joint)
            yield joint, code_label(batch, self.layout) if with_label else np.full(batch.num_rows, -1)

    def _log_projected(self, batch: pa.RecordBatch, projection: Projection) -> FloatArray:
        """log p(z, class) of rows' projection for every class; of the class given z, where labels are adapted."""
        columns = zip(self.layout.names, self.layout.bins, strict=True)
        ordered = [(batch.column(name), bins) for name, bins in columns if isinstance(bins, OrderedBins)]
        fixed = np.stack([bins.fixed(numbers(cells), FIXED_BITS) for cells, bins in ordered])
        latent = np.asarray(projection.apply(fixed).T * 2.0**-ENTRY_BITS, dtype=np.float64)
        if isinstance(self.labeller, QuadraticLabeller):
            return self.labeller.log_probabilities(latent)
        return self.mixture.log_joint(latent)

    def _log_class(self, cells: list[Cells], k: int) -> FloatArray:
        """log(weight of class k) + log p(x | k)."""
        codes, values = [cell.codes for cell in cells], [cell.values for cell in cells]
        assert not isinstance(self.encoder, Projected)
        boxes = self.encoder.boxes(codes, values, self.layout.bins, k)
        parts = [
            np.log(self.mixture.weights[c]) + self.mixture.log_boxes(c, boxes.low, boxes.high, boxes.is_point)
            for c in self.mixture.members(k)
        ]
        return np.asarray(logsumexp(parts, axis=0)) + boxes.log_change

    def _label_width(self, labels: IntArray) -> FloatArray:
        bins = self.layout.label_bins
        if bins is None or isinstance(bins, CategoryBins):
            return np.zeros(len(labels))
        return -bins.log_width(labels)


def _arrow_type(column: Category | Date) -> pa.DataType:
    if isinstance(column, Date):
        return pa.date32()
    if all(isinstance(value, int) for value in column.values):
        return pa.int64()
    return pa.large_string() if any(isinstance(value, str) for value in column.values) else pa.float64()
