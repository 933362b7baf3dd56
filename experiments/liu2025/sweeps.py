"""Run every mechanism on every point of an axis and many data sets, and summarise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from experiments.liu2025.record import Cells
from experiments.liu2025.runners import ALL, MECHANISMS, release_in_space
from experiments.liu2025.setups import DELTA, Setup
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.published.liu2025 import fit_labelled, kl_divergence

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)

Measure = Callable[[GaussianMixture, Setup], float]


@dataclass(frozen=True)
class Sweep:
    """What one figure measures: `setup(trial, value)` and `epsilon(value)` for each value of the axis."""

    title: str
    axis: str
    values: Sequence[float]
    setup: Callable[[int, float], Setup]
    epsilon: Callable[[float], float]
    measure: Measure
    measured: str
    methods: Sequence[str] = MECHANISMS
    notes: str = ""
    log_y: bool = True


def kl_to_fit(released: GaussianMixture, setup: Setup) -> float:
    """KL(released || fitted), the fit without noise."""
    return kl_divergence(released, fit_labelled(setup.x, setup.y, setup.classes).mixture)


def accuracy(released: GaussianMixture, setup: Setup) -> float:
    """The share of test rows whose class has the largest likelihood p(x | class), as in the paper."""
    assert setup.test_x is not None
    scores = np.empty((len(setup.test_x), setup.classes))
    for k in range(setup.classes):
        factor = np.linalg.cholesky(released.covariances[k])
        z = np.linalg.solve(factor, (setup.test_x - released.means[k]).T)
        scores[:, k] = -(z**2).sum(axis=0) / 2 - np.log(np.diag(factor)).sum()
    return float((scores.argmax(axis=1) == setup.test_y).mean())


def losses(sweep: Sweep, trials: int, cells: Cells) -> np.ndarray[Any, Any]:
    """What is measured of each method (first), at each value of the axis, in each trial (last)."""
    found = np.empty((len(sweep.methods), len(sweep.values), trials))
    setup = lru_cache(maxsize=1)(sweep.setup)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(sweep.title, total=found.size)
        for trial in range(trials):
            for j, value in enumerate(sweep.values):
                for i, method in enumerate(sweep.methods):

                    def measure(trial: int = trial, j: int = j, value: float = value, method: str = method) -> float:
                        table = setup(trial, 0.0 if sweep.axis == "epsilon" else value)
                        return sweep.measure(*release_in_space(method, table, sweep.epsilon(value), DELTA, (trial, j)))

                    name = f"{sweep.title} | {sweep.measured} | {method} | {sweep.axis} = {value:g} | {trial}"
                    found[i, j, trial] = cells.get(name, measure)
                    progress.advance(task)
    return found


def run(sweep: Sweep, trials: int, cells: Cells) -> dict[str, Any]:
    """Medians, means and quartiles of every method at every value of the axis."""
    found = losses(sweep, trials, cells)
    lines = {method: _line(method, found[i]) for i, method in enumerate(sweep.methods)}
    return {
        "title": sweep.title,
        "axis": sweep.axis,
        "values": list(sweep.values),
        "measured": sweep.measured,
        "delta": DELTA,
        "trials": trials,
        "notes": sweep.notes,
        "lines": lines,
    }


def _line(method: str, found: np.ndarray[Any, Any]) -> dict[str, Any]:
    low, median, high = np.quantile(found, [0.25, 0.5, 0.75], axis=1)
    numbers = {"median": median, "mean": found.mean(axis=1), "lower_quartile": low, "upper_quartile": high}
    described = ALL[method]
    return {
        "legend": described.legend,
        "differentially_private": described.private,
        **{name: [float(f"{value:.4g}") for value in values] for name, values in numbers.items()},
    }
