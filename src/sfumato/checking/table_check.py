"""`sf.check`: one pass over a table, each batch counted by itself and a sample of rows kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.checking.cell_counts import Tally, tally_cells
from sfumato.checking.findings import Check, ColumnCheck, RuleCheck, UnitCheck
from sfumato.checking.hints import Hints, is_on_grid, number_hints, text_hints
from sfumato.checking.order_hints import order_remarks
from sfumato.checking.remarks import column_remarks, people_remark, row_remarks, unit_remarks
from sfumato.checking.samples import RowSample, UnitSample, filterable
from sfumato.checking.unmet_values import unmet_remarks
from sfumato.drafting.ids import best_unit, may_name_people, names_people, rows_of_unit
from sfumato.drafting.looks import Look
from sfumato.engines import Local
from sfumato.errors import ArgumentError, TableError
from sfumato.in_flight import in_flight, threads
from sfumato.near_names import meant
from sfumato.schema.columns import Date, Datetime
from sfumato.schema.layout import Bins, CategoryBins, Layout, OrderedBins, bins_of
from sfumato.schema.rules import Modelling
from sfumato.schema.schema import Number, Schema
from sfumato.tables import open_table, texts
from sfumato.tables.coding import code_cells, code_label
from sfumato.tables.table import Progress, Table
from sfumato.tables.typed import typed_columns

SAMPLE_ROWS = 1 << 17  # for hints
SAMPLED_CELLS = 1 << 23  # fewer rows of a wide table
SAMPLE_UNITS = 1 << 17


def check(
    table: Any,
    schema: Schema | dict[str, Any] | str | Path,
    *,
    engine: Local | None = None,
    progress: Progress | None = None,
) -> Check:
    """Look what of a table a schema cannot read, before a fit spends anything. What it finds is private.

    Cells are read by the functions of a fit: what fits no bin here fits none there. Counts are exact, in one pass and
    in memory that does not grow; hints at special values, steps, wide bounds and ids are of a sample of rows.

    Args:
        table: Whatever `open_table` takes. Its rows are private, and so is what is found.
        schema: The schema to check, a draft too: a `Schema`, a dictionary, or the path of a file.
        engine: Where batches are counted, `sf.Local()` by default.
        progress: Hears of the fraction of the table that has been read.

    Returns:
        What was found, a verdict, and a proposed schema.

    Raises:
        SchemaError: The schema is no schema.
        TableError: The table cannot be read, or lacks a column that the schema names.
        ArgumentError: `engine` is none.

    Example:
        >>> import numpy as np, pandas as pd, sfumato as sf
        >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 75, "step": 1}}}
        >>> found = sf.check(pd.DataFrame({"age": np.arange(1000) % 80}), schema)
        >>> print(found.remarks[0])
        age: 48 cells (4.8 %) are above max 75, as far as 79, and clamped to it
        >>> found
        Check(PRIVATE, 1,000 rows, 1 columns; ready, with 1 remark; 4.8 % of `age` is clamped)
    """
    if not isinstance(engine, Local | None):
        raise ArgumentError(f"engine must be sf.Local(workers=...) or None, not {engine!r}")
    known = Schema.load(schema) if isinstance(schema, (str, Path)) else Schema.of(schema)
    return _Pass(open_table(table), known, progress).run((engine or Local()).threads)


@dataclass(frozen=True)
class _Counted:
    """What one batch holds."""

    tallies: list[Tally]
    empty_rows: int
    broken: dict[str, int]
    ids: pa.LargeStringArray | None
    nameless: int


class _Pass:
    """One pass over a table."""

    def __init__(self, table: Table, schema: Schema, progress: Progress | None) -> None:
        self._table, self._progress = table, progress
        self._schema = schema
        self._layout = Layout.of(schema)
        self._modelling = schema.modelling
        self._bins = _all_bins(schema, self._layout, table)
        self._read = [*self._bins, *([] if schema.unit is None else [schema.unit.column])]
        for name in self._read:
            _insist_column(table, name)  # what is not there is found before anything is read
        others = [] if schema.unit is not None else [name for name in table.names if name not in self._read]
        self._people = {name: Look() for name in others if may_name_people(name)}
        self._sample = RowSample(min(SAMPLE_ROWS, max(1, SAMPLED_CELLS // len(self._bins))))
        self._units = UnitSample(SAMPLE_UNITS)

    def run(self, workers: int) -> Check:
        tallies = [Tally() for _ in self._bins]
        broken: Counter[str] = Counter()
        empty_rows = named = nameless = 0
        with threads(workers) as pool:
            for part in in_flight(pool, self._jobs(), workers):
                tallies = [total + one for total, one in zip(tallies, part.tallies, strict=True)]
                empty_rows += part.empty_rows
                nameless += part.nameless
                broken.update(part.broken)
                if part.ids is not None:
                    named += len(part.ids)
                    self._units.add(part.ids)
        columns = {name: self._column(name, tally) for name, tally in zip(self._bins, tallies, strict=True)}
        rules = tuple(RuleCheck(rule, count) for rule, count in broken.items())
        return self._found(columns, empty_rows, rules, self._unit(named, nameless))

    def _found(
        self,
        columns: dict[str, ColumnCheck],
        empty_rows: int,
        rules: tuple[RuleCheck, ...],
        unit: UnitCheck | None,
    ) -> Check:
        schema, grouped = self._schema, self._schema.grouped
        rows = next(iter(columns.values())).tally.cells
        remarks = [
            remark
            for name, found in columns.items()
            for remark in column_remarks(
                found, schema.columns[name], is_label=name == schema.label, is_grouped=name in grouped
            )
        ]
        people = best_unit([name for name, look in self._people.items() if names_people(name, look)])
        remarks += [] if people is None else [people_remark(people, rows_of_unit(self._people[people]))]
        remarks += ([] if unit is None else unit_remarks(unit)) + row_remarks(rows, empty_rows, rules)
        remarks += order_remarks(self._dates(), self._modelling.rules)
        remarks += unmet_remarks(self._listed(), self._modelling.rules)
        return Check(
            schema=schema,
            rows=rows,
            columns=columns,
            empty_rows=empty_rows,
            sampled=len(self._sample),
            unit=unit,
            rules=rules,
            unmodelled=tuple(name for name in self._table.names if name not in self._read),
            people=people,
            remarks=tuple(remarks),
        )

    def _jobs(self) -> Iterator[Callable[[], _Counted]]:
        """One piece of work a batch; rows are drawn here, in the order of the table."""
        for whole in map(filterable, self._table.batches([*self._read, *self._people], self._progress)):
            for name, look in self._people.items():
                look.add(whole.column(name))
            batch = whole.select(self._read)
            self._sample.add(batch)
            yield partial(self._count, batch)

    def _count(self, batch: pa.RecordBatch) -> _Counted:
        tallies, empty = [], np.full(batch.num_rows, len(self._bins) > 1)
        for name, bins in self._bins.items():
            tally, is_missing = tally_cells(batch.column(name), bins)
            tallies.append(tally)
            empty &= is_missing
        broken = broken_rows(batch, self._modelling)
        if self._schema.unit is None:
            return _Counted(tallies, int(empty.sum()), broken, None, 0)
        counted = code_label(batch, self._layout) >= 0
        ids = texts(batch.column(self._schema.unit.column)).filter(pa.array(counted))
        named = ids.filter(pc.not_equal(ids, ""))
        return _Counted(tallies, int(empty.sum()), broken, named, len(ids) - len(named))

    def _column(self, name: str, tally: Tally) -> ColumnCheck:
        """A column's counts, with what its sampled cells suggest."""
        column, bins = self._schema.columns[name], self._bins[name]
        cells = self._sample.column(name)
        if not isinstance(bins, OrderedBins):
            written = pa.concat_arrays([pa.array([], pa.large_string()), *map(texts, cells)])
            return ColumnCheck(name, column.type, tally, text_hints(written))
        values = np.concatenate([np.zeros(0), *(_values(part, bins) for part in cells)])
        hints = number_hints(values)
        if isinstance(column, Number):
            return ColumnCheck(name, column.type, tally, hints, _off_step(values, column), bins.bounds)
        return ColumnCheck(name, column.type, tally, Hints(middle=hints.middle), bounds=bins.bounds)

    def _dates(self) -> dict[str, Any]:
        """The days of each column of dates, of the sampled rows."""
        return {
            name: np.concatenate([np.zeros(0), *(_values(part, bins) for part in self._sample.column(name))])
            for name, bins in self._bins.items()
            if isinstance(self._schema.columns[name], Date | Datetime)
        }

    def _listed(self) -> dict[str, tuple[CategoryBins, Any]]:
        """The codes of each column of categories, of the sampled rows."""
        return {
            name: (bins, np.concatenate([code_cells(part, bins).codes for part in self._sample.column(name)]))
            for name, bins in self._bins.items()
            if isinstance(bins, CategoryBins) and len(self._sample)
        }

    def _unit(self, named: int, nameless: int) -> UnitCheck | None:
        if self._schema.unit is None:
            return None
        counts, limit = self._units.rows(), self._schema.unit.rows
        scale = 1.0 / self._units.rate
        some = counts if len(counts) else np.zeros(1)
        middle, nine_tenths, largest = np.quantile(some, [0.5, 0.9, 1.0], method="higher")
        return UnitCheck(
            column=self._schema.unit.column,
            limit=limit,
            units=round(len(counts) * scale),
            rows=named,
            nameless=nameless,
            dropped=round(float(np.maximum(counts - limit, 0).sum()) * scale),
            middle=int(middle),
            nine_tenths=int(nine_tenths),
            largest=int(largest),
            exact=self._units.rate == 1.0,
        )


