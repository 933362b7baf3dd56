"""How long a fit on UCI Adult takes on one core, and how much memory, beside the floor under any such fit.

    python -m benchmarks.speed

The floor is reading the same Parquet file and one product Z.T @ Z of the encoded table. Both are measured in one
process on one core, imports not counted, alternating, and the median of several runs is reported.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

RUNS = 9


def main() -> None:
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_NUM_THREADS"), "1"))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import numpy as np
    import pyarrow.parquet as pq

    import sfumato
    from sfumato.demo import adult

    train, _, schema = adult()
    imported = _peak_megabytes()
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
    json.dump(
        {
            "runs": RUNS,
            "floor_seconds": round(floor_s, 4),
            "fit_seconds": round(fit_s, 4),
            "ratio": round(fit_s / floor_s, 1),
            "peak_megabytes": round(_peak_megabytes()),
            "peak_megabytes_before_fitting": round(imported),
        },
        sys.stdout,
        indent=2,
    )
    print()


def _seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
