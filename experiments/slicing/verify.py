"""Points of the tables and figures that `python -m experiments.verify` makes again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from experiments.slicing import ceiling, check_sdmetrics, consistency, mnist, overtake, runs, similarity, tables, tune
from experiments.slicing.data import load
from experiments.slicing.frames import CATEGORIES, NUMBERS, frames
from experiments.slicing.judge import F1, table_scores
from experiments.slicing.methods import METHODS
from experiments.three_a.data import MissingData
from experiments.three_a.judge import lightgbm
from experiments.verify import Point, first, spread

RESULTS = Path(__file__).parent / "results"
LEAST = 0.003  # standard deviation of a score: releases are few
SIZE, SIGMA, TAU = 1_000, 0.2, "1"


def points() -> Iterator[Point]:
    """One point of every table and figure that has runs."""
    offered = [
        _release(tables.FILE, "acs", "mixture", 1.0, F1, table_scores),
        _release(tables.FILE, "adult", "mixture", 1.0, F1, table_scores),
        _release(tables.FILE, "acs", "merf", 1.0, "ContingencySimilarity", table_scores),
        _release(overtake.FILE, overtake.DATA, "untrained", 1.0, overtake.SCORE, lightgbm),
        _release(mnist.FILE, mnist.DATA, "mixture", 1.0, "accuracy, 8 x 8 DCT", mnist.projected_accuracy),
    ]
    yield from (point for point in offered if point is not None)
    yield from (replace(offer(), absent=MissingData) for offer in (_sdmetrics, _consistency, _ceiling, _tuning))


def _release(file: str, data: str, method: str, epsilon: float, score: str, judge: runs.Judge) -> Point | None:
    """The first release of a method, beside the spread of all that were recorded; none where there is no run."""
    found = runs.select(runs.kept(RESULTS / file), data=data, method=method, epsilon=epsilon)
    if not found:
        return None
    recorded = {run["seed"]: run["scores"][score] for run in found}

    def redo() -> list[float]:
        table = load(data)
        return [judge(METHODS[method](table, epsilon, table.delta, 0).frame, table)[score]]

    title = f"slicing/{Path(file).stem}: {data}, {method}, epsilon = {epsilon:g}, {score}"
    return Point(title, recorded[0], redo, spread(list(recorded.values()), LEAST), first, MissingData)


def _sdmetrics() -> Point:
    kept = json.loads(check_sdmetrics.KEPT.read_text())
    name = "ContingencySimilarity"

    def redo() -> list[float]:
        return [similarity.scores(*frames(), NUMBERS, CATEGORIES)[name]]

    return Point(f"slicing/sdmetrics: {name}", kept["scores"][name], redo, check_sdmetrics.TOLERANCE)


def _consistency() -> Point:
    kept = json.loads((RESULTS / consistency.FILE).read_text())["trials"][f"{SIGMA:g}/{SIZE}"]
    values = [each[TAU]["kl"] for each in kept]
    title = f"slicing/consistency: n = {SIZE:,}, sigma = {SIGMA:g}, tau = {TAU}"
    return Point(title, values[0], lambda: [consistency.trial(SIZE, SIGMA, 0)[TAU]["kl"]], spread(values, 0.0), first)


def _ceiling() -> Point:
    recorded = json.loads((RESULTS / ceiling.FILE).read_text())["bounds"]["adult"]["1"]["printed"]
    return Point(
        "slicing/ceiling: adult, epsilon = 1", recorded, lambda: [ceiling.bounds(load("adult"), 1.0)["printed"]], 0.0
    )


def _tuning() -> Point:
    """The release of the search that was quickest, at the spread of the chosen settings."""
    found = runs.select(runs.kept(RESULTS / tune.FILE), data="credit")
    run = min(found, key=lambda each: each["seconds"])
    settings = tune.Settings(**run["settings"])

    def redo() -> list[float]:
        load, judge = tune.SETS["credit"]
        data = load()
        made = tune.printed(settings)(data, run["epsilon"], data.delta, run["seed"], len(data.train))
        return [sum(judge(made, data).values()) / len(run["scores"])]

    _, chosen = tune.ranked(found, "credit", run["epsilon"], 1)[0]
    title = f"slicing/tuning: credit, epsilon = {run['epsilon']:g}, seed {run['seed']}"
    return Point(title, run["worth"], redo, spread(chosen, 0.02), first)
