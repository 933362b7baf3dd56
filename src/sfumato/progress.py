"""What long work tells while it is done: of a fit one callable hears frozen events, of other work how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeAlias

from sfumato.text import rounded_up


@dataclass(frozen=True)
class Planned:
    """A fit begins; told once, before its first round.

    Attributes:
        rounds: The names of the rounds that are planned, in order: public, as the plan is.

    Example:
        >>> from sfumato.progress import Planned
        >>> str(Planned(("histograms", "moments")))
        'planned: histograms, moments'
    """

    rounds: tuple[str, ...]

    def __str__(self) -> str:
        return f"planned: {', '.join(self.rounds)}"


@dataclass(frozen=True)
class Reading:
    """The table is being read. Every percent is told once and in order, whatever the table holds.

    Attributes:
        percent: How much of it has been read.

    Example:
        >>> from sfumato.progress import Reading
        >>> str(Reading(40))
        'reading the table: 40%'
    """

    percent: int

    def __str__(self) -> str:
        return f"reading the table: {self.percent}%"


@dataclass(frozen=True)
class Spending:
    """A round is about to be asked; told before a row is read for it.

    Attributes:
        name: The round's name, as in the plan and in the guarantee.
        mu: Its Gaussian DP parameter; None for slices, whose cost is a law and not one number.
        share: Its part of the squared budget; None for slices.
        projections: For slices, how many noisy projections of every row are asked for.

    Example:
        >>> from sfumato.progress import Spending
        >>> str(Spending("histograms", mu=0.19, share=0.5))
        'asking for histograms: 50% of the budget (mu 0.19)'
    """

    name: str
    mu: float | None = None
    share: float | None = None
    projections: int | None = None

    def __str__(self) -> str:
        if self.mu is None or self.share is None:
            return f"asking for {self.projections} noisy projections of every row"
        return f"asking for {self.name}: {self.share:.0%} of the budget (mu {rounded_up(self.mu, 5)})"


@dataclass(frozen=True)
class Step:
    """A step of what is free: training a generator, or moving points. No row is near.

    Attributes:
        step: How many steps are done.
        steps: How many there are at most.
        loss: The loss after it.

    Example:
        >>> from sfumato.progress import Step
        >>> str(Step(50, 600, 1.25))
        'step 50 of at most 600, loss 1.25'
    """

    step: int
    steps: int
    loss: float

    def __str__(self) -> str:
        return f"step {self.step} of at most {self.steps}, loss {self.loss:.4g}"


@dataclass(frozen=True)
class Streamed:
    """Rows of a database are read here from now on, because it cannot count what is asked by itself.

    Attributes:
        reason: Why, from public facts: types of columns, the kind of question.

    Example:
        >>> from sfumato.progress import Streamed
        >>> str(Streamed("the question is for more than counts"))
        'reading rows out of the database: the question is for more than counts'
    """

    reason: str

    def __str__(self) -> str:
        return f"reading rows out of the database: {self.reason}"


Event: TypeAlias = Planned | Reading | Spending | Step | Streamed
Listener: TypeAlias = Callable[[Event], None]

Told: TypeAlias = Callable[[float, str], None]  # hears which fraction is done, and what comes next


class Work:
    """How far a work is that has pieces of known cost.

    Args:
        tell: Hears before each piece which fraction is done, and what comes next.
        total: What all pieces cost, in about the seconds that they take for a table like UCI Adult.
    """

    def __init__(self, tell: Told, total: float) -> None:
        self._tell, self._total, self._done = tell, total, 0.0

    def next(self, what: str, cost: float) -> None:
        """Say what comes next, and what it costs."""
        self._tell(min(self._done / self._total, 1.0), what)
        self._done += cost


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """While this lasts, `tell` reaches the listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(event: Event) -> None:
    """Let whoever listens hear of an event."""
    listener = _listener.get()
    if listener is not None:
        listener(event)
