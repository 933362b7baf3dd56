"""How a fit grows with rows: seconds, rows a second, times the floor, and peak memory, on one machine.

    python -m benchmarks.scale                            10^5 to 10^7 rows; writes benchmarks/scale.json
    python -m benchmarks.scale --rows 100000000           more of them, beside those that are there
    python -m benchmarks.scale --engines units mbi-mst    a unit of privacy of several rows; MST on mbi, where prepared

The table is made up from a seed: 14 columns (numbers with and without a step, categories, a date, a moment) and a
label, written to Parquet in row groups; beyond ten million rows it is a folder that holds the same ten million several
times. Every cell (rows, engine) runs in a process of its own, and one that is in the
file is not run again. Engines: `local` reads the file; `stream` gets the same rows as batches that come once; `units`
has a unit column, of which 2 rows count. What is fitted is `sf.Mixture()` with its pair tables.

The floor is what no program that asks the same can do without: reading the columns, and adding up in plain numpy what
the fit asked, table by table, on as many threads, from codes that are ready and in the processor's cache. Imports are
not counted. Seconds on a machine with other work to do are more than they would be; CPU seconds less so.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROWS = (100_000, 1_000_000, 10_000_000)
FILE_ROWS = 10_000_000
GROUP_ROWS = 1 << 18
BATCH_ROWS = 1 << 16
LEVELS = 17  # of a column in a pair table
SEED = 0
UNIT_ROWS = 2
EPSILON, DELTA = 1.0, 1e-6
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_NUM_THREADS")
CATEGORIES = {"city": 50, "education": 16, "job": 12, "sex": 2}
SCHEMA = """
label: outcome
columns:
  age: {type: number, min: 17, max: 90, step: 1}
  hours: {type: number, min: 1, max: 99, step: 1}
  weight: {type: number, min: 30, max: 200}
  income: {type: number, min: 0, max: 1000000, atoms: [0], scale: log}
  gain: {type: number, min: 0, max: 99999, step: 1, atoms: [0], scale: log}
  score: {type: number, min: 0, max: 100, step: 0.01}
  pressure: {type: number, min: 60, max: 240}
  visits: {type: number, min: 0, max: 60, step: 1}
  admitted: {type: date, min: 2011-01-01, max: 2024-12-31}
  seen: {type: datetime, min: 2011-01-01T00:00, max: 2024-12-31T00:00}
  outcome: {type: category, values: [home, ward]}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--engines", nargs="+", default=["local"], choices=["local", "stream", "units", "mbi-mst"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to make the table; left there if given")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/scale.json"))
    arguments = parser.parse_args()
    found = json.loads(arguments.out.read_text()) if arguments.out.exists() else {"cells": []}
    for rows, engine in itertools.product(arguments.rows, arguments.engines):
        if (rows, engine) in {(cell["rows"], cell["engine"]) for cell in found["cells"]}:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            found["cells"].append(cell_of(arguments.folder or Path(temporary), rows, engine, arguments.workers))
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found["cells"]))


def cell_of(folder: Path, rows: int, engine: str, workers: int) -> dict[str, Any]:
    """One measurement, and the floor beside it."""
    from experiments.provenance import made_by

    folder.mkdir(parents=True, exist_ok=True)
    path = made(folder, rows)
    provenance = made_by(f"python -m benchmarks.scale --rows {rows} --engines {engine} --workers {workers}")
    cell = {"rows": rows, "engine": engine, "workers": workers, "seed": SEED, "made_by": provenance}
    if engine == "mbi-mst":
        return cell | peer(path, rows)
    fit = apart(f"from benchmarks import scale; found = scale.fit({str(path)!r}, {rows}, {engine!r}, {workers})")
    least = apart(
        f"from benchmarks import scale; found = scale.floor({str(path)!r}, {rows}, {fit['asked']}, {workers})"
    )
    ratios = {f"times_floor_{kind}": round(fit[kind] / least[kind], 2) for kind in ("seconds", "cpu_seconds")}
    return cell | fit | ratios | {f"floor_{kind}": least[kind] for kind in ("seconds", "cpu_seconds", "read_seconds")}


