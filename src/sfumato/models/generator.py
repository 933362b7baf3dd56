"""Generators: networks that make rows of a class from normals. A release of one holds its weights and no code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.errors import ArgumentError, MissingExtraError
from sfumato.schema.layout import FloatArray, IntArray
from sfumato.training.network import Architecture, Lens, make
from sfumato.training.settings import Training

MADE_AT_ONCE = 1 << 22  # numbers that a network makes at a time

SmallArray = np.ndarray[Any, np.dtype[np.float32]]
Weights = Mapping[str, SmallArray]


@dataclass(frozen=True)
class Generator:
    """A network of sfumato's own, sampled with numpy, or with JAX where that is asked for."""

    architecture: Architecture
    weights: Weights
    lens: Lens | None = None  # of images
    library: str = "numpy"

    def sample(self, labels: IntArray, rng: np.random.Generator) -> FloatArray:
        """One row for each label."""
        dim, pixels = self.architecture.dim, math.prod(self.architecture.image or (1,))
        made = np.empty((len(labels), dim))
        chunk = max(1, MADE_AT_ONCE // max(dim, self.architecture.width, pixels * self.architecture.channels))
        for k in np.unique(labels):
            mine = np.flatnonzero(labels == k)
            for start in range(0, len(mine), chunk):
                rows = mine[start : start + chunk]
                made[rows] = self._rows(int(k), rng.standard_normal((1, len(rows), dim)))
        return made

    def _rows(self, k: int, noise: FloatArray) -> FloatArray:
        mine = {n: w if n.startswith("kernel") else w[k : k + 1] for n, w in self.weights.items()}
        with np.errstate(over="ignore", invalid="ignore"):  # of weights as large as a file may hold
            made = make(self.architecture, mine, noise.astype(np.float32), self.lens, _library(self.library))
        return _finite(made[0])


@dataclass(frozen=True)
class OwnGenerator:
    """An equinox module of the user's own, called as module(noise, one_hot_class) for one row at a time.

    A file holds the module's numbers, `leaves`, and not its code: whoever loads one brings the module.
    """

    leaves: tuple[SmallArray, ...]
    classes: int
    dim: int
    module: Any = field(default=None, repr=False)

    def brought(self) -> Any:
        """The module, which a file does not hold."""
        if self.module is None:
            raise ArgumentError("this release was trained with a module of its author's own: load it with module=...")
        return self.module

    def sample(self, labels: IntArray, rng: np.random.Generator) -> FloatArray:
        """One row for each label."""
        module = self.brought()
        import jax

        noise = rng.standard_normal((len(labels), self.dim)).astype(np.float32)
        one_hot = np.eye(self.classes, dtype=np.float32)[labels]
        return _finite(jax.vmap(module)(noise, one_hot))


@dataclass(frozen=True)
class Progress:
    """How far a training came: its number, its settings, the steps done, the last loss, and whether it is over.

    One that is not over holds Adam's two means of gradients, in the order of the weights, so that it can go on as if
    never stopped.
    """

    number: int = 0
    settings: Training = Training()
    step: int = 0
    loss: float | None = None
    finished: bool = False
    memory: tuple[tuple[SmallArray, ...], tuple[SmallArray, ...]] | None = field(default=None, repr=False)


def _finite(made: Any) -> FloatArray:
    """Rows as numbers, whatever a network made of them."""
    return np.nan_to_num(np.asarray(made, dtype=np.float32)).astype(np.float64)


def _library(name: str) -> Any:
    if name == "numpy":
        return np
    if name != "jax":
        raise ArgumentError(f"rows are made with 'numpy' or 'jax', not {name!r}")
    try:
        import jax.numpy as jnp
    except ImportError:
        raise MissingExtraError("sampling with JAX needs an extra: pip install sfumato[train]") from None
    return jnp
