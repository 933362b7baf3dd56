"""How the parts of a release are kept in a file: arrays by name, whose sizes are known before any is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

NamedArrays = Mapping[str, np.ndarray[Any, Any]]
Insist = Callable[[Any, str], None]
"""Refuses a file unless the first argument holds; the second says in one line what is wrong."""


@dataclass(frozen=True)
class ArraySpec:
    """The shape and the number format that an array of a file must have.

    >>> ArraySpec((2, 3)).size
    6
    """

    shape: tuple[int, ...]
    dtype: type[np.generic] = np.float64

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)


Specs = dict[str, ArraySpec]