def _insist_column(table: Table, name: str) -> None:
    """Refuse a column that is not there, and say which may be meant: a check may repeat what a file's header says."""
    if name not in table.names and (alike := meant(name, table.names)):
        raise TableError(f"{table.label} has no column {name!r}; did you mean {alike!r}?")
    table.place(name)


def broken_rows(batch: pa.RecordBatch, modelling: Modelling) -> dict[str, int]:
    """How many rows of a batch break each rule between columns, by the rule's text."""
    if modelling.is_plain:
        return {}
    frame = typed_columns(batch, {name: modelling.columns[name] for name in modelling.checked})
    return {rule: int(rows.sum()) for rule, rows in modelling.broken(frame).items()}


def _all_bins(schema: Schema, layout: Layout, table: Table) -> dict[str, Bins]:
    """The bins of every column, those of the label among them, in the order of the schema; of columns that a fit does
    not read, because they are computed from others, only those that the table has.
    """
    features = dict(zip(layout.names, layout.bins, strict=True))
    read = {*layout.reads, schema.label}
    names = [name for name in schema.columns if name in read or name in table.names]
    return {name: features.get(name) or bins_of(schema.columns[name]) for name in names}


def _values(cells: pa.Array, bins: Bins) -> Any:
    return code_cells(cells, bins).values


def _off_step(values: Any, column: Number) -> float | None:
    """The share of the values inside the bounds that are not on the schema's grid."""
    if column.step is None:
        return None
    inside = values[(values >= column.min) & (values <= column.max)]
    return 0.0 if not len(inside) else float(1.0 - is_on_grid(inside, column.min, column.step).mean())
