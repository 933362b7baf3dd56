"""What releases of small tables are good for: parts of public tables, released and judged on rows that were kept aside.

The scoreboard has large tables; here are sizes at which a release stops being of use, and the verdict must say so.
"""

from __future__ import annotations

from typing import Any

from benchmarks.scoreboard.datasets import DATASETS, Loaded
from sfumato.evaluation.judges import column_score, median, some
from sfumato.evaluation.table_distances import table_distance
from sfumato.evaluation.typed_rows import TypedRows, typed

DATA = ("adult", "credit", "acs")
ROWS = (157, 500, 1_500, 5_000)
EPSILONS = (0.5, 1.0, 4.0)
DRAWN = 20_000  # rows that judges learn from: drawing more is free
DELTA = 1e-5


def cells() -> list[tuple[str, int, float]]:
    """Data set, rows and epsilon; the smallest tables first."""
    return [(data, rows, epsilon) for rows in ROWS for data in DATA for epsilon in EPSILONS]


def measure(data: str, rows: int, epsilon: float, seed: int) -> dict[str, Any] | None:
    """One release of some rows: what a judge learns from it and from the same real rows, and how far tables are off."""
    loaded = DATASETS[data].load()
    if len(loaded.train) < rows:
        return None
    return _measured(loaded, rows, epsilon, seed)


def _measured(loaded: Loaded, rows: int, epsilon: float, seed: int) -> dict[str, Any]:
    import sfumato as sf

    part = loaded.train.sample(rows, random_state=seed).reset_index(drop=True)
    release = sf.fit(part, loaded.schema, epsilon=epsilon, delta=DELTA, rows=rows, insecure_seed=seed)
    real, test = (typed(table, loaded.schema) for table in (part, loaded.test))
    drawn = typed(release.sample(DRAWN, seed=seed), loaded.schema)
    return {
        "tv1": table_distance(real, drawn, 1),
        "tv2": table_distance(real, drawn, 2),
        "auc": _auc(drawn, test),
        "auc_of_these_rows": _auc(real, test),
        "auc_of_all_rows": _auc(typed(loaded.train, loaded.schema), test),
    }


def _auc(train: TypedRows, test: TypedRows) -> float:
    """What a small LightGBM learns of the label."""
    assert train.schema.label is not None
    return column_score(some(train), test, train.schema.label, median(train, train.schema.label))
