"""Half-widths of a release's 95 % intervals beside those that its plan foretold, on simulated mixed tables.

A table of a label, numbers with and without a step, categories and a gap; half of the columns hang together. Rows lie
as they like: skewed, and not in the middle of their bounds. The plan is told the number of rows, and rough guesses at
means, or none. The other way round, wishes are solved for epsilon, and releases at that epsilon looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import sfumato as sf
from sfumato.mechanisms.mixture.mixture_mechanism import MixtureTuning
from sfumato.mechanisms.pairs.pair_tuning import PairTuning

ROWS = (1_000, 10_000, 100_000)
EPSILONS = (0.5, 1.0, 4.0)
DELTA = 1e-6

SCHEMA: dict[str, Any] = {
    "label": "ill",
    "columns": {
        "age": {"type": "number", "min": 0, "max": 99, "step": 1},
        "visits": {"type": "number", "min": 0, "max": 30, "step": 1},
        "weight": {"type": "number", "min": 0, "max": 200, "bins": 40, "missing": True},
        "income": {"type": "number", "min": 0, "max": 200_000},
        "sex": {"type": "category", "values": ["f", "m"]},
        "town": {"type": "category", "values": [f"t{i}" for i in range(12)]},
        "smokes": {"type": "boolean"},
        "ill": {"type": "category", "values": ["no", "yes"]},
    },
}
CATEGORIES = {"sex": "f", "town": "t3", "visits": 3}
GUESSES = {"age": 45.0, "visits": 3.0, "weight": 75.0, "income": 35_000.0}
PAIRS = (("age", "visits"), ("age", "weight"), ("visits", "weight"))
WISHES = {  # half-widths of any count, and of the mean age, for so many rows
    1_000: (100.0, 5.0),
    10_000: (100.0, 1.0),
    100_000: (100.0, 0.1),
}
# How well a tilt is solved changes no answer: few rows will do.
MECHANISM = sf.Mixture(tuning=MixtureTuning(pairs=PairTuning(pools=(2_000, 2_000), settlings=1, refreshes=1, steps=5)))


def cells() -> list[tuple[int, float]]:
    """Rows and epsilon."""
    return [(rows, epsilon) for rows in ROWS for epsilon in EPSILONS]


def table(rows: int, seed: int) -> pd.DataFrame:
    """Simulated rows."""
    rng = np.random.default_rng(seed)
    health = rng.normal(size=rows)
    age = np.clip(45 + 18 * rng.normal(size=rows) - 6 * health, 0, 99).round()
    weight = np.clip(75 + 14 * rng.normal(size=rows) - 3 * health, 0, 200)
    return pd.DataFrame(
        {
            "age": age,
            "visits": np.minimum(rng.poisson(np.exp(1.0 - 0.4 * health)), 30),
            "weight": np.where(rng.random(rows) < 0.05, np.nan, weight),
            "income": np.minimum(rng.lognormal(10.3 + 0.1 * health, 0.6), 200_000),
            "sex": rng.choice(["f", "m"], rows),
            "town": rng.choice([f"t{i}" for i in range(12)], rows, p=np.arange(1, 13) / 78),
            "smokes": rng.random(rows) < 0.2,
            "ill": np.where(health + rng.normal(size=rows) < -1.2, "yes", "no"),
        }
    )


def measure(rows: int, epsilon: float, seed: int) -> dict[str, Any]:
    """What a plan foretells, and what a release of a simulated table then has."""
    plan = sf.plan(SCHEMA, epsilon=epsilon, delta=DELTA, rows=rows, mechanism=MECHANISM)
    return {
        "foretold": foretold(plan, GUESSES),
        "foretold_without_guesses": foretold(plan, {}),
        "had": had(rows, epsilon, seed),
        "wishes": [wished(rows, wishes, seed) for wishes in wishes_for(rows)] if epsilon == EPSILONS[0] else [],
    }


def wishes_for(rows: int) -> list[sf.Wishes]:
    """What is wished for of so many rows."""
    count, age = WISHES[rows]
    return [sf.Wishes(count_within=count), sf.Wishes(mean={"age": age}, guesses=GUESSES)]


def wished(rows: int, wishes: sf.Wishes, seed: int) -> dict[str, Any]:
    """A wish, the epsilon that it needs, and what a release at that epsilon has."""
    found = sf.epsilon_for(SCHEMA, wishes, delta=DELTA, rows=rows, mechanism=MECHANISM)
    halves = had(rows, found.epsilon, seed)
    counts = [half for name, half in halves.items() if name.startswith("count") and half is not None]
    got = max(counts) if wishes.count_within else halves["mean age"]
    return {"wish": found.needed_for, "wanted": wishes.needs[0].most, "epsilon": found.epsilon, "had": got}


def had(rows: int, epsilon: float, seed: int) -> dict[str, float | None]:
    """Half-widths of the intervals of a release; None where it has none."""
    terms = {"epsilon": epsilon, "delta": DELTA, "rows": rows, "mechanism": MECHANISM}
    release = sf.fit(table(rows, seed), SCHEMA, insecure_seed=seed, **terms)
    return {name: _half(estimate) for name, estimate in _asked(release).items()}


def foretold(plan: sf.Plan, guesses: dict[str, float]) -> dict[str, float]:
    """The half-widths that a plan foretells."""
    widths = sf.outlook(plan, guesses).widths
    by_name = {each.column: each for each in widths.columns}
    return {
        "rows": widths.rows,
        **{f"count {name}": by_name[name].count for name in CATEGORIES},
        **{f"share {name}": by_name[name].share for name in CATEGORIES},
        **{f"mean {name}": widths.mean(name) for name in GUESSES},
        **{f"correlation {one} {two}": widths.pair(one, two).correlation for one, two in PAIRS},
    }


def _asked(release: sf.Release) -> dict[str, Any]:
    where = {name: f"{name} == {value!r}" for name, value in CATEGORIES.items()}
    return {
        "rows": release.count(),
        **{f"count {name}": release.count(condition) for name, condition in where.items()},
        **{f"share {name}": release.share(condition) for name, condition in where.items()},
        **{f"mean {name}": release.mean(name) for name in GUESSES},
        **{f"correlation {one} {two}": release.correlation(one, two) for one, two in PAIRS},
    }


def _half(estimate: sf.Estimate) -> float | None:
    return None if estimate.interval is None else estimate.width / 2.0
