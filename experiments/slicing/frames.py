"""Two small tables, the same on every machine, that the scores are compared on. Nothing in them is random."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

NUMBERS = ("length", "whole", "skewed", "gaps")
CATEGORIES = ("colour", "size", "code")


def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    """A real and a synthetic table: ties, missing values, and categories that only one of them has."""
    return _table(3000, 1), _table(2500, 7)


def _table(rows: int, key: int) -> pd.DataFrame:
    draw = [_uniform(rows, key * 100 + j) for j in range(6)]
    length = draw[0] + draw[1] * (0.5 + 0.05 * key)
    table = pd.DataFrame(
        {
            "length": length,
            "whole": np.floor(20 * length * draw[2]),
            "skewed": (draw[3] ** 4 - 0.3 * draw[0]) * 1000,
            "gaps": np.where(draw[4] < 0.1 * key, np.nan, draw[1] - draw[2]),
            "colour": np.array(["red", "green", "blue", "grey"], dtype=object)[_level(draw[5], 4 if key > 1 else 3)],
            "size": np.array(["s", "m", "l"], dtype=object)[_level(draw[2] * (1 - 0.04 * key), 3)],
            "code": np.array([1, 2, 3, 5, 8], dtype=object)[_level(draw[1], 4 if key > 1 else 5)],
        }
    )
    table.loc[draw[3] < 0.03 * key, "size"] = None
    return table


def _uniform(rows: int, key: int) -> npt.NDArray[np.float64]:
    """Numbers in [0, 1) by a small congruential generator in whole numbers."""
    state, found = 12345 + 7919 * key, np.empty(rows)
    for i in range(rows):
        state = (1103515245 * state + 12345) % 2**31
        found[i] = (state >> 8) / 2**23
    return found


def _level(uniform: npt.NDArray[np.float64], levels: int) -> npt.NDArray[np.int64]:
    return np.asarray(np.floor(uniform * levels), dtype=np.int64)
