"""The page: what was held to a bar and how it did, every figure, and a plot."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.coverage.analyses import ANALYSES
from benchmarks.coverage.cells import FUNCTIONS, LINEAR, RESULTS, SOLVED, Cell, Tally
from benchmarks.coverage.questions import AT_LEAST, BETWEEN, EXACT, QUESTIONS, Kind, Question

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "coverage.md"
PLOT = "coverage.png"
WIDTHS = "widths.json"
LEVEL, WITHIN, BAND = 0.95, 3.0, (0.92, 0.98)
ENOUGH = 20  # releases with an interval, to hold a figure to a bar
KINDS: tuple[Kind, ...] = (*EXACT, *AT_LEAST, *BETWEEN)
TITLES = {"simulated": "Simulated tables", "adult": "UCI Adult as the population"}

Cells = Mapping[tuple[str, int, float, str], Cell]

OPENING = """# Coverage

How often 95 % intervals hold what they are about, and how wide they are. This page is written by `python -m
benchmarks.coverage --page` from the files in `benchmarks/coverage/results/`, each of which has its command, commit,
seeds and versions; a cell is measured, or gone on with, by

    python -m benchmarks.coverage --population simulated --rows 10000 --epsilon 1 --mode linear

Every release is of a table of its own: rows drawn with replacement from a population of which all is known. So the
truth about the table and the truth about the population are both there, and an interval `about` either is held
against its own. The simulated population has 400,000 made-up rows: two listed columns, two counts of 13 and 10
values, an age, an income with an atom at 0 and no step, and a label; how they hang together no Gaussian can tell.
Delta is 1 / rows. Noise is repeatable here (`insecure_seed`), else as in every release.

Intervals rest on the noisy answers alone. Whether the tilt is solved between rounds changes which tables are bought,
not what is answered, so that the first part is of releases whose rounds were asked without solving it; what is said
of synthetic rows and of draws is of whole fits.

