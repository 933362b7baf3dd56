"""Table 1: a classifier trained on synthetic rows and tested on real ones, for each data set and method.

A cell is one data set with one method, in a file of its own, which is written after every release: a run may be stopped
and continued, and cells may be filled by several runs at a time, on several machines.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from experiments.provenance import made_by
from experiments.three_a import tuning
from experiments.three_a.data import SPLITS, TABLE, DataSet, MissingData, load
from experiments.three_a.judge import JUDGES
from experiments.three_a.methods import GANS, MANY, METHODS, PUBLISHED, TEN, NotThere
from sfumato.files import replacing

EPSILON = 1.0
RELEASES, FEW_RELEASES = 5, 3  # of a cell; of one with images
JUDGE = "LightGBM"
GOAL = 0.04  # of the average difference to real rows
TITLES = {
    "adult": "Adult",
    "census": "Census (half of the rows)",
    "fraud": "credit card fraud (a sample)",
    "isolet": "Isolet, vowel or not",
    "mnist": "MNIST",
    "census_full": "Census, all rows",
    "credit_full": "credit card fraud, all rows",
    "mimic_mortality": "MIMIC-III, mortality",
    "mimic_stay": "MIMIC-III, length of stay",
}

Cell = dict[str, Any]
Cells = dict[tuple[str, str, str], Cell]
"""By data set, split and method."""


def make(
    out: Path,
    *,
    data: Sequence[str] = (),
    methods: Sequence[str] = (),
    split: str = SPLITS[0],
    releases: int | None = None,
    again: bool = False,
) -> Path:
    """Fill the cells that are missing, write the page, and say where it is. `again` makes the named cells anew."""
    for name in data or TABLE:
        for method in methods or METHODS:
            try:
                fill(out, name, method, split=split, releases=releases, again=again)
            except (MissingData, NotThere) as error:
                print(f"{name}, {method} skipped: {error}", file=sys.stderr)
    return write_page(out)


def fill(
    out: Path, name: str, method: str, *, split: str = SPLITS[0], releases: int | None = None, again: bool = False
) -> Cell:
    """Judge the releases of one cell that are not there yet; what was made with other settings is made anew.

    Where a table has as many rows as a method draws at the least, the rows are those of the method that it is like.
    """
    data, path = load(name, split), cell_path(out, name, split, method)
    if METHODS[method].like and len(data.train) >= METHODS[method].least:
        return fill(out, name, METHODS[method].like, split=split, releases=releases, again=again)
    settings = {"epsilon": EPSILON, "delta": data.delta, "rows": len(data.train), "judge": JUDGE}
    if METHODS[method].least:
        settings["drawn"] = METHODS[method].least
    cell = json.loads(path.read_text()) if path.is_file() and not again else {}
    if cell.get("settings") != settings:
        cell = {"data": name, "split": split, "method": method, "settings": settings, "releases": []}
    for seed in range(len(cell["releases"]), wanted(data, method) if releases is None else releases):
        if seed and not METHODS[method].random:
            break
        cell["releases"].append(judged(data, method, seed))
        keep(path, cell)
        print(f"{path.stem}, release {seed}: {cell['releases'][-1]['scores']}", file=sys.stderr, flush=True)
    return cell


def judged(data: DataSet, method: str, seed: int) -> dict[str, Any]:
    """One release and its scores, with what it takes to make it again."""
    made = METHODS[method](data, EPSILON, data.delta, seed)
    started = time.perf_counter()
    scores = JUDGES[JUDGE](made.frame, data)
    return {
        "seed": seed,
        "scores": {name: round(score, 5) for name, score in scores.items()},
        "seconds": round(made.seconds, 2),
        "judge_seconds": round(time.perf_counter() - started, 1),
        **made_by(),
    }


def wanted(data: DataSet, method: str) -> int:
    """How many releases a cell is to have."""
    if not METHODS[method].random:
        return 1
    return RELEASES if data.image is None else FEW_RELEASES


def cell_path(out: Path, name: str, split: str, method: str) -> Path:
    """Where a cell is kept."""
    return out / "table1" / f"{name}.{split}.{method}.json"


def keep(path: Path, cell: Cell) -> None:
    """Write one cell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(cell, indent=1) + "\n")


def kept(out: Path) -> Cells:
    """All cells there are; those of a table with enough rows serve the method that draws more of smaller ones, too."""
    cells = [json.loads(path.read_text()) for path in sorted((out / "table1").glob("*.json"))]
    found = {(cell["data"], cell["split"], cell["method"]): cell for cell in cells}
    for method, each in METHODS.items():
        same = [cell for cell in cells if cell["method"] == each.like and cell["settings"]["rows"] >= each.least]
        found |= {(cell["data"], cell["split"], method): cell for cell in same}
    return found


def jobs(out: Path, split: str = SPLITS[0], methods: Sequence[str] = ()) -> Iterator[str]:
    """The commands that would fill the cells that are missing or not full, one a line, each on its own. Those of tuned
    methods come once their settings have been searched; until then the search is in their place."""
    cells = kept(out)
    searches = [name for name in GANS if tuning.best(out, name) is None]
    if not methods:
        yield from (f"python -m experiments.three_a tune --methods {name}" for name in searches)
        methods = [method for method in METHODS if method.removesuffix("-tuned") not in searches or method in GANS]
    for name in TABLE:
        for method in methods:
            if method == "printed-tuned" and tuning.best(out, "printed", name) is None:
                continue  # its search is on the data set itself, and only where one asks for it
            needed = 1 if not METHODS[method].random else FEW_RELEASES if name == "mnist" else RELEASES
            if len(cells.get((name, split, method), {"releases": ()})["releases"]) < needed:
                command = f"python -m experiments.three_a table1 --data {name} --methods {method} --releases {needed}"
                yield command if split == SPLITS[0] else f"{command} --split {split}"


