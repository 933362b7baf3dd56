"""What tables are drawn from: a made-up population of mixed columns, and Adult.

A release is of rows drawn with replacement, so that the truth about the table and the truth about the population are
both known: whatever is asked is asked of both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from benchmarks.scoreboard.datasets import of_experiment
from sfumato.schema.schema import Schema

SIMULATED_ROWS, SIMULATED_SEED = 400_000, 17
REGIONS = ("north", "east", "south", "west", "abroad")
SIMULATED = {
    "label": "ill",
    "columns": {
        "sex": {"type": "category", "values": ["f", "m"]},
        "region": {"type": "category", "values": list(REGIONS)},
        "visits": {"type": "number", "min": 0, "max": 12, "step": 1},
        "score": {"type": "number", "min": 0, "max": 9, "step": 1},
        "age": {"type": "number", "min": 18, "max": 90, "step": 1},
        "income": {"type": "number", "min": 0, "max": 200_000, "atoms": [0]},
        "ill": {"type": "category", "values": ["no", "yes"]},
    },
}


@dataclass(frozen=True)
class Population:
    """Rows to draw tables from, with texts as categories, and their schema."""

    name: str
    title: str
    frame: pd.DataFrame
    schema: Schema


def simulate(rows: int, seed: int) -> pd.DataFrame:
    """Rows whose columns hang together in ways that one Gaussian a class cannot tell: a turn, a gap and an atom."""
    rng = np.random.default_rng(seed)
    sex = rng.random(rows) < 0.52
    region = rng.choice(len(REGIONS), rows, p=[0.35, 0.25, 0.2, 0.15, 0.05])
    age = np.clip(rng.gamma(6.0, 6.0, rows) + 16 + 3 * (region == 3), 18, 90).round()
    visits = rng.poisson(1.0 + 4.0 * ((age - 48) / 25) ** 2 * (1.0 + 0.3 * sex)).clip(0, 12)
    score = np.clip(np.where(visits > 3, 7 - 0.3 * visits, visits + 2) + rng.normal(0, 1.4, rows), 0, 9).round()
    ill = rng.random(rows) < 1.0 / (1.0 + np.exp(3.0 - 0.35 * visits - 0.02 * (age - 40)))
    works = rng.random(rows) < np.where(age < 65, 0.85, 0.2) - 0.1 * sex
    income = np.clip(np.exp(rng.normal(10.1 - 0.2 * sex + 0.01 * (age - 40) - 0.1 * ill, 0.6, rows)), 1, 200_000)
    return pd.DataFrame(
        {
            "sex": np.where(sex, "f", "m"),
            "region": np.array(REGIONS)[region],
            "visits": visits.astype(float),
            "score": score,
            "age": age,
            "income": np.where(works, income.round(2), 0.0),
            "ill": np.where(ill, "yes", "no"),
        }
    )


def simulated() -> Population:
    """The made-up population."""
    frame = simulate(SIMULATED_ROWS, SIMULATED_SEED)
    return Population("simulated", "Simulated tables", with_categories(frame), Schema.of(SIMULATED))


def adult() -> Population:
    """UCI Adult's train split with the schema by its code book."""
    loaded = of_experiment("adult")
    return Population("adult", "UCI Adult as the population", with_categories(loaded.train), loaded.schema)


def with_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Texts as categories: rows are drawn and compared fast."""
    texts = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    return frame.astype(dict.fromkeys(texts, "category"))


POPULATIONS: dict[str, Callable[[], Population]] = {"simulated": cache(simulated), "adult": cache(adult)}
