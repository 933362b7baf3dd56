"""The curator: the only one who sees rows, and the only door to them.

It charges the budget before it looks, adds the noise, and records what was spent. Formal guarantee: with
a budget of total mu, everything it ever answers is together mu-GDP under its adjacency, also when later
questions and their shares depend on earlier answers (see `Budget`), up to the distance of the noise
sampler from the ideal, which `calibrate` has set aside. With a budget that holds slices too, it is
(epsilon, delta)-DP for every epsilon with delta = delta_of(epsilon, mu, slices).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sfumato.errors import ArgumentError
from sfumato.private.accounting import Adjacency, Budget, Spend
from sfumato.private.noise import Bits, noisy
from sfumato.private.queries.base import Answer, FloatArray, IntArray, Query
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import NoisyRows, RowVectors, Whole, check_slices, shuffled, sliced, whole
from sfumato.private.units import unit_sensitivity


class Engine(Protocol):
    """Whatever can add up a query over the private rows, and find their vectors."""

    def total(self, query: Query) -> IntArray: ...

    def rows(self, vectors: RowVectors) -> FloatArray: ...


class Curator:
    """Answers queries about one private table within one budget."""

    def __init__(
        self,
        engine: Engine,
        budget: Budget,
        adjacency: Adjacency,
        bits: Bits,
        announce: Callable[[Spend | Slices], None] = lambda spend: None,
        unit_rows: int | None = None,
        before_noise: Callable[[], None] = lambda: None,
    ) -> None:
        self._engine = engine
        self._budget = budget
        self._adjacency = adjacency
        self._bits = bits
        self._announce = announce
        self._unit_rows = unit_rows
        self._before_noise = before_noise

    @property
    def remaining(self) -> float:
        """The squared mu that is left."""
        return self._budget.remaining

    def total(self, name: str, query: Query, mu_squared: float) -> Answer:
        """Charge `mu_squared`, say so, then answer with noise."""
        sensitivity = unit_sensitivity(query, self._adjacency, self._unit_rows)
        spend = self._budget.charge(name, sensitivity, mu_squared)
        self._announce(spend)
        sd = spend.sigma / query.weights
        total = self._engine.total(query)
        self._before_noise()  # a table that cannot be read costs nothing; from here on the ledger does not go back
        return Answer(noisy(total, sd, self._bits), sd)

    def rows(self, name: str, vectors: RowVectors, projection: Whole | Slices) -> NoisyRows:
        """Charge for it, say so, then answer with every row's noisy projections, in an order that nobody knows.

        The answer tells how many rows (or units) there are, so the whole release must be replace-one.
        """
        if self._adjacency is not Adjacency.REPLACE_ONE:
            raise ArgumentError("noisy rows tell how many rows there are: they need adjacency 'replace-one'")
        if isinstance(projection, Slices):
            check_slices(projection, vectors, self._unit_rows)
            self._budget.take(projection)
            spend: Spend | Slices = projection
        else:
            spend = self._budget.charge(name, vectors.distance(self._unit_rows), projection.mu_squared)
        self._announce(spend)
        found = self._engine.rows(vectors)
        self._before_noise()
        # From here on: the directions are drawn after all that they will show, and for this answer only.
        order = shuffled(found.shape[1], self._bits)
        if isinstance(spend, Slices):
            return sliced(found[:, order], spend, self._bits)
        return whole(found[:, order], spend.sigma, self._bits)
