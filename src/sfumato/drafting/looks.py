"""What one pass over a column's cells finds, in bounded memory."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.drafting.readings import SECONDS_OF_DAY, Reading, TextArray, choose_reading, stored_kind
from sfumato.drafting.tally import Tally
from sfumato.schema.layout import FloatArray
from sfumato.tables import texts
from sfumato.tables.cells import TEXT

NUMBER_STEPS = np.array([1000.0, 100.0, 10.0, 5.0, 1.0, 0.5, 0.1, 0.01, 0.001])
CLOCK_STEPS = np.array([86_400.0, 3600.0, 900.0, 60.0, 1.0])  # in seconds
EXTREMES = 16  # different values kept at each end, so that what lies behind a sentinel is known
MOST_UNREAD = 64  # different texts kept that a reading does not read
ON_STEP = 1e-9  # of a step: floats are no exact decimals

# Texts that mean missing wherever they stand, in the spelling of `canonical`.
ABSENT = frozenset(
    (
        "?",
        "??",
        ".",
        "-",
        "--",
        "---",
        "NA",
        "na",
        "N/A",
        "n/a",
        "#N/A",
        "<NA>",
        "NaN",
        "nan",
        "null",
        "NULL",
        "missing",
    )
)


class Look:
    """What a column holds: how many cells are empty, which texts, and which numbers or dates they are."""

    def __init__(self, missing: frozenset[str] = frozenset()) -> None:
        self.absent = ABSENT | missing
        self.rows = 0
        self.empty = 0
        self.tally = Tally()
        self.reading: Reading | None = None
        self.read_cells = 0
        self.unread: Counter[str] = Counter()
        self.lows: FloatArray = np.array([])
        self.highs: FloatArray = np.array([])
        self.off: FloatArray = np.zeros(0)  # cells that are not on each of the steps
        self._undecided = True

    def add(self, cells: pa.Array) -> None:
        """Look at some more cells."""
        found = texts(cells).value_counts()
        values, counts = found.field("values"), found.field("counts").to_numpy()
        filled = pc.not_equal(values, "")
        self.rows += len(cells)
        self.empty += int(counts[~filled.to_numpy(zero_copy_only=False)].sum())
        values, counts = values.filter(filled), counts[filled.to_numpy(zero_copy_only=False)]
        if len(values):
            self.tally.add(values, counts)
            self._read(values, counts, stored_kind(cells.type))

    @property
    def filled(self) -> int:
        """Cells that are not empty."""
        return self.rows - self.empty

    @property
    def steps(self) -> FloatArray:
        """The steps that are tried: of numbers, or of times in seconds."""
        return NUMBER_STEPS if self.reading is None or self.reading.kind == "number" else CLOCK_STEPS

    def weighted(self) -> tuple[FloatArray, FloatArray]:
        """The values of the reading in their order, and about how many cells have each."""
        assert self.reading is not None
        found = {text: weight for text, weight in self.tally.weights().items() if text not in self.absent}
        values = self.reading.read(pa.array(found, TEXT))
        weights = np.fromiter(found.values(), dtype=float, count=len(found))
        kept = ~np.isnan(values)
        distinct, places = np.unique(values[kept], return_inverse=True)
        return distinct, np.bincount(places, weights[kept], minlength=len(distinct)).astype(float)

    def texts_of(self, numbers: list[float]) -> list[str]:
        """The texts that read as some numbers, which are common ones."""
        assert self.reading is not None
        found = sorted(self.tally.weights())
        return [found[place] for place in np.flatnonzero(np.isin(self.reading.read(pa.array(found, TEXT)), numbers))]

    def _read(self, values: TextArray, counts: np.ndarray[Any, Any], stored: str | None) -> None:
        absent = pc.is_in(values, pa.array(sorted(self.absent), values.type)).to_numpy(zero_copy_only=False)
        self._note_unread(values.filter(pa.array(absent)), counts[absent])
        values, counts = values.filter(pa.array(~absent)), counts[~absent]
        if self._undecided and len(values):
            self._undecided = False
            self.reading = choose_reading(values, counts, stored)
            self.off = np.zeros(len(self.steps))
        if self.reading is None:
            return
        numbers = self.reading.read(values)
        is_read = ~np.isnan(numbers)
        self._note_unread(values.filter(pa.array(~is_read)), counts[~is_read])
        self._note_numbers(numbers[is_read], counts[is_read])

    def _note_unread(self, values: TextArray, counts: np.ndarray[Any, Any]) -> None:
        self.unread.update(dict(zip(values.to_pylist(), counts.tolist(), strict=True)))
        if len(self.unread) > 2 * MOST_UNREAD:
            self.unread = Counter(dict(self.unread.most_common(MOST_UNREAD)))

    def _note_numbers(self, values: FloatArray, counts: np.ndarray[Any, Any]) -> None:
        if not len(values):
            return
        self.read_cells += int(counts.sum())
        ends = np.unique(values)
        self.lows = np.unique(np.concatenate([self.lows, ends[:EXTREMES]]))[:EXTREMES]
        self.highs = np.unique(np.concatenate([self.highs, ends[-EXTREMES:]]))[-EXTREMES:]
        scaled = self.scaled(values)
        self.off += [counts[~on_step(scaled, step)].sum() for step in self.steps]

    def scaled(self, values: FloatArray) -> FloatArray:
        """Values in the unit of the steps: dates in seconds."""
        assert self.reading is not None
        return values * SECONDS_OF_DAY if self.reading.kind == "date" else values


def on_step(values: FloatArray, step: float) -> Any:
    """Which values are a whole number of steps.

    Example:
        >>> on_step(np.array([0.3, 0.25]), 0.1).tolist()
        [True, False]
    """
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large for a step is not on it
        steps = values / step
        whole = np.rint(steps)
        near = np.abs(steps - whole) <= np.maximum(ON_STEP, np.abs(steps) * 2.0**-50)
        return near & ((whole != 0) | (values == 0))  # what is tiny is not 0