def table(cells: list[dict[str, Any]]) -> str:
    """What was found, as Markdown, and how cost grows: the slope of log seconds over log rows from 10^6 on."""
    lines = [
        "| rows | engine | seconds | CPU seconds | rows/s | times the floor | (CPU) | peak MB |",
        "|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for cell in sorted(cells, key=lambda each: (each["engine"], each["rows"])):
        ratios = [cell.get(f"times_floor_{kind}", "") for kind in ("seconds", "cpu_seconds")]
        figures = [
            cell["seconds"],
            cell["cpu_seconds"],
            f"{cell['rows_per_second']:,}",
            *ratios,
            cell["peak_megabytes"],
        ]
        lines.append(" | ".join([f"| {cell['rows']:,}", cell["engine"], *map(str, figures)]) + " |")
    for kind, words in (("engine_cpu_seconds", "passes over rows"), ("cpu_seconds", "a whole fit")):
        large = sorted((c["rows"], c[kind]) for c in cells if c["engine"] == "local" and c["rows"] >= 1_000_000)
        if len(large) > 1:
            (few, least), (many, most) = large[0], large[-1]
            slope = math.log(most / least) / math.log(many / few)
            lines += ["", f"CPU seconds of {words} grow as rows^{slope:.2f} from {few:,} to {many:,} rows."]
    return "\n".join(lines)


# --- the table


def schema_of(unit: bool = False) -> Any:
    import sfumato

    schema = sfumato.Schema.parse(SCHEMA)
    listed = {
        name: {"type": "category", "values": [f"level {i}" for i in range(count)]} for name, count in CATEGORIES.items()
    }
    told = schema.dump()
    told["columns"] = told["columns"] | listed
    return sfumato.Schema.of(told | ({"unit": {"column": "person", "rows": UNIT_ROWS}} if unit else {}))


def made(folder: Path, rows: int) -> Path:
    """The table in a folder: a file, or a folder of links to one."""
    once = min(rows, FILE_ROWS)
    path = folder / f"{once}.parquet"
    if not path.exists():
        apart(f"from benchmarks import scale; found = scale.write({str(path)!r}, {once})")
    if rows == once:
        return path
    several = folder / str(rows)
    several.mkdir(exist_ok=True)
    for place in range(rows // once):
        (several / f"part-{place:04}.parquet").unlink(missing_ok=True)
        (several / f"part-{place:04}.parquet").hardlink_to(path)
    return several


def write(path: str, rows: int) -> int:
    """Write the table, a row group at a time."""
    import pyarrow.parquet as pq

    started = Path(f"{path}.part")
    groups = (group(place, min(GROUP_ROWS, rows - start)) for place, start in enumerate(range(0, rows, GROUP_ROWS)))
    first = next(groups)
    with pq.ParquetWriter(started, first.schema) as file:
        for each in itertools.chain([first], groups):
            file.write_table(each)
    started.rename(path)
    return rows


def group(place: int, rows: int) -> Any:
    """So many made-up rows: four hidden factors and the label drive all columns."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng([SEED, place])
    ill = rng.random(rows) < 0.3
    hidden = rng.standard_normal((4, rows)) + 0.8 * ill

    def near(factor: int, mean: float, by: float, noise: float, low: float, high: float) -> Any:
        return (mean + by * hidden[factor] + noise * rng.standard_normal(rows)).clip(low, high)

    columns: dict[str, Any] = {
        "age": near(0, 45, 15, 3, 17, 90).astype(np.int64),
        "hours": near(1, 40, 8, 5, 1, 99).astype(np.int16),
        "weight": near(0, 75, 12, 6, 30, 200),
        "income": np.where(rng.random(rows) < 0.1, 0.0, np.round(np.exp(near(1, 10, 0.7, 0.4, 0, 13)), 2)),
        "gain": np.where(rng.random(rows) < 0.9, 0.0, np.exp(near(2, 7, 1, 0.2, 0, 11))).astype(np.int32),
        "score": np.round(near(2, 50, 15, 5, 0, 100), 2),
        "pressure": near(3, 120, 12, 6, 60, 240).astype(np.float32),
        "visits": rng.poisson(np.exp(near(3, 0.5, 0.4, 0.1, -3, 3))).astype(np.int32),
        "admitted": pa.array(near(0, 18_000, 400, 300, 15_000, 20_000).astype(np.int32)).cast(pa.date32()),
        "seen": pa.array((near(0, 18_000, 400, 300, 15_000, 20_000) * 86_400).astype(np.int64)).cast(pa.timestamp("s")),
    }
    for factor, (name, count) in enumerate(CATEGORIES.items()):
        codes = ((near(factor, 0, 1, 1, -2.4, 2.4) + 2.5) / 5 * count).astype(np.int8)
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(codes), [f"level {i}" for i in range(count)])
    columns["outcome"] = pa.DictionaryArray.from_arrays(pa.array(ill.astype(np.int8)), ["home", "ward"])
    columns["person"] = rng.integers(0, 1 << 24, rows)
    return pa.table(columns)


# --- what is measured, in processes of their own


def apart(code: str, one_core: bool = False) -> Any:
    """What `found` is after running some code in a fresh process, so that its peak of memory is its own."""
    limits = dict.fromkeys(THREAD_SETTINGS, "1") if one_core else {}
    command = [sys.executable, "-c", f"import json; {code}; print(json.dumps(found))"]
    done = subprocess.run(command, env=os.environ | limits, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def clocked(work: Callable[[], Any]) -> dict[str, float]:
    start, start_cpu = time.perf_counter(), time.process_time()
    work()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
    return {"seconds": round(seconds, 2), "cpu_seconds": round(cpu_seconds, 2)}


def fit(path: str, rows: int, engine: str, workers: int) -> dict[str, Any]:
    """A fit, and what it asked: how many tables with each question, 0 for histograms and -1 for second moments."""
    import sfumato
    from sfumato.private.engines.local import LocalEngine

    schema = schema_of(engine == "units")
    options: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "insecure_seed": SEED}
    options |= {"mechanism": sfumato.Mixture(), "engine": sfumato.Local(workers)}
    asked: list[int] = []
    spent: list[float] = []
    add = LocalEngine.total

    def total(self: LocalEngine, query: Any) -> Any:
        inner = getattr(query, "query", query)
        tables = getattr(inner, "tables", ())
        asked.append(len(getattr(tables, "tables", tables)) or -("latent" in vars(inner)))
        start = time.process_time()
        found = add(self, query)
        spent.append(time.process_time() - start)
        return found

    sfumato.fit(group(0, 1000), schema, rows=1000, **options)  # imports
    LocalEngine.total = total  # type: ignore[method-assign]
    before = peak_megabytes()
    given = path if engine != "stream" else _stream(path)
    found = clocked(lambda: sfumato.fit(given, schema, rows=rows, **options))
    return found | {
        "asked": asked,
        "engine_cpu_seconds": round(sum(spent), 2),
        "first_pass_cpu_seconds": round(spent[0], 2),
        "rows_per_second": round(rows / found["seconds"]),
        "peak_megabytes": round(peak_megabytes()),
        "peak_megabytes_before": round(before),
    }


def _stream(path: str) -> Any:
    """The rows as batches that come once, from one open file at a time: an open one keeps what it has read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = _files(path)
    batches = (batch for each in files for batch in pq.ParquetFile(each).iter_batches(BATCH_ROWS))
    return pa.RecordBatchReader.from_batches(pq.read_schema(files[0]), batches)


def _files(path: str) -> list[Path]:
    return sorted(Path(path).glob("*.parquet")) if Path(path).is_dir() else [Path(path)]


def floor(path: str, rows: int, asked: list[int], workers: int) -> dict[str, float]:
    """Reading the columns, and the sums that were asked in plain numpy, a batch at a time."""
    import pyarrow.parquet as pq

    names = [*schema_of().columns]

    def read() -> None:
        for file in _files(path):
            for _ in pq.ParquetFile(file).iter_batches(BATCH_ROWS, columns=names):
                pass

    def both() -> None:
        read()
        batches = math.ceil(rows / BATCH_ROWS)
        with ThreadPoolExecutor(workers) as pool:
            for work in _sums(asked):
                list(pool.map(lambda _, work=work: work(), range(batches)))

    return {"read_seconds": clocked(read)["seconds"]} | clocked(both)


def _sums(asked: list[int]) -> Iterator[Callable[[], None]]:
    """Each question as plain sums over one batch of codes."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    labels, columns = rng.integers(0, 2, BATCH_ROWS), 14
    bins, levels = (rng.integers(0, size, (columns, BATCH_ROWS)) for size in (256, LEVELS))
    scores = rng.integers(-4000, 4000, (columns, 256)).astype(float)
    pairs = list(itertools.combinations(range(columns), 2))

    def histograms() -> None:
        for codes in bins:
            np.bincount(labels * 256 + codes, minlength=512)

    def moments() -> None:
        z = np.stack([table.take(codes) for table, codes in zip(scores, bins, strict=True)])
        for k in range(2):
            mine = z[:, labels == k]
            mine @ mine.T

    def tables(count: int) -> None:
        for a, b in itertools.islice(itertools.cycle(pairs), count):
            np.bincount(levels[a] * LEVELS + levels[b], minlength=LEVELS**2)

    for count in asked:
        yield moments if count < 0 else histograms if count == 0 else lambda count=count: tables(count)


# --- a peer


def peer(path: Path, rows: int) -> dict[str, Any]:
    """MST on mbi: all its tables, from codes that are ready in memory; it reads no file of its own."""
    from benchmarks.scoreboard import environments

    folder = Path(environments.__file__).parent / "peers"
    codes = path.with_suffix(".npz")
    apart(f"from benchmarks import scale; found = scale.coded({str(path)!r}, {str(codes)!r})")
    code = f"""
import json, resource, sys, time
sys.path.insert(0, {str(folder)!r})
import numpy as np, pandas as pd
import run_mbi
stored = np.load({str(codes)!r})
sizes = {{name: int(stored[name].max()) + 1 for name in stored.files}}
start, cpu = time.perf_counter(), time.process_time()
codes = pd.DataFrame({{name: stored[name] for name in stored.files}})
marginals = run_mbi.Marginals(codes, sizes, np.random.default_rng({SEED}))
run_mbi.mst(marginals, run_mbi.rho_of({EPSILON}, {DELTA}))
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(dict(seconds=round(seconds, 2), cpu_seconds=round(cpu, 2), peak_megabytes=round(peak))))
"""
    command = [str(environments.python_of("mbi")), "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return found | {"rows_per_second": round(rows / found["seconds"])}


def coded(path: str, to: str) -> int:
    """The rows in 32 bins a column, as peers want them."""
    import numpy as np
    import pyarrow.parquet as pq

    from sfumato.schema.layout import Layout
    from sfumato.tables.coding import code_label, find_codes

    schema = schema_of()
    layout = Layout.of(schema)
    parts: dict[str, list[Any]] = {name: [] for name in [*layout.names, "outcome"]}
    for batch in pq.ParquetFile(path).iter_batches(BATCH_ROWS):
        for name, bins in zip(layout.names, layout.bins, strict=True):
            codes = find_codes(batch.column(name), bins).clip(0)
            parts[name].append((codes * min(bins.size, 32) // bins.size).astype(np.int16))
        parts["outcome"].append(code_label(batch, layout).astype(np.int16))
    np.savez(to, **{name: np.concatenate(each) for name, each in parts.items()})  # type: ignore[arg-type]
    return 0


if __name__ == "__main__":
    main()
