"""How far a verb has come, told on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sfumato.cli.output import say

if TYPE_CHECKING:
    from sfumato.progress import Event

TOLD_STEPS = 50  # of moving points, between two lines about it


@contextmanager
def working(what: str, total: int | None = None) -> Iterator[Any]:
    """A progress display on a terminal's stderr; nothing where nobody is looking."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.advance(task, done)


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
