"""A release with every kind of column and names that want to be more than text, and what a report sees of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.guarantee import Guarantee
from sfumato.private.accounting import Adjacency, Spend
from sfumato.release.release import Release
from sfumato.reporting import seen_release
from sfumato.reporting.seen_release import SeenRelease, Sizes

EVIL = "</script><img src=x onerror=alert(1)>"
EVIL_VALUES = ["\"'><svg onload=alert(1)>", "a & b", "‮txt.exe", "plain"]
SCHEMA: dict[str, Any] = {
    "label": "ill",
    "columns": {
        "age": {"type": "number", "min": 0, "max": 99, "step": 1},
        "cost": {"type": "number", "min": 0, "max": 10000, "bins": 20, "missing": True},
        "came": {"type": "date", "min": "2020-01-01", "max": "2021-12-31", "bins": 24},
        "smokes": {"type": "boolean"},
        EVIL: {"type": "category", "values": EVIL_VALUES},
        "ill": {"type": "category", "values": ["no", "yes"]},
    },
    "constraints": ["if age < 10 then smokes == false"],
}


def table(rows: int = 2000) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age = rng.integers(0, 100, rows)
    return pd.DataFrame(
        {
            "age": age,
            "cost": np.where(rng.random(rows) < 0.1, np.nan, rng.lognormal(6, 1, rows)),
            "came": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, rows), unit="D"),
            "smokes": (rng.random(rows) < 0.3) & (age >= 10),
            EVIL: rng.choice(EVIL_VALUES, rows, p=[0.2, 0.3, 0.1, 0.4]),
            "ill": np.where(age + rng.normal(0, 15, rows) > 60, "yes", "no"),
        }
    )


@pytest.fixture(scope="session", autouse=True)
def few_rows() -> Any:
    """Few rows of the model are enough here."""
    patch = pytest.MonkeyPatch()
    patch.setattr(seen_release, "SIZES", Sizes(model_rows=4000))
    yield
    patch.undo()


@pytest.fixture(scope="session")
def release() -> Release:
    """Made with a seed, so without a guarantee."""
    return sf.fit(table(), SCHEMA, epsilon=8, delta=1e-6, mechanism=sf.Mixture(pairs=None), insecure_seed=1)


@pytest.fixture(scope="session")
def promised(release: Release) -> Release:
    """The same as if it had one."""
    spends = (Spend("histograms", 1.0, 5.0, 0.2), Spend("moments 2", 1.0, 8.0, 0.125))
    made = Guarantee(1.0, 1e-6, 0.2367, Adjacency.ADD_REMOVE, "row", True, spends)
    return replace(release, guarantee=made)


@pytest.fixture(scope="session")
def compact(promised: Release) -> Release:
    """The same without its noisy answers."""
    return replace(promised, answers=())


@pytest.fixture(scope="session")
def seen(promised: Release) -> SeenRelease:
    return SeenRelease(promised)


@pytest.fixture(scope="session")
def seen_compact(compact: Release) -> SeenRelease:
    return SeenRelease(compact)