Bars: counts, shares and tables of pairs **95 % within three standard errors** of the simulation; means, means by
group and conditions that cut bins **at least that**, as their intervals hold whatever a bin holds; correlations,
quantiles and linear regressions of the binned columns **92 to 98 %**, give or take three standard errors of the
simulation. What is model-based has no bar. In brackets: the share of intervals that there were, where a release had
none (no table of the two columns was bought, or noise hides the rows); **bold**: outside its bar.
"""


REMARKS = """Three standard errors are as wide as releases are few: see how many there are of each. Quantiles lie above
98 % where a column has few values or wide bins: an interval is of whole values and of whole bins, and a quantile that
sits in the middle of a value's rows is hardly ever missed. Means of columns without single values, and conditions that
cut bins, hold whatever the bins hold, so that they cover more the less noise there is. Where few releases have an
interval, those that have one are those whose noise made rows or spreads look clear, and may hold the truth less often.
"""


def write(cells: Cells, page: Path = PAGE, results: Path = RESULTS) -> None:
    """Write the page, and its plot beside it."""
    parts = [OPENING, verdict(cells)]
    if any(cell.blocks for cell in cells.values()):
        plot(cells, page.with_name(PLOT))
        parts.append(f"![How often intervals hold]({PLOT})\n")
    parts += [section(name, cells) for name in QUESTIONS]
    parts.append(best(results / WIDTHS))
    page.write_text("\n".join(part for part in parts if part).rstrip() + "\n", encoding="utf-8")


# --- bars


def bar(kind: Kind, tally: Tally) -> tuple[float, float]:
    """Between what a figure has to be, as far as the simulation can tell."""
    error = WITHIN * tally.standard_error(LEVEL)
    if kind in BETWEEN:
        return BAND[0] - error, BAND[1] + error
    return LEVEL - error, LEVEL + error if kind in EXACT else 1.0


def meets(kind: Kind, tally: Tally) -> bool:
    """Whether a figure is within its bar."""
    low, high = bar(kind, tally)
    return low <= tally.coverage <= high


def verdict(cells: Cells) -> str:
    """For each kind, how many figures are within the bar, below and above it, and the lowest and highest."""
    rows = []
    for kind in KINDS:
        found = [t for _, question, _, t in figures(cells) if question.kind == kind and t.with_interval >= ENOUGH]
        if found:
            said = (
                "95 % ± 3 se" if kind in EXACT else "at least 95 % - 3 se" if kind in AT_LEAST else "92 to 98 % ± 3 se"
            )
            below = sum(t.coverage < bar(kind, t)[0] for t in found)
            above = sum(t.coverage > bar(kind, t)[1] for t in found)
            error = WITHIN * sum(t.standard_error(LEVEL) for t in found) / len(found)
            ends = f"{min(t.coverage for t in found):.1%} to {max(t.coverage for t in found):.1%}"
            rows.append(
                [
                    kind,
                    said,
                    f"{len(found) - below - above} of {len(found)}",
                    str(below),
                    str(above),
                    ends,
                    f"{error:.1%}",
                ]
            )
    head = ["kind", "bar", "figures within it", "below", "above", "lowest and highest", "3 se, mean"]
    return f"## In short\n\n{table(head, rows)}\n{REMARKS}"


def figures(cells: Cells) -> Iterable[tuple[Cell, Question, str, Tally]]:
    """Every figure that rests on noisy answers: its cell, question, and what it is about."""
    for cell in cells.values():
        tallies = cell.tallies
        for question in QUESTIONS[cell.population]:
            for about in question.abouts:
                if f"{about}|{question.name}" in tallies:
                    yield cell, question, about, tallies[f"{about}|{question.name}"]


# --- tables


def section(population: str, cells: Cells) -> str:
    """All figures of a population."""
    found = [cell for cell in cells.values() if cell.population == population and cell.blocks]
    if not found:
        return ""
    places = sorted({(cell.rows, cell.epsilon) for cell in found})
    parts = [f"## {TITLES[population]}\n", releases(population, places, cells)]
    head = ["kind", "question", "about", *(f"{rows:,}, eps {epsilon:g}" for rows, epsilon in places)]
    known = {(c.rows, c.epsilon, q.name, about): t for c, q, about, t in figures(cells) if c.population == population}
    for title, shown in (("Coverage, %", covered), ("Mean width", wide)):
        rows = []
        for question in QUESTIONS[population]:
            for about in question.abouts:
                line = [shown(question.kind, known.get((*place, question.name, about))) for place in places]
                if any(line):
                    rows.append([question.kind, question.name, about, *line])
        if rows:
            parts.append(f"### {title}\n\n" + table(head, rows))
    parts.append(modelled(population, places, cells))
    return "\n".join(parts)


def releases(population: str, places: Sequence[tuple[int, float]], cells: Cells) -> str:
    """How many releases figures are of: fewer where what is measured has changed since."""
    said = {LINEAR: "counts, shares, tables, means", FUNCTIONS: "correlations, quantiles, regressions", SOLVED: "fits"}
    rows = []
    for mode, title in said.items():
        found = [cells.get((population, *place, mode)) for place in places]
        rows.append([title, *("0" if cell is None else _numbers(cell) for cell in found)])
    return table(["releases", *(f"{rows:,}, eps {epsilon:g}" for rows, epsilon in places)], rows)


def _numbers(cell: Cell) -> str:
    several = sorted({tally.releases for tally in cell.tallies.values()})
    return " to ".join(dict.fromkeys(f"{number:,}" for number in (several[0], several[-1])))


def covered(kind: Kind, tally: Tally | None) -> str:
    """A figure of coverage; bold outside its bar, in brackets how many had an interval."""
    if tally is None or not tally.asked:
        return ""
    if not tally.answered:
        return "none"
    figure = f"{100 * tally.coverage:.1f}"
    if tally.with_interval >= ENOUGH and not meets(kind, tally):
        figure = f"**{figure}**"
    share = tally.answered / tally.asked
    return figure if share > 0.9995 else f"{figure} [{100 * share:.0f}]"


def wide(kind: Kind, tally: Tally | None) -> str:
    """A mean width."""
    return "" if tally is None or not tally.answered else f"{tally.mean_width:.3g}"


def modelled(population: str, places: Sequence[tuple[int, float]], cells: Cells) -> str:
    """What synthetic rows and draws say, against the population: no bar."""
    rows = []
    for analysis in ANALYSES[population]:
        for way, said in (("rows", "rows at face value"), ("draws", "draws, combined")):
            line = []
            for place in places:
                cell = cells.get((population, *place, SOLVED))
                tally = None if cell is None else cell.tallies.get(f"{way}|{analysis.name}")
                line.append("" if tally is None else f"{100 * tally.coverage:.0f} ({tally.mean_width:.2g})")
            if any(line):
                rows.append([analysis.name, said, *line])
    if not rows:
        return ""
    said = """
