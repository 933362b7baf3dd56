"""How far a verb has come, told on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from sfumato.cli.output import say

if TYPE_CHECKING:
    from sfumato.progress import Event

TOLD_STEPS = 50  # of moving points, between two lines about it

Advance: TypeAlias = Callable[..., None]


@contextmanager
def working(what: str, total: float | None = None) -> Iterator[Advance]:
    """A progress display on a terminal's stderr; nothing where nobody is looking.

    What it yields hears by how much the work is further, and, where it likes, what is done now. With a total there are
    percents and the time that is left.
    """
    if not sys.stderr.isatty():
        yield lambda done, now=None: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(*_columns(total), console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)

        def advance(done: float, now: str | None = None) -> None:
            progress.update(task, advance=done, description=what if now is None else f"{what}: {now}")

        yield advance


def _columns(total: float | None) -> list[Any]:
    from rich.progress import (
        BarColumn,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    known = [] if total is None else [TaskProgressColumn(), TimeRemainingColumn()]
    return [SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), *known, TimeElapsedColumn()]


def tell(event: Event) -> None:
    """Tell what a fit is doing: every round before it is asked, and now and then how far points have moved."""
    from sfumato.progress import Spending

    if isinstance(event, Spending):
        say(str(event))
    elif event.step % TOLD_STEPS == 0:
        say(f"moving points: {event}")


def tell_training(step: int, steps: int, loss: float) -> None:
    """Tell how far a generator is trained."""
    say(f"training: step {step} of at most {steps}, loss {loss:.3f}")
