"""The curator: the only one who sees rows, and the only door to them.

It takes questions as bytes and makes its own objects of them (`queries.wire`), checks these against what is public of
the table, charges the budget before it looks, adds the noise, and keeps what was spent and answered. It alone writes
the guarantee, from what it charged.

Formal guarantee. With a budget of total mu, everything it ever answers is together mu-GDP under its adjacency, also
when later questions and their shares depend on earlier answers (see `Budget`), up to the distance of the noise sampler
from the ideal, which `calibrate` has set aside. With a budget that holds slices too, it is (epsilon, delta)-DP for
every epsilon with delta = joint_delta(epsilon, mu, slices).

What leaves it is noisy numbers and errors made afresh: an exception that touched rows would hold them in the frames of
its traceback. In one process this stops mistakes, not malice, because `curator._engine` is one attribute away; code
that is not trusted belongs into another process, and talks to the curator in bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from sfumato.errors import SfumatoError, TableError, insist
from sfumato.gaussian_delta import delta_left
from sfumato.private.accounting import MOST_COORDINATES, Adjacency, Budget, Spend, joint_delta
from sfumato.private.noise import DISTANCE_PER_COORDINATE, Bits, noisy, secure_bits
from sfumato.private.queries.base import Answer, FloatArray, IntArray, Public, Query
from sfumato.private.queries.wire import decode
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import NoisyRows, RowVectors, Whole, check_slices, shuffled, sliced, whole
from sfumato.private.units import unit_delta

T = TypeVar("T")


class Engine(Protocol):
    """Whatever can add up a query over the private rows, and find their vectors."""

    @property
    def public(self) -> Public:
        """What is public of the rows."""

    def total(self, query: Query) -> IntArray:
        """The exact total of a query."""

    def rows(self, vectors: RowVectors) -> FloatArray:
        """The vectors of all rows that count, one a column."""


class Curator:
    """Answers questions about one private table within one budget."""

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
        # Every answer to `total`, with the name under which it was charged and what was asked.
        self.answers: tuple[tuple[str, Query, Answer], ...] = ()

    @property
    def remaining(self) -> float:
        """The squared mu that is left."""
        return self._budget.remaining

    def statement(self, epsilon: float, delta: float, unit: str) -> dict[str, Any]:
        """What may be promised of all that was answered, and will be, from what was charged: a guarantee's facts.

        The caller says which (epsilon, delta) was meant; one that does not cover the budget is refused. Noise that did
        not come from the operating system promises nothing.
        """
        budget, left = self._budget, delta if self._unit_rows is None else unit_delta(delta)
        spare = delta_left(epsilon, left, MOST_COORDINATES * DISTANCE_PER_COORDINATE)
        covered = joint_delta(epsilon, budget.total, budget.slices) <= spare
        insist(covered, f"epsilon = {epsilon:g} and delta = {delta:g} do not cover what may be spent")
        secure = self._bits is secure_bits
        promised = {"epsilon": float(epsilon), "delta": float(delta), "mu": budget.total}
        neighbours = {"adjacency": self._adjacency, "unit": unit, "secure": secure}
        charged = {"spends": budget.spends, "slices": budget.slices}
        return (promised if secure else dict.fromkeys(promised)) | neighbours | charged

    def total(self, name: str, request: bytes, mu_squared: float) -> Answer:
        """Charge `mu_squared`, say so, then answer with noise."""
        query, mu_squared = decode(request, Query), float(mu_squared)
        query.check(self._engine.public)
        sensitivity = query.reach.sensitivity(self._adjacency, self._unit_rows)
        spend = self._budget.charge(name, sensitivity, mu_squared)
        self._announce(spend)
        sd = spend.sigma / query.weights  # sensitivity is that of weights * answer, so this noise is mu-GDP
        answer = _shielded(lambda: Answer(self._noisy(query, sd), sd))
        self.answers += ((name, query, answer),)
        return answer

    def _noisy(self, query: Query, sd: FloatArray) -> FloatArray:
        total = self._engine.total(query)
        self._before_noise()  # a table that cannot be read costs nothing; from here on the ledger does not go back
        return noisy(query.answer(total), sd, self._bits)

    def rows(self, name: str, request: bytes) -> NoisyRows:
        """Charge for it, say so, then answer with every row's noisy projections, in an order that nobody knows.

        The answer tells how many rows (or units) there are, so the whole release must be replace-one.
        """
        vectors, projection = decode(request, tuple[RowVectors, Whole | Slices])
        replaced = self._adjacency is Adjacency.REPLACE_ONE
        insist(replaced, "noisy rows tell how many rows there are: they need adjacency 'replace-one'")
        vectors.check(self._engine.public)
        if isinstance(projection, Slices):
            check_slices(projection, vectors, self._unit_rows)
            self._budget.take(projection)
            spend: Spend | Slices = projection
        else:
            spend = self._budget.charge(name, vectors.distance(self._unit_rows), projection.mu_squared)
        self._announce(spend)
        return _shielded(lambda: self._noisy_rows(vectors, spend))

    def _noisy_rows(self, vectors: RowVectors, spend: Spend | Slices) -> NoisyRows:
        found = self._engine.rows(vectors)
        self._before_noise()
        # From here on: the directions are drawn after all that they will show, and for this answer only.
        order = shuffled(found.shape[1], self._bits)
        if isinstance(spend, Slices):
            return sliced(found[:, order], spend, self._bits)
        return whole(found[:, order], spend.sigma, self._bits)


def _shielded(work: Callable[[], T]) -> T:
    """Do what touches rows; whatever it raises stays here, and an error that holds no frame of it goes on."""
    try:
        return work()
    except BaseException as error:
        failure = _afresh(error)
    raise failure


def _afresh(error: BaseException) -> BaseException:
    """The same news without its traceback.

    Our own errors speak of no row; of others nothing is told, not even their kind, which might depend on one. No class
    of another's is called: one that wants other arguments (numpy's own MemoryError does) would fail here, with the
    error that holds the rows for its context.
    """
    for kind in (KeyboardInterrupt, SystemExit, MemoryError):
        if isinstance(error, kind):
            return kind()
    if isinstance(error, SfumatoError) and type(error).__module__ == SfumatoError.__module__:
        return type(error)(str(error))
    return TableError("the table could not be read to its end")
