"""What a draft leaves to be confirmed, as questions, and what an answer makes of the schema. No rows are read.

To say yes is to declare that a fact is public: known from a questionnaire, a code book or a law, not from the rows.

>>> schema = Schema.parse('''
... columns: {age: {type: number, min: 10, max: 90, step: 1}}
... unconfirmed: [columns.age.type, columns.age.min, columns.age.max]
... ''')
>>> question = questions(schema)[0]
>>> question.text
'age: number from 10 to 90; step 1'
>>> answered(schema, question, "0..120").dump()
{'columns': {'age': {'type': 'number', 'min': 0, 'max': 120, 'step': 1}}}
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import yaml

from sfumato.errors import ArgumentError, SchemaError
from sfumato.schema.schema import Schema
from sfumato.text import one_line

ORDER = ("unit", "column", "minor", "left out", "fact")
BULK_FACTS = ("type", "step", "scale", "atoms", "missing", "format", "left-out")
NAMES_SHOWN = 8
VALUES_SHOWN = 40
YES_WORDS = ("", "y", "yes")
DROP_WORDS = ("d", "drop")

_LEFT_OUT = " (left out)"
_SPAN = re.compile(r"(\S+)\s*\.\.\s*(\S+)")
_SETTING = re.compile(r"(type|min|max|step|bins|scale|atoms|missing|values|format|zone)\s*:.*", re.DOTALL)
_WHOLE_NUMBER = re.compile(r"-?\d{1,18}")


@dataclass(frozen=True)
class Question:
    """One thing to confirm.

    Attributes:
        about: `unit`, `column`, `minor` for facts of several columns that are neither bounds nor values, `left out`, or
            `fact` for what is none of these.
        names: The columns that it is about; several where the same is said of all of them.
        facts: The entries of `unconfirmed` that a yes takes away.
        text: What the draft says.
    """

    about: str
    names: tuple[str, ...]
    facts: tuple[str, ...]
    text: str

    @property
    def keys(self) -> tuple[str, ...]:
        """What of its columns is asked."""
        return tuple(dict.fromkeys(map(_key, self.facts))) if self.about == "column" else ()

    @property
    def can_be_parted(self) -> bool:
        """Whether its columns can be asked one by one."""
        return self.about in ("column", "minor") and len(self.names) > 1


def questions(schema: Schema) -> list[Question]:
    """What is to be confirmed: first the unit, then columns, last what was left out.

    Args:
        schema: A draft.

    Returns:
        The questions. Columns of which the same is said share one; so do those whose bounds and values are known, and
        those that were left out.
    """
    columns = schema.dump()["columns"]
    by_subject: dict[tuple[str, str], list[str]] = {}
    for fact in schema.unconfirmed:
        by_subject.setdefault(_subject(columns, fact), []).append(fact)
    shared: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for (about, name), facts in by_subject.items():
        if about == "column" and set(map(_key, facts)) <= set(BULK_FACTS):
            about = "minor"
        # The label is asked by itself; whatever else has the same description shares a question.
        said = f"{columns[name]} {list(map(_key, facts))} {name == schema.label}" if about == "column" else about
        names, together = shared.setdefault((about, facts[0] if about == "fact" else said), ([], []))
        names.append(name)
        together += facts
    found = [
        _question(schema, "column" if about == "minor" and len(names) == 1 else about, names, facts)
        for (about, _), (names, facts) in shared.items()
    ]
    return sorted(found, key=lambda question: ORDER.index(question.about))


def separate(schema: Schema, question: Question) -> list[Question]:
    """The questions about each column, of one about several."""
    return [_question(schema, "column", [name], _facts_of(name, question.facts)) for name in question.names]


def accepted(schema: Schema, kinds: Collection[str]) -> Schema:
    """A schema in which all facts of some kinds count as confirmed.

    Args:
        schema: A draft.
        kinds: Of BULK_FACTS.

    Returns:
        The schema with fewer unconfirmed facts.

    Raises:
        ArgumentError: One of the kinds needs an answer for each column.
    """
    for kind in kinds:
        if kind not in BULK_FACTS:
            raise ArgumentError(f"{one_line(kind)!r} cannot be accepted at once; {', '.join(BULK_FACTS)} can be")
    columns = schema.dump()["columns"]
    kinds_of = {"column": _key, "left out": lambda _: "left-out"}
    done = [f for f in schema.unconfirmed if kinds_of.get(_subject(columns, f)[0], lambda _: "")(f) in kinds]
    return _confirmed(schema.dump(), done)


def answered(schema: Schema, question: Question, answer: str) -> Schema:
    """What an answer makes of the schema.

    Args:
        schema: A draft.
        question: One of its questions.
        answer: Nothing or `y` for yes; `d` to drop the columns, or the unit; `0..120` for bounds; `a, b, c` for values;
            `step: 5, missing: true` for anything else; a number of rows for the unit.

    Returns:
        The schema, in which the facts of the question are confirmed.

    Raises:
        SchemaError: The answer makes no sense here.
    """
    data = schema.dump()
    word = answer.strip()
    if word.lower() in YES_WORDS:
        return _confirmed(data, question.facts)
    if question.about == "unit":
        _change_unit(data, word)
    elif question.about != "column":
        parted = ", each" if question.can_be_parted else ""
        raise SchemaError(f"there is nothing to change here: answer y, s{parted} or q")
    elif word.lower() in DROP_WORDS:
        data["columns"] = {name: each for name, each in data["columns"].items() if name not in question.names}
        if schema.label in question.names:
            raise SchemaError("the label cannot be dropped")
    else:
        for name in question.names:
            data["columns"][name] = _changed(data["columns"][name], word)
    return _confirmed(data, question.facts)


def _confirmed(data: dict[str, Any], facts: Collection[str]) -> Schema:
    left = [fact for fact in data.get("unconfirmed", ()) if fact not in set(facts)]
    return Schema.of(data | {"unconfirmed": left})


def _subject(columns: dict[str, Any], fact: str) -> tuple[str, str]:
    """What an entry of `unconfirmed` is about, and the column's name."""
    if fact in ("unit.column", "unit.rows"):
        return "unit", ""
    if fact.startswith("columns.") and fact.endswith(_LEFT_OUT):
        return "left out", fact.removeprefix("columns.").removesuffix(_LEFT_OUT)
    name = fact.removeprefix("columns.").rpartition(".")[0]
    return ("column", name) if fact.startswith("columns.") and name in columns else ("fact", fact)


