"""What each figure of the paper measures, and on which set-up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from experiments.liu2025 import augment, clusters, plots, strict, times, unlabelled
from experiments.liu2025.record import DATA, NUMBER, ON_AXIS, SEEDS, Cells
from experiments.liu2025.runners import ALL, MECHANISMS, METHODS, ON_IMAGES, UNDER_LABEL, release
from experiments.liu2025.setups import DELTA, LOAD_HOURS, LOAD_OFFSET, Setup, iris, load_profiles, mnist, synthetic
from experiments.liu2025.sweeps import EPSILONS, Sweep, accuracy, kl_to_fit, run

KL = "KL(released || fitted), nats"
FULL_TRIALS = 1000  # as in the paper
SHAPES = ("fitted", "printed", "laplace", "naive-strict", "strict", "strict-label")
STRICT_ON_IRIS = "The columns are scaled by the table itself, as in the paper; the strict lines take that as public."
STRICT_ON_LOADS = "100 homes are taken as public and give the cluster centres."
STRICT_ON_MNIST = (
    "The other 55,000 training images are taken as public and give components and bounds, but for the last line:"
    " there half of mu^2 finds the components, and nothing about the images is public but a radius."
    " KL is taken in the space of each line's own components."
)


@dataclass(frozen=True)
class Figure:
    """A figure: how many trials it takes by default, the work, which returns what goes into the JSON file, and what
    chance begins with."""

    trials: int
    make: Callable[[int, Path], dict[str, Any]]
    seeds: str = SEEDS


def _lines(sweep: Sweep, trials: int, stem: Path) -> dict[str, Any]:
    found = run(sweep, trials, cells_of(stem))
    plots.lines(found, stem.with_suffix(".png"), log_y=sweep.log_y)
    return found


def cells_of(stem: Path) -> Cells:
    """What is measured already, for all figures of a folder."""
    return Cells(stem.parent / ".cells")


def _against_epsilon(title: str, setup: Callable[[int], Setup], notes: str = "") -> Sweep:
    return Sweep(title, "epsilon", EPSILONS, lambda trial, _: setup(trial), float, kl_to_fit, KL, notes=notes)


def _synthetic_against(axis: str, values: tuple[int, ...], option: str, title: str) -> Sweep:
    def setup(trial: int, value: float) -> Setup:
        return synthetic(trial, **{option: int(value)})

    return Sweep(title, axis, values, setup, lambda _: 1.0, kl_to_fit, KL)


def _marginals(
    setup: Callable[[], Setup],
    columns: dict[int, str],
    title: str,
    unit: str,
    notes: str,
    trials: int,
    stem: Path,
) -> dict[str, Any]:
    """One release of each kind at epsilon = 2, as a picture; `trials` is not used."""
    epsilon, table = 2.0, setup()
    models = {method: (ALL[method].legend, release(method, table, epsilon, DELTA, (0,))) for method in SHAPES}
    heading = f"{title}; epsilon = {epsilon:g}, delta = {DELTA:.0e}"
    plots.marginals(table, models, columns, stem.with_suffix(".png"), heading, unit)
    shown = list(columns)
    return {
        "title": title,
        "epsilon": epsilon,
        "delta": DELTA,
        "notes": notes,
        "class_rows": [int((table.y == k).sum()) for k in range(table.classes)],
        "models": {
            name: {
                "legend": label,
                "weights": model.weights.round(4).tolist(),
                "means": model.means[:, shown].round(4).tolist(),
                "variances": model.covariances[:, shown, shown].round(4).tolist(),
                "kl": kl_to_fit(model, table),
            }
            for name, (label, model) in models.items()
        },
    }


def _rows_of_homes(make: Callable[[bool, int, Path], dict[str, Any]], trials: int, stem: Path) -> dict[str, Any]:
    """Both readings of the load profiles: one row of a home, and all its rows with the home as unit."""
    one = make(True, trials, stem.with_name(f"{stem.name}_one_row"))
    all_rows = make(False, max(1, trials // 4), stem.with_name(f"{stem.name}_all_rows"))
    return {"one_row_a_home": one, "all_rows_home_is_unit": all_rows}


def _loads_kl(one_row: bool, trials: int, stem: Path) -> dict[str, Any]:
    kind = (
        "one row a home"
        if one_row
        else "all rows\nadd-remove lines protect a home, label and the not DP ones one row's label"
    )
    setup = partial(load_profiles, one_row_each=one_row)
    return _lines(_against_epsilon(f"Load profiles, K = 6, d = 12: {kind}", setup, STRICT_ON_LOADS), trials, stem)


def _loads_marginals(one_row: bool, trials: int, stem: Path) -> dict[str, Any]:
    kind = "one row a home" if one_row else "all rows; add-remove protects a home, label one row's label"
    setup = partial(load_profiles, 0, one_row_each=one_row)
    hours = {hour: f"hour {hour + 1}" for hour in range(LOAD_HOURS)}
    unit = f"log(kWh + {LOAD_OFFSET:g})"
    return _marginals(setup, hours, f"Load profiles by hour, {kind}", unit, STRICT_ON_LOADS, trials, stem)


MNIST_KL = replace(
    _against_epsilon("MNIST on 5 components, K = 10, N = 5000", mnist, STRICT_ON_MNIST),
    methods=(*MECHANISMS, *ON_IMAGES),
)
MNIST_ACCURACY = replace(
    MNIST_KL,
    title="MNIST on 5 components, N = 5000, 10,000 test images",
    measure=accuracy,
    measured="test accuracy",
    methods=(*METHODS, *ON_IMAGES, *UNDER_LABEL),
    log_y=False,
)
SET_UP = _against_epsilon("Synthetic data, K = 5, d = 3, N = 1000", lambda trial: synthetic(trial))
FIGURES = {
    "fig1": Figure(100, partial(_lines, SET_UP)),
    "fig2": Figure(
        20,
        partial(
            _lines,
            _synthetic_against("N", (250, 500, 1000, 2000, 5000, 10_000), "rows", "Synthetic data, epsilon = 1"),
        ),
    ),
    "fig3": Figure(
        20,
        partial(_lines, _synthetic_against("K", (2, 3, 4, 5, 6, 8, 10), "classes", "Synthetic data, epsilon = 1")),
    ),
    "fig4": Figure(
        25, partial(_lines, _synthetic_against("d", (1, 2, 3, 4, 5, 6, 8, 10), "dim", "Synthetic data, epsilon = 1"))
    ),
    "fig5": Figure(
        40,
        partial(_lines, _against_epsilon("Iris, K = 3, d = 4, N = 150", lambda trial: iris(), STRICT_ON_IRIS)),
        f"the same flowers in every trial t; {ON_AXIS}",
    ),
    "fig6": Figure(
        1,
        partial(_marginals, iris, {0: "sepal length"}, "Iris by class", "standard deviations", STRICT_ON_IRIS),
        f"release: default_rng([0, {NUMBER}])",
    ),
    "fig7": Figure(12, partial(_rows_of_homes, _loads_kl)),
    "fig8": Figure(1, partial(_rows_of_homes, _loads_marginals), f"{DATA}, t = 0; release: default_rng([0, {NUMBER}])"),
    "fig9": Figure(6, partial(_lines, MNIST_KL)),
    "fig10": Figure(6, partial(_lines, MNIST_ACCURACY)),
    "strict": Figure(
        100,
        lambda trials, stem: strict.table(SET_UP, trials, stem, cells_of(stem)),
        f"{SEEDS}; beside the oracle, default_rng([t]): release default_rng([t, 0, {NUMBER}])",
    ),
    "forecast": Figure(40, strict.forecast, f"{DATA}; release: default_rng([t, {NUMBER}])"),
    "clusters": Figure(
        5,
        clusters.gains,
        f"{DATA}; homes held out: default_rng([t]); release: default_rng([t, epsilon]), where public homes give the"
        f" clusters default_rng([t, epsilon, {NUMBER}])",
    ),
    "augment": Figure(20, augment.table, f"{SEEDS}; rows drawn from mixtures: default_rng([t, 3])"),
    "times": Figure(3, times.table, f"{DATA}; release: default_rng([t, 0, {NUMBER}])"),
    "unlabelled": Figure(
        20,
        unlabelled.table,
        f"{DATA}; EM and K-means: seed t; release: default_rng([t, number of the epsilon, number of the fit])",
    ),
}
