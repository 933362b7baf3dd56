"""Questions about some of the columns, in bins that are coarser than the grid that rows are coded to."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sfumato.errors import insist
from sfumato.private.queries.base import Batch, FloatArray, IntArray, Public, Query, Reach
from sfumato.schema.view import View


def seen(batch: Batch, view: View) -> Batch:
    """The rows as a view shows them: each number is looked up alone, so that a question keeps its reach."""
    fixed = None if batch.fixed is None else batch.fixed[list(view.columns)]
    return replace(batch, codes=view.codes(batch.codes), fixed=fixed)


def public_seen(public: Public, view: View) -> Public:
    """What is public of them; refuses a view of other columns, or of columns in groups."""
    return replace(public, sizes=view.sizes(() if public.coordinates else public.sizes))


@dataclass(frozen=True)
class Viewed(Query):
    """A question about rows as a view shows them: it has the reach that the question has."""

    view: View
    query: Query

    @property
    def classes(self) -> int:  # type: ignore[override]
        """How many classes the label has."""
        return self.query.classes

    @property
    def size(self) -> int:
        return self.query.size

    @property
    def weights(self) -> FloatArray:
        return self.query.weights

    @property
    def reach(self) -> Reach:
        return self.query.reach

    def check(self, public: Public) -> None:
        insist(not isinstance(self.query, Viewed), "a view is of rows as they are")  # each would take memory with rows
        self.query.check(public_seen(public, self.view))

    def part(self, batch: Batch) -> IntArray:
        return self.query.part(seen(batch, self.view))

    def answer(self, total: IntArray) -> IntArray:
        return self.query.answer(total)


KINDS = (View, Viewed)  # that a question may be made of
