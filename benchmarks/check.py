"""How fast `sf.check` reads a large table, beside a fit of it: `python -m benchmarks.check --rows 10000000`.

The table is made with numpy: 14 mixed columns (whole numbers, decimals, a spike at zero, gaps, categories, dates) in
one Parquet file. Check and fit take turns in one process, with a worker for every core, and the ratio is of their
fastest runs: a busy machine slows both.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GROUP_ROWS = 250_000
WANTED = 0.5  # of the speed of a fit

SCHEMA: dict[str, Any] = {
    "label": "ill",
    "columns": {
        "age": {"type": "number", "min": 0, "max": 120, "step": 1},
        "weight": {"type": "number", "min": 0, "max": 300, "missing": True},
        "height": {"type": "number", "min": 0, "max": 250, "step": 0.1},
        "income": {"type": "number", "min": 0, "max": 1e6, "scale": "log", "atoms": [0]},
        "score": {"type": "number", "min": -10, "max": 10},
        "visits": {"type": "number", "min": 0, "max": 200, "step": 1},
        "town": {"type": "category", "values": [f"town {i}" for i in range(40)], "missing": True},
        "sex": {"type": "category", "values": ["f", "m"]},
        "code": {"type": "category", "values": list(range(1, 13))},
        "born": {"type": "date", "min": "1900-01-01", "max": "2025-12-31"},
        "seen": {"type": "date", "min": "2000-01-01", "max": "2025-12-31"},
        "pulse": {"type": "number", "min": 20, "max": 250, "step": 1, "missing": True},
        "sugar": {"type": "number", "min": 0, "max": 50},
        "ill": {"type": "category", "values": ["no", "yes"]},
    },
}


def make(path: Path, rows: int) -> None:
    """Write the table."""
    rng = np.random.default_rng(0)
    writer = None
    for start in range(0, rows, GROUP_ROWS):
        part = chunk(rng, min(GROUP_ROWS, rows - start))
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part)
    assert writer is not None
    writer.close()


def chunk(rng: np.random.Generator, n: int) -> pa.Table:
    """Some rows of it."""
    gaps = rng.random(n) < 0.05
    day = np.datetime64("1960-01-01") + rng.integers(0, 20_000, n).astype("timedelta64[D]")
    columns = {
        "age": rng.integers(18, 95, n),
        "weight": pa.array(rng.normal(75, 15, n), mask=gaps),
        "height": np.round(rng.normal(170, 10, n), 1),
        "income": np.where(rng.random(n) < 0.2, 0.0, rng.lognormal(10, 1, n)),
        "score": rng.normal(0, 2, n),
        "visits": rng.poisson(4, n),
        "town": pa.array([f"town {i}" for i in range(50)]).take(pa.array(rng.integers(0, 50, n))),
        "sex": pa.array(["f", "m"]).take(pa.array(rng.integers(0, 2, n))),
        "code": rng.integers(1, 13, n),
        "born": day,
        "seen": np.datetime64("2010-01-01") + rng.integers(0, 5_000, n).astype("timedelta64[D]"),
        "pulse": pa.array(rng.integers(40, 180, n), mask=gaps),
        "sugar": rng.gamma(4, 1.5, n),
        "ill": pa.array(["no", "yes"]).take(pa.array((rng.random(n) < 0.3).astype(int))),
    }
    return pa.table(columns)


def measure(rows: int, turns: int) -> dict[str, Any]:
    """The seconds of both, and the speed of check as a share of that of fit."""
    import sfumato as sf

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        make(path, rows)
        kinds: dict[str, Callable[[], object]] = {
            "fit": lambda: sf.fit(path, SCHEMA, epsilon=1, delta=1e-9, rows=rows, mechanism="mixture"),
            "check": lambda: sf.check(path, SCHEMA),
        }
        seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(turns):
            for kind, run in kinds.items():
                start = time.perf_counter()
                run()
                seconds[kind].append(round(time.perf_counter() - start, 2))
    ratio = min(seconds["fit"]) / min(seconds["check"])
    return {"rows": rows, **seconds, "speed_of_check": round(ratio, 2), "wanted": WANTED}


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=3)
    said = parser.parse_args()
    print(json.dumps(measure(said.rows, said.turns), indent=2))


if __name__ == "__main__":
    main()