# --- The page


def write_page(out: Path) -> Path:
    """The page, from the cells."""
    path = out / "table1.md"
    path.write_text(markdown(kept(out)))
    return path


def markdown(cells: Cells) -> str:
    """Both splits, average differences, what the paper says, and releases with their seconds."""
    full = sum(("releases" in cells.get((name, SPLITS[0], m), {})) for name in TABLE for m in TEN)
    parts = [
        HEADING.format(full=full, all=len(TABLE) * len(TEN)),
        "## Splits of the documentation\n",
        _scores(cells, SPLITS[0]),
        "\n## A quarter of the rows as test set, as in the paper (fraud and MNIST: as above)\n",
        _scores(cells, SPLITS[1]),
        "\n## The paper's own figures\n",
        _published(),
        "\n## Releases, and seconds for one (fit and sample, without the judge)\n",
        _seconds(cells),
    ]
    return "\n".join(parts)


HEADING = f"""# Table 1 of Madl et al. (2023)

Written from the cells in `table1/` by `python -m experiments.three_a page`; {{full}} of {{all}} cells of ten methods
are there. A classifier (LightGBM as it comes) is trained on synthetic rows, as many as real ones (ClustMix as printed:
as many as its clusters; a line with "{MANY:,} rows": at least so many, as drawing rows is free), and tested on real
rows. epsilon = {EPSILON:g}, delta = 1 / N, N the train rows; MNIST 1e-5. Mean ± standard deviation over releases. Two
classes: AUC. More: accuracy, and AUC one against one. Average differences are of methods that have a cell for every
data set. Every cell's file has the seeds, command, commit and versions that made it.

ADS-GAN and, as printed, ClustMix are not differentially private. "Tuned" was tuned on Taiwan credit default, a data set
that is not in the table; all else is as the authors set it, but sigma_max of ClustMix as printed, the best of four by
the private rows, which nothing pays for; "tuned unpaid" is the best of 30 settings by them. The paper gave each method
30 rounds of Bayesian optimisation on the private rows.
"""


def _scores(cells: Cells, split: str) -> str:
    """One line a method, one column a score, and the average difference to real rows if none lacks a cell."""
    shown = [name for name in TITLES if any(key[:2] == (name, split) for key in cells)]
    if not shown:
        return "None yet.\n"
    columns = [
        (name, score) for name in shown for score in _names(cells[key] for key in cells if key[:2] == (name, split))
    ]
    lines = [["method", *(f"{TITLES[name]}: {score}" for name, score in columns), "average difference to real"]]
    for method in METHODS:
        mine = {name: cells[name, split, method] for name in shown if (name, split, method) in cells}
        if mine:
            found = [spread(values(mine[name], score)) if name in mine else "" for name, score in columns]
            everywhere = all(name in mine for name in shown if name in TABLE)
            lines.append([METHODS[method].named, *found, _difference(cells, method, split) if everywhere else ""])
    return _table(lines)


def _difference(cells: Cells, method: str, split: str) -> str:
    away = differences(cells, method, split)
    return f"{statistics.mean(away):.3f} ({len(away)})" if away else ""


def differences(cells: Cells, method: str, split: str = SPLITS[0]) -> list[float]:
    """How far a method's first scores are from those of real rows, on each data set of the table that has both."""
    both = [(cells.get((name, split, "real")), cells.get((name, split, method))) for name in TABLE]
    return [mean_score(real) - mean_score(cell) for real, cell in both if real and cell]


def mean_score(cell: Cell) -> float:
    """The mean of a cell's first score over its releases."""
    return statistics.mean(values(cell, next(iter(cell["releases"][0]["scores"]))))


def values(cell: Cell, score: str) -> list[float]:
    """A score of every release."""
    return [release["scores"][score] for release in cell["releases"] if score in release["scores"]]


def spread(values: Sequence[float]) -> str:
    """Mean, and standard deviation where there are several.

    >>> spread([0.9, 0.92]), spread([0.9]), spread([])
    ('0.910 ± 0.014', '0.900', '')
    """
    if len(values) < 2:
        return f"{values[0]:.3f}" if values else ""
    return f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}"


def _names(cells: Iterator[Cell]) -> list[str]:
    return list(dict.fromkeys(name for cell in cells for name in cell["releases"][0]["scores"]))


def _published() -> str:
    theirs = list(PUBLISHED["adult"])
    lines = [["method", *(TITLES[name] for name in TABLE), "average difference to real"]]
    for method in theirs:
        away = statistics.mean(PUBLISHED[name]["Real"] - PUBLISHED[name][method] for name in TABLE)
        lines.append([method, *(f"{PUBLISHED[name][method]:.3f}" for name in TABLE), f"{away:.3f} ({len(TABLE)})"])
    return _table(lines)


def _seconds(cells: Cells) -> str:
    lines = [["method", *(TITLES[name] for name in TABLE)]]
    for method in METHODS:
        found = [cells.get((name, SPLITS[0], method)) for name in TABLE]
        if any(found):
            lines.append([METHODS[method].named, *(_timed(cell) for cell in found)])
    return _table(lines)


def _timed(cell: Cell | None) -> str:
    if cell is None:
        return ""
    seconds = [release["seconds"] for release in cell["releases"]]
    return f"{len(seconds)}: {statistics.mean(seconds):.1f} s"


def _table(lines: Sequence[Sequence[str]]) -> str:
    marked = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in marked) + "\n"
