"""The steps, in order: each shows what is so far, takes one form, and names the command that does the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from sfumato.studio.work import Work

Form: TypeAlias = Mapping[str, list[str]]
View: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        name: In the address, and of its template.
        title: In the list of steps.
        view: What its page shows.
        commands: The commands that do what a form of it would do, or what it did.
        act: What its form does; the name of the step that comes next, or nothing to stay.
        needs: What has to be there before, in words; nothing where it is there.
        is_done: Whether there is nothing left to do.
        private: Whether its page shows what was read off rows.
        verb: The command that it runs beside the server.
    """

    name: str
    title: str
    view: Callable[[Work], View]
    commands: Callable[[Work, Form], list[list[str]]]
    act: Callable[[Work, Form], str]
    needs: Callable[[Work], str]
    is_done: Callable[[Work], bool]
    private: bool = False
    verb: str = ""


def said(form: Form, name: str) -> str:
    """A field of a form, without blanks around; nothing where it is not there."""
    return form.get(name, [""])[0].strip()


def asked_for(form: Form, *names: str) -> dict[str, str]:
    """The fields that were filled in."""
    return {name: value for name in names if (value := said(form, name))}
