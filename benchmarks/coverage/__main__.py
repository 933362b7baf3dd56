"""Measure how often intervals hold what they are about, or write the page.

    python -m benchmarks.coverage [--population simulated] [--rows 1000,10000] [--epsilon 1] [--mode linear] \\
        [--releases 100]
    python -m benchmarks.coverage --widths
    python -m benchmarks.coverage --page

A cell (population, rows, epsilon, mode) that has its releases is left as it is, and one that was stopped goes on where
it stood: every block of releases is kept as soon as it is measured, in results/. Modes: `linear` and `functions`, what
is asked of releases whose rounds were asked without solving the tilt between them, and whose intervals rest on the
noisy answers; `solved`, whole fits, whose synthetic rows and draws are analysed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from experiments.provenance import made_by

from benchmarks.coverage import cells, page, widths
from benchmarks.coverage.cells import FUNCTIONS, LINEAR, MODES, RESULTS, SOLVED, Cell
from benchmarks.coverage.measuring import measure
from benchmarks.coverage.populations import POPULATIONS
from benchmarks.coverage.releasing import Source

COMPARED_RELEASES = 3
EPSILONS = (0.5, 1.0, 4.0)
ROWS = {"simulated": (1_000, 10_000, 100_000), "adult": (32_561,)}
RELEASES = {
    "simulated": {LINEAR: 1000, FUNCTIONS: 1000, SOLVED: 200},
    "adult": {LINEAR: 300, FUNCTIONS: 300, SOLVED: 300},
}


def main(words: Sequence[str] | None = None, folder: Path = RESULTS) -> None:
    """Measure, or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--population", type=_listed, default=list(POPULATIONS), help="of which tables are drawn")
    parser.add_argument("--rows", type=_listed, help="of a table, all numbers by default")
    parser.add_argument("--epsilon", type=_listed, default=EPSILONS, help="0.5, 1 and 4 by default")
    parser.add_argument("--mode", type=_listed, default=MODES, help="linear, functions, solved; all by default")
    parser.add_argument("--releases", type=int, help="of a cell at the most, for now")
    parser.add_argument("--widths", action="store_true", help="hold widths against the best linear combinations")
    parser.add_argument("--page", action="store_true", help="write docs/coverage.md from what was measured")
    said = parser.parse_args(words)
    if unknown := [name for name in said.population if name not in POPULATIONS]:
        parser.error(f"no population {unknown[0]!r}; there are {', '.join(POPULATIONS)}")
    if unknown := [name for name in said.mode if name not in MODES]:
        parser.error(f"no mode {unknown[0]!r}; there are {', '.join(MODES)}")
    if said.page:
        page.write(cells.load(folder))
        return
    if said.widths:
        compare_widths(said.population, [float(each) for each in said.epsilon], folder)
        return
    known = cells.load(folder)
    rows = None if said.rows is None else [int(each) for each in said.rows]
    for key in wanted(said.population, rows, [float(each) for each in said.epsilon], said.mode):
        cell = known.get(key) or Cell(*key)
        number = RELEASES[cell.population][cell.mode]
        number = number if said.releases is None else min(number, said.releases)
        if cell.releases < number:
            measure(cell, number, partial(Cell.save, folder=folder), command(cell, number))
        seconds = sum(block["seconds"] for block in cell.blocks)
        print(f"{cell.name}: {cell.releases} releases in {seconds:.0f} s", flush=True)


def wanted(
    populations: Sequence[str], rows: Sequence[int] | None, epsilons: Sequence[float], modes: Sequence[str]
) -> Iterator[tuple[str, int, float, str]]:
    """The cells that a command names."""
    for name in populations:
        for mode in modes:
            for number in ROWS[name] if rows is None else rows:
                for epsilon in epsilons:
                    yield name, number, epsilon, mode


def compare_widths(populations: Sequence[str], epsilons: Sequence[float], folder: Path) -> None:
    """Write the ratios of a few whole fits of every table."""
    found = []
    for name, rows, epsilon, _ in wanted(populations, None, epsilons, [SOLVED]):
        source = Source.of(POPULATIONS[name](), rows, epsilon, 1.0 / rows)
        rng = np.random.default_rng(rows)
        made = [source.release(source.draw(rows, rng).batch, seed, solved=True) for seed in range(COMPARED_RELEASES)]
        several = [widths.ratios(release, widths.COMPARED[name]) for release in made]
        for question in dict.fromkeys(key for each in several for key in each):
            first, whole = np.mean([each[question] for each in several if question in each], axis=0).tolist()
            place = {"population": name, "rows": rows, "epsilon": epsilon}
            found.append(place | {"question": question, "first": round(first, 4), "all": round(whole, 4)})
        print(f"{name}, {rows} rows, epsilon {epsilon:g}: compared", flush=True)
    said = made_by("python -m benchmarks.coverage --widths") | {"releases": COMPARED_RELEASES, "ratios": found}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / page.WIDTHS).write_text(json.dumps(said, indent=1) + "\n")


def command(cell: Cell, releases: int) -> str:
    """What makes a cell."""
    said = f"--population {cell.population} --rows {cell.rows} --epsilon {cell.epsilon:g} --mode {cell.mode}"
    return f"python -m benchmarks.coverage {said} --releases {releases}"


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


if __name__ == "__main__":
    main()
