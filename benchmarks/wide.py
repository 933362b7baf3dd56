"""Tables of awkward shape: 200 and 2,000 numbers, a category of 10,000 values. Called by benchmarks.speed."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

import sfumato
from benchmarks.scale import peak_megabytes

EPSILON, DELTA = 1.0, 1e-6
WIDE_ROWS = 20_000
TALL_ROWS, TALL_VALUES = 200_000, 10_000


def wide(columns: int) -> dict[str, Any]:
    """Correlated numbers, so many of them a row."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((20, columns))
    values = rng.standard_normal((WIDE_ROWS, 20)) @ factors / 4 + rng.standard_normal((WIDE_ROWS, columns))
    listed = {f"x{i}": {"type": "number", "min": -8, "max": 8} for i in range(columns)}
    return _measure(pd.DataFrame(values, columns=list(listed)), {"columns": listed})


def tall() -> dict[str, Any]:
    """Ten thousand categories of very different frequency, with a label."""
    rng = np.random.default_rng(0)
    town = np.minimum(rng.zipf(1.3, TALL_ROWS), TALL_VALUES) - 1
    label = rng.random(TALL_ROWS) < 0.2 + 0.3 * (town % 2)
    table = pd.DataFrame({"town": town, "age": rng.integers(0, 100, TALL_ROWS), "ill": np.where(label, "yes", "no")})
    columns = {
        "town": {"type": "category", "values": list(range(TALL_VALUES))},
        "age": {"type": "number", "min": 0, "max": 99, "step": 1},
        "ill": {"type": "category", "values": ["no", "yes"]},
    }
    return _measure(table, {"label": "ill", "columns": columns})


def _measure(table: pd.DataFrame, schema: dict[str, Any]) -> dict[str, Any]:
    start = time.perf_counter()
    release = sfumato.fit(table, schema, epsilon=EPSILON, delta=DELTA)
    fitted = time.perf_counter()
    release.sample(1000)
    tilt = getattr(release.model, "tilt", None)
    return {
        "rows": len(table),
        "columns": table.shape[1],
        "tables": 0 if tilt is None else sum(len(each) > 1 for each in tilt.tables),
        "fit_seconds": round(fitted - start, 1),
        "sample_1000_seconds": round(time.perf_counter() - fitted, 1),
        "peak_megabytes": round(peak_megabytes()),
    }
