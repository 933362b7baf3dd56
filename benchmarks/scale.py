"""How fast a fit reads a large table, and how much memory it takes. Called by benchmarks.speed.

The table is a folder of Parquet files, resampled from the training split of UCI Adult. Each fit runs in a process of
its own, once with a worker for every core and once with one worker on one core; imports are not counted. The totals
of the histogram query over the folder are then compared, bit for bit, with those of the same files read whole, one
batch a file.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FILE_ROWS = 1_250_000
GROUP_ROWS = 250_000
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_NUM_THREADS")
EPSILON, DELTA = 1.0, 1e-6


def measure_rows(rows: int, keep: Path | None = None) -> dict[str, Any]:
    """Make the table in `keep` (or find it there), or in a temporary folder, and measure."""
    if keep is not None:
        return run(keep, rows)
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder), rows)


def run(folder: Path, rows: int) -> dict[str, Any]:
    make(folder, rows)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {
        "rows": rows,
        "megabytes_on_disk": round(sum(path.stat().st_size for path in folder.glob("*.parquet")) / 2**20),
        "all_cores": apart(f"from benchmarks import scale; found = scale.measure({str(folder)!r}, {cores}, {rows})"),
        "one_core": apart(f"from benchmarks import scale; found = scale.measure({str(folder)!r}, 1, {rows})", True),
        "same_totals": same_totals(folder),
    }


def make(folder: Path, rows: int) -> None:
    """Write the table, unless it is there."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from sfumato.demo import adult

    folder.mkdir(parents=True, exist_ok=True)
    if sum(pq.read_metadata(path).num_rows for path in folder.glob("*.parquet")) == rows:
        return
    train, _, _ = adult()
    table = pa.Table.from_pandas(train, preserve_index=False)
    rng = np.random.default_rng(0)
    for place, start in enumerate(range(0, rows, FILE_ROWS)):
        chosen = pa.array(rng.integers(0, len(train), min(FILE_ROWS, rows - start)))
        pq.write_table(table.take(chosen), folder / f"part-{place:04}.parquet", row_group_size=GROUP_ROWS)


def apart(code: str, one_core: bool = False) -> Any:
    """What `found` is after running some code in a fresh process, so that its peak of memory is its own."""
    limits = dict.fromkeys(THREAD_SETTINGS, "1") if one_core else {}
    command = [sys.executable, "-c", f"import json; {code}; print(json.dumps(found))"]
    done = subprocess.run(command, env=os.environ | limits, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def measure(folder: str, workers: int, rows: int) -> dict[str, Any]:
    if workers == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import sfumato
    from sfumato.demo import adult

    train, _, schema = adult()
    options: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "engine": sfumato.Local(workers)}
    sfumato.fit(train.head(1000), schema, rows=1000, **options)  # imports
    before = peak_megabytes()
    start, start_cpu = time.perf_counter(), time.process_time()
    sfumato.fit(folder, schema, rows=rows, **options)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
    return {
        "workers": workers,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        "rows_per_second": round(rows / seconds),
        "peak_megabytes": round(peak_megabytes()),
        "peak_megabytes_before_fitting": round(before),
    }


def same_totals(folder: Path) -> bool:
    """Whether many small batches and one large batch a file add up to the same integers."""
    import numpy as np
    import pyarrow.parquet as pq

    from sfumato.demo import adult
    from sfumato.private.engines.local import LocalEngine
    from sfumato.private.queries.base import Batch
    from sfumato.private.queries.histograms import Histograms
    from sfumato.private.source import Source
    from sfumato.schema.layout import Layout
    from sfumato.tables import open_table
    from sfumato.tables.coding import code_label, find_cells

    _, _, schema = adult()
    layout = Layout.of(schema)
    query = Histograms(layout.cells, layout.classes, tuple([1 / len(layout.cells)] * len(layout.cells)))
    streamed = LocalEngine(Source(open_table(folder), layout)).total(query)
    whole = np.zeros_like(streamed)
    for path in folder.glob("*.parquet"):
        (batch,) = pq.read_table(path).combine_chunks().to_batches()
        labels = code_label(batch, layout)
        columns = zip(layout.names, layout.bins, strict=True)
        codes = np.stack([find_cells(batch.column(name), bins).astype(np.int32) for name, bins in columns])
        whole += query.total(Batch(codes[:, labels >= 0], labels[labels >= 0]))
    return bool(np.array_equal(streamed, whole))


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
