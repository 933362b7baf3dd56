"""What a fit tells while it works: one callable hears frozen events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeAlias

from sfumato.text import rounded_up


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


Event: TypeAlias = Spending | Step | Streamed
Listener: TypeAlias = Callable[[Event], None]

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
