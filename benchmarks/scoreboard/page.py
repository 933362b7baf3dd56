"""The page: what peers do better first, with the cause; then tables and a plot a data set."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from benchmarks.scoreboard import foreseen
from benchmarks.scoreboard.cells import REAL, Cell, summary
from benchmarks.scoreboard.datasets import DATASETS
from benchmarks.scoreboard.methods import FEATURED, METHODS
from sfumato.evaluation import measures
from sfumato.evaluation.measures import Measure

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "scoreboard.md"
REMARKS = Path(__file__).parent / "remarks.yaml"
PLOTTED = {"adult": ("lightgbm", "any_column", "tv2", "told_apart"), "credit": ("lightgbm", "any_column", "tv1", "tv2")}

Cells = Mapping[tuple[str, str, float], Cell]

SHOWN_FIRST = ("lightgbm", "logistic", "forest", "any_column", "tv1", "tv2", "tv3", "told_apart")
SHOWN_LATER = (
    "range_queries",
    "correlation",
    "contingency",
    "rare_covered",
    "rare_error",
    "group_error",
    "group_label_error",
    "broken_rules",
    "log_likelihood",
)
MEASURES = {name: measures.MEASURES[name] for name in SHOWN_FIRST} | {
    "k_marginal": Measure("k-marginal", True, 0),
    "seconds": Measure("seconds", False, 1),
    "peak_megabytes": Measure("MB", False, 0),
}
MORE_MEASURES = {name: measures.MEASURES[name] for name in SHOWN_LATER}
SHOWN_EPSILONS = (0.5, 1, 4, 20)
FAILED, FORESEEN, EMPTY = "×", "(×)", "·"
COSTS = ("seconds", "peak_megabytes")

OPENING = """# The scoreboard

Our methods and others' on the same tables, at the same epsilon and delta = 1/N, with the same public schema. This page
is written by `python -m benchmarks.scoreboard --page` from the cells in `benchmarks/scoreboard/results/`; each of these
files has its command, commit, versions and the figures of every release. A cell is measured, or measured again, by

    python -m benchmarks.scoreboard --data adult --methods mixture-adapted --epsilon 1 --again

and the environment of a peer is made by `python -m benchmarks.scoreboard --prepare dpmm`. Figures are means ± standard
deviation over releases with fresh noise, as many synthetic rows as train rows. The split of a data set is fixed and
nothing was chosen on test rows.

- **LightGBM, logistic, forest**: AUC of the label on real test rows, trained on synthetic ones. **Any column**: mean
  AUC of LightGBM (30 trees) over every column as target, numbers split at the real median.
- **TV 1, 2, 3**: mean total-variation distance of tables of 1, 2 and 3 columns, numbers in 16 quantile bins of the real
  rows; all pairs, 120 triples. **Told apart**: AUC of LightGBM telling synthetic from real rows; 0.5 is best.
- **k-marginal**: NIST's score by SDNist 2.4; 1000 is best.
- **Range queries**: mean error of the shares that 1,000 random ranges and sets of 1 to 3 columns hold. **Correlation,
  contingency**: similarities as SDMetrics defines them; 1 is best. **Rare values**: of categories, below 1 % of the
  rows. **Small groups**: two categories shared by 0.2 to 2 % of the rows; error of their share, relative, and distance
  of the label inside. **Broken rules**: share of rows. **Log-likelihood**: of test rows, in nats.
- **Seconds, MB**: from rows in memory to synthetic rows, one thread of a shared machine; peak memory of the process.
- **Real rows**: train rows for the judges; for all else test rows held against train rows.

Peers that take whole numbers only (mbi, smartnoise) get numbers in 32 equal bins of the schema's bounds, on the scale
and with the atoms that the schema names; dpmm finds its bins by PrivTree with a tenth of epsilon. Synthetic numbers of
all are put on the schema's grid. What is derived from other columns is computed for all of them alike.

