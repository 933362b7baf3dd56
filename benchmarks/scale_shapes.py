"""What one pass over a row costs, by columns, classes, bins and tables; and what coding a cell costs, by its kind.

    python -m benchmarks.scale_shapes          (a minute, one core; writes benchmarks/scale_shapes.json)

CPU nanoseconds, the least of several runs over one batch of 2^18 made-up rows, on one thread.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from experiments.provenance import made_by

from benchmarks import scale
from sfumato.mechanisms.questions import latent_space, score_image
from sfumato.private.queries.base import Batch, Query
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.tables import Tables
from sfumato.schema.layout import Layout
from sfumato.tables.coding import find_cells

ROWS = 1 << 18
RUNS = 5
COLUMNS, CLASSES, BINS = 14, 2, 256  # unless said otherwise
LEVELS = 17


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/scale_shapes.json"))
    arguments = parser.parse_args()
    found = {"rows": ROWS, "runs": RUNS, "seed": scale.SEED, "cells": passes() | {"coding": coding()}}
    command = "python -m benchmarks.scale_shapes"
    arguments.out.write_text(json.dumps(found | {"made_by": made_by(command)}, indent=1) + "\n")
    print(json.dumps(found["cells"], indent=1))


def passes() -> dict[str, dict[str, float]]:
    """Nanoseconds a row of each question, as one of its sizes grows."""
    return {
        "histograms by columns": {str(n): clocked(histograms(n), n) for n in (7, 14, 28, 56)},
        "histograms by classes": {str(k): clocked(histograms(classes=k), classes=k) for k in (2, 8, 32)},
        "histograms by bins": {str(b): clocked(histograms(bins=b), bins=b) for b in (16, 256, 4096)},
        "second moments by columns": {str(n): clocked(moments(n), n) for n in (7, 14, 28, 56)},
        "second moments by classes": {str(k): clocked(moments(classes=k), classes=k) for k in (2, 8, 32)},
        "all pairs by columns": {str(n): clocked(tables(n), n, bins=LEVELS) for n in (7, 14, 28, 56)},
        "all pairs with the label by columns": {str(n): clocked(tables(n, True), n, bins=LEVELS) for n in (7, 14, 28)},
    }


def coding() -> dict[str, float]:
    """Nanoseconds a cell of each column of the made-up table."""
    layout = Layout.of(scale.schema_of())
    batch = scale.group(0, 1 << 16).combine_chunks().to_batches()[0]
    columns = zip(layout.names, layout.bins, strict=True)
    return {name: least(lambda name=name, bins=bins: find_cells(batch[name], bins), 1 << 16) for name, bins in columns}


def clocked(query: Query, columns: int = COLUMNS, classes: int = CLASSES, bins: int = BINS) -> float:
    rng = np.random.default_rng(scale.SEED)
    codes = rng.integers(0, bins, (columns, ROWS)).astype(np.int32)
    batch = Batch(codes, rng.integers(0, classes, ROWS))
    return least(lambda: query.total(batch), ROWS)


def least(work: Callable[[], Any], rows: int) -> float:
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return round(min(times) / rows * 1e9, 1)


def histograms(columns: int = COLUMNS, classes: int = CLASSES, bins: int = BINS) -> Query:
    return Histograms((bins,) * columns, classes, (1 / columns,) * columns)


def moments(columns: int = COLUMNS, classes: int = CLASSES) -> Query:
    rng = np.random.default_rng(scale.SEED)
    scores = [[rng.normal(size=BINS) for _ in range(columns)] for _ in range(classes)]
    return GroupSums(latent_space(score_image(scores), [8.0] * classes), (0.2, 0.3, 0.5), "outer")


def tables(columns: int = COLUMNS, label: bool = False) -> Query:
    pairs = list(itertools.combinations(range(columns), 2))
    asked = pairs + [(*pair, columns) for pair in pairs if label]
    levels = (np.append(np.arange(LEVELS), 0),) * columns
    return Tables(levels, CLASSES, tuple(asked), (1 / len(asked),) * len(asked))


if __name__ == "__main__":
    main()
