"""How often intervals of combined draws cover, where all that is Gaussian is: the table of docs/draws.md.

    python -m benchmarks.draws          (a minute; writes benchmarks/draws.json)

The value that is looked for is N(0, V) with V = 1. A draw of the population is another such value, and an analysis of
its rows misses that by N(0, U), which it claims. Rubin's rule for missing cells, u + (1 + 1/m) B, stands beside it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from experiments.provenance import made_by
from scipy.stats import t as student

from sfumato.release.combining import combine

CASES = ((5, 0.1), (20, 0.01), (20, 0.1), (20, 1.0), (50, 0.1), (50, 10.0))  # draws m, and U / V
TIMES = 200_000
LEVEL = 0.95


def covers(draws: int, ratio: float, times: int, seed: int) -> dict[str, Any]:
    """Shares of intervals that hold the value, and the mean half-width, over so many simulations."""
    rng = np.random.default_rng([seed, draws, round(1000 * ratio)])
    value = rng.normal(size=times)
    found = rng.normal(0.0, np.sqrt(1.0 + ratio), (draws, times))
    pooled = combine(found, np.full((draws, times), ratio), LEVEL)
    half = (pooled["high"] - pooled["low"]) / 2.0
    return {
        "draws": draws,
        "ratio": ratio,
        "covers": float((np.abs(value - pooled["estimate"]) <= half).mean()),
        "half_width": float(half.mean()),
        "rubin_covers": float((np.abs(value - pooled["estimate"]) <= _rubin(found, ratio)).mean()),
    }


def _rubin(found: np.ndarray[Any, Any], ratio: float) -> np.ndarray[Any, Any]:
    """Half the width of the interval for missing cells, with Rubin's degrees of freedom."""
    draws = len(found)
    between = (1.0 + 1.0 / draws) * found.var(axis=0, ddof=1)
    freedom = (draws - 1) * (1.0 + ratio / between) ** 2
    return np.asarray(student.ppf((1.0 + LEVEL) / 2.0, freedom) * np.sqrt(ratio + between))


def main() -> None:
    """Simulate all cases, and print the rows of the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/draws.json"))
    arguments = parser.parse_args()
    cells = [covers(*case, arguments.times, arguments.seed) for case in CASES]
    for cell in cells:
        shares = f"{cell['covers']:.1%} | {cell['half_width']:.2f} | {cell['rubin_covers']:.1%}".replace("%", " %")
        print(f"| {cell['draws']} | {cell['ratio']:g} | {shares} |")
    told = {"times": arguments.times, "seed": arguments.seed, "cells": cells}
    arguments.output.write_text(json.dumps(told | made_by("python -m benchmarks.draws"), indent=1) + "\n")


if __name__ == "__main__":
    main()
