"""What the generators of the compared methods have in common: how a mixed row is written as numbers, and a network that
makes such rows. Rows are raw arrays; bounds, classes and categories are public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.errors import ArgumentError, MissingExtraError
from sfumato.schema.layout import FloatArray, IntArray

STEPS_A_CALL = 100  # that a GAN's generator takes in one call of compiled code

Bounds = tuple[FloatArray | float, FloatArray | float]
Made = tuple[FloatArray, IntArray, IntArray]
"""Synthetic rows: numbers in data units, category codes and classes."""


@dataclass(frozen=True)
class LabelledRows:
    """A table as the compared methods take it: raw arrays, and what is public of them.

    `numbers` is (n, columns) and `codes` (n, categories), codes from 0 to `levels` - 1; either may have no columns. `y`
    are class numbers from 0 to `classes` - 1, and `bounds` hold for all numbers or for each column.
    """

    numbers: FloatArray
    codes: IntArray
    y: IntArray
    classes: int
    bounds: Bounds
    levels: Sequence[int]

    def __post_init__(self) -> None:
        if self.codes.shape[1] != len(self.levels):
            raise ArgumentError("levels must hold the number of categories of each column of codes")

    def __len__(self) -> int:
        return len(self.y)

    @property
    def encoding(self) -> Encoding:
        """How a row is written as numbers, its class as one category more."""
        return Encoding(*limits(self.bounds, self.numbers.shape[1]), (*self.levels, self.classes))

    @property
    def encoded(self) -> FloatArray:
        """The rows so written."""
        return self.encoding.encode(self.numbers, np.column_stack([self.codes, self.y]))


@dataclass(frozen=True)
class Encoding:
    """Numbers clamped to their bounds and scaled to [0, 1], then a one-hot block for each category."""

    low: FloatArray
    high: FloatArray
    levels: tuple[int, ...]

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return len(self.low) + sum(self.levels)

    def encode(self, numbers: FloatArray, codes: IntArray) -> FloatArray:
        """Rows as the generator makes them. A code that is none of its levels is a block of zeros."""
        span = self.high - self.low
        blocks = [(np.clip(numbers, self.low, self.high) - self.low) / span]
        blocks += [(codes[:, [j]] == np.arange(n)).astype(np.float64) for j, n in enumerate(self.levels)]
        return np.hstack(blocks)

    def decode(self, encoded: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Numbers in data units, and category codes drawn from their probabilities."""
        d = len(self.low)
        codes = np.zeros((len(encoded), len(self.levels)), dtype=np.int64)
        for j, start in enumerate(d + np.cumsum([0, *self.levels])[:-1]):
            reach = np.cumsum(encoded[:, start : start + self.levels[j]], axis=1)
            codes[:, j] = (rng.random((len(encoded), 1)) * reach[:, -1:] >= reach).sum(axis=1)
        return self.low + (self.high - self.low) * encoded[:, :d], codes

    def generate(self, weights: Any, z: Any, hidden: str = "relu") -> Any:
        """A network's output as encoded rows: numbers in [0, 1], and probabilities in each category's block."""
        jax = import_module("jax")
        out, d = forward(weights, z, hidden), len(self.low)
        numbers = jax.nn.sigmoid(out[:, :d])
        return jax.numpy.concatenate([numbers, self._softmax(out[:, d:])], axis=1) if self.levels else numbers

    def _softmax(self, out: Any) -> Any:
        """Of each category's block, all at once: a table of many categories would be as many small steps on a GPU."""
        jax = import_module("jax")
        starts = np.cumsum([0, *self.levels[:-1]])
        inside = np.minimum(np.arange(max(self.levels)), np.array(self.levels)[:, None] - 1)  # the last one fills up
        largest = jax.lax.stop_gradient(out[:, starts[:, None] + inside].max(axis=2))
        block = np.repeat(np.arange(len(self.levels)), self.levels)
        same = (block[:, None] == block).astype(np.float32)
        weights = jax.numpy.exp(out - largest[:, block])
        return weights / jax.numpy.matmul(weights, same, precision="highest")  # a GPU would round to 10 bits

    def weights(self, inputs: int, width: int, rng: np.random.Generator) -> list[tuple[Any, Any]]:
        """The network before training: two hidden layers of rectifiers."""
        return layers((inputs, width, width, self.width), rng)


def layers(sizes: Sequence[int], rng: np.random.Generator) -> list[tuple[Any, Any]]:
    """A fully connected network before training: a matrix and an offset from each size to the next."""
    return [
        (rng.standard_normal((a, b), dtype=np.float32) * np.float32(math.sqrt(2 / a)), np.zeros(b, np.float32))
        for a, b in pairwise(sizes)
    ]


def forward(weights: Any, x: Any, hidden: str = "relu") -> Any:
    """What the last layer puts out; the layers before it end in `hidden`, a function of jax.nn."""
    bend = getattr(import_module("jax").nn, hidden)
    for matrix, offset in weights[:-1]:
        x = bend(x @ matrix + offset)
    return x @ weights[-1][0] + weights[-1][1]


def labelled(numbers: FloatArray, codes: IntArray) -> Made:
    """Rows apart from their classes, the last category."""
    return numbers, codes[:, :-1], codes[:, -1]


def limits(bounds: Bounds, columns: int) -> tuple[FloatArray, FloatArray]:
    """The bounds, one for each column."""
    low, high = (np.broadcast_to(np.asarray(b, dtype=np.float64), columns) for b in bounds)
    if not (low < high).all():
        raise ArgumentError("bounds must be (low, high) with low below high")
    return low, high


def trainers(method: str, *more: str) -> tuple[Any, ...]:
    """JAX, optax and whatever else is trained with."""
    try:
        return tuple(import_module(name) for name in ("jax", "optax", *more))
    except ImportError:
        raise MissingExtraError(f"{method} needs an extra: pip install sfumato[train]") from None