As many synthetic rows as real ones, taken at face value with the intervals of a textbook; and ten draws of the
population, analysed alike and combined (`docs/draws.md`). Both are model-based, about the population, and have
no bar: coverage in %, and the mean width (of correlations on Fisher's scale)."""
    head = ["", "", *(f"{rows:,}, eps {epsilon:g}" for rows, epsilon in places)]
    return f"### What the model's rows say\n\n{_wrapped(said)}\n\n" + table(head, rows)


def best(path: Path) -> str:
    """Widths against the best linear combinations."""
    if not path.exists():
        return ""
    found = json.loads(path.read_text())["ratios"]
    rows = [
        [
            f"{r['population']}, {r['rows']:,}, eps {r['epsilon']:g}",
            r["question"],
            f"{r['first']:.3f}",
            f"{r['all']:.2f}",
        ]
        for r in found
    ]
    said = """
The standard error that an estimate states, over that of the best linear combination of noisy answers, found by
generalised least squares over all cells. Of the round that answers, which is the first that speaks about the
columns; and of all rounds together. The latter is no honest estimate: later rounds are chosen by what earlier
ones said, and an answer that decided something is not combined with what it decided. Means over three releases."""
    head = ["table", "question", "of the round that answers", "of all rounds"]
    return f"## Widths against the best linear combination\n\n{_wrapped(said)}\n\n" + table(head, rows)


# --- the plot


def plot(cells: Cells, path: Path) -> None:
    """A strip for each kind: every figure a point, and what synthetic rows at face value do below."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    strips: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for cell, question, _, tally in figures(cells):
        if tally.with_interval >= ENOUGH:
            strips[question.kind].append((tally.coverage, cell.epsilon))
    for cell in cells.values():
        for name, tally in cell.tallies.items():
            way = name.split("|")[0]
            if way in ("rows", "draws") and tally.with_interval >= ENOUGH:
                title = "synthetic rows\nat face value" if way == "rows" else "draws, combined\n(model-based)"
                strips.setdefault(title, []).append((tally.coverage, cell.epsilon))
    strips = {name: points for name, points in strips.items() if points}
    figure, axis = plt.subplots(figsize=(8.0, 0.42 * len(strips) + 1.2), layout="constrained")
    colours = {0.5: "#4477aa", 1.0: "#228833", 4.0: "#cc6677"}
    for place, points in enumerate(strips.values()):
        for k, (coverage, epsilon) in enumerate(sorted(points)):
            up = 0.25 * math.sin(2.4 * k)
            axis.plot(100 * coverage, place + up, "o", markersize=3, alpha=0.7, color=colours.get(epsilon, "black"))
    axis.axvline(95, color="black", linewidth=0.8)
    axis.set_yticks(range(len(strips)), list(strips), fontsize=8)
    axis.invert_yaxis()
    axis.set_xlabel("intervals that hold the truth, % (95 % is claimed)", fontsize=8)
    axis.tick_params(labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    for epsilon, colour in colours.items():
        axis.plot([], [], "o", markersize=4, color=colour, label=f"epsilon {epsilon:g}")
    axis.legend(fontsize=7, frameon=False, loc="upper left")
    figure.savefig(path, dpi=90)
    plt.close(figure)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 120, break_on_hyphens=False)
