"""Draft a schema by looking at the table, or take one that is there."""

from __future__ import annotations

from typing import Any

from sfumato.errors import ArgumentError
from sfumato.studio import commands
from sfumato.studio.folder import SCHEMAS
from sfumato.studio.screens import Form, Step, View, said
from sfumato.studio.screens.table_screen import stem
from sfumato.studio.work import Work


def view(work: Work) -> View:
    """What to draft by; once there is a draft, its columns."""
    found: View = {
        "columns": work.columns,
        "schemas": work.folder.files(SCHEMAS),
        "books": work.folder.files((".csv",)),
        "job": work.runs("schema"),
        "drafted": work.drafted,
        "given": {"label": "", "unit": "", "drop": [], "missing": []} | work.drafting,
    }
    if work.schema:
        found |= described(work)
    return found


def words(work: Work, form: Form) -> list[list[str]]:
    """What drafts it."""
    if work.drafted is not None and not form:
        return [commands.schema(work, work.schema, work.drafting)]
    return [commands.schema(work, work.folder.free(stem(work.table), ".yaml"), _given(work, form))]


def act(work: Work, form: Form) -> str:
    """Draft one, or take the file that was chosen."""
    work.refuse_while_running()
    if existing := said(form, "schema"):
        from sfumato.schema.schema import Schema

        name = work.folder.existing(existing)
        _check_columns(work, Schema.load(work.path(name)))
        take(work, name)
        return "confirm"
    given = _given(work, form)
    output = work.folder.free(stem(work.table), ".yaml")

    def then(found: dict[str, Any]) -> None:
        take(work, output)
        work.drafted = {"left_out": found["left_out"], "notes": found["notes"]}
        work.opening = found["options"]

    work.start(commands.schema(work, output, given), then)
    work.drafting = given
    return ""


def take(work: Work, name: str) -> None:
    """Go on with a schema: what was found with another is forgotten."""
    work.schema = name
    work.drafted, work.checked = None, None
    work.later.clear()
    work.apart.clear()
    work.past.clear()


def described(work: Work) -> View:
    """A schema's columns, in words, and which of their facts are still to be confirmed."""
    from sfumato.drafting.confirming import description

    known = work.read_schema()
    data = known.dump()
    waiting: dict[str, list[str]] = {}
    for fact in known.unconfirmed:
        name, _, key = fact.removeprefix("columns.").rpartition(".")
        waiting.setdefault(name, []).append(key)
    lines = [
        {"name": name, "words": description(column), "waiting": waiting.get(name, []), "label": name == known.label}
        for name, column in data["columns"].items()
    ]
    return {"schema": work.schema, "lines": lines, "facts": len(known.unconfirmed), "unit": data.get("unit")}


def _given(work: Work, form: Form) -> dict[str, Any]:
    """The options of the draft."""
    for name in [said(form, "label"), said(form, "unit"), *form.get("drop", [])]:
        if name and name not in work.columns:
            raise ArgumentError(f"{name!r} is not a column of the table")
    book = said(form, "codebook")
    found = {
        "label": said(form, "label"),
        "unit": said(form, "unit"),
        "drop": form.get("drop", []),
        "missing": said(form, "missing").split(),
        "codebook": work.folder.existing(book) if book else "",
    }
    return {name: value for name, value in found.items() if value}


def _check_columns(work: Work, known: Any) -> None:
    wanted = [name for name, column in known.columns.items() if column.derived is None]
    if missing := [name for name in wanted if name not in work.columns]:
        raise ArgumentError(f"the schema is of another table: this one has no column {missing[0]!r}")


def _needs(work: Work) -> str:
    return "" if work.table else "open a table first"


STEP = Step(
    "draft",
    "Draft a schema",
    view,
    words,
    act,
    _needs,
    is_done=lambda work: bool(work.schema),
    private=True,
    verb="schema",
)
