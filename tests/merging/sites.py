"""Sites with tables of one schema, and releases of them on one layout."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import sfumato as sf
from sfumato.audit.mixture import SHORT

SCHEMA: dict[str, Any] = {
    "label": "ill",
    "columns": {
        "age": {"type": "number", "min": 0, "max": 99, "step": 1},
        "pay": {"type": "number", "min": 0, "max": 1_000_000},
        "town": {"type": "category", "values": ["Ulm", "Bonn"], "missing": True},
        "ill": {"type": "category", "values": ["no", "yes"]},
    },
}
TERMS: dict[str, Any] = {"epsilon": 2, "delta": 1e-6, "rows": 2000}
LAYOUT = sf.SharedLayout.of(SCHEMA, **TERMS, sites=3)


def table(seed: int, rows: int = 2000, shift: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.3
    age = np.clip(rng.normal(40 + shift + 20 * ill, 12), 0, 99).round()
    pay = np.exp(rng.normal(8 + age / 50, 1, rows))
    town = rng.choice(["Ulm", "Bonn", "elsewhere"], rows)
    return pd.DataFrame({"age": age, "pay": pay, "town": town, "ill": np.where(ill, "yes", "no")})


@cache
def site(seed: int, noise: int | None = None, rows: int = 2000) -> sf.Release:
    """A release on the layout; with real noise unless a seed is given."""
    mechanism = sf.Mixture(layout=LAYOUT, tuning=SHORT)
    return sf.fit(table(seed, rows), SCHEMA, mechanism=mechanism, insecure_seed=noise, **TERMS)


@cache
def adaptive(seed: int, noise: int | None = None) -> sf.Release:
    """A release whose bins and tables its own noisy answers chose."""
    return sf.fit(table(seed), SCHEMA, mechanism=sf.Mixture(tuning=SHORT), insecure_seed=noise, **TERMS)
