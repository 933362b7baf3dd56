"""Tables for methods that know numbers and categories only: what the schema says of log scales and missing values
is put into columns of their own, so that such a method is not judged by what it was never told."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from experiments.three_a.data import DataSet
from sfumato.schema.schema import Number, Schema

MISSING = "{} is missing"
NO, YES = "no", "yes"


@dataclass(frozen=True)
class Plain:
    """A data set whose numbers on a log scale are logarithms, and whose missing numbers a category tells."""

    data: DataSet

    @property
    def set(self) -> DataSet:
        """The data set as the method sees it. Test rows stay as they are: no method is given them."""
        return replace(self.data, train=self.rows(self.data.train), schema=self.schema)

    @property
    def schema(self) -> Schema:
        assert self.data.schema is not None  # every table here has one
        columns = dict(self.data.schema.dump()["columns"])
        for name, number in self._numbers().items():
            if number.scale == "log":
                top = np.log1p((number.max - number.min) / _step(number))
                columns[name] = {"type": "number", "min": 0.0, "max": float(top)}
            if number.missing:
                columns[MISSING.format(name)] = {"type": "category", "values": [NO, YES]}
        return Schema.of({"label": self.data.schema.label, "columns": columns})

    def rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows as the method sees them."""
        seen = frame.copy()
        for name, number in self._numbers().items():
            if number.scale == "log":  # as the schema has it: log1p((x - min) / step)
                seen[name] = np.log1p((frame[name] - number.min) / _step(number))
            if number.missing:
                seen[MISSING.format(name)] = np.where(frame[name].isna(), YES, NO)
        return seen

    def back(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows as they were, from rows as the method makes them."""
        made = frame.copy()
        for name, number in self._numbers().items():
            if number.scale == "log":
                made[name] = number.min + np.expm1(frame[name]) * _step(number)
            if number.integral:
                made[name] = made[name].round()
            if number.missing:
                made[name] = made[name].astype(float).mask(made.pop(MISSING.format(name)) == YES)
        return made

    def _numbers(self) -> dict[str, Number]:
        assert self.data.schema is not None
        return {name: column for name, column in self.data.schema.columns.items() if isinstance(column, Number)}


def _step(number: Number) -> float:
    return number.step or 1.0