What to know of peers. MST and AIM by smartnoise sample with mbi 1.1, which deals the values of a column to rows in the
order in which these stand: columns with the same neighbour in the tree come out alike, up to a correlation of 1, though
the model holds them apart. MWEM needs a histogram of all columns together. synthcity reads ranges of numbers off the
rows without a charge. AIM on mbi 2.0 is driven by code of ours with the defaults of its paper, and the tables it scores
are computed in NumPy: mbi compiles a program for each of them. Some cells, most of them MWEM's failures, name a commit
that the history of this repository does not have: commits were put together before they came here.
"""


def write(cells: Cells, page: Path = PAGE) -> None:
    """Write the page, and its plots beside it."""
    known = [name for name in DATASETS if any(key[0] == name for key in cells)]
    parts = [
        OPENING,
        better(cells),
        peers(cells),
        ours(cells),
        *(section(name, cells, page) for name in known),
        neighbours(cells),
    ]
    if waiting := [DATASETS[name].title for name in DATASETS if name not in known]:
        parts.append(f"\n## Not measured yet\n\n{_wrapped('; '.join(waiting))}.\n")
    page.write_text("\n".join(part for part in parts if part).rstrip() + "\n", encoding="utf-8")


# --- Where a peer is better


def better(cells: Cells) -> str:
    """What peers do better than ours, with the cause."""
    remarks = yaml.safe_load(REMARKS.read_text(encoding="utf-8")) or {}
    lines = [line for data in DATASETS for line in _better_rows(data, cells, remarks)]
    title = "\n## Where a peer is better\n"
    if not lines:
        return f"{title}\nNowhere, of what is measured yet.\n"
    said = "The best peer against ours (the first measured of " + ", ".join(METHODS[name].title for name in FEATURED)
    said = _wrapped(f"{said}), by means; one line a data set, epsilon and measure.")
    return f"{title}\n{said}\n\n" + _table(["data", "epsilon", "measure", "ours", "peer", "cause"], lines)


def _better_rows(data: str, cells: Cells, remarks: dict[str, str]) -> Iterator[list[str]]:
    for epsilon in sorted({key[2] for key in cells if key[0] == data}):
        ours = next((cells[key] for name in FEATURED if (key := (data, name, epsilon)) in cells), None)
        if ours is None or not ours.releases:
            continue
        rivals = [cell for cell in _measured(cells, data, epsilon) if not METHODS[cell.method].ours]
        own = summary(ours)
        for name, measure in (MEASURES | MORE_MEASURES).items():
            found = [(summary(cell)[name], cell) for cell in rivals if name in summary(cell)]
            if name not in own or not found:
                continue
            sign = 1 if measure.more_is_better else -1
            figure, best = max(found, key=lambda each: sign * each[0][0])
            if sign * figure[0] > sign * own[name][0]:
                yield [
                    data,
                    f"{epsilon:g}",
                    measure.title,
                    f"{_figure(own[name], measure)} ({METHODS[ours.method].title})",
                    f"{_figure(figure, measure)} ({METHODS[best.method].title})",
                    remark(remarks, data, name, epsilon),
                ]


def remark(remarks: dict[str, str], data: str, name: str, epsilon: float) -> str:
    """The cause that somebody wrote down, for a data set and measure, or either alone (of costs the measure first), at
    an epsilon before any.
    """
    either = (f"*/{name}", f"{data}/*") if name in COSTS else (f"{data}/*", f"*/{name}")
    keys = [each for key in (f"{data}/{name}", *either) for each in (f"{key}/{epsilon:g}", key)]
    return next((remarks[key] for key in keys if key in remarks), "not looked into yet")


# --- What is measured of peers


def peers(cells: Cells) -> str:
    """How many cells of peers are measured, how many failed and how many are empty, and which."""
    names = [name for name, method in METHODS.items() if not method.ours]
    states = {
        (data, name): [_state(cells, data, name, epsilon) for epsilon in METHODS[name].epsilons]
        for data in DATASETS
        for name in names
    }
    every = [state for pair in states.values() for state in pair]
    failed, told, empty = (every.count(state) for state in (FAILED, FORESEEN, EMPTY))
    said = (
        f"{len(every)} cells of {len(names)} methods on {len(DATASETS)} data sets at epsilon 1 and 4: "
        f"{len(every) - failed - told - empty} are measured, {failed} **failed** (the reason is told with the data "
        f"set), {told} were **not tried**, because the method took more than 30 minutes on a table that has no more "
        f"rows, columns or values, at no larger an epsilon, and {empty} are **empty**: no run of them has ended. "
        f"Below, for epsilon 1 and 4: the number of releases, {FAILED} for a failure, {FORESEEN} for a cell that was "
        f"not tried, {EMPTY} for an empty one."
    )
    rows = [[METHODS[name].title, *(" ".join(states[data, name]) for data in DATASETS)] for name in names]
    return f"\n## What is measured of peers\n\n{_wrapped(said)}\n\n" + _table(["method", *DATASETS], rows)


def ours(cells: Cells) -> str:
    """How many of our own cells are measured."""
    every = [
        (data, name, epsilon)
        for data, each in DATASETS.items()
        for name, method in METHODS.items()
        if method.ours and method.suits(each.labelled)
        for epsilon in method.epsilons
    ]
    full = sum(key in cells and cells[key].is_done(METHODS[key[1]].releases(None)) for key in every)
    said = (
        f"Of our own variants {full} of {len(every)} cells have their five releases; the others are named with the "
        f"data set. Where a table has no label there is nothing to adapt, so that two variants of six are left out."
    )
    return _wrapped(said) + "\n"


def _state(cells: Cells, data: str, method: str, epsilon: float) -> str:
    cell = cells.get((data, method, epsilon))
    if cell is None or not (cell.releases or cell.failure):
        return FORESEEN if foreseen.out_of_time(cells, data, method, epsilon) else EMPTY
    return str(len(cell.releases)) if cell.releases else FAILED


# --- Tables and plots


def section(data: str, cells: Cells, page: Path) -> str:
    """All that was measured of a data set, and what was not."""
    measured = [cell for cell in _all(cells, data) if cell.releases]
    lines = [f"\n## {DATASETS[data].title}\n"]
    if measured:
        facts = measured[-1].facts
        lines.append(f"`--data {data}`: {facts['rows']:,} train rows, delta 1/{facts['rows']:,}.\n")
        lines += [_figures(measured, MEASURES), _figures(measured, MORE_MEASURES)]
    if data in PLOTTED and len(measured) > 1:
        name = f"scoreboard-{data}.png"
        plot(data, measured, page.with_name(name))
        lines.append(f"![{DATASETS[data].title}]({name})\n")
    failures = [cell for cell in _all(cells, data) if cell.failure]
    lines += [
        f"{METHODS[cell.method].title} at epsilon {cell.epsilon:g} **failed**: `{cell.failure}`\n" for cell in failures
    ]
    if missing := list(_missing(data, cells)):
        lines.append(_wrapped(f"Not measured yet: {'; '.join(missing)}.") + "\n")
    return "\n".join(lines)


def _figures(measured: list[Cell], measures: Mapping[str, Measure]) -> str:
    shown = {name: each for name, each in measures.items() if any(name in summary(cell) for cell in measured)}
    if not shown:
        return ""
    rows = []
    for cell in measured:
        found = summary(cell)
        values = [_figure(found[name], each) if name in found else "" for name, each in shown.items()]
        if cell.method == REAL:
            costless = ["" if name in COSTS else value for name, value in zip(shown, values, strict=True)]
            rows.append(["real rows", "", "", *costless])
        else:
            rows.append([METHODS[cell.method].title, f"{cell.epsilon:g}", str(len(cell.releases)), *values])
    return _table(["method", "epsilon", "releases", *(each.title for each in shown.values())], rows)


def _missing(data: str, cells: Cells) -> Iterator[str]:
    for name, method in METHODS.items():
        if not method.suits(DATASETS[data].labelled):
            continue
        epsilons = [epsilon for epsilon in method.epsilons if (data, name, epsilon) not in cells]
        absent = [f"{epsilon:g}" for epsilon in epsilons if not foreseen.out_of_time(cells, data, name, epsilon)]
        if absent:
            yield f"{method.title} at {', '.join(absent)}"


def neighbours(cells: Cells) -> str:
    """Which tables are neighbours for each method, and the versions that were measured."""
    rows = []
    for name, method in METHODS.items():
        facts = [cell.facts for key, cell in cells.items() if key[1] == name and "adjacency" in cell.facts]
        if facts:
            versions = ", ".join(f"{package} {number}" for package, number in facts[-1]["versions"].items())
            rows.append([method.title, facts[-1]["adjacency"], versions])
    return "\n## Neighbours and versions\n\n" + _table(["method", "neighbours", "versions"], rows) if rows else ""


def plot(data: str, measured: list[Cell], path: Path) -> None:
    """Some measures by epsilon: ours as lines, peers as points, real rows dashed."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = PLOTTED[data]
    figure, axes = plt.subplots(1, len(names), figsize=(3.2 * len(names), 3.0), layout="constrained")
    for axis, name in zip(axes, names, strict=True):
        for method in dict.fromkeys(cell.method for cell in measured):
            cells = [cell for cell in measured if cell.method == method and name in summary(cell)]
            _draw(axis, method, cells, name)
        axis.set_title(MEASURES[name].title, fontsize=9, loc="left")
        axis.set_xscale("log")
        axis.set_xlim(0.4, 25)
        axis.set_xticks(SHOWN_EPSILONS, [f"{each:g}" for each in SHOWN_EPSILONS])
        axis.minorticks_off()
        axis.set_xlabel("epsilon", fontsize=8)
        axis.tick_params(labelsize=7)
        axis.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=7, frameon=False, loc="outside right upper")
    figure.savefig(path, dpi=90)
    plt.close(figure)


