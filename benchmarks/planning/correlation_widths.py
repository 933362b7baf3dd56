"""Half-widths of correlations beside those that a plan foretold, where a layout has settled the tables.

The tables and guesses are those of `half_widths`, with rough guesses at spreads. The layout has all pairs of columns,
or the three pairs of numbers that are asked about alone.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import sfumato as sf
from benchmarks.planning.half_widths import DELTA, EPSILONS, GUESSES, MECHANISM, PAIRS, ROWS, SCHEMA, table

SPREADS = {"age": 19.0, "visits": 2.0, "weight": 14.0}
MANY = 10**7  # rows at which a layout of all pairs pays, whatever epsilon is
LAYOUTS = ("all", "three")


def cells() -> list[tuple[int, float, str]]:
    """Rows, epsilon and the layout's tables."""
    return [(rows, epsilon, tables) for rows in ROWS for epsilon in EPSILONS for tables in LAYOUTS]


def measure(rows: int, epsilon: float, tables: str, seed: int) -> dict[str, Any]:
    """What a plan foretells, with guesses at spreads and without, and what a release of a simulated table then has."""
    mechanism = sf.Mixture(layout=_layout(tables), tuning=MECHANISM.tuning)
    terms: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA, "rows": rows, "mechanism": mechanism}
    plan = sf.plan(SCHEMA, **terms)
    release = sf.fit(table(rows, seed), SCHEMA, insecure_seed=seed, **terms)
    found = {f"{one} {two}": release.correlation(one, two) for one, two in PAIRS}
    return {
        "foretold": _foretold(sf.outlook(plan, GUESSES, SPREADS).widths),
        "foretold_without_spreads": _foretold(sf.outlook(plan, GUESSES).widths),
        "had": {name: None if each.interval is None else each.width / 2.0 for name, each in found.items()},
    }


def _foretold(widths: Any) -> dict[str, float | None]:
    """None where there is going to be no interval."""
    found = {f"{one} {two}": widths.pair(one, two).correlation for one, two in PAIRS}
    return {name: half if half < float("inf") else None for name, half in found.items()}


def _layout(tables: str) -> sf.SharedLayout:
    made = sf.SharedLayout.of(SCHEMA, epsilon=EPSILONS[0], delta=DELTA, rows=MANY)
    if tables == "all":
        return made
    names = list(SCHEMA["columns"])
    pairs = {tuple(sorted(names.index(name) for name in pair)) for pair in PAIRS}
    return replace(made, tables=tuple(pair for pair in combinations(range(len(names)), 2) if pair in pairs))
