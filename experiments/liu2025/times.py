"""Remark 2: seconds of Algorithm 1 over K as well as over N, beside the strict release."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments.liu2025.runners import ALL, release
from experiments.liu2025.setups import DELTA, synthetic

METHODS = ("printed", "strict-label")
ROWS, CLASSES = (1000, 10_000, 100_000), (2, 5, 10, 20)
MIDDLE_ROWS, MIDDLE_CLASSES = 10_000, 5


def table(trials: int, stem: Path) -> dict[str, Any]:
    """Medians of so many data sets, d = 3, epsilon = 1; and the power of N and of K that fits them best."""
    cells = [(n, MIDDLE_CLASSES) for n in ROWS] + [(MIDDLE_ROWS, k) for k in CLASSES if k != MIDDLE_CLASSES]
    rows = []
    for n, k in cells:
        setups = [synthetic(trial, rows=n, classes=k) for trial in range(trials)]
        for method in METHODS:
            taken = []
            for trial, setup in enumerate(setups):
                start = time.process_time()
                release(method, setup, 1.0, DELTA, (trial, 0))
                taken.append(time.process_time() - start)
            median = float(f"{statistics.median(taken):.3g}")
            rows.append({"method": ALL[method].legend, "rows": n, "classes": k, "seconds": median})
    powers = [
        {"method": ALL[method].legend, "power_of_N": _power(rows, method, "rows"), "power_of_K": _power(rows, method)}
        for method in METHODS
    ]
    title = f"Seconds of one release, d = 3, epsilon = 1, processor time, medians of {trials} data sets"
    lines = [title, "", "| method | rows | classes | seconds |", "|---|---|---|---|"]
    lines += [f"| {r['method']} | {r['rows']} | {r['classes']} | {r['seconds']:g} |" for r in rows]
    lines += ["", "| method | power of N | power of K |", "|---|---|---|"]
    lines += [f"| {p['method']} | {p['power_of_N']:g} | {p['power_of_K']:g} |" for p in powers]
    stem.with_suffix(".md").write_text("\n".join(lines) + "\n")
    return {"title": title, "trials": trials, "rows": rows, "powers": powers}


def _power(rows: list[dict[str, Any]], method: str, axis: str = "classes") -> float:
    fixed, value = ("classes", MIDDLE_CLASSES) if axis == "rows" else ("rows", MIDDLE_ROWS)
    mine = [row for row in rows if row["method"] == ALL[method].legend and row[fixed] == value]
    slope = np.polyfit(np.log([row[axis] for row in mine]), np.log([row["seconds"] for row in mine]), 1)[0]
    return float(f"{slope:.2g}")
