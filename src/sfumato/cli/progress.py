"""How far a verb has come, told on stderr: a bar with percents and the time left, where a terminal is looking."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.cli.output import say

if TYPE_CHECKING:
    from sfumato.progress import Event, Listener

SOON = 1.0  # seconds, before which nothing can be said of those left


class Reach(Protocol):
    """What hears how far the work is, from 0 to 1, and what is done now, where there is something to say."""

    def __call__(self, fraction: float, now: str = "") -> None:
        """Hear it; going back is ignored."""


@contextmanager
def working(what: str) -> Iterator[Reach]:
    """A progress display on a terminal's stderr; nothing where nobody is looking.

    It is a spinner until a fraction is heard, and then a bar with percents and the time left: the time that it took so
    far is taken to be that fraction of the whole.
    """
    if not sys.stderr.isatty():
        yield lambda fraction, now="": None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(*_columns(), console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None, end=None)

        def reach(fraction: float, now: str = "") -> None:
            known = progress.tasks[task]
            done = min(max(fraction, known.completed), 1.0)
            end = known.fields["end"] if done == known.completed else (known.elapsed or 0.0) / done
            title = f"{what}: {now}" if now else what
            progress.update(task, total=1.0 if done > 0 else None, completed=done, description=title, end=end)

        yield reach


def _columns() -> list[Any]:
    from rich import progress
    from rich.text import Text

    class Left(progress.ProgressColumn):
        """The time left, where it can be told."""

        def render(self, task: progress.Task) -> Text:
            return Text(time_left(task.elapsed or 0.0, task.fields["end"]), style="progress.remaining")

    return [
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}", markup=False),  # a name may have brackets
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
        Left(),
    ]


def time_left(elapsed: float, end: float | None) -> str:
    """What is left of a work that is to end after so many seconds, in words.

    Nothing where that is not known, at the very beginning, and where the work takes longer than it should have.
    """
    if end is None or elapsed < SOON or elapsed >= end:
        return ""
    minutes, seconds = divmod(math.ceil(end - elapsed), 60)
    hours, minutes = divmod(minutes, 60)
    return f"about {hours}:{minutes:02}:{seconds:02} left" if hours else f"about {minutes}:{seconds:02} left"


def counted(reach: Reach, total: float) -> Callable[[float], None]:
    """What hears by how much the work is further, of a total."""
    done = 0.0

    def advance(more: float) -> None:
        nonlocal done
        done += more
        reach(done / total if total else 1.0)

    return advance


def rounds(reach: Reach) -> Listener:
    """What hears a fit: every round is told before it is asked, and how far the fit has come."""
    from sfumato.cli.course import Course
    from sfumato.progress import Planned, Spending, Streamed

    course = Course()

    def hear(event: Event) -> None:
        course.hear(event)
        if isinstance(event, Spending | Streamed):
            say(str(event))
        if not isinstance(event, Planned | Streamed):
            reach(course.fraction, event.name if isinstance(event, Spending) else str(event))

    return hear


def steps(reach: Reach) -> Listener:
    """What hears a merge: a fit to tables that are there already."""
    from sfumato.cli.course import Course
    from sfumato.progress import Planned, Spending, Step

    course = Course()
    course.hear(Planned(("tables",)))
    course.hear(Spending("tables"))

    def hear(event: Event) -> None:
        if isinstance(event, Step):
            course.hear(event)
            reach(course.fraction, str(event))

    return hear


def training(reach: Reach) -> Callable[[int, int, float], None]:
    """What hears how far a generator is trained: hours, perhaps, so that a log has lines about it too."""

    def hear(step: int, most: int, loss: float) -> None:
        told = f"step {step} of at most {most}, loss {loss:.3f}"
        reach(step / most, told)
        if not sys.stderr.isatty():
            say(f"training: {told}")

    return hear
