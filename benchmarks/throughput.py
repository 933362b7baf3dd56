"""Speed of what is public: samples to Parquet, and scores of new rows, as rates and ratios measured in one run.

    python -m benchmarks.throughput                       (a few minutes; writes benchmarks/throughput.json)
    python -m benchmarks.throughput --memory 10000000     also the peak of memory of a sample of so many rows

The release is that of examples/adult.sfumato, 15 columns: as it is, a mixture with tables of pairs, and its mixture
alone. A sample is streamed to a Parquet file; the floor under it is pyarrow writing the same batches when they are
finished. Runs alternate, and medians of wall and CPU seconds are reported: on a busy machine the ratio of CPU seconds
is the one to read. Scores are of all 48,842 rows of UCI Adult, from a data frame; how far off they are is measured on
some of them, against the integral over a row's bins on many more points.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.scale import apart, peak_megabytes

RUNS = 5
ROWS = 1_000_000
SEED = 0
EXACT_ROWS, EXACT_LOG2 = 1000, 13  # rows whose integrals are taken again, and log2 of the points
PAIR_ROWS = 10_000_000  # of a larger sample where there are tables of pairs, which takes longer


@dataclass(frozen=True)
class Cost:
    """Seconds on the wall and of all cores."""

    wall: float
    cpu: float

    @classmethod
    def of(cls, work: Callable[[], Any]) -> Cost:
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        return cls(time.perf_counter() - wall, time.process_time() - cpu)

    @classmethod
    def median(cls, costs: list[Cost]) -> Cost:
        return cls(statistics.median(c.wall for c in costs), statistics.median(c.cpu for c in costs))

    def told(self, rows: int) -> dict[str, Any]:
        return {
            "rows": rows,
            "seconds": round(self.wall, 3),
            "cpu_seconds": round(self.cpu, 3),
            "rows_per_second": round(rows / self.wall),
            "rows_per_cpu_second": round(rows / self.cpu),
        }


def release_of(kind: str) -> Any:
    """The bundled release: with its tables of pairs, or its mixture alone."""
    import sfumato as sf

    found = sf.load(Path(__file__).parents[1] / "examples" / "adult.sfumato")
    return found if kind == "pairs" else replace(found, model=found.model.base)


def sampling(kind: str, rows: int, runs: int) -> dict[str, Any]:
    """Streaming a sample to Parquet, beside writing the finished batches."""
    from sfumato.rows_file import write_rows

    release = release_of(kind)
    finished = list(release.sample_batches(rows, seed=SEED))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        costs = [
            (
                Cost.of(lambda: write_rows(release.sample_batches(rows, seed=SEED), path)),
                Cost.of(lambda: write_rows(finished, path)),
            )
            for _ in range(runs)
        ]
    sample, floor = (Cost.median(list(each)) for each in zip(*costs, strict=True))
    return {
        "sample": sample.told(rows),
        "pyarrow_writes": floor.told(rows),
        "ratio": round(sample.wall / floor.wall, 1),
        "cpu_ratio": round(sample.cpu / floor.cpu, 1),
        "cpu_ratios": [round(s.cpu / f.cpu, 1) for s, f in costs],
    }


def scoring(kind: str, runs: int) -> dict[str, Any]:
    """Probabilities of classes and densities of all rows of Adult."""
    import pandas as pd

    from sfumato.demo import adult

    release = release_of(kind)
    train, test, _ = adult()
    table = pd.concat([train, test], ignore_index=True)
    release.predict_proba(table.head(100))
    verbs = {"predict_proba": release.predict_proba, "log_density": release.log_density}
    costs: dict[str, list[Cost]] = {name: [] for name in verbs}
    for _ in range(runs):
        for name, verb in verbs.items():
            costs[name].append(Cost.of(lambda verb=verb: verb(table)))  # type: ignore[misc]
    return {name: Cost.median(each).told(len(table)) for name, each in costs.items()}


def accuracy() -> dict[str, Any]:
    """How far the mixture's scores are from the integrals themselves, which 2^13 points have nearly."""
    import numpy as np
    import pandas as pd
    from scipy.special import logsumexp

    from sfumato.demo import adult
    from sfumato.release.inference import _coded
    from sfumato.tables import open_table

    model = release_of("mixture").model
    train, test, _ = adult()
    some = pd.concat([train, test], ignore_index=True).sample(EXACT_ROWS, random_state=SEED)
    (batch,) = open_table(some).batches(list(model.layout.names))
    rows = _coded(batch, model.layout)
    found, exact = model.log_joint(rows), model.log_joint(rows, EXACT_LOG2)
    off = np.abs(logsumexp(found, axis=1) - logsumexp(exact, axis=1))
    probabilities = (np.exp(each - logsumexp(each, axis=1, keepdims=True))[:, -1] for each in (found, exact))
    apart = np.abs(np.subtract(*probabilities))
    told = {"rows": EXACT_ROWS, "points": 1 << EXACT_LOG2}
    told |= {f"log_density_{q}%": round(float(np.quantile(off, q / 100)), 4) for q in (50, 90, 99)}
    return told | {"probability_mean": round(float(apart.mean()), 4), "probability_most": round(float(apart.max()), 3)}


def memory(kind: str, rows: int) -> dict[str, Any]:
    """The peak of memory of this process when it has streamed a sample; run in a process of its own."""
    from sfumato.rows_file import write_rows

    release = release_of(kind)
    before = peak_megabytes()
    with tempfile.TemporaryDirectory() as folder:
        cost = Cost.of(lambda: write_rows(release.sample_batches(rows, seed=SEED), Path(folder) / "rows.parquet"))
    peaks = {"peak_megabytes_before": round(before), "peak_megabytes": round(peak_megabytes())}
    return cost.told(rows) | peaks


def _apart(work: str, *arguments: Any) -> Any:
    """In a process of its own; this one stays small, as a child's peak of memory begins with that of its parent."""
    return apart(f"from benchmarks import throughput; found = throughput.{work}{arguments!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--memory", type=int, metavar="ROWS", help="the peak of memory of a sample of so many rows")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/throughput.json"))
    arguments = parser.parse_args()
    from experiments.provenance import made_by

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found: dict[str, Any] = {"cores": cores, "runs": arguments.runs, "seed": SEED, "load_before": os.getloadavg()}
    cells = [("mixture", ROWS), ("mixture", arguments.memory), ("pairs", ROWS), ("pairs", PAIR_ROWS)]
    if arguments.memory is not None:
        found["memory"] = [{"model": kind} | _apart("memory", kind, rows) for kind, rows in cells]
        print(json.dumps(found["memory"], indent=2), flush=True)
    for kind in ("mixture", "pairs"):
        found[kind] = {
            "sampling": _apart("sampling", kind, ROWS, arguments.runs),
            "scoring": _apart("scoring", kind, arguments.runs),
        }
        print(json.dumps({kind: found[kind]}, indent=2), flush=True)
    found["accuracy"] = _apart("accuracy")
    print(json.dumps(found["accuracy"], indent=2), flush=True)
    found["load_after"] = os.getloadavg()
    command = shlex.join(["python", "-m", "benchmarks.throughput", *sys.argv[1:]])
    arguments.output.write_text(json.dumps(found | made_by(command), indent=1) + "\n")


if __name__ == "__main__":
    main()
