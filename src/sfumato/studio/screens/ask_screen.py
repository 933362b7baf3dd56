"""Ask the release for numbers, each with the interval that the noise leaves it. Costs nothing."""

from __future__ import annotations

from typing import Any

from sfumato.cli.verbs.ask import QUESTIONS, answer, arguments
from sfumato.studio import commands
from sfumato.studio.entered import number, written
from sfumato.studio.screens import Form, Step, View, asked_for, said
from sfumato.studio.work import Work

LABELS = {
    "count": "How many rows",
    "share": "Which share of the rows",
    "mean": "The mean of a column",
    "quantile": "A quantile of a column",
    "table": "A table of two columns",
    "correlation": "The correlation of two columns",
    "regress": "A regression",
}


def view(work: Work) -> View:
    """The form, with the last answer."""
    release = work.load_release()
    return {
        "columns": list(release.schema.columns),
        "questions": LABELS,
        "takes": {name: [*words, *options] for name, (words, options) in QUESTIONS.items()},
        "asked": work.asked,
        "release": work.release,
    }


def words(work: Work, form: Form) -> list[list[str]]:
    """What asks the same."""
    if form:
        return [commands.ask(work, *_question(form))]
    return [work.asked["command"] if work.asked else commands.ask(work, "count", [], {})]


def act(work: Work, form: Form) -> str:
    """Ask."""
    question, said_words, given = _question(form)
    found = answer(work.load_release(), question, arguments(question, said_words, given), given)
    work.asked = {
        "command": commands.ask(work, question, said_words, given),
        "rows": _rows(found),
        "estimand": _first(found).estimand,
        "question": question,
        "typed": {name: said(form, name) for name in ("column", "second", "q", "formula", "by", "where", "kind")},
    }
    return ""


def _question(form: Form) -> tuple[str, list[str], dict[str, str]]:
    """A question, its words and its options: of the form's fields only those that it takes."""
    question = said(form, "question") or "count"
    wanted, options = QUESTIONS.get(question, ((), ()))
    fields = iter(("column", "second"))
    taken = [_word(name, said(form, name if name in ("q", "formula") else next(fields))) for name in wanted]
    return question, taken, asked_for(form, *options)


def _word(name: str, text: str) -> str:
    return written(number("a quantile", text)) if name == "q" and text else text


def _rows(found: Any) -> list[dict[str, str]]:
    """The answer for a table: one line for each estimate."""
    from sfumato.asking import Estimate

    if isinstance(found, Estimate):
        return [_row("", found)]
    keys = [", ".join(map(str, key)) for key in found.keys]
    return [_row(key, each) for key, each in zip(keys, found, strict=True)]


def _first(found: Any) -> Any:
    from sfumato.asking import Estimate

    return found if isinstance(found, Estimate) else found.estimates[0]


def _row(key: str, each: Any) -> dict[str, str]:
    """A number with its interval; why it has none stands apart, because many have the same reason."""
    shown = each.shown().removesuffix(f" (no interval: {each.reason})")
    rests_on = f"from {', '.join(each.rests_on)}" if each.rests_on else ""
    return {"key": key, "shown": shown, "told": f"no interval: {each.reason}" if each.reason else rests_on}


def _needs(work: Work) -> str:
    return "" if work.release else "fit first, or open a release"


STEP = Step("ask", "Ask questions", view, words, act, _needs, is_done=lambda work: work.asked is not None)