def _draw(axis: Any, method: str, cells: list[Cell], name: str) -> None:
    points = [(cell.epsilon, *summary(cell)[name][:2]) for cell in sorted(cells, key=lambda cell: cell.epsilon)]
    if not points:
        return
    epsilon, mean, sd = zip(*points, strict=True)
    if method == REAL:
        axis.axhline(mean[0], color="black", linestyle="--", linewidth=0.8, label="real rows")
    else:
        form = "-o" if METHODS[method].ours else "s"
        spread = [each or 0.0 for each in sd]
        axis.errorbar(epsilon, mean, spread, fmt=form, markersize=4, linewidth=1, label=METHODS[method].title)


def _all(cells: Cells, data: str) -> list[Cell]:
    """The cells of a data set: real rows, ours, then peers, by epsilon."""
    order = [REAL, *METHODS]
    found = [cell for key, cell in cells.items() if key[0] == data and cell.method in order]
    return sorted(found, key=lambda cell: (cell.method != REAL, cell.epsilon, order.index(cell.method)))


def _measured(cells: Cells, data: str, epsilon: float) -> list[Cell]:
    return [cell for cell in _all(cells, data) if cell.epsilon == epsilon and cell.releases and cell.method != REAL]


def _figure(figure: tuple[float, float | None, int], measure: Measure) -> str:
    mean, sd, _ = figure
    return f"{mean:.{measure.digits}f}" + ("" if sd is None else f" ± {sd:.{measure.digits}f}")


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 120, break_on_hyphens=False)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
