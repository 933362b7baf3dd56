"""Choose epsilon, by its number or by what is wished for, with a forecast that follows every letter typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.errors import ArgumentError, SfumatoError
from sfumato.studio import commands
from sfumato.studio.curve import Curve
from sfumato.studio.entered import number, whole, written
from sfumato.studio.screens import Form, Step, View, said
from sfumato.studio.screens.confirm_screen import STEP as CONFIRM
from sfumato.studio.work import Choice, Work

if TYPE_CHECKING:
    from sfumato.planning.outlook import Outlook
    from sfumato.schema.schema import Schema

MECHANISMS = {
    "mixture": "mixture: the distribution, for rows and for tables",
    "clustmix": "clustmix: rows to train classifiers on",
    "slicing": "slicing: for generators, trained afterwards",
}
ADJACENCIES = {
    "add-remove": "one row more or less",
    "replace-one": "one row changed (how many there are is public)",
    "label": "one label changed (all else is public)",
}
FALSE_ALARMS_ASKED = "0.01"


def view(work: Work) -> View:
    """The form, and the forecast for what it says."""
    known = work.read_schema()
    now = work.choice or Choice()
    fields = {
        "epsilon": written(now.epsilon),
        "delta": written(now.delta),
        "rows": "" if now.rows is None else str(now.rows),
        "way": "wishes" if now.wishes else "number",
        "mechanism": now.mechanism,
        "adjacency": now.adjacency,
        **_wish_fields(now),
    }
    return {
        "now": fields,
        "mechanisms": MECHANISMS,
        "adjacencies": {key: words for key, words in ADJACENCIES.items() if key != "label" or known.label is not None},
        "numbers": [name for name, column in known.columns.items() if column.type == "number"],
        "forecast": forecast(work, {name: [value] for name, value in fields.items()}),
    }


def words(work: Work, form: Form) -> list[list[str]]:
    """What forecasts the same."""
    return [commands.plan(work, chosen(work.read_schema(), form) if form else work.choice or Choice())]


def act(work: Work, form: Form) -> str:
    """Keep what was chosen."""
    known = work.read_schema()
    choice = chosen(known, form)
    choice.plan(known)  # refused here, not at the fit
    work.choice = choice
    return "ledger"


def forecast(work: Work, form: Form) -> View:
    """What a release would mean, or why that cannot be said. No data is touched."""
    try:
        known = work.read_schema()
        choice = chosen(known, form)
        curve = Curve.of(known, choice)
    except SfumatoError as error:
        return {"problem": str(error)}
    meant = curve.outlook
    return {
        "choice": choice,
        "epsilon": written(choice.epsilon),
        "curve": curve,
        "verdict": str(meant.verdict),
        "fit_for": meant.verdict.fit_for,
        "cells": meant.cells(),
        "risk": meant.risk,
        "widths": _widths(meant),
    }


def chosen(known: Schema, form: Form) -> Choice:
    """The choice that a form says.

    Raises:
        ArgumentError: A field makes no sense, or no epsilon fulfils the wishes.
    """
    from sfumato.planning.wishes import Wishes, epsilon_for

    rows = said(form, "rows")
    delta = number("delta", said(form, "delta"))
    guess = whole("the number of rows", rows) if rows else None
    mechanism, adjacency = said(form, "mechanism") or "mixture", said(form, "adjacency") or "add-remove"
    if mechanism not in MECHANISMS:
        raise ArgumentError(f"there is no mechanism {mechanism!r} here")
    if said(form, "way") != "wishes":
        return Choice(number("epsilon", said(form, "epsilon")), delta, guess, mechanism, adjacency)
    wished = wishes(form)
    asked = {"mechanism": mechanism, "adjacency": adjacency, "rows": guess}
    found = epsilon_for(known, Wishes(**wished), delta=delta, **asked)  # type: ignore[arg-type]
    return Choice(found.epsilon, delta, guess, mechanism, adjacency, _flags(wished))


def wishes(form: Form) -> dict[str, object]:
    """What is wished for, as `Wishes` takes it.

    Raises:
        ArgumentError: A wish is no number, or there is none.
    """
    found: dict[str, object] = {}
    if text := said(form, "max_advantage"):
        found["max_advantage"] = number("the attacker's advantage", text)
    if text := said(form, "tpr"):
        found["tpr_at"] = (float(FALSE_ALARMS_ASKED), number("the share of people found", text))
    if text := said(form, "count_within"):
        found["count_within"] = number("a count", text)
    if (text := said(form, "mean_within")) and (column := said(form, "mean_column")):
        found["mean"] = {column: number(f"the mean of {column}", text)}
    if not found:
        raise ArgumentError("fill in at least one wish: what the risk may be, or how accurate the release must be")
    return found


def _flags(wished: dict[str, object]) -> dict[str, str]:
    """Wishes as options of the command."""
    found: dict[str, str] = {}
    for name, value in wished.items():
        if isinstance(value, tuple):
            found[name] = "=".join(map(written, value))
        elif isinstance(value, dict):
            found[name] = ",".join(f"{column}={written(width)}" for column, width in value.items())
        elif isinstance(value, float):
            found[name] = written(value)
    return found


def _wish_fields(choice: Choice) -> dict[str, str]:
    """The wishes of a choice, as the form's fields."""
    column, _, width = choice.wishes.get("mean", "").rpartition("=")
    return {
        "max_advantage": choice.wishes.get("max_advantage", ""),
        "tpr": choice.wishes.get("tpr_at", "").rpartition("=")[2],
        "count_within": choice.wishes.get("count_within", ""),
        "mean_column": column,
        "mean_within": width,
    }


def _widths(meant: Outlook) -> list[dict[str, str | bool]]:
    """How wide the intervals of each column will be."""
    from sfumato.text import percent

    if not meant.widths.are_known:
        return []
    return [
        {
            "name": each.column,
            "count": f"± {each.count:,.0f}",
            "share": f"± {percent(min(each.share, 1.0))}",
            "mean": "" if each.mean is None else f"± {each.mean:.3g}",
            "drowns": bool(each.drowns),
        }
        for each in meant.widths.columns
    ]


def _needs(work: Work) -> str:
    return "" if CONFIRM.is_done(work) else "confirm what is public first"  # the forecast tells what the schema says


STEP = Step("epsilon", "Choose epsilon", view, words, act, _needs, is_done=lambda work: work.choice is not None)
