"""Sampling with conditions: some columns given, or only rows for which something holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from sfumato.encoding.boxes import Boxes
from sfumato.encoding.projected import Projected
from sfumato.errors import ArgumentError
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.schema.conditions import parse
from sfumato.schema.layout import NOWHERE, FloatArray, IntArray, Layout
from sfumato.schema.schema import Schema
from sfumato.tables import open_table
from sfumato.tables.coding import Cells, code_cells
from sfumato.text import one_line

if TYPE_CHECKING:
    from sfumato.release.mixture import MixtureRelease

FINE = 12  # log2 of the points for the integral over the one given box
DRAWS_PER_ROW = 1000  # `where` gives up after drawing this many rows for each one wanted
SURE_DRAWS = 1 << 20  # or after this many, where fewer than half as many were kept as that rate needs
SMALLEST_DRAW = 1000
LARGEST_DRAW = 1 << 16

Where: TypeAlias = str | Callable[[pd.DataFrame], Any]
Holds: TypeAlias = Callable[[pd.DataFrame], Any]  # a truth value for each row of a frame


class Given(Protocol):
    """Columns held at given values, as far as a kind of release can hold them."""

    def fixed(self, n: int) -> dict[str, pd.Series[Any]]: ...


@dataclass(frozen=True)
class Drawn:
    """Latent rows, the class whose latent space each is in, and its label, which is the same unless adapted."""

    latent: FloatArray
    own: IntArray
    labels: IntArray


@dataclass(frozen=True)
class Condition:
    """Columns held at given values: where they put a row in each class's latent space, and how likely each component
    is; and the class that is still to be kept, where labels are adapted, so that components do not settle it."""

    layout: Layout
    values: Mapping[str, float]  # the ordered columns that come out exactly as given
    boxes: tuple[Boxes, ...]
    weights: FloatArray
    label: int | None = None

    @classmethod
    def of(cls, release: MixtureRelease, given: Mapping[str, Any]) -> Condition:
        """Check the given values against the schema and weigh the components by Bayes' rule."""
        layout = release.layout
        for name in given:
            if name not in release.schema.columns:
                raise ArgumentError(f"given: {name!r} is not a column of the release")
            if layout.groups and name != layout.label:
                raise ArgumentError(f"given: {name!r} is in a group; of columns in groups none can be fixed")
        cells = {name: _cells(name, value, layout) for name, value in given.items()}
        label = int(cells[layout.label].codes[0]) if layout.label in cells else None
        boxes, log_weights = _weigh(release, cells)
        if label is not None and release.labeller is None:
            log_weights = np.where(release.mixture.component_class == label, log_weights, -np.inf)
            label = None
        exact = {name: float(cell.values[0]) for name, cell in cells.items() if cell.values is not None}
        return cls(layout, exact, boxes, np.exp(log_weights - logsumexp(log_weights)), label)

    def without_label(self) -> Condition:
        """The same for the other columns alone."""
        return replace(self, label=None)

    def sample(self, mixture: GaussianMixture, n: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Components and latent rows under the condition."""
        components = rng.choice(len(self.weights), size=n, p=self.weights)
        if not self.boxes:
            return components, mixture.sample(components, rng)
        latent = np.empty((n, mixture.dim))
        for c, k in enumerate(mixture.component_class):
            mine = components == c
            if mine.any():
                latent[mine] = mixture.sample_inside(c, int(mine.sum()), self.boxes[k], rng)
        return components, latent

    def fixed(self, n: int) -> dict[str, pd.Series[Any]]:
        """The given numbers and dates as columns."""
        return _fixed(self.values, self.layout, n)


@dataclass(frozen=True)
class OfClass:
    """Rows of one class, which is all that a generator can hold."""

    layout: Layout
    values: Mapping[str, float]
    k: int

    @classmethod
    def of(cls, given: Mapping[str, Any], layout: Layout) -> OfClass:
        """Check the given label against the schema."""
        ((name, value),) = given.items()
        cell = _cells(name, value, layout)
        exact = {} if cell.values is None else {name: float(cell.values[0])}
        return cls(layout, exact, int(cell.codes[0]))

    def fixed(self, n: int) -> dict[str, pd.Series[Any]]:
        """The given label as a column, where it is a number or a date."""
        return _fixed(self.values, self.layout, n)


def _fixed(values: Mapping[str, float], layout: Layout, n: int) -> dict[str, pd.Series[Any]]:
    known = {name: value for name, value in values.items() if np.isfinite(value)}
    return {name: _bins(name, layout).of_values(np.full(n, value)) for name, value in known.items()}


def _weigh(release: MixtureRelease, cells: Mapping[str, Cells]) -> tuple[tuple[Boxes, ...], FloatArray]:
    """Where given cells put a row in each class's latent space, and the log weight of every component there."""
    layout, mixture, encoder = release.layout, release.mixture, release.encoder
    if isinstance(encoder, Projected):  # whose columns cannot be given
        return (), np.log(mixture.weights)
    free = Cells(np.array([NOWHERE]), np.array([np.nan]))
    features = [cells.get(name, free) for name in layout.names]
    codes, values = [cell.codes for cell in features], [cell.values for cell in features]
    boxes = tuple(encoder.boxes(codes, values, layout.bins, k) for k in range(layout.classes))
    inside = [
        (mixture.log_boxes(c, b.low, b.high, b.is_point, FINE) + b.log_change)[0]
        for c, b in enumerate(boxes[k] for k in mixture.component_class)
    ]
    return boxes, np.log(mixture.weights) + np.array(inside)


def keep_class(draw: Callable[[int], Drawn], n: int, label: int) -> Drawn:
    """Rows of one class, by rejection."""
    kept, drawn, parts = 0, 0, list[Drawn]()
    while kept < n or not parts:
        if drawn >= max(n, 1) * DRAWS_PER_ROW:
            raise ArgumentError(f"given: only {kept} of {drawn} rows drawn had the label, and {n} were wanted")
        rate = max(kept, 1) / max(drawn, 1)
        size = int(np.clip((n - kept) / rate * 1.2, SMALLEST_DRAW, LARGEST_DRAW))
        part = draw(size)
        mine = np.flatnonzero(part.labels == label)[: n - kept]
        parts.append(Drawn(part.latent[mine], part.own[mine], part.labels[mine]))
        drawn, kept = drawn + size, kept + len(mine)
    return Drawn(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("latent", "own", "labels")))