def _facts_of(name: str, facts: Collection[str]) -> list[str]:
    return [fact for fact in facts if fact.rpartition(".")[0] == f"columns.{name}"]


def _key(fact: str) -> str:
    return fact.rpartition(".")[2]


def _question(schema: Schema, about: str, names: list[str], facts: list[str]) -> Question:
    return Question(about, tuple(names), tuple(facts), _text(schema, about, names, facts))


def _text(schema: Schema, about: str, names: list[str], facts: list[str]) -> str:
    columns = schema.dump()["columns"]
    if about == "unit" and schema.unit is not None:
        return f"rows with the same {one_line(schema.unit.column)} are one person's; {schema.unit.rows} of them count"
    if about == "left out":
        return f"left out: {_listed(names, len(names))}"
    if about == "minor":
        keys = list(dict.fromkeys(map(_key, facts)))
        lines = [f"{one_line(name)}: {_open(columns[name], _facts_of(name, facts))}" for name in names]
        return "\n    ".join([f"{', '.join(keys)} of {len(names)} columns", *lines])
    if about != "column":
        return one_line(names[0] or "unit")
    many = f" ({len(names)} columns alike)" if len(names) > 1 else ""
    return f"{_listed(names, NAMES_SHOWN)}{many}: {description(columns[names[0]])}"


def description(column: dict[str, Any]) -> str:
    """A column in words."""
    if "min" in column:
        what = f"{column['type']} from {column['min']} to {column['max']}"
    elif isinstance(column.get("values"), list):
        what = f"one of {_listed(column['values'], VALUES_SHOWN)}"
    else:
        what = str(column["type"])
    rest = [_setting(key, value) for key, value in column.items() if key not in ("type", "min", "max", "values")]
    return "; ".join([what, *rest])


def _open(column: dict[str, Any], facts: list[str]) -> str:
    """What a column says of some facts, in words."""
    keys = list(map(_key, facts))
    said = [_setting(key, column[key]) for key in keys if key in column]
    return "; ".join(said + ["never missing"] * ("missing" in keys and "missing" not in column)) or "nothing special"


def _setting(key: str, value: Any) -> str:
    if value is True:
        return "may be missing" if key == "missing" else key
    words = {"format": "written as", "missing": "missing where empty or"}.get(key, key)
    return f"{words} {_listed(value, VALUES_SHOWN) if isinstance(value, list) else one_line(str(value))}"


def _listed(items: Collection[Any], most: int) -> str:
    shown = ", ".join(one_line(str(item)) for item in list(items)[:most])
    return f"{shown} and {len(items) - most} more" if len(items) > most else shown


def _change_unit(data: dict[str, Any], word: str) -> None:
    if word.lower() in DROP_WORDS:
        del data["unit"]
    elif _WHOLE_NUMBER.fullmatch(word):
        data["unit"] = data["unit"] | {"rows": int(word)}
    else:
        raise SchemaError("give the number of rows of a person that count, or d where every row is another person")


def _changed(column: dict[str, Any], word: str) -> dict[str, Any]:
    """A column with what an answer says of it."""
    span = _SPAN.fullmatch(word)
    if span is not None and "min" in column:
        changes = {"min": _plain(span[1]), "max": _plain(span[2])}
    elif _SETTING.fullmatch(word):
        changes = _plain(f"{{{word}}}")
    elif word == "number" and "values" in column:
        changes = {"type": "number"}
    elif "values" in column:
        texts = next(csv.reader([word], skipinitialspace=True))
        if len(texts) < 2:  # such as n, ok, help or a forgotten comma
            raise SchemaError("answer y, s, d or q, or all values with commas such as F, M; one alone as values: [F]")
        whole = all(map(_WHOLE_NUMBER.fullmatch, texts)) and not any(map(_is_padded, texts))
        changes = {"values": list(map(int, texts)) if whole else texts}
    else:
        raise SchemaError("answer y, s, d or q, bounds such as 0..120, or what to change such as step: 5")
    if changes.get("type") == "number" and "values" in column:
        changes = _as_number(column["values"]) | changes
    return {key: value for key, value in (column | changes).items() if value is not None}


def _is_padded(text: str) -> bool:
    return str(int(text)) != text


def _as_number(values: list[Any]) -> dict[str, Any]:
    """Codes that are amounts after all."""
    if not all(isinstance(value, int) for value in values) or len(values) < 2:
        raise SchemaError("its values are no whole numbers: give min and max too")
    return {"values": None, "min": min(values), "max": max(values), "step": 1}


def _plain(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise SchemaError("that cannot be read; write for example step: 5, missing: true") from None
