"""Points of the figures and tables that `python -m experiments.verify` makes again: the strict line, at one place, and
of Figure 1 also the two lines whose ratio is what the page says first."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.liu2025 import augment, clusters, strict, unlabelled
from experiments.liu2025.figures import FIGURES, _against_epsilon
from experiments.liu2025.runners import ALL, release, release_in_space
from experiments.liu2025.setups import DELTA, MissingData, Setup, iris, load_profiles, synthetic
from experiments.liu2025.sweeps import Sweep, kl_to_fit
from experiments.verify import MEDIAN, Point, first
from sfumato.published.liu2025 import fit_labelled, kl_divergence
from sfumato.published.liu2025 import release as printed_release

RESULTS = Path(__file__).parent / "results"
METHOD = "strict"
HEADLINE = ("printed", "strict-label")  # of Figure 1
PLACE = 1  # of the axis: the second value
NORMAL_QUARTILES = 1.349  # between the quartiles of a normal, in standard deviations
MOST = 100  # trials that are made again
SEEDS = 6  # of a picture that shows one release: the first is drawn, the others tell the spread


def points() -> Iterator[Point]:
    """One point of each figure and table that has a file."""
    for name, offer in OFFERS.items():
        path = RESULTS / f"{name}.json"
        if path.is_file():
            yield from (replace(point, absent=MissingData) for point in offer(name, json.loads(path.read_text())))


def _lines(methods: Sequence[str], name: str, found: dict[str, Any]) -> Iterator[Point]:
    sweep: Sweep = FIGURES[name].make.args[0]  # type: ignore[attr-defined]
    yield from (_of_sweep(name, sweep, found, method) for method in methods)


def _loads(name: str, found: dict[str, Any]) -> Iterator[Point]:
    sweep = _against_epsilon("", partial(load_profiles, one_row_each=True))
    yield _of_sweep(name, sweep, found["one_row_a_home"], METHOD)


def _of_sweep(name: str, sweep: Sweep, found: dict[str, Any], method: str) -> Point:
    """The median of a line at one value of the axis, of the first trials where there are many."""
    line, value, trials = found["lines"][method], sweep.values[PLACE], min(found["trials"], MOST)

    def redo() -> list[float]:
        made = []
        for trial in range(trials):
            table = sweep.setup(trial, 0.0 if sweep.axis == "epsilon" else value)
            got = release_in_space(method, table, sweep.epsilon(value), DELTA, (trial, PLACE))
            made.append(sweep.measure(*got))
        return made

    reach = line["upper_quartile"][PLACE] - line["lower_quartile"][PLACE]
    sd = MEDIAN * reach / NORMAL_QUARTILES / math.sqrt(trials)
    title = f"liu2025/{name}: {method}, {sweep.axis} = {value:g}"
    return Point(title, line["median"][PLACE], redo, sd)


def _picture(setup: Callable[[], Setup], key: str | None, name: str, found: dict[str, Any]) -> Iterator[Point]:
    """The KL of the one release that is drawn; other seeds tell how much it may vary."""
    shown = found if key is None else found[key]

    def redo() -> list[float]:
        table = setup()
        return [kl_to_fit(release(METHOD, table, shown["epsilon"], DELTA, (seed,)), table) for seed in range(SEEDS)]

    title = f"liu2025/{name}: {METHOD}, KL of the release drawn"
    yield Point(title, shown["models"][METHOD]["kl"], redo, summary=first)


def _strict(name: str, found: dict[str, Any]) -> Iterator[Point]:
    """The larger tables, beside the oracle."""
    row = next(row for row in found["oracle"] if row["method"] == ALL[METHOD].legend)

    def redo() -> list[float]:
        tables = (synthetic(trial, rows=row["rows"]) for trial in range(min(found["trials"], MOST)))
        return [
            kl_to_fit(release(METHOD, table, row["epsilon"], DELTA, (trial, 0)), table)
            for trial, table in enumerate(tables)
        ]

    yield Point(f"liu2025/{name}: {METHOD}, N = {row['rows']:,}", row["median"], redo)


def _forecast(name: str, found: dict[str, Any]) -> Iterator[Point]:
    """The loss that a plan names, which no seed touches."""
    cell = found["cells"][0]

    def redo() -> list[float]:
        reach = np.full(cell["d"], 10 + 4 * np.sqrt(cell["d"] + 1))
        setup = replace(synthetic(0, rows=cell["rows"], dim=cell["d"]), bounds=(-reach, reach))
        return [strict._expected(setup, cell["epsilon"])]

    yield Point(f"liu2025/{name}: N = {cell['rows']:,}, d = {cell['d']}", cell["forecast"], redo, 0.0)


def _clusters(name: str, found: dict[str, Any]) -> Iterator[Point]:
    """Clusters found privately, one row of a home, on homes held out."""
    unit, kind, epsilon = "row, one a home", "private", clusters.EPSILONS[0]
    told = {"unit": unit, "epsilon": f"{epsilon:g}", "method": clusters.KINDS[kind]}
    (recorded,) = (row["gain"] for row in found["rows"] if told.items() <= row.items())

    def gain(trial: int) -> float:
        whole = load_profiles(trial, one_row_each=False)
        assert whole.unit is not None
        homes = np.unique(whole.unit)
        held = np.random.default_rng([trial]).choice(homes, round(clusters.HELD_OUT * len(homes)), replace=False)
        outside = np.isin(whole.unit, held)
        setup, test = clusters._readings(whole, ~outside)[unit], whole.x[outside]
        released = clusters._released(kind, setup, epsilon, (trial, int(epsilon)))
        base = clusters._mean_log_density(clusters._one_gaussian(setup), test)
        return clusters._mean_log_density(released, test) - base

    def redo() -> list[float]:
        return [gain(trial) for trial in range(found["trials"])]

    yield Point(f"liu2025/{name}: {kind}, epsilon = {epsilon:g}", recorded, redo)


def _augment(name: str, found: dict[str, Any]) -> Iterator[Point]:
    """The error of a rule that was trained on strict rows."""
    epsilon = augment.EPSILONS[PLACE]
    told = {"method": ALL[METHOD].legend, "epsilon": epsilon}
    (recorded,) = (row["error"] for row in found["rows"] if told.items() <= row.items())

    def redo() -> list[float]:
        errors = []
        for trial in range(found["trials"]):
            setup = synthetic(trial)
            fitted = fit_labelled(setup.x, setup.y, setup.classes).mixture
            errors.append(augment._measure(release(METHOD, setup, epsilon, DELTA, (trial, PLACE)), fitted, trial)[0])
        return errors

    yield Point(f"liu2025/{name}: {METHOD}, epsilon = {epsilon:g}", recorded, redo)


def _unlabelled(name: str, found: dict[str, Any]) -> Iterator[Point]:
    """Algorithm 1 on labels by K-means."""
    kind, epsilon = unlabelled.KINDS[1], unlabelled.EPSILONS[PLACE]
    (row,) = (row for row in found["rows"] if (row["fit"], row["epsilon"]) == (kind, epsilon))

    def redo() -> list[float]:
        made = []
        for trial in range(found["trials"]):
            setup = synthetic(trial)
            fit, y = unlabelled._fitted(kind, setup, trial)
            if np.bincount(y, minlength=setup.classes).min() > setup.dim:
                options = {"epsilon": epsilon, "delta": DELTA, "rng": np.random.default_rng([trial, PLACE, 1])}
                released = printed_release(setup.x, y, setup.classes, **options, fit=fit).mixture
                made.append(kl_divergence(released, fit.mixture))
        return made

    yield Point(f"liu2025/{name}: labels by K-means, epsilon = {epsilon:g}", row["median"], redo)


OFFERS: dict[str, Callable[[str, dict[str, Any]], Iterator[Point]]] = {
    "fig1": partial(_lines, (METHOD, *HEADLINE)),
    **dict.fromkeys(("fig2", "fig3", "fig4", "fig5"), partial(_lines, (METHOD,))),
    "fig6": partial(_picture, iris, None),
    "fig8": partial(_picture, partial(load_profiles, 0, one_row_each=True), "one_row_a_home"),
    "fig7": _loads,
    **dict.fromkeys(("fig9", "fig10"), partial(_lines, (METHOD,))),
    "strict": _strict,
    "forecast": _forecast,
    "clusters": _clusters,
    "augment": _augment,
    "unlabelled": _unlabelled,
}
