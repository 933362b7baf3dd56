"""Speed and memory of a fit, as ratios and rates measured in one run.

    python -m benchmarks.speed             UCI Adult on one core, beside the floor under any such fit
    python -m benchmarks.speed --shapes    200 and 2,000 columns; a category of 10,000 values

The floor is reading the same Parquet file and one product Z.T @ Z of the encoded table. Both are measured in one
process on one core, imports not counted, alternating, and the median of several runs is reported.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.scale import apart, peak_megabytes

RUNS = 9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", action="store_true", help="measure a wide and a tall table")
    arguments = parser.parse_args()
    if arguments.shapes:
        shapes = ("wide(200)", "wide(2_000)", "tall()")
        found: Any = {name: apart(f"from benchmarks import wide; found = wide.{name}") for name in shapes}
    else:
        found = apart("from benchmarks import speed; found = speed.adult_on_one_core()", one_core=True)
    print(json.dumps(found, indent=2))


def adult_on_one_core() -> dict[str, float]:
    """A fit beside its floor."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import numpy as np
    import pyarrow.parquet as pq

    import sfumato
    from sfumato.demo import adult

    train, _, schema = adult()
    imported = peak_megabytes()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult.parquet"
        train.to_parquet(path, index=False)
        latent = np.random.default_rng(0).standard_normal((len(train), len(schema.features)))

        def floor() -> None:
            pq.read_table(path)
            latent.T @ latent

        def fit() -> None:
            sfumato.fit(path, schema, epsilon=1, delta=1 / 32_561, rows=30_000)

        fit()  # imports
        times = [(_seconds(floor), _seconds(fit)) for _ in range(RUNS)]
    floor_s, fit_s = (statistics.median(column) for column in zip(*times, strict=True))
    return {
        "runs": RUNS,
        "floor_seconds": round(floor_s, 4),
        "fit_seconds": round(fit_s, 4),
        "ratio": round(fit_s / floor_s, 1),
        "peak_megabytes": round(peak_megabytes()),
        "peak_megabytes_before_fitting": round(imported),
    }


def _seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
