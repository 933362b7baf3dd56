"""The network that makes rows: one forward pass, in numpy where rows are drawn and in JAX where it is trained.

A row of class k is made from standard normals z of as many coordinates as the space it is trained in:

    x = z A_k + c_k + MLP_k(z),

each class with matrices of its own. The affine part is where training begins: a Gaussian for each class, with the
MLP's last layer at zero. (Without it a prototype lost 0.01 AUC on Adult.) Where rows are images, a convolutional
network may look at what they show, and add to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

KINDS = ("mlp", "conv")
KERNEL = 3  # width and height of a convolution
CONVOLUTIONS = 3
GELU = math.sqrt(2.0 / math.pi), 0.044715  # Hendrycks and Gimpel 2016, the tanh form

Array = Any  # of numpy or JAX
Weights = Mapping[str, Array]


@dataclass(frozen=True)
class Architecture:
    """What a network looks like: all that is needed to know the shapes of its weights."""

    kind: str
    classes: int
    dim: int
    width: int = 64
    depth: int = 2
    channels: int = 0  # of the convolutions, where there are any
    image: tuple[int, int] | None = None

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every array of weights; the first axis is the class, but for kernels, which classes share."""
        k, found = self.classes, {"skip": (self.classes, self.dim, self.dim), "shift": (self.classes, self.dim)}
        sizes = [self.dim, *[self.width] * self.depth, self.dim]
        for i, (before, after) in enumerate(pairwise(sizes)):
            found |= {f"matrix.{i}": (k, before, after), f"bias.{i}": (k, after)}
        channels = [1, *[self.channels] * (CONVOLUTIONS - 1), 1] if self.kind == "conv" else []
        for i, (before, after) in enumerate(pairwise(channels)):
            found |= {f"kernel.{i}": (KERNEL, KERNEL, before, after), f"offset.{i}": (k, after)}
        return found

    def start(self, seed: int, skip: Array, shift: Array) -> dict[str, Array]:
        """Weights to begin with: the affine part as given, and nothing beside it."""
        rng = np.random.default_rng(seed)
        found: dict[str, Array] = {}
        last = {f"matrix.{self.depth}", f"kernel.{CONVOLUTIONS - 1}"}
        for name, shape in self.shapes().items():
            drawn = name.startswith(("matrix", "kernel")) and name not in last
            scale = 1.0 / math.sqrt(math.prod(shape[:-1] if name.startswith("kernel") else shape[1:-1]))
            found[name] = (scale * rng.standard_normal(shape) if drawn else np.zeros(shape)).astype(np.float32)
        return found | {"skip": np.asarray(skip, dtype=np.float32), "shift": np.asarray(shift, dtype=np.float32)}


@dataclass(frozen=True)
class Lens:
    """How rows are looked at as images: `show` (dim, pixels) maps a row to what it shows, `tell` (pixels, dim) back."""

    show: Array
    tell: Array


def make(architecture: Architecture, weights: Weights, noise: Array, lens: Lens | None = None, xp: Any = np) -> Array:
    """Rows from normals, (classes, rows, dim), with the weights' classes in the same order."""
    made = xp.matmul(noise, weights["skip"]) + weights["shift"][:, None]
    hidden = noise
    for i in range(architecture.depth + 1):
        hidden = xp.matmul(hidden, weights[f"matrix.{i}"]) + weights[f"bias.{i}"][:, None]
        hidden = _gelu(hidden, xp) if i < architecture.depth else hidden
    made = made + hidden
    if architecture.image is None or lens is None:
        return made
    shown = _see(architecture.image, weights, xp.matmul(made, lens.show), xp)
    return made + xp.matmul(shown, lens.tell)


def _see(image: tuple[int, int], weights: Weights, places: Array, xp: Any) -> Array:
    """What convolutions make of images, given as rows of their pixels."""
    classes, rows = places.shape[:2]
    seen = places.reshape(classes, rows, *image, 1)
    for i in range(CONVOLUTIONS):
        seen = _convolve(seen, weights[f"kernel.{i}"], xp) + weights[f"offset.{i}"][:, None, None, None]
        seen = _gelu(seen, xp) if i < CONVOLUTIONS - 1 else seen
    return seen.reshape(classes, rows, -1)


def _convolve(images: Array, kernel: Array, xp: Any) -> Array:
    """Images of the same size; beyond their edges is zero."""
    height, width = images.shape[2:4]
    edge = KERNEL // 2
    around = xp.pad(images, ((0, 0), (0, 0), (edge, edge), (edge, edge), (0, 0)))
    shifts = [(a, b) for a in range(KERNEL) for b in range(KERNEL)]
    return sum(xp.matmul(around[:, :, a : a + height, b : b + width], kernel[a, b]) for a, b in shifts)


def _gelu(x: Array, xp: Any) -> Array:
    root, cubic = GELU
    return 0.5 * x * (1.0 + xp.tanh(root * (x + cubic * x**3)))
