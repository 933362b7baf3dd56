"""How a question sees rows: some of the columns, in bins that are coarser than the grid that rows are coded to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.errors import insist
from sfumato.private.queries.base import Batch, CodeArray, FloatArray, IntArray, Public, Query, Reach


@dataclass(frozen=True)
class View:
    """Columns, how many cells the grid of each has, and the first cells of the runs that are its bins.

    Every number of a row is looked up in a public table of its column, so that what is seen of a row is a function of
    that row alone, and a question has the reach that it has.
    """

    columns: tuple[int, ...]
    cells: tuple[int, ...]
    starts: tuple[IntArray, ...]

    def __post_init__(self) -> None:
        insist(len(self.columns) == len(self.cells) == len(self.starts) > 0, "a view has bins for each of its columns")
        for cells, starts in zip(self.cells, self.starts, strict=True):
            rising = starts.ndim == 1 and len(starts) > 0 and starts[0] == 0 and (np.diff(starts) > 0).all()
            insist(rising and starts[-1] < cells, "bins begin at the first cell, each beyond the last, all on the grid")

    def public(self, public: Public) -> Public:
        """What is public of the rows as they are seen; refuses a view of other columns."""
        sizes = dict(enumerate(() if public.coordinates else public.sizes))
        insist(self.cells == tuple(map(sizes.get, self.columns)), "a view must be one of the columns of the schema")
        return replace(public, sizes=tuple(map(len, self.starts)))

    @cached_property
    def _tables(self) -> list[CodeArray]:
        """The bin of each cell, and last -1 for the code -1."""
        runs = [np.diff(starts, append=cells) for cells, starts in zip(self.cells, self.starts, strict=True)]
        return [np.append(np.repeat(np.arange(len(run)), run), -1).astype(np.int32) for run in runs]

    def of(self, batch: Batch) -> Batch:
        """The rows as they are seen."""
        codes = np.empty((len(self.columns), len(batch)), dtype=np.int32)
        for i, (column, table) in enumerate(zip(self.columns, self._tables, strict=True)):
            np.take(table, batch.codes[column], out=codes[i], mode="wrap")  # -1 wraps to the last entry
        return replace(batch, codes=codes, fixed=None if batch.fixed is None else batch.fixed[list(self.columns)])


@dataclass(frozen=True)
class Viewed(Query):
    """A question about rows as a view shows them: it has the reach that the question has."""

    view: View
    query: Query

    def __post_init__(self) -> None:
        insist(not isinstance(self.query, Viewed), "a view is of rows as they are")

    @property
    def classes(self) -> int:  # type: ignore[override]
        """How many classes the label has."""
        return self.query.classes

    @property
    def weights(self) -> FloatArray:
        return self.query.weights

    @property
    def reach(self) -> Reach:
        return self.query.reach

    def check(self, public: Public) -> None:
        self.query.check(self.view.public(public))

    def total(self, batch: Batch) -> IntArray:
        return self.query.total(self.view.of(batch))


KINDS = (View, Viewed)  # that a question may be made of
