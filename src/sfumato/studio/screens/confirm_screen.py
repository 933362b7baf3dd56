"""Confirm the facts of a draft, one by one: to say yes is to declare that a fact is public knowledge."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError
from sfumato.studio import commands
from sfumato.studio.entered import number, whole, written
from sfumato.studio.screens import Form, Step, View, said
from sfumato.studio.work import Work

if TYPE_CHECKING:
    from sfumato.drafting.confirming import Question
    from sfumato.schema.schema import Schema

_WHOLE_CODE = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)  # a whole number, as `sfumato confirm` takes it


def view(work: Work) -> View:
    """The next question, and how many there are."""
    from sfumato.drafting.confirming import BULK_FACTS

    known = work.read_schema()
    waiting = waiting_questions(work, known)
    found: View = {
        "left": len(waiting),
        "facts": len(known.unconfirmed),
        "answered": len(work.past),
        "schema": work.schema,
    }
    if not waiting:
        return found
    kinds = [kind for kind in BULK_FACTS if any(fact.endswith((f".{kind}", _bulk(kind))) for fact in known.unconfirmed)]
    return found | {"question": _shown(known, waiting[0]), "kinds": kinds, "put_off": len(work.later)}


def words(work: Work, form: Form) -> list[list[str]]:
    """What asks the same questions."""
    return [commands.confirm(work, form.get("kind", []))]


def act(work: Work, form: Form) -> str:
    """Take an answer, and keep it at once."""
    from sfumato.drafting.confirming import accepted, answered

    work.refuse_while_running()
    known, action = work.read_schema(), said(form, "action")
    if action == "undo":
        if work.past:
            work.past.pop().save(work.path(work.schema))
        return ""
    if action == "accept":
        _keep(work, known, accepted(known, form.get("kind", [])))
        return ""
    question = _asked(work, known, said(form, "question"))
    if action == "later":
        work.later.append(identity(question))
    elif action == "each" and question.can_be_parted:
        work.apart.update(question.names)
    else:
        _keep(work, known, answered(known, question, answer(known, question, form)))
    return ""


def waiting_questions(work: Work, known: Schema) -> list[Question]:
    """What is still to be asked: questions that were parted column by column, those put off at the end."""
    from sfumato.drafting.confirming import questions, separate

    found = []
    for question in questions(known):
        apart = question.can_be_parted and not set(question.names).isdisjoint(work.apart)
        found += separate(known, question) if apart else [question]
    return sorted(found, key=lambda each: identity(each) in work.later)


def identity(question: Question) -> str:
    """What a question is recognised by: an answer is to no other one."""
    return hashlib.sha256(repr((question.facts, question.text)).encode()).hexdigest()[:32]


def answer(known: Schema, question: Question, form: Form) -> str:
    """What would be typed at `sfumato confirm`.

    Raises:
        ArgumentError: A field makes no sense.
    """
    action = said(form, "action")
    if action in ("yes", "drop"):
        return {"yes": "y", "drop": "d"}[action]
    if action != "change":
        raise ArgumentError("say what is public: as it stands, or with your changes")
    if typed := said(form, "typed"):
        return typed
    if question.about == "unit":
        return str(whole("rows of a person", said(form, "rows")))
    column = known.dump()["columns"][question.names[0]]
    changes = _bounds(column, form) if "min" in column else _values(column, form)
    if not changes:
        raise ArgumentError("nothing was changed; say that it is public as it stands, or change it")
    return ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in changes.items())


def _bounds(column: dict[str, Any], form: Form) -> dict[str, Any]:
    """The bounds and the step that differ from the draft's."""
    found: dict[str, Any] = {}
    for key in ("min", "max", "step"):
        text = said(form, key)
        if not text or text == str(column.get(key, "")):
            continue
        found[key] = _number(key, text) if column["type"] == "number" or key == "step" else text
    return found


def _values(column: dict[str, Any], form: Form) -> dict[str, Any]:
    """The categories, where they differ from the draft's: one a line."""
    lines = [line.strip() for line in said(form, "values").splitlines() if line.strip()]
    known = column.get("values")
    if not lines or not isinstance(known, list) or lines == list(map(str, known)):
        return {}
    return {"values": list(map(int, lines)) if all(map(_WHOLE_CODE.fullmatch, lines)) else lines}


def _number(key: str, text: str) -> float | int:
    value = number(key, text)
    return int(value) if value == int(value) else float(written(value))


def _asked(work: Work, known: Schema, name: str) -> Question:
    for question in waiting_questions(work, known):
        if identity(question) == name:
            return question
    raise ArgumentError("that question was answered already; this is the next one")


def _keep(work: Work, before: Schema, after: Schema) -> None:
    after.save(work.path(work.schema))
    work.past.append(before)


def _shown(known: Schema, question: Question) -> View:
    """A question for its page."""
    from sfumato.drafting.confirming import description

    columns = known.dump()["columns"]
    column = columns.get(question.names[0], {}) if question.about == "column" else {}
    values = column.get("values")
    head, *lines = question.text.split("\n")
    if question.about == "column":
        head, lines = description(column), []
    return {
        "id": identity(question),
        "about": question.about,
        "names": question.names,
        "facts": question.keys,
        "head": head,
        "lines": [line.strip() for line in lines],
        "column": column,
        "listed": "\n".join(map(str, values)) if isinstance(values, list) else None,
        "rows": known.unit.rows if question.about == "unit" and known.unit is not None else None,
        "can_be_parted": question.can_be_parted,
        "can_be_dropped": question.about == "unit"
        or (question.about == "column" and known.label not in question.names),
    }


def _bulk(kind: str) -> str:
    return " (left out)" if kind == "left-out" else f".{kind}"


def _is_done(work: Work) -> bool:
    return bool(work.schema) and not work.read_schema().unconfirmed


def _needs(work: Work) -> str:
    return "" if work.schema else "draft a schema first"


STEP = Step("confirm", "Confirm what is public", view, words, act, _needs, _is_done, private=True)
