"""Load profiles with clusters found privately, beside clusters that public homes give.

Components without labels have no counterpart in a labelled fit, so KL between parameters is not defined. What is
measured instead is the mean log-density of the rows of homes that were held out, above one Gaussian fitted without
noise: in nats a row, more is better.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import sfumato as sf
from experiments.liu2025.runners import counted, frame_of, release, schema_of
from experiments.liu2025.setups import DELTA, LOAD_CLASSES, Setup, load_profiles
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.schema.layout import FloatArray

EPSILONS = (1.0, 4.0, 8.0)
HELD_OUT = 0.2  # of the homes
KINDS = {
    "public": "sfumato, clusters given by public homes (DP, add-remove)",
    "private": "sfumato, clusters found privately (DP, add-remove)",
    "one": "sfumato, one Gaussian (DP, add-remove)",
}


def gains(trials: int, stem: Path) -> dict[str, Any]:
    """Held-out log-density above one Gaussian without noise, for both readings of the load profiles."""
    found: dict[tuple[str, str, float], list[float]] = {}
    for trial in track(range(trials), "clusters", console=Console(stderr=True), transient=True):
        rng = np.random.default_rng([trial])
        whole = load_profiles(trial, one_row_each=False)
        assert whole.unit is not None
        homes = np.unique(whole.unit)
        outside = np.isin(whole.unit, rng.choice(homes, round(HELD_OUT * len(homes)), replace=False))
        test = whole.x[outside]
        for unit, setup in _readings(whole, ~outside).items():
            base = _mean_log_density(_one_gaussian(setup), test)
            fitted = release("fitted", _whole_classes(setup), 1.0, DELTA, (trial,))
            gain = _mean_log_density(fitted, test) - base
            found.setdefault((unit, "fitted, clusters given by public homes (not DP)", np.inf), []).append(gain)
            for epsilon in EPSILONS:
                for kind, legend in KINDS.items():
                    released = _released(kind, setup, epsilon, (trial, int(epsilon)))
                    gain = _mean_log_density(released, test) - base
                    found.setdefault((unit, legend, epsilon), []).append(gain)
    rows = [
        {"unit": unit, "epsilon": epsilon, "method": legend, "gain": float(f"{np.median(values):.3g}")}
        for (unit, legend, epsilon), values in sorted(found.items(), key=lambda item: (item[0][0], item[0][2]))
    ]
    title = (
        f"Log-density of rows of homes held out, above one Gaussian without noise: nats a row, medians of {trials};"
        f" delta = {DELTA:g}"
    )
    lines = [title, "", "| unit | epsilon | method | gain |", "|---|---|---|---|"]
    lines += [f"| {row['unit']} | {_text(row['epsilon'])} | {row['method']} | {row['gain']:g} |" for row in rows]
    stem.with_suffix(".md").write_text("\n".join(lines) + "\n")
    return {
        "title": title,
        "trials": trials,
        "delta": DELTA,
        "rows": [row | {"epsilon": _text(row["epsilon"])} for row in rows],
    }


def _text(epsilon: float) -> str:
    return f"{epsilon:g}" if np.isfinite(epsilon) else "none"


def _readings(whole: Setup, inside: FloatArray) -> dict[str, Setup]:
    """One row of every home that is left, and all their rows with the home as unit."""
    assert whole.unit is not None
    rest = replace(whole, x=whole.x[inside], y=whole.y[inside], unit=whole.unit[inside])
    first = np.unique(rest.unit, return_index=True)[1]
    single = replace(rest, x=rest.x[first], y=rest.y[first], unit=None, rows_per_unit=1)
    return {"row, one a home": single, f"home, {whole.rows_per_unit} rows of it": rest}


def _whole_classes(setup: Setup) -> Setup:
    """The set-up without classes too small for a covariance: their rows join class 0."""
    counts = np.bincount(setup.y, minlength=setup.classes)
    kept = np.flatnonzero(counts > 2 * setup.dim)
    y = np.searchsorted(kept, np.where(np.isin(setup.y, kept), setup.y, kept[0]))
    return replace(setup, y=y, classes=len(kept))


def _one_gaussian(setup: Setup) -> GaussianMixture:
    return GaussianMixture(np.ones(1), setup.x.mean(axis=0)[None], np.cov(setup.x.T, bias=True)[None])


def _released(kind: str, setup: Setup, epsilon: float, seed: tuple[int, ...]) -> GaussianMixture:
    if kind == "public":
        return release("strict", setup, epsilon, DELTA, seed)
    rng = np.random.default_rng(seed)
    found = sf.fit(
        frame_of(setup).drop(columns="class"),
        schema_of(setup, labelled=False),
        epsilon=epsilon,
        delta=DELTA,
        mechanism=sf.Mixture(components=LOAD_CLASSES if kind == "private" else 1, encoding="affine"),
        rows=len(counted(setup, rng)),
        insecure_seed=int(rng.integers(2**63)),
    ).model.mixture
    return GaussianMixture(found.weights, found.means, found.covariances)


def _mean_log_density(model: GaussianMixture, x: FloatArray) -> float:
    parts = [
        np.log(weight) + multivariate_normal.logpdf(x, mean, covariance)
        for weight, mean, covariance in zip(model.weights, model.means, model.covariances, strict=True)
        if weight > 0
    ]
    return float(logsumexp(parts, axis=0).mean())
