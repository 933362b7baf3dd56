"""Table 1: a classifier trained on synthetic rows and tested on real ones, for each data set and method.

Each cell is kept as soon as one release of it is judged, so a run may be stopped at any time and continued.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.three_a.data import LOADERS, MissingData, load
from experiments.three_a.judge import JUDGES
from experiments.three_a.methods import METHODS, PUBLISHED, NotThere
from sfumato.files import replacing

EPSILON = 1.0
RELEASES = 5
JUDGE = "LightGBM"
TITLES = {
    "adult": "Adult",
    "census": "Census (half of the rows)",
    "fraud": "credit card fraud (a sample)",
    "isolet": "Isolet, vowel or not",
    "mnist": "MNIST",
}

Cells = dict[str, dict[str, Any]]


def make(
    out: Path,
    *,
    only: Sequence[str] = (),
    columns: Sequence[str] = (),
    releases: int = RELEASES,
    times: int = 1,
    again: bool = False,
) -> Path:
    """Fill the cells that are missing, write the table, and say where it is. `again` makes the named cells anew."""
    path = out / "table1.json"
    cells = kept(path)
    for name in only or LOADERS:
        for column in columns or METHODS:
            try:
                fill(cells, name, column, releases=releases, times=times, again=again, path=path)
            except (MissingData, NotThere) as error:
                print(f"{name}, {column} skipped: {error}", file=sys.stderr)
    written = out / "table1.md"
    written.write_text(markdown(kept(path)))
    return written


def fill(
    cells: Cells, name: str, column: str, *, releases: int, times: int, again: bool = False, path: Path | None = None
) -> None:
    """Judge the releases of one cell that are not there yet; what was made with other settings is made anew."""
    method, data = METHODS[column], load(name)
    settings = {"epsilon": EPSILON, "delta": data.delta, "rows": len(data.train), "times": times, "judge": JUDGE}
    key = f"{name}/{column}" if times == 1 else f"{name}/{column}, {times} N rows"
    cell = cells.get(key, {})
    if again or cell.get("settings") != settings:
        cell = {"settings": settings, "releases": []}
    for seed in range(len(cell["releases"]), releases if method.random else 1):
        made = method(data, EPSILON, data.delta, seed, times * len(data.train))
        started = time.perf_counter()
        scores = JUDGES[JUDGE](made.frame, data)
        judged = time.perf_counter() - started
        cell["releases"].append(
            {"scores": scores, "seconds": round(made.seconds, 2), "judge_seconds": round(judged, 1)}
        )
        cells[key] = cell
        print(f"{key}, release {seed}: {scores} after {made.seconds:.1f} s", file=sys.stderr, flush=True)
        if path is not None:
            keep(path, key, cell)


def kept(path: Path) -> Cells:
    """The cells in a file; none where there is none."""
    return json.loads(path.read_text()) if path.is_file() else {}


def keep(path: Path, key: str, cell: dict[str, Any]) -> None:
    """Write one cell, and leave the others as they are in the file by now: another run may have filled them."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(kept(path) | {key: cell}, indent=1) + "\n")


def summary(cell: dict[str, Any]) -> dict[str, str]:
    """Mean and spread of each score of a cell, as text."""
    return {
        name: spread([release["scores"][name] for release in cell["releases"]])
        for name in cell["releases"][0]["scores"]
    }


def spread(values: Sequence[float]) -> str:
    """Mean, and standard deviation where there are several.

    >>> spread([0.9, 0.92]), spread([0.9])
    ('0.910 ± 0.014', '0.900')
    """
    if len(values) == 1:
        return f"{values[0]:.3f}"
    return f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}"


def markdown(cells: Cells) -> str:
    """The table as Markdown: what was measured here, then what the paper says."""
    ours = sorted({key.split("/")[1] for key in cells}, key=_order)
    theirs = list(PUBLISHED["adult"])
    head = ["data", "score", *(_title(column) for column in ours), *(f"{name} (paper)" for name in theirs)]
    lines = [head, ["---"] * len(head)]
    for name, title in TITLES.items():
        found = {column: summary(cells[f"{name}/{column}"]) for column in ours if f"{name}/{column}" in cells}
        for i, metric in enumerate(dict.fromkeys(metric for scores in found.values() for metric in scores)):
            published = [f"{PUBLISHED[name][column]:.3f}" if i == 0 else "" for column in theirs]
            lines.append([title, metric, *(found.get(column, {}).get(metric, "") for column in ours), *published])
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{HEADING}\n{text}\n\n{_times(cells, ours)}"


HEADING = f"""# Table 1 of Madl et al. (2023)

A classifier (LightGBM as it comes) is trained on synthetic rows, as many as real ones, and tested on real rows.
epsilon = {EPSILON:g}, delta = 1 / N, N the train rows; MNIST 1e-5. Mean ± standard deviation over releases.
The paper's columns are its own figures: Census and fraud there have all rows, its test sets are other ones, and
ADS-GAN and, as printed, ClustMix are not differentially private. In these runs nothing is tuned but sigma_max of
ClustMix as printed (four values, by the private rows); the paper gave each method 30 rounds of Bayesian optimisation.
So the columns "as printed", DPMix and DP-MERF are what these methods do as they come, the paper's when tuned.
"""


def _times(cells: Cells, ours: Sequence[str]) -> str:
    """A second table: releases and seconds, from the private table to the last synthetic row."""
    head = ["data", "N", *(_title(column) for column in ours)]
    lines = [head, ["---"] * len(head)]
    for name, title in TITLES.items():
        mine = {column: cells[f"{name}/{column}"] for column in ours if f"{name}/{column}" in cells}
        if mine:
            rows = next(iter(mine.values()))["settings"]["rows"]
            lines.append([title, f"{rows:,}", *(_seconds(mine.get(column)) for column in ours)])
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    said = "Releases, and seconds for one (fit and sample, without the judge), on two busy cores:"
    return f"{said}\n\n{text}\n"


def _seconds(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    seconds = [release["seconds"] for release in cell["releases"]]
    return f"{len(seconds)}: {statistics.mean(seconds):.1f} s"


def _order(column: str) -> tuple[int, str]:
    return list(METHODS).index(column.split(",")[0]), column


def _title(column: str) -> str:
    name, _, rest = column.partition(",")
    method = METHODS[name]
    return f"{method.title}{',' + rest if rest else ''} ({method.guarantee})" if method.random else method.title
