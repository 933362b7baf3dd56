"""Every way to make synthetic rows that is compared here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

import sfumato as sf
from experiments.slicing.plain import Plain
from experiments.three_a import methods as three_a
from experiments.three_a.cube import Cube
from experiments.three_a.data import DataSet
from experiments.three_a.methods import Method, NotThere

SLICE_DIM = 2
FEW_SLICES = 5  # of every row: fewer numbers than a row has columns, with less noise on each

Maker = Callable[[DataSet, float, float, int | None, int], pd.DataFrame]


def sliced(adjacency: str = "add-remove", **options: Any) -> Maker:
    """The strict slicing mechanism with these options."""
    mechanism = sf.Slicing(**options)

    def make(data: DataSet, epsilon: float, delta: float, seed: int | None, rows: int) -> pd.DataFrame:
        assert data.schema is not None  # every data set here has one
        release = sf.fit(
            data.train,
            data.schema,
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            adjacency=adjacency,
            rows=data.rows,
            insecure_seed=seed,
        )
        return release.sample(rows, seed=seed)

    return make


def rows_form(slice_dim: int) -> Maker:
    """The paper's form: noise on every row's projections. It publishes how many rows there are: one is replaced."""
    return sliced(form="rows", slice_dim=slice_dim, adjacency="replace-one")


def from_arrays(module: str, name: str, **options: Any) -> Maker:
    """A method of `sfumato.published` that takes and gives numbers, category codes and classes, as DP-MERF does."""

    def make(data: DataSet, epsilon: float, delta: float, seed: int | None, rows: int) -> pd.DataFrame:
        try:
            method = getattr(import_module(f"sfumato.published.{module}"), name)
        except (ModuleNotFoundError, AttributeError):
            raise NotThere(f"sfumato.published.{module} has no {name}") from None
        plain = None if data.bounds is not None else Plain(data)  # numbers of one kind are plain as they are
        seen = data if plain is None else plain.set
        cube = Cube.of(seen)
        x, y = cube.points(seen.train)
        given = {"epsilon": epsilon, "delta": delta, "rows": rows, "rng": np.random.default_rng(seed), **options}
        numbers, codes, labels = method(cube.rows(x, y), **given)
        made = cube.frame(cube.put_together(numbers, codes), labels)
        return made if plain is None else plain.back(made)

    return make


def tuned(data: DataSet, epsilon: float, delta: float, seed: int | None, rows: int) -> pd.DataFrame:
    """Slicing as printed, with what the search on other tables chose."""
    from experiments.slicing import tune  # which has this module's methods

    settings = tune.best("credit" if data.image is None else "digits", epsilon)
    return tune.printed(settings)(data, epsilon, delta, seed, rows)


REAL = "real"
CLAIMED = "claims DP for rows at distance 1"

METHODS: dict[str, Method] = {
    REAL: Method("real rows", "none", three_a.real, random=False),
    "mixture": Method("mixture", "DP", three_a.mixture),
    "untrained": Method("slicing, central, before training", "DP", sliced(form="central", training=None)),
    "central": Method(f"slicing, central, k = {SLICE_DIM}", "DP", sliced(form="central", slice_dim=SLICE_DIM)),
    "conv": Method(
        f"slicing, central, k = {SLICE_DIM}, convolutions",
        "DP",
        sliced(form="central", slice_dim=SLICE_DIM, training=sf.Training(architecture="conv")),
    ),
    "central-replaced": Method(
        f"slicing, central, k = {SLICE_DIM}, a row replaced",
        "DP, replace-one",
        sliced(form="central", slice_dim=SLICE_DIM, adjacency="replace-one"),
    ),
    "rows1": Method("slicing, rows, k = 1", "DP, replace-one", rows_form(1)),
    "rows2": Method("slicing, rows, k = 2", "DP, replace-one", rows_form(2)),
    "rows3": Method("slicing, rows, k = 3", "DP, replace-one", rows_form(3)),
    "few": Method(
        f"slicing, rows, {FEW_SLICES} slices of k = {SLICE_DIM}",
        "DP, replace-one",
        sliced(form="rows", slice_dim=SLICE_DIM, slices=FEW_SLICES, adjacency="replace-one"),
    ),
    "printed": Method("slicing as printed, k = 1", CLAIMED, from_arrays("slicing", "synthesize", slice_dim=1)),
    "tuned": Method("slicing as printed, tuned", CLAIMED, tuned),
    "wasserstein": Method("sliced Wasserstein", CLAIMED, from_arrays("sliced_wasserstein", "sliced_wasserstein")),
    "merf": Method("DP-MERF", "DP", from_arrays("baselines", "dp_merf")),
    "gan": Method("DP-SGD GAN", "DP", from_arrays("dp_gan", "dp_gan")),
    "pategan": Method("PATE-GAN", "claims DP, replace-one", from_arrays("pate_gan", "pate_gan")),
}
