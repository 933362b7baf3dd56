"""Tables as points of the unit cube, for the methods that mix or match vectors: numbers scaled, categories one-hot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from experiments.three_a.data import DataSet
from experiments.three_a.judge import encoded, target
from sfumato.published.row_generator import LabelledRows
from sfumato.schema.layout import FloatArray, IntArray, days
from sfumato.schema.schema import Category, Column, Date


@dataclass(frozen=True)
class Part:
    """The coordinates of one column: one between two bounds, or one for each of its levels."""

    name: str
    low: float = 0.0
    high: float = 1.0
    levels: tuple[object, ...] = ()
    whole: bool = False

    @property
    def width(self) -> int:
        return len(self.levels) or 1


@dataclass(frozen=True)
class Cube:
    """How a data set's features lie in [0, 1]^d."""

    data: DataSet
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, data: DataSet, *, from_rows: bool = False) -> Cube:
        """Bounds from the public schema, or, as the paper has it, from the private rows, which nothing pays for."""
        if data.bounds is not None:
            whole = data.image is not None
            return cls(data, tuple(Part(name, *data.bounds, whole=whole) for name in data.features))
        assert data.schema is not None  # a data set has a schema or one range for all its numbers
        parts = [_part(name, data.schema.columns[name]) for name in data.schema.features]
        if from_rows:
            parts = [part if part.levels else _as_seen(part, data.train[part.name]) for part in parts]
        return cls(data, tuple(parts))

    @property
    def dim(self) -> int:
        return sum(part.width for part in self.parts)

    def points(self, frame: pd.DataFrame) -> tuple[FloatArray, IntArray]:
        """Rows as points, missing numbers in the middle, and their class numbers."""
        table = pd.DataFrame(encoded(frame, self.data))
        table.columns = pd.Index([part.name for part in self.parts])
        columns = []
        for part in self.parts:
            if part.levels:
                codes = table[part.name].cat.codes.to_numpy()
                columns.append((codes[:, None] == np.arange(part.width)).astype(np.float64))
            else:
                scaled = (table[part.name].to_numpy(dtype=np.float64) - part.low) / (part.high - part.low)
                columns.append(np.nan_to_num(np.clip(scaled, 0.0, 1.0), nan=0.5)[:, None])
        return np.hstack(columns), target(frame, self.data)

    @property
    def levels(self) -> list[int]:
        """How many levels each category has."""
        return [part.width for part in self.parts if part.levels]

    def taken_apart(self, points: FloatArray) -> tuple[FloatArray, IntArray]:
        """The coordinates of the numbers, and the level of each category: -1 where a point has none."""
        blocks = np.split(points, np.cumsum([part.width for part in self.parts])[:-1], axis=1)
        numbers = [block for part, block in zip(self.parts, blocks, strict=True) if not part.levels]
        codes = [
            np.where(block.max(axis=1) > 0, block.argmax(axis=1), -1)
            for part, block in zip(self.parts, blocks, strict=True)
            if part.levels
        ]
        empty = np.zeros((len(points), 0))
        return np.hstack([empty, *numbers]), np.stack(codes, axis=1) if codes else empty.astype(np.int64)

    def rows(self, points: FloatArray, labels: IntArray) -> LabelledRows:
        """Points with their classes as the methods of `sfumato.published` take them."""
        numbers, codes = self.taken_apart(points)
        return LabelledRows(numbers, codes, labels, len(self.data.classes), (0.0, 1.0), self.levels)

    def put_together(self, numbers: FloatArray, codes: IntArray) -> FloatArray:
        """Points from the coordinates of the numbers and the levels of the categories."""
        number, code = iter(numbers.T), iter(codes.T)
        blocks = [
            next(code)[:, None] == np.arange(part.width) if part.levels else next(number)[:, None]
            for part in self.parts
        ]
        return np.hstack(blocks).astype(np.float64)

    def frame(self, points: FloatArray, labels: IntArray) -> pd.DataFrame:
        """Points as rows: numbers clamped to their bounds, the largest coordinate's level."""
        columns: dict[str, object] = {}
        start = 0
        for part in self.parts:
            block = points[:, start : start + part.width]
            start += part.width
            if part.levels:
                columns[part.name] = np.array(part.levels, dtype=object)[block.argmax(axis=1)]
            else:
                value = part.low + np.clip(block[:, 0], 0.0, 1.0) * (part.high - part.low)
                columns[part.name] = np.rint(value) if part.whole else value
        columns[self.data.label] = np.array(self.data.classes, dtype=object)[labels]
        return pd.DataFrame(columns)


def _part(name: str, column: Column) -> Part:
    if isinstance(column, Category):
        return Part(name, levels=column.texts)
    if isinstance(column, Date):
        return Part(name, days(column.min), days(column.max), whole=True)
    return Part(name, column.min, column.max, whole=column.integral)


def _as_seen(part: Part, values: pd.Series) -> Part:
    low, high = float(values.min()), float(values.max())
    return Part(part.name, low, high if high > low else low + 1.0, whole=part.whole)
