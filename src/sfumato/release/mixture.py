"""A release whose model is a mixture of Gaussians in latent space: it samples, scores and classifies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.special import logsumexp

from sfumato.encoding.affine import Affine
from sfumato.encoding.projected import Projected
from sfumato.encoding.projected import columns as columns_at
from sfumato.encoding.scores import Scores
from sfumato.errors import ArgumentError
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.models.labeller import Labeller
from sfumato.models.quadratic import QuadraticLabeller
from sfumato.release.conditions import Condition, Drawn, Given, keep_class
from sfumato.release.release import Release
from sfumato.schema.layout import CategoryBins, FloatArray, IntArray, OrderedBins
from sfumato.schema.projections import ENTRY_BITS, FIXED_BITS, Projection
from sfumato.tables import numbers, open_table
from sfumato.tables.coding import Cells, code_cells, code_label, read_batches

CLASS_ROWS = 1 << 14  # drawn to see how often each class comes, where no formula says


@dataclass(frozen=True, repr=False)
class MixtureRelease(Release):
    """A mixture in the latent space of an encoder, and labels of their own where they were adapted."""

    encoder: Scores | Affine | Projected
    mixture: GaussianMixture
    labeller: Labeller | QuadraticLabeller | None = None  # where labels are not the mixture's own

    @property
    def encoding(self) -> str:
        return self.encoder.name

    @cached_property
    def class_weights(self) -> FloatArray:
        """How often each class comes; from rows drawn with a fixed seed where labels are adapted."""
        if self.labeller is None:
            return self.mixture.class_weights
        drawn = CLASS_ROWS // (8 if isinstance(self.encoder, Projected) else 1)  # whose columns take their time
        labels = self._draw(drawn, np.random.default_rng(0), None).labels
        return np.asarray(np.bincount(labels, minlength=self.layout.classes) / drawn)

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

    def _condition(self, given: Mapping[str, Any]) -> Given:
        return Condition.of(self, given)

    def _columns(self, n: int, rng: np.random.Generator, condition: Given | None) -> tuple[list[Any], IntArray]:
        assert condition is None or isinstance(condition, Condition)
        drawn = self._draw(n, rng, condition)
        return self._decode(drawn), drawn.labels

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
