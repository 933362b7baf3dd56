"""A small table with a column of every kind, and the label that a number tells."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sfumato.schema.schema import Schema

SCHEMA = Schema.of(
    {
        "label": "y",
        "columns": {
            "n": {"type": "number", "min": 0, "max": 10, "missing": True},
            "d": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "missing": True},
            "c": {"type": "category", "values": [0, 1]},
            "b": {"type": "category", "values": ["true", "false"]},
            "y": {"type": "category", "values": ["p", "q"]},
        },
    }
)


def frame(rows: int, seed: int, gap: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.5
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, rows), unit="D")
    made = pd.DataFrame(
        {
            "n": np.clip(5 + gap * np.where(y, 1, -1) + rng.normal(size=rows), 0, 10),
            "d": day,
            "c": rng.integers(0, 2, rows).astype(float),
            "b": rng.random(rows) < 0.5,
            "y": np.where(y, "q", "p"),
        }
    )
    made.loc[::10, ["n", "d"]] = None
    return made
