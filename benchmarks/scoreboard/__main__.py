"""Measure the scoreboard's cells, or write its page.

    python -m benchmarks.scoreboard [--data adult,credit] [--methods mixture,dpmm-mst] [--epsilon 1,4] [--again]
    python -m benchmarks.scoreboard --prepare dpmm
    python -m benchmarks.scoreboard --page

A cell (data set, method, epsilon) that was measured is not measured again unless `--again` says so, and a run that was
stopped goes on where it stood: every release is kept as soon as it is scored, in results/. A peer that took more than
30 minutes is not tried on a table that is as large or larger, nor with more budget, unless `--again` says so.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.scoreboard import cells, environments, foreseen, measuring, page
from benchmarks.scoreboard.cells import REAL, RESULTS, Cell
from benchmarks.scoreboard.datasets import DATASETS, DataMissing
from benchmarks.scoreboard.methods import METHODS


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=listed, default=list(DATASETS), help="data sets, all by default")
    parser.add_argument("--methods", type=listed, default=[REAL, *METHODS], help="methods, all by default")
    parser.add_argument("--epsilon", type=listed, help="instead of what each method is measured at")
    parser.add_argument("--releases", type=int, default=measuring.ALL, help="of a cell at the most, for now")
    parser.add_argument("--again", action="store_true", help="measure cells that were measured")
    parser.add_argument("--prepare", metavar="NAME", help=f"make the environment of {', '.join(environments.names())}")
    parser.add_argument("--page", action="store_true", help="write docs/scoreboard.md from what was measured")
    said = parser.parse_args(words)
    if unknown := [name for name in said.data if name not in DATASETS]:
        parser.error(f"no data set {unknown[0]!r}; there are {', '.join(DATASETS)}")
    if unknown := [name for name in said.methods if name not in (REAL, *METHODS)]:
        parser.error(f"no method {unknown[0]!r}; there are {REAL}, {', '.join(METHODS)}")
    if said.prepare:
        if said.prepare not in environments.names():
            parser.error(f"no environment {said.prepare!r}; there are {', '.join(environments.names())}")
        environments.prepare(said.prepare)
    elif said.page:
        page.write(cells.load())
    else:
        epsilons = None if said.epsilon is None else [float(each) for each in said.epsilon]
        for data, method, epsilon in wanted(said.data, said.methods, epsilons):
            fill(data, method, epsilon, said.again, said.releases)


def listed(text: str) -> list[str]:
    """Names between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def wanted(
    data: Sequence[str], methods: Sequence[str], epsilons: Sequence[float] | None
) -> Iterator[tuple[str, str, float]]:
    """The cells that a command names."""
    for name in data:
        for method in methods:
            if method != REAL and not METHODS[method].suits(DATASETS[name].labelled):
                continue
            for epsilon in [0.0] if method == REAL else epsilons or METHODS[method].epsilons:
                yield name, method, epsilon


def fill(
    data: str, method: str, epsilon: float, again: bool, most: int = measuring.ALL, folder: Path = RESULTS
) -> None:
    """Measure what a cell lacks and say what became of it."""
    known = {} if again else cells.load(folder)
    cell = known.get((data, method, epsilon)) or Cell(data, method, epsilon)
    needed = 1 if method == REAL else min(most, METHODS[method].releases(cell.seconds))
    title = f"{data}, {method}" + (f", epsilon {epsilon:g}" if epsilon else "")
    if cell.is_done(needed):
        print(f"{title}: measured before", flush=True)
        return
    if method != REAL and (told := foreseen.out_of_time(known, data, method, epsilon)):
        print(f"{title}: not tried, {told.failure} on {told.data} at epsilon {told.epsilon:g}", flush=True)
        return
    try:
        if method == REAL:
            measuring.measure_real(DATASETS[data], partial(Cell.save, folder=folder))
        else:
            save = partial(Cell.save, folder=folder)
            cell = measuring.measure(DATASETS[data], METHODS[method], epsilon, cell, save, most)
    except (DataMissing, environments.NotPrepared) as error:
        print(f"{title}: skipped, {error}", flush=True)
        return
    print(f"{title}: {cell.failure or 'measured'}", flush=True)


if __name__ == "__main__":
    main()