def keep_where(draw: Callable[[int], pd.DataFrame], n: int, holds: Holds) -> Iterator[pd.DataFrame]:
    """Rows for which a condition holds, by rejection."""
    kept, drawn, yielded = 0, 0, False
    most = max(n, 1) * DRAWS_PER_ROW
    while kept < n or not yielded:
        if drawn >= most or (drawn >= SURE_DRAWS and 2 * kept * DRAWS_PER_ROW < drawn):
            raise ArgumentError(
                f"where kept {kept} of {drawn} rows drawn, and {n} were wanted; "
                "ask for less, or fix what can be fixed by given"
            )
        rate = max(kept, 1) / max(drawn, 1)
        size = min(int(np.clip((n - kept) / rate * 1.2, SMALLEST_DRAW, LARGEST_DRAW)), most - drawn)
        frame = draw(size)
        frame = frame[holds(frame)].iloc[: n - kept]
        drawn, kept, yielded = drawn + size, kept + len(frame), True
        yield frame


def row_filter(where: Where, schema: Schema) -> Holds:
    """What says for which rows of a frame `where` holds: text is parsed and checked, a function is called."""
    if isinstance(where, str):
        return parse(where, schema.columns).holds
    if not callable(where):
        raise ArgumentError("where must be a condition like 'age > 40', or a function of the frame")
    return lambda frame: _asked(frame, where)


def _asked(frame: pd.DataFrame, function: Callable[[pd.DataFrame], Any]) -> Any:
    try:
        held = np.asarray(pd.Series(function(frame), index=frame.index).fillna(False))
    except Exception as error:
        what = one_line(str(error)) or type(error).__name__
        raise ArgumentError(f"where cannot be asked about the release's columns: {what}") from error
    if held.dtype != bool or held.shape != (len(frame),):
        raise ArgumentError("where must say true or false for each row")
    return held


def _bins(name: str, layout: Layout) -> Any:
    return layout.label_bins if name == layout.label else layout.bins[layout.names.index(name)]


def _cells(name: str, value: Any, layout: Layout) -> Cells:
    """A given value as a cell, which must have a place in the schema."""
    bins = _bins(name, layout)
    absent = value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))
    cells = pd.DataFrame({"given": pd.Series([None if absent else value], dtype=object)})
    (batch,) = open_table(cells).batches(["given"])
    cell = code_cells(batch.column(0), bins)
    if cell.codes[0] < 0 or (cell.codes[0] == bins.missing and not absent):
        raise ArgumentError(f"given: {name} can never be {value!r}")
    if cell.values is None or absent:
        return cell
    (number,), (low, high) = cell.values, bins.bounds
    if not low <= number <= high:
        bounds = f"{_said(bins.column.min)} and {_said(bins.column.max)}"
        raise ArgumentError(f"given: {name} lies between {bounds}, so it cannot be {value!r}")
    steps = 0.0 if bins.step is None else (number - low) / bins.step
    if not math.isclose(steps, round(steps), rel_tol=1e-12, abs_tol=1e-9):
        grid = f"from {_said(bins.column.min)} in steps of {_said(bins.step)}"
        raise ArgumentError(f"given: {name} goes {grid}, so it cannot be {value!r}")
    return cell


def _said(bound: Any) -> str:
    return f"{bound:.15g}" if isinstance(bound, float) else str(bound)
