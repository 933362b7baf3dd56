"""Runs that are kept: one JSON line each, added when it is done. A run that is in the file is not made again."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.provenance import made_by
from experiments.slicing.data import load
from experiments.slicing.methods import METHODS, REAL
from experiments.three_a.data import DataSet, MissingData
from experiments.three_a.judge import Scores
from experiments.three_a.methods import NotThere
from sfumato.files import replacing

Run = dict[str, Any]
KEY = ("data", "method", "epsilon", "delta", "rows", "seed")

Judge = Callable[[pd.DataFrame, DataSet], Scores]


def make(
    path: Path,
    judge: Judge,
    *,
    data: Sequence[str],
    methods: Sequence[str],
    epsilons: Sequence[float],
    releases: int,
    judge_real: Callable[[DataSet], Scores] | None = None,
    again: bool = False,
) -> None:
    """Make the runs that are not in the file. What has no data or no method is skipped and says so."""
    wanted = [(name, method) for name in data for method in methods]
    if again:
        forget(path, wanted)
    for name, method in wanted:
        try:
            if method == REAL:
                _real(path, load(name), judge_real or (lambda found: judge(found.train, found)))
                continue
            for epsilon in epsilons:
                for seed in range(releases):
                    _release(path, load(name), method, epsilon, seed, judge)
        except (MissingData, NotThere) as error:
            print(f"{name}, {method} skipped: {error}", file=sys.stderr)


def kept(path: Path) -> list[Run]:
    """The runs in a file, in order; none where there is none."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def forget(path: Path, unwanted: Iterable[tuple[str, str]]) -> None:
    """Take the runs of these data sets and methods out of the file."""
    gone = set(unwanted)
    left = [run for run in kept(path) if (run["data"], run["method"]) not in gone]
    with replacing(path) as temporary:
        temporary.write_text("".join(_line(run) for run in left))


def select(runs: Iterable[Run], **wanted: object) -> list[Run]:
    """The runs that have these values."""
    return [run for run in runs if all(run[name] == value for name, value in wanted.items())]


def spread(values: Sequence[float]) -> str:
    """Mean, and standard deviation where there are several.

    >>> spread([0.9, 0.92]), spread([0.9]), spread([])
    ('0.910 ± 0.014', '0.900', '')
    """
    if len(values) < 2:
        return "".join(f"{value:.3f}" for value in values)
    return f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}"


def summary(found: Sequence[Run], methods: Sequence[str]) -> str:
    """A line for each epsilon and method, in the order of the methods: mean and spread of every score."""
    scores = list(found[0]["scores"])
    lines = [["method", "guarantee", "epsilon", *scores, "runs", "seconds each"]]
    for epsilon in [None, *sorted({run["epsilon"] for run in found} - {None})]:
        there = [(method, mine) for method in methods if (mine := select(found, method=method, epsilon=epsilon))]
        for method, mine in there:
            cells = [spread([run["scores"][score] for run in mine]) for score in scores]
            seconds = f"{statistics.mean(run['seconds'] for run in mine):.1f}"
            named = [METHODS[method].title, METHODS[method].guarantee, "" if epsilon is None else f"{epsilon:g}"]
            lines.append([*named, *cells, str(len(mine)), seconds])
    return table(lines)


def table(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells as Markdown, the first one the heading."""
    first, *others = lines
    return "".join(f"| {' | '.join(line)} |\n" for line in [first, ["---"] * len(first), *others])


def _release(path: Path, data: DataSet, method: str, epsilon: float, seed: int, judge: Judge) -> None:
    rows = len(data.train)
    run = dict(zip(KEY, (data.name, method, epsilon, data.delta, rows, seed), strict=True))
    if select(kept(path), **run):
        return
    made = METHODS[method](data, epsilon, data.delta, seed)
    _keep(path, run, made.seconds, lambda: judge(made.frame, data))


def _real(path: Path, data: DataSet, judge: Callable[[DataSet], Scores]) -> None:
    """Real rows have neither epsilon nor seed."""
    run = dict(zip(KEY, (data.name, REAL, None, None, len(data.train), None), strict=True))
    if not select(kept(path), **run):
        _keep(path, run, 0.0, lambda: judge(data))


def _keep(path: Path, run: Run, seconds: float, judge: Callable[[], Scores]) -> None:
    started = time.perf_counter()
    scores = judge()
    took = {"seconds": round(seconds, 1), "judge_seconds": round(time.perf_counter() - started, 1)}
    done = run | {"scores": scores} | took | made_by()
    with path.open("a") as file:  # one write a line: another run may add to the same file
        file.write(_line(done))
    print(_line(done), end="", file=sys.stderr, flush=True)


def _line(run: Run) -> str:
    return json.dumps(run) + "\n"
