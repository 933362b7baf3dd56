"""One interface for every mechanism: a set-up, (epsilon, delta) and a seed in, a released mixture out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

import sfumato as sf
from experiments.liu2025.components import found_privately
from experiments.liu2025.setups import Setup
from sfumato.estimator import PrivateMixture
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.published import baselines_liu, liu2025
from sfumato.schema.layout import IntArray

Runner = Callable[[Setup, float, float, np.random.Generator], GaussianMixture]
Finder = Callable[[Setup, float, float, np.random.Generator], tuple[Setup, float]]


@dataclass(frozen=True)
class Method:
    """A mechanism under its name in the figures, and whether it is differentially private."""

    label: str
    private: bool
    run: Runner
    first: Finder | None = None
    """Finds another space with part of the budget; it returns the rows there, and the epsilon that is left."""
    adjacency: str = "add-remove"
    """Which tables are neighbours, where it is differentially private."""

    @property
    def legend(self) -> str:
        return f"{self.label} ({f'DP, {self.adjacency}' if self.private else 'not DP'})"


def _printed(setup: Setup, epsilon: float, delta: float, rng: np.random.Generator) -> GaussianMixture:
    return liu2025.release(setup.x, setup.y, setup.classes, epsilon=epsilon, delta=delta, rng=rng).mixture


def _printed_leaving(setup: Setup, epsilon: float, delta: float, rng: np.random.Generator) -> GaussianMixture:
    options = {"epsilon": epsilon, "delta": delta}
    return liu2025.release(setup.x, setup.y, setup.classes, **options, rng=rng, joining=False).mixture


def _laplace(setup: Setup, epsilon: float, delta: float, rng: np.random.Generator) -> GaussianMixture:
    return baselines_liu.laplace(setup.x, setup.y, setup.classes, epsilon=epsilon, rng=rng)


def _gaussian(setup: Setup, epsilon: float, delta: float, rng: np.random.Generator) -> GaussianMixture:
    return baselines_liu.gaussian(setup.x, setup.y, setup.classes, epsilon=epsilon, delta=delta, rng=rng)


def _coloured(setup: Setup, epsilon: float, delta: float, rng: np.random.Generator) -> GaussianMixture:
    return baselines_liu.coloured_gaussian(setup.x, setup.y, setup.classes, epsilon=epsilon, delta=delta, rng=rng)


def _naive_strict(setup: Setup, epsilon: float, delta: float, rng: np.random.Generator) -> GaussianMixture:
    kept = counted(setup, rng)
    return baselines_liu.naive_strict(
        setup.x[kept],
        setup.y[kept],
        setup.classes,
        bounds=setup.bounds,
        epsilon=epsilon,
        delta=delta,
        rng=rng,
        rows_per_unit=setup.rows_per_unit,
    )


def _strict(
    setup: Setup, epsilon: float, delta: float, rng: np.random.Generator, adjacency: str = "add-remove"
) -> GaussianMixture:
    """The library's own release, with the number of rows as its public guess: Gaussians in data units, as the paper's,
    which have no tables of pairs (those need normal scores).

    The seed makes the figures repeatable; a release for others has none.
    """
    seed = int(rng.integers(2**63))
    if setup.unit is None:
        model = sf.PrivateMixture(
            epsilon=epsilon,
            delta=delta,
            bounds=setup.bounds,
            classes=list(range(setup.classes)),
            adjacency=adjacency,
            rows=len(setup.x),
            insecure_seed=seed,
        ).fit(setup.x, setup.y)
        return GaussianMixture(model.weights_, model.means_, model.covariances_)
    table, schema = frame_of(setup), schema_of(setup)
    rows = len(counted(setup, rng))
    found = sf.fit(
        table,
        schema,
        epsilon=epsilon,
        delta=delta,
        mechanism=sf.Mixture(encoding="affine"),
        adjacency=adjacency,
        rows=rows,
        insecure_seed=seed,
    ).model.mixture
    return GaussianMixture(found.weights, found.means, found.covariances)


def _strict_label(setup: Setup, epsilon: float, delta: float, rng: np.random.Generator) -> GaussianMixture:
    """The same with the paper's neighbours: one label of one row is another. Where others protect a home, this does
    not.
    """
    return _strict(replace(setup, unit=None, rows_per_unit=1), epsilon, delta, rng, adjacency="label")


def frame_of(setup: Setup) -> pd.DataFrame:
    """The rows with their class and, where there is one, their unit."""
    table = pd.DataFrame(setup.x, columns=_names(setup))
    table["class"] = setup.y.astype(str)
    if setup.unit is not None:
        table["unit"] = setup.unit.astype(str)
    return table


def schema_of(setup: Setup, *, labelled: bool = True) -> sf.Schema:
    """The public facts of a set-up: bounds, classes and, where it is not the row, the unit."""
    numbers = {
        name: {"type": "number", "min": float(low), "max": float(high), "bins": PrivateMixture().bins}
        for name, low, high in zip(_names(setup), *setup.bounds, strict=True)
    }
    unit = {} if setup.unit is None else {"unit": {"column": "unit", "rows": setup.rows_per_unit}}
    if not labelled:
        return sf.Schema.of({**unit, "columns": numbers})
    label = {"class": {"type": "category", "values": [str(k) for k in range(setup.classes)]}}
    return sf.Schema.of({"label": "class", **unit, "columns": numbers | label})


def _names(setup: Setup) -> list[str]:
    return [f"x{j}" for j in range(setup.dim)]


def counted(setup: Setup, rng: np.random.Generator) -> IntArray:
    """At most `rows_per_unit` rows of every unit, by chance."""
    if setup.unit is None:
        return np.arange(len(setup.x))
    shuffled = rng.permutation(len(setup.x))
    return pd.Series(shuffled).groupby(setup.unit[shuffled]).head(setup.rows_per_unit).to_numpy()


def _fitted(setup: Setup, epsilon: float, delta: float, rng: np.random.Generator) -> GaussianMixture:
    return liu2025.fit_labelled(setup.x, setup.y, setup.classes).mixture


METHODS = {
    "printed": Method("Algorithm 1 as printed, (23)", False, _printed),
    "printed-leaving": Method("Algorithm 1, rows that leave a class only, (10)", False, _printed_leaving),
    "laplace": Method("i.i.d. Laplace", False, _laplace),
    "gaussian": Method("i.i.d. Gaussian", False, _gaussian),
    "coloured": Method("coloured Gaussian", False, _coloured),
    "naive-strict": Method("naive strict Gaussian", True, _naive_strict),
    "strict": Method("sfumato", True, _strict),
    "fitted": Method("fitted without noise", False, _fitted),
}
ON_IMAGES = {"strict-components": Method("sfumato, components found privately", True, _strict, found_privately)}
UNDER_LABEL = {
    "strict-label": Method("sfumato", True, _strict_label, adjacency="label"),
}
MECHANISMS = (*(name for name in METHODS if name != "fitted"), *UNDER_LABEL)
ALL = METHODS | ON_IMAGES | UNDER_LABEL  # a method's place is part of its seed: new ones go last


def release(method: str, setup: Setup, epsilon: float, delta: float, seed: tuple[int, ...]) -> GaussianMixture:
    """A mixture from one of ALL; the same seed gives the same mixture."""
    return release_in_space(method, setup, epsilon, delta, seed)[0]


def release_in_space(
    method: str, setup: Setup, epsilon: float, delta: float, seed: tuple[int, ...]
) -> tuple[GaussianMixture, Setup]:
    """The same, and the rows in the space that the mixture is about."""
    rng = np.random.default_rng([*seed, list(ALL).index(method)])
    chosen = ALL[method]
    if chosen.first is not None:
        setup, epsilon = chosen.first(setup, epsilon, delta, rng)
    return chosen.run(setup, epsilon, delta, rng), setup
