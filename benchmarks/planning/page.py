"""The tables of docs/planning.md, from the results of both parts and of the scoreboard."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import sfumato as sf
from benchmarks.planning.usefulness import DELTA
from benchmarks.scoreboard.cells import RESULTS as SCOREBOARD
from benchmarks.scoreboard.datasets import DATASETS
from sfumato.planning.verdict import GOOD_FOR_TABLES, GOOD_FOR_TRAINING, Verdict

RESULTS = Path(__file__).parent / "results"
METHODS = {"pairs-adapted": "auto", "mixture-pairs": None}  # of the scoreboard, and what they adapt
FAR_BEYOND = 0.5  # a blur at which nothing is left
IMAGES = "digits"  # are released by groups of columns, which have no histograms


def tables() -> str:
    """All tables of the page, one after the other."""
    parts = (width_table(), correlation_table(), wish_table(), band_table(), verdict_table())
    return "\n\n".join("\n".join(lines) for lines in parts)


def width_table() -> Iterator[str]:
    """How many times as wide intervals are as foretold: medians of cells, the least and the most of them."""
    cells = list(_cells("widths").values())
    yield "| half-width of | least | most | releases without an interval |"
    yield "|---|---|---|---|"
    for name in cells[0][0]["foretold"]:
        yield _width_line(name, name, "foretold", cells)
        if name.startswith("mean"):
            yield _width_line(f"{name}, without a guess", name, "foretold_without_guesses", cells)


def _width_line(title: str, name: str, told: str, cells: list[list[dict[str, Any]]]) -> str:
    medians = [median for found in cells if (median := _median_ratio(found, name, told)) is not None]
    all_had = [each["had"][name] for found in cells for each in found]
    lacking = sum(had is None for had in all_had)
    ends = f"{min(medians):.2f} | {max(medians):.2f}" if medians else " | "
    return f"| {title} | {ends} | {lacking} of {len(all_had)} |"


def correlation_table() -> Iterator[str]:
    """The same of correlations where a layout has settled the tables; lines where an interval is foretold."""
    cells = _cells("correlations")
    names = list(next(iter(cells.values()))[0]["had"])
    yield f"| rows | epsilon | tables | {' | '.join(name.replace(' ', ' x ') for name in names)} |"
    yield "|---" * (3 + len(names)) + "|"
    for key, found in cells.items():
        if any(found[0]["foretold"].values()):
            yield f"| {' | '.join([*key.split(), *(_correlation(found, name) for name in names)])} |"


def _correlation(found: list[dict[str, Any]], name: str) -> str:
    """What is foretold of a pair, how many times as wide releases were in the middle, and how many had an interval."""
    told = found[0]["foretold"][name]
    having = [each["had"][name] for each in found if each["had"][name] is not None]
    if told is None:
        return f"none; {len(having)} of {len(found)}"
    ratio = f"{statistics.median(having) / told:.2f}" if having else "-"
    return f"± {told:.2g}: {ratio}" + f", {len(having)} of {len(found)}" * (len(having) < len(found))


def wish_table() -> Iterator[str]:
    """Wishes, the epsilon that was found, and what releases at it had."""
    yield "| rows | wish | epsilon | had, median | over wanted |"
    yield "|---|---|---|---|---|"
    for key, found in _cells("widths").items():
        for told in zip(*(each["wishes"] for each in found), strict=True):
            had = statistics.median(each["had"] for each in told)
            first = told[0]
            ratio = had / first["wanted"]
            yield f"| {key.split()[0]} | {first['wish']} | {first['epsilon']:g} | {had:.3g} | {ratio:.3f} |"


def band_table() -> Iterator[str]:
    """What was measured within the bounds of each verdict, and far beyond."""
    cells = [*_small(), *_large()]
    yield "| blur | verdict | cells | one-way tables off by | AUC lost against as many real rows |"
    yield "|---|---|---|---|---|"
    for low, high in pairwise((0.0, GOOD_FOR_TRAINING, GOOD_FOR_TABLES, FAR_BEYOND, math.inf)):
        band = [figures for blur, _, figures in cells if low < blur <= high]
        off = [figures["tv1"] for figures in band]
        lost = [figures["real"] - figures["auc"] for figures in band if figures["real"] and figures["auc"]]
        told = f"{low:g} to {high:g}" if high < math.inf else f"above {low:g}"
        ends = " | ".join(f"{min(each):.3f} to {max(each):.3f}" for each in (off, lost))
        yield f"| {told} | {Verdict.at(min(high, 2 * FAR_BEYOND)).fit_for} | {len(band)} | {ends} |"


def verdict_table() -> Iterator[str]:
    """Measured releases in the order of their plan's blur."""
    yield "| data, rows, epsilon | blur | verdict | one-way tables off by | AUC | AUC of as many real rows | releases |"
    yield "|---|---|---|---|---|---|---|"
    for blur, name, figures in sorted([*_small(), *_large()], key=lambda each: each[0]):
        verdict = Verdict.at(blur).fit_for
        auc, real = (f"{figures[key]:.3f}" if figures[key] else "" for key in ("auc", "real"))
        yield f"| {name} | {blur:.3f} | {verdict} | {figures['tv1']:.3f} | {auc} | {real} | {figures['releases']} |"


