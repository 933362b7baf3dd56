"""How many rows of each class fall into each bin of every column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.errors import insist
from sfumato.private.queries.base import Batch, FloatArray, IntArray, Public, Query, Reach, check_shares


@dataclass(frozen=True)
class Histograms(Query):
    """How many rows of each class fall into each bin, for every column at once; before a column's bins, how many fall
    into none, so that all columns of a class add up to its rows.

    Column c has weight sqrt(shares[c]), and the shares add up to one.

    Reach. A row adds 1 to one number of each column, in its own class's block: D = sqrt(sum of shares) <= 1. Two
    rows' contributions are never negative, so their difference has at most the squared norm 1 + 1: E = sqrt(2). The
    group is the class, so that another label moves the row and no two rows of a group differ in the label: L = 0.
    """

    sizes: tuple[int, ...]
    classes: int
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        check_shares(self.shares, len(self.sizes))
        insist(min(self.sizes) >= 1 and self.classes >= 1, "columns have bins, and labels classes")

    @property
    def reach(self) -> Reach:
        return Reach(1.0, math.sqrt(2.0), 0.0, True, self.classes)

    @cached_property
    def weights(self) -> FloatArray:
        return np.tile(np.repeat(np.sqrt(self.shares), np.add(self.sizes, 1)), self.classes)

    def check(self, public: Public) -> None:
        fits = not public.coordinates and (self.sizes, self.classes) == (public.sizes, public.classes)
        insist(fits, "histograms must be those of the schema")

    def part(self, batch: Batch) -> IntArray:
        cells = []
        for codes, size in zip(batch.codes, self.sizes, strict=True):
            place = batch.labels * (size + 1) + codes + 1  # the code -1 comes first
            counts = np.bincount(place, minlength=self.classes * (size + 1))
            cells.append(counts.reshape(self.classes, size + 1))
        return np.concatenate(cells, axis=1).ravel()


KINDS = (Histograms,)  # that a question may be made of
