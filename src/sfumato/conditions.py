"""Sampling with conditions: some columns given, or only rows for which something holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from sfumato.bins import NOWHERE, CategoryBins, FloatArray, IntArray, Layout
from sfumato.coding import Cells, code_cells
from sfumato.encoding.boxes import Boxes
from sfumato.errors import ArgumentError
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.tables import open_table

if TYPE_CHECKING:
    from sfumato.release import Release

FINE = 12  # log2 of the points for the integral over the one given box
DRAWS_PER_ROW = 1000  # `where` gives up after drawing this many rows for each one wanted
SMALLEST_DRAW = 1000
LARGEST_DRAW = 1 << 16

Where: TypeAlias = str | Callable[[pd.DataFrame], Any]


@dataclass(frozen=True)
class Condition:
    """Columns held at given values: where they put a row in each class's latent space, and how likely each class is."""

    layout: Layout
    values: Mapping[str, float]  # the ordered columns that come out exactly as given
    boxes: tuple[Boxes, ...]
    weights: FloatArray

    @classmethod
    def of(cls, release: Release, given: Mapping[str, Any]) -> Condition:
        """Check the given values against the schema and weigh the classes by Bayes' rule."""
        layout = release.layout
        for name in given:
            if name not in release.schema.columns:
                raise ArgumentError(f"given: {name!r} is not a column of the release")
        cells = {name: _cells(name, value, layout) for name, value in given.items()}
        free = Cells(np.array([NOWHERE]), np.array([np.nan]))
        features = [cells.get(name, free) for name in layout.names]
        codes, values = [cell.codes for cell in features], [cell.values for cell in features]
        boxes = tuple(release.encoder.boxes(codes, values, layout.bins, k) for k in range(layout.classes))
        log_weights = np.log(release.mixture.weights) + np.array(
            [
                (release.mixture.log_boxes(k, b.low, b.high, b.is_point, FINE) + b.log_change)[0]
                for k, b in enumerate(boxes)
            ]
        )
        if layout.label in cells:
            own = np.arange(layout.classes) == cells[layout.label].codes[0]
            log_weights = np.where(own, log_weights, -np.inf)
        exact = {name: float(cell.values[0]) for name, cell in cells.items() if cell.values is not None}
        return cls(layout, exact, boxes, np.exp(log_weights - logsumexp(log_weights)))

    def sample(self, mixture: GaussianMixture, n: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Classes and latent rows under the condition."""
        labels = rng.choice(len(self.weights), size=n, p=self.weights)
        latent = np.empty((n, mixture.dim))
        for k, boxes in enumerate(self.boxes):
            mine = labels == k
            if mine.any():
                latent[mine] = mixture.sample_inside(k, int(mine.sum()), boxes, rng)
        return labels, latent

    def fixed(self, n: int) -> dict[str, pd.Series[Any]]:
        """The given numbers and dates as columns."""
        found = {}
        for name, value in self.values.items():
            bins = _bins(name, self.layout)
            if not isinstance(bins, CategoryBins) and np.isfinite(value):
                found[name] = bins.of_values(np.full(n, value))
        return found


def keep_where(draw: Callable[[int], pd.DataFrame], n: int, where: Where) -> Iterator[pd.DataFrame]:
    """Rows for which `where` holds, by rejection."""
    kept, drawn, yielded = 0, 0, False
    while kept < n or not yielded:
        if drawn >= max(n, 1) * DRAWS_PER_ROW:
            raise ArgumentError(
                f"where kept {kept} of {drawn} rows drawn, and {n} were wanted; "
                "ask for less, or fix what can be fixed by given"
            )
        rate = max(kept, 1) / max(drawn, 1)
        size = int(np.clip((n - kept) / rate * 1.2, SMALLEST_DRAW, LARGEST_DRAW))
        frame = draw(size)
        frame = frame[_holds(frame, where)].iloc[: n - kept]
        drawn, kept, yielded = drawn + size, kept + len(frame), True
        yield frame


def _holds(frame: pd.DataFrame, where: Where) -> Any:
    try:
        mask = frame.eval(where) if isinstance(where, str) else where(frame)
        held = np.asarray(pd.Series(mask, index=frame.index).fillna(False))
    except Exception as error:
        raise ArgumentError(f"where cannot be evaluated on the release's columns: {error}") from error
    if held.dtype != bool or held.shape != (len(frame),):
        raise ArgumentError("where must say true or false for each row, like 'age > 40'")
    return held


def _bins(name: str, layout: Layout) -> Any:
    return layout.label_bins if name == layout.label else layout.bins[layout.names.index(name)]


def _cells(name: str, value: Any, layout: Layout) -> Cells:
    """A given value as a cell, which must have a place in the schema."""
    bins = _bins(name, layout)
    (batch,) = open_table(pd.DataFrame({"given": pd.Series([value], dtype=object)})).batches(["given"])
    cell = code_cells(batch.column(0), bins)
    if cell.codes[0] < 0 or (value is not None and cell.codes[0] == bins.missing):
        raise ArgumentError(f"given: {name} can never be {value!r}")
    if cell.values is not None and value is not None and not bins.bounds[0] <= cell.values[0] <= bins.bounds[1]:
        raise ArgumentError(
            f"given: {name} lies between {_bound(bins, 0)} and {_bound(bins, 1)}, so it cannot be {value!r}"
        )
    return cell


def _bound(bins: Any, side: int) -> str:
    return f"{(bins.column.min, bins.column.max)[side]}"
