"""Small tables: a column of every kind and a label that a number tells; columns that are related. And no release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sfumato.errors import ArgumentError
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


@dataclass(frozen=True)
class Pretended:
    """What an evaluation needs of a release, with rows as a test wants them."""

    make: Callable[[int, int], pd.DataFrame]
    schema: Schema = SCHEMA
    mechanism: str = "pretended"
    guarantee: str = "nothing is promised"

    def sample(self, n: int, seed: int) -> pd.DataFrame:
        return self.make(n, seed)

    def log_density(self, table: Any) -> Any:
        raise ArgumentError("no density")


NUMBER = {"type": "number", "min": -9, "max": 9}
LETTERS = {"type": "category", "values": ["low", "high"]}
RELATED = Schema.of({"columns": {"a": NUMBER, "b": NUMBER, "c": NUMBER, "d": LETTERS, "e": NUMBER}})


def related(rows: int, seed: int, shuffled: str | None = None) -> pd.DataFrame:
    """Five columns that all follow one number; but for one, perhaps, which is in an order of its own."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=rows)
    made = {name: (z + 0.3 * rng.normal(size=rows)).clip(-9, 9) for name in "abce"}
    frame = pd.DataFrame(made).assign(d=np.where(z > 0, "high", "low"))[list("abcde")]
    return frame if shuffled is None else frame.assign(**{shuffled: rng.permutation(frame[shuffled].to_numpy())})
