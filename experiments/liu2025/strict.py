"""How good the strict release is: beside the printed algorithm, beside an oracle, and beside its own forecast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

import sfumato as sf
from experiments.liu2025.oracle import oracle
from experiments.liu2025.record import Cells
from experiments.liu2025.runners import ALL, release, schema_of
from experiments.liu2025.setups import DELTA, Setup, synthetic
from experiments.liu2025.sweeps import EPSILONS, Sweep, kl_to_fit, losses
from sfumato.accounting import calibrate
from sfumato.estimator import PrivateMixture
from sfumato.mechanisms.mixture import MixtureTuning
from sfumato.mechanisms.mixture.affine_forecast import best_forecast

COMPARED = ("printed", "printed-leaving", "naive-strict", "strict", "strict-label")
ORACLE_ROWS, ORACLE_EPSILON = 10_000, 1.0
FORECAST_ROWS, FORECAST_DIMS, FORECAST_EPSILONS = (5000, 20_000), (3, 8, 15), (1.0, 4.0)
RATIOS = "Ratios of medians: strict is sfumato under add-remove, label is sfumato under one flipped label"
FEWER = 0.4  # of the tables, where they are large


def table(set_up: Sweep, trials: int, stem: Path, cells: Cells) -> dict[str, Any]:
    """Set-up V-A over data sets 0 to trials - 1, with the releases of figure 1, and the oracle on larger tables."""
    kl = losses(replace(set_up, methods=COMPARED), trials, cells)
    large = np.array([_beside_oracle(trial) for trial in _counted(trials, "beside an oracle")]).T
    rows = [
        {"method": ALL[method].legend, "epsilon": epsilon, **_summary(kl[i, j])}
        for j, epsilon in enumerate(EPSILONS)
        for i, method in enumerate(COMPARED)
    ]
    medians = dict(zip(COMPARED, np.median(kl, axis=2), strict=True))
    found = dict(zip(COMPARED, kl, strict=True))
    ratios = [
        {
            "epsilon": epsilon,
            "strict_over_printed": _short(medians["strict"][j] / medians["printed"][j]),
            "strict_over_naive": _short(medians["strict"][j] / medians["naive-strict"][j]),
            "data_sets_where_strict_is_below_printed": _short((found["strict"][j] < found["printed"][j]).mean()),
            "label_over_printed": _short(medians["strict-label"][j] / medians["printed"][j]),
            "data_sets_where_label_is_below_printed": _short((found["strict-label"][j] < found["printed"][j]).mean()),
            "label_over_printed_(10)": _short(medians["strict-label"][j] / medians["printed-leaving"][j]),
        }
        for j, epsilon in enumerate(EPSILONS)
    ]
    beside = [
        {"method": name, "rows": ORACLE_ROWS, "epsilon": ORACLE_EPSILON, **_summary(losses)}
        for name, losses in zip((ALL["strict"].legend, "oracle (not DP)"), large, strict=True)
    ]
    title = f"KL(released || fitted), K = 5, d = 3, N = 1000, delta = {DELTA:g}, {trials} data sets"
    larger = f"The same with N = {ORACLE_ROWS:,}, beside an oracle that knows centres and shapes"
    stem.with_suffix(".md").write_text(
        _markdown(title, rows) + "\n" + _markdown(RATIOS, ratios) + "\n" + _markdown(larger, beside)
    )
    return {"title": title, "delta": DELTA, "trials": trials, "kl": rows, "ratios": ratios, "oracle": beside}


def _beside_oracle(trial: int) -> tuple[float, float]:
    setup = synthetic(trial, rows=ORACLE_ROWS)
    known = oracle(setup, ORACLE_EPSILON, DELTA, np.random.default_rng([trial]))
    strict = release("strict", setup, ORACLE_EPSILON, DELTA, (trial, 0))
    return kl_to_fit(strict, setup), kl_to_fit(known, setup)


def forecast(trials: int, stem: Path) -> dict[str, Any]:
    """The loss that a plan names before it sees a row, beside the median that is then measured."""
    cells = [(n, d, e) for n in FORECAST_ROWS for d in FORECAST_DIMS for e in FORECAST_EPSILONS]
    rows = []
    for n, d, epsilon in _counted(cells, "forecasts"):
        number = trials if n == min(FORECAST_ROWS) else max(1, round(FEWER * trials))
        reach = np.full(d, 10 + 4 * np.sqrt(d + 1))  # holds the rows
        kl, informed = [], []
        for trial in range(number):
            setup = replace(synthetic(trial, rows=n, dim=d), bounds=(-reach, reach))
            kl.append(kl_to_fit(release("strict", setup, epsilon, DELTA, (trial,)), setup))
            informed.append(_expected_for(setup, epsilon))
        expected = _expected(setup, epsilon)
        median = float(np.median(kl))
        rows.append(
            {
                "rows": n,
                "d": d,
                "epsilon": epsilon,
                "data_sets": number,
                "forecast": _short(expected),
                "median": _short(median),
                "forecast_over_median": _short(expected / median),
                "class_sizes_known": _short(np.median(informed)),
                "that_over_median": _short(np.median(informed) / median),
            }
        )
    title = f"Expected KL of the plan and measured median, K = 5, delta = {DELTA:g}, bounds that hold the rows"
    stem.with_suffix(".md").write_text(_markdown(title, rows))
    return {"title": title, "delta": DELTA, "cells": rows}


def _expected(setup: Setup, epsilon: float) -> float:
    affine = sf.Mixture(encoding="affine")
    plan = sf.plan(schema_of(setup), epsilon=epsilon, delta=DELTA, mechanism=affine, rows=len(setup.x))
    return sum(plan.expected_kl.values())


def _expected_for(setup: Setup, epsilon: float) -> float:
    """The same formulas with the sizes that the classes have, which a plan does not know."""
    counts = np.bincount(setup.y, minlength=setup.classes).astype(np.float64)
    mu, looks = calibrate(epsilon, DELTA), MixtureTuning().looks
    return sum(best_forecast(np.sort(counts), [PrivateMixture().bins] * setup.dim, mu, looks).expected_kl.values())


def _summary(kl: np.ndarray[Any, Any]) -> dict[str, float]:
    quartile = np.quantile(kl, 0.75)
    return {"median": _short(np.median(kl)), "mean": _short(kl.mean()), "upper_quartile": _short(quartile)}


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def _counted(what: int | Sequence[Any], title: str) -> Any:
    steps = range(what) if isinstance(what, int) else what
    return track(steps, title, console=Console(stderr=True), transient=True)


def _markdown(title: str, rows: list[dict[str, Any]]) -> str:
    lines = [
        title,
        "",
        "| " + " | ".join(name.replace("_", " ") for name in rows[0]) + " |",
        "|---" * len(rows[0]) + "|",
    ]
    lines += [
        "| " + " | ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in row.values()) + " |" for row in rows
    ]
    return "\n".join(lines) + "\n"
