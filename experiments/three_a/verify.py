"""Points of the tables that `python -m experiments.verify` makes again. Figures 1 and 2 record no number."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.three_a import ablation, figure3, objective, tuning
from experiments.three_a.data import MissingData, load
from experiments.three_a.judge import JUDGES
from experiments.three_a.methods import METHODS, tried
from experiments.verify import Point, first, spread
from sfumato.published import clustmix

RESULTS = Path(__file__).parent / "results"
JUDGE, SCORE = "LightGBM", "AUC"
CELLS = (
    *(("adult", "mixture"), ("adult", "clustmix"), ("adult", "dpmix")),
    *(("fraud", "mixture"), ("fraud", "dp-merf"), ("isolet", "adapted"), ("census", "clustmix")),
)
SEARCH = ("printed", "fraud")
STEP = "+ anonymise"
LEAST = 0.002  # standard deviation of an AUC: releases are few


def points() -> Iterator[Point]:
    """One point of each row of Table 1 that is quick, and one of every other file."""
    for data, method in CELLS:
        cell = _cell(data, method)
        if cell is not None:
            yield _release(data, method, cell)
    path = RESULTS / "ablation.json"
    found = json.loads(path.read_text()).get(f"adult/{STEP}") if path.is_file() else None
    if found:
        yield _step(found)
    for name, point in (("objective", _objective), ("figure3", _noise)):
        path = RESULTS / f"{name}.json"
        if path.is_file():
            yield point(json.loads(path.read_text()))
    path = tuning.tuning_path(RESULTS, *SEARCH)
    if path.is_file():
        yield _search(json.loads(path.read_text())["rounds"])


def _cell(data: str, method: str) -> dict[str, Any] | None:
    path = RESULTS / "table1" / f"{data}.documented.{method}.json"
    return json.loads(path.read_text()) if path.is_file() else None


def _release(data: str, method: str, cell: dict[str, Any]) -> Point:
    """The first release of a cell, beside the spread of all."""
    score, recorded = next(iter(cell["releases"][0]["scores"].items()))
    values = [each["scores"][score] for each in cell["releases"]]

    def redo() -> list[float]:
        table = load(data)
        made = METHODS[method](table, cell["settings"]["epsilon"], table.delta, 0)
        return [JUDGES[JUDGE](made.frame, table)[score]]

    return Point(f"three_a/table1: {data}, {method}", recorded, redo, spread(values, LEAST), first, MissingData)


def _step(found: list[dict[str, float]]) -> Point:
    """The first release of a step of the ablation."""
    values = [each[JUDGE] for each in found]

    def redo() -> list[float]:
        table = load("adult")
        return [JUDGES[JUDGE](ablation.STEPS[STEP](table, 0), table)[SCORE]]

    return Point(f"three_a/ablation: adult, {STEP}", values[0], redo, spread(values, LEAST), first, MissingData)


def _objective(found: dict[str, Any]) -> Point:
    """The first release of a mixture of Adult, judged by the classifier of the objective."""
    recorded = found["adult/mixture"]["releases"][0]["AUC"]

    def redo() -> list[float]:
        return [objective.measured("adult", "mixture", 0)["AUC"]]

    return Point("three_a/objective: adult, mixture, AUC", recorded, redo, LEAST, first, MissingData)


def _noise(found: dict[str, Any]) -> Point:
    """What (8) adds to a pixel, which no seed touches: the accuracies take a quarter of an hour."""
    epsilon, (size, _) = next(iter(figure3.PRINTED.items()))
    recorded = found[f"epsilon {epsilon:g}, l = {size}"]["noise"]

    def redo() -> list[float]:
        data = load("mnist")
        return [clustmix.noise_sd(epsilon, data.delta, size, len(data.classes), len(data.features))]

    return Point(f"three_a/figure3: noise at epsilon {epsilon:g}", recorded, redo, 0.0, first, MissingData)


def _search(rounds: list[dict[str, Any]]) -> Point:
    """The round of a search that was quickest, at the spread of releases with the settings it found."""
    method, data = SEARCH
    quickest = min(rounds, key=lambda each: each["seconds"])
    cell = _cell(data, f"{method}-tuned")
    values = [next(iter(each["scores"].values())) for each in cell["releases"]] if cell else []

    def redo() -> list[float]:
        return [tuning.played(method, data, tried(method), quickest["seed"])["score"]]

    title = f"three_a/tuning: {method} on {data}, round {quickest['seed']}"
    return Point(title, quickest["score"], redo, spread(values, LEAST), first, MissingData)
