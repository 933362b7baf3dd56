"""Sampling with conditions: some columns given, or only rows for which something holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from sfumato.errors import ArgumentError
from sfumato.models.base import REJECTION, GivenCell, Model
from sfumato.schema.conditions import parse
from sfumato.schema.layout import Bins, CategoryBins, Layout, OrderedBins, bins_of
from sfumato.schema.rules import Modelling, Moved
from sfumato.schema.schema import Schema
from sfumato.tables import open_table
from sfumato.tables.coding import code_cells
from sfumato.text import AS_STORED, one_line

SURE_DRAWS = 1 << 20  # `where` gives up after this many, where fewer than half as many were kept as that rate needs

Where: TypeAlias = str | Callable[[pd.DataFrame], Any]
Holds: TypeAlias = Callable[[pd.DataFrame], Any]  # a truth value for each row of a frame


@dataclass(frozen=True)
class Held:
    """Columns held at given values: what a model makes of them, and how they come out."""

    condition: Any
    layout: Layout
    cells: Mapping[str, GivenCell]

    @classmethod
    def of(cls, model: Model, given: Mapping[str, Any], modelling: Modelling) -> Held:
        """Check the given values against the schema and the model.

        A column that is modelled by its difference from others can be given together with them, or as missing.
        """
        moved = {step.name: step for step in modelling.steps if isinstance(step, Moved)}
        for name in given:
            if name not in modelling.columns:
                raise ArgumentError(f"given: {name!r} is not a column of the release")
            _check_computed(name, given, modelling)
        model.check_given(name for name in given if name not in moved)
        layout = model.layout
        own = {
            name: _cell(name, value, bins_of(modelling.columns[name]) if name in moved else _bins(name, layout))
            for name, value in given.items()
        }
        cells = {name: cell for name, cell in own.items() if name not in moved}
        for step in (moved[name] for name in own if name in moved):
            cells[step.difference] = _difference(step, own, _bins(step.difference, layout))
        return cls(model.condition(cells), layout, cells)

    def fixed(self, n: int) -> dict[str, pd.Series[Any]]:
        """The given numbers and dates as columns: they come out exactly as given."""
        known = {name: cell.value for name, cell in self.cells.items() if cell.value is not None}
        return {
            name: _bins(name, self.layout).of_values(np.full(n, value))
            for name, value in known.items()
            if np.isfinite(value)
        }


def keep_where(draw: Callable[[int], pd.DataFrame], n: int, holds: Holds) -> Iterator[pd.DataFrame]:
    """Rows for which a condition holds, by rejection."""
    kept, drawn, yielded = 0, 0, False
    most = max(n, 1) * REJECTION.draws_a_row
    while kept < n or not yielded:
        if drawn >= most or (drawn >= SURE_DRAWS and 2 * kept * REJECTION.draws_a_row < drawn):
            raise ArgumentError(
                f"where kept {kept} of {drawn} rows drawn, and {n} were wanted; "
                "ask for less, or fix what can be fixed by given"
            )
        rate = max(kept, 1) / max(drawn, 1)
        size = min(REJECTION.size(n - kept, rate), most - drawn)
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


def _check_computed(name: str, given: Mapping[str, Any], modelling: Modelling) -> None:
    """Refuse a computed column, unless what it is computed from leaves only its difference open."""
    step = next((step for step in modelling.steps if step.name == name), None)
    if step is None:
        return
    others = [source for source in step.sources if source in modelling.columns]
    if not isinstance(step, Moved):
        told = " and ".join(map(repr, others))
        raise ArgumentError(f"given: {name!r} is computed from {told}: give that instead, or ask for it by where")
    wanting = [other for other in others if other not in given]
    if wanting and not _is_absent(given[name]):
        raise ArgumentError(
            f"given: {name!r} is modelled by its difference from {wanting[0]!r}: give that too, or ask for it by where"
        )


def _difference(step: Moved, own: Mapping[str, GivenCell], bins: OrderedBins) -> GivenCell:
    """The difference between a given column and given others."""
    value = own[step.name].value
    bases = [np.array(own[base.name].value) for base in step.bases if base.name in own]
    if value is None or math.isnan(value):
        return GivenCell(bins.missing, math.nan)
    apart = float(np.fmin.reduce(bases) - value if step.below else value - np.fmax.reduce(bases))
    if math.isnan(apart):
        raise ArgumentError(f"given: {step.name!r} is missing wherever {step.bases[0].name!r} is")
    _check_place(step.difference, apart, apart, bins)
    return GivenCell(int(bins.code(np.array([apart]))[0]), apart)


def _is_absent(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def _cell(name: str, value: Any, bins: Bins) -> GivenCell:
    """A given value as a cell, which must have a place in the schema."""
    absent = _is_absent(value)
    plain = value + AS_STORED if isinstance(value, str) else value  # a format is for the cells of the table
    cells = pd.DataFrame({"given": pd.Series([None if absent else plain], dtype=object)})
    (batch,) = open_table(cells).batches(["given"])
    cell = code_cells(batch.column(0), bins)
    if cell.codes[0] < 0 or (cell.codes[0] == bins.missing and not absent):
        raise ArgumentError(f"given: {name} can never be {value!r}")
    code = int(cell.codes[0])
    if cell.values is None:
        return GivenCell(code, None)
    number = float(cell.values[0])
    if not absent:
        assert not isinstance(bins, CategoryBins)  # which have no values
        _check_place(name, value, number, bins)
    return GivenCell(code, number)


def _check_place(name: str, value: Any, number: float, bins: OrderedBins) -> None:
    """Refuse a number that is outside a column's bounds, or beside its grid."""
    low, high = bins.bounds
    if not low <= number <= high:
        bounds = f"{_said(low, bins)} and {_said(high, bins)}"
        raise ArgumentError(f"given: {name} lies between {bounds}, so it cannot be {value!r}")
    steps = 0.0 if bins.step is None else (number - low) / bins.step
    if not math.isclose(steps, round(steps), rel_tol=1e-12, abs_tol=1e-9):
        seconds = "" if bins.column.type in ("number", "date") else " seconds"
        grid = f"from {_said(low, bins)} in steps of {bins.step:.15g}{seconds}"
        raise ArgumentError(f"given: {name} goes {grid}, so it cannot be {value!r}")


def _said(bound: float, bins: OrderedBins) -> str:
    if bins.column.type == "number":
        return f"{bound:.15g}"
    cell = bins.column.typed(np.array([bound]), None).iloc[0]
    return str(cell.date() if bins.column.type == "date" else cell)
