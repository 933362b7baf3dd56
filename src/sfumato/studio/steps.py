"""The way from a table to a release: the steps in their order, and where somebody stands."""

from __future__ import annotations

from sfumato.errors import SfumatoError
from sfumato.studio.screens import (
    Step,
    ask_screen,
    check_screen,
    confirm_screen,
    draft_screen,
    epsilon_screen,
    evaluate_screen,
    fit_screen,
    ledger_screen,
    report_screen,
    table_screen,
)
from sfumato.studio.work import Work

SCREENS = (
    table_screen,
    draft_screen,
    confirm_screen,
    check_screen,
    epsilon_screen,
    ledger_screen,
    fit_screen,
    report_screen,
    evaluate_screen,
    ask_screen,
)
WAY: dict[str, Step] = {screen.STEP.name: screen.STEP for screen in SCREENS}


def needed(step: Step, work: Work) -> str:
    """What a step needs before it can begin; also where a file of ours was broken by hand."""
    try:
        return step.needs(work)
    except SfumatoError as error:
        return str(error)


def is_done(step: Step, work: Work) -> bool:
    """Whether there is nothing left to do in a step."""
    try:
        return step.is_done(work)
    except SfumatoError:
        return False


def current(work: Work) -> str:
    """The first step that is open and not done; the last that is open where all are."""
    are_open = [step for step in WAY.values() if not needed(step, work)]
    return next((step.name for step in are_open if not is_done(step, work)), are_open[-1].name)