def _small() -> Iterator[tuple[float, str, dict[str, Any]]]:
    for key, found in _cells("usefulness").items():
        data, rows, epsilon = key.split()
        means = {name: statistics.mean(each[name] for each in found) for name in ("tv1", "auc", "auc_of_these_rows")}
        blur = _blur(data, float(epsilon), DELTA, int(rows), None)
        figures = {"tv1": means["tv1"], "auc": means["auc"], "real": means["auc_of_these_rows"]}
        yield blur, f"{data}, {rows}, {epsilon}", figures | {"releases": len(found)}


def _large() -> Iterator[tuple[float, str, dict[str, Any]]]:
    """The scoreboard's cells of the default mechanism."""
    for path in sorted(SCOREBOARD.glob("*.json")):
        cell = json.loads(path.read_text())
        if cell["method"] not in METHODS or cell["data"] == IMAGES or not cell["releases"]:
            continue
        real = SCOREBOARD / f"{cell['data']}.real.0.json"
        spread = cell["spread"]
        figures = {
            "tv1": spread["tv1"]["mean"],
            "auc": spread.get("lightgbm", {}).get("mean"),
            "real": json.loads(real.read_text())["spread"].get("lightgbm", {}).get("mean") if real.exists() else None,
            "releases": len(cell["releases"]),
        }
        blur = _blur(cell["data"], cell["epsilon"], cell["delta"], cell["rows"], METHODS[cell["method"]])
        yield blur, f"{cell['data']} (scoreboard), {cell['rows']}, {cell['epsilon']:g}", figures


def _blur(data: str, epsilon: float, delta: float, rows: int, adapt: Any) -> float:
    plan = sf.plan(_schema(data), epsilon=epsilon, delta=delta, rows=rows, mechanism=sf.Mixture(adapt=adapt))
    blur = sf.outlook(plan).verdict.blur
    assert blur is not None
    return blur


@cache
def _schema(data: str) -> sf.Schema:
    return DATASETS[data].load().schema


def _cells(part: str) -> dict[str, Any]:
    kept = json.loads((RESULTS / f"{part}.json").read_text())["cells"]
    return {key: found for key, found in kept.items() if found}


def _median_ratio(found: list[dict[str, Any]], name: str, told: str) -> float | None:
    """The median of what the releases of a cell had over what was foretold; None where none had an interval."""
    ratios = [each["had"][name] / each[told][name] for each in found if each["had"][name] is not None]
    return statistics.median(ratios) if ratios else None
