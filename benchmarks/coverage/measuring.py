"""Blocks of releases: each is asked everything, and what its intervals hold is added up."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any
from unittest.mock import patch

import numpy as np
from experiments.provenance import made_by

from benchmarks.coverage.analyses import ANALYSES, from_draws, from_rows
from benchmarks.coverage.cells import FUNCTIONS, LINEAR, SOLVED, Cell, Tally
from benchmarks.coverage.populations import POPULATIONS
from benchmarks.coverage.questions import BETWEEN, QUESTIONS, Question, Rows
from benchmarks.coverage.releasing import Source
from sfumato.asking.model_answers import ModelRows
from sfumato.release.release import Release

BLOCKS = {LINEAR: 50, FUNCTIONS: 50, SOLVED: 10}  # releases of a block
FEW = 50  # rows of a model that stand in for those of every one
Figures = dict[str, Tally]


def measure(cell: Cell, wanted: int, save: Callable[[Cell], None], command: str) -> None:
    """Add blocks to a cell until it has so many releases."""
    source = Source.of(POPULATIONS[cell.population](), cell.rows, cell.epsilon, 1.0 / cell.rows)
    while cell.releases < wanted:
        first, many = cell.releases, min(BLOCKS[cell.mode], wanted - cell.releases)
        began, figures = time.perf_counter(), Figures()
        for seed in range(first, first + many):
            one_release(cell, source, seed, figures)
        block = {
            "first_seed": first,
            "releases": many,
            "seconds": round(time.perf_counter() - began, 1),
            "figures": {name: asdict(tally) for name, tally in figures.items()},
            **made_by(command),
        }
        cell.blocks.append(block)
        save(cell)


def one_release(cell: Cell, source: Source, seed: int, figures: Figures) -> None:
    """Draw a table, release it, and see what its intervals hold. The seed makes both."""
    rng = np.random.default_rng([seed, cell.rows, round(1000 * cell.epsilon)])
    table = source.draw(cell.rows, rng)
    release = source.release(table.batch, int(rng.integers(1 << 62)), solved=cell.mode == SOLVED)
    if cell.mode != SOLVED:
        questions = [each for each in QUESTIONS[cell.population] if (each.kind in BETWEEN) == (cell.mode == FUNCTIONS)]
        few = source.rows.once("rows of a model", lambda: release.sample(FEW, seed=0))
        with patch.object(ModelRows, "frame", few):  # what has no interval is not looked at
            for question in questions:
                for about in question.abouts:
                    asked(question, about, release, table if about == "table" else source.rows, figures)
        return
    analyses = ANALYSES[cell.population]
    for said, way in (("rows", from_rows), ("draws", from_draws)):
        for name, truth, interval in way(analyses, release, cell.rows, source.rows, seed):
            add(figures, f"{said}|{name}", [interval], [truth])


def asked(question: Question, about: Any, release: Release, rows: Rows, figures: Figures) -> None:
    """One question about one thing."""
    intervals = [each.interval for each in question.ask(release, about)]
    truths: Sequence[float] = [np.nan] * len(intervals)
    if any(each is not None for each in intervals):
        truths = question.truth(rows, release)
    add(figures, f"{about}|{question.name}", intervals, truths)


def add(figures: Figures, name: str, intervals: Sequence[Any], truths: Sequence[float]) -> None:
    """What the intervals of one release hold."""
    holds = [None if i is None else bool(i[0] <= t <= i[1]) for i, t in zip(intervals, truths, strict=True)]
    widths = [i[1] - i[0] for i in intervals if i is not None]
    figures.setdefault(name, Tally()).add(holds, float(np.mean(widths)) if widths else 0.0)
