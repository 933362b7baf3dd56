"""How far a verb has come, told on stderr: a bar with percents and the time left, where a terminal is looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.cli.output import say

if TYPE_CHECKING:
    from sfumato.progress import Event, Listener


class Reach(Protocol):
    """What hears how far the work is, from 0 to 1, and what is done now, where there is something to say."""

    def __call__(self, fraction: float, now: str = "") -> None:
        """Hear it; going back is ignored."""


@contextmanager
def working(what: str) -> Iterator[Reach]:
    """A progress display on a terminal's stderr; nothing where nobody is looking.

    It is a spinner until a fraction is heard, and then a bar with percents and the time left.
    """
    if not sys.stderr.isatty():
        yield lambda fraction, now="": None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(*_columns(), console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)

        def reach(fraction: float, now: str = "") -> None:
            done = min(max(fraction, progress.tasks[task].completed), 1.0)
            title = f"{what}: {now}" if now else what
            progress.update(task, total=1.0 if done > 0 else None, completed=done, description=title)

        yield reach


def _columns() -> list[Any]:
    from rich import progress

    class Left(progress.TimeRemainingColumn):
        """The time left, in words, where it can be told."""

        def render(self, task: progress.Task) -> Any:
            found = super().render(task)
            return found if task.total is None else found.append(" left")

    return [
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}", markup=False),  # a name may have brackets
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
        Left(),
    ]


def counted(reach: Reach, total: float) -> Callable[[float], None]:
    """What hears by how much the work is further, of a total."""
    done = 0.0

    def advance(more: float) -> None:
        nonlocal done
        done += more
        reach(done / total if total else 1.0)

    return advance


def rounds(reach: Reach) -> Listener:
    """What hears a fit: every round is told before it is asked, as the part of the budget that went before it."""
    from sfumato.progress import Spending, Streamed

    spent = 0.0

    def hear(event: Event) -> None:
        nonlocal spent
        if isinstance(event, Spending):
            say(str(event))
            reach(spent, event.name)
            spent += event.share or 0.0
        elif isinstance(event, Streamed):
            say(str(event))
        else:
            reach(0.0, str(event))

    return hear


def steps(reach: Reach) -> Listener:
    """What hears work that is steps alone, such as a merge."""
    from sfumato.progress import Step

    def hear(event: Event) -> None:
        if isinstance(event, Step):
            reach(event.step / event.steps, str(event))

    return hear


def training(reach: Reach) -> Callable[[int, int, float], None]:
    """What hears how far a generator is trained: hours, perhaps, so that a log has lines about it too."""

    def hear(step: int, most: int, loss: float) -> None:
        told = f"step {step} of at most {most}, loss {loss:.3f}"
        reach(step / most, told)
        if not sys.stderr.isatty():
            say(f"training: {told}")

    return hear
