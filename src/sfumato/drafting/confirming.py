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
import datetime
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import yaml

from sfumato.drafting.misspelt import alike
from sfumato.errors import ArgumentError, SchemaError
from sfumato.schema.schema import Schema
from sfumato.text import one_line

ORDER = ("unit", "column", "minor", "left out", "fact")
BULK_FACTS = ("type", "step", "scale", "atoms", "missing", "format", "left-out")
NAMES_SHOWN = 8
VALUES_SHOWN = 40
YES_WORDS = ("", "y", "yes")
DROP_WORDS = ("d", "drop")
DAYS = "2020-01-01..2026-12-31, or whole years such as 2020..2026"
NO_END = (
    "where there is no natural end, the bound that you would print on a form: a few rows beyond it count as the bound, "
    "while a far wider one makes the mean noisy"
)
ANSWERS_BY_KIND = {  # to questions of a kind, besides yes
    "number": f"bounds such as 0..120, or what to change such as step: 5, missing: true; {NO_END}",
    "date": f"bounds such as {DAYS}",
    "datetime": f"bounds such as {DAYS}",
    "duration": f"bounds such as 0..240, or what to change such as step: 1 min; {NO_END}",
    "time": "what to change, such as step: 15 min",
    "category": "all its values with commas between, such as F, M; or what to change such as missing: true",
    "codes": "where they are amounts: number 1..8, or 1..8 alone, with bounds that are public; or all its values with "
    "commas between, such as 1, 2, 9; or what to change such as missing: true",
    "boolean": "what to change, such as missing: true",
    "unit": "the number of rows of one person that count, or d where every row is another person",
    "left out": "s: later; to have such a column, draft anew with a code book; a number of people with --unit: at one "
    "row each the noise stays the same, and the guarantee speaks of people",
}

_LEFT_OUT = " (left out)"
_SPAN = re.compile(r"(number\s+)?(\S+)\s*\.\.\s*(\S+)")
_SETTING = re.compile(r"(type|min|max|step|bins|scale|atoms|missing|values|format|zone)\s*:.*", re.DOTALL)
_DAY = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?(T\S+)?")  # or a whole month or year
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
        answer: Nothing or `y` for yes; `d` to drop the columns, or the unit; `0..120` for bounds, also of codes that
            are amounts; `a, b, c` for values; `step: 5, missing: true` for anything else; rows of a unit.

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


def taken(schema: Schema, question: Question) -> str:
    """What stands in the schema once a question is answered.

    Args:
        schema: With the answer.
        question: The question.

    Returns:
        One line.
    """
    columns = schema.dump()["columns"]
    if question.about == "unit":
        return "every row is another person's" if schema.unit is None else _text(schema, "unit", [""], [])
    if question.about == "left out":
        return f"stays out: {_listed(question.names, NAMES_SHOWN)}"
    kept = [name for name in question.names if name in columns]
    if question.about in ("column", "minor") and not kept:
        return f"dropped: {_listed(question.names, NAMES_SHOWN)}"
    if question.about != "column":
        return f"public as it stands: {_listed(question.names, NAMES_SHOWN)}"
    never = "" if "missing" in columns[kept[0]] or kept[0] == schema.label else "; never missing"
    return f"public: {_text(schema, 'column', kept, [])}{never}"


def slip_in(schema: Schema, question: Question) -> str:
    """Values of a question's column that look like one value written in two ways; '' where none do.

    Args:
        schema: A draft.
        question: One of its questions.

    Returns:
        One line.
    """
    values = schema.dump()["columns"].get(question.names[0], {}).get("values") if question.about == "column" else None
    pairs = alike(map(str, values)) if isinstance(values, list) else []
    told = _listed([f"{one_line(one)!r} beside {one_line(other)!r}" for one, other in pairs], NAMES_SHOWN)
    return f"{told}: a slip? mend it in the table, or leave it out of the list" if pairs else ""


def answers_to(schema: Schema, question: Question) -> tuple[str, str]:
    """Which kind of thing a question asks, and what may be answered besides yes; '' where nothing may."""
    kind = question.about
    if kind == "column":
        column = schema.dump()["columns"][question.names[0]]
        kind = "codes" if _are_codes(column) and schema.label not in question.names else str(column["type"])
    return kind, ANSWERS_BY_KIND.get(kind, "")


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
        count = "count" if schema.unit.rows > 1 else "counts"
        return f"rows with the same {one_line(schema.unit.column)} are one person's; {schema.unit.rows} of them {count}"
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
    if span is not None and ("min" in column or _are_codes(column) or (span[1] and "values" in column)):
        changes = _bounds(column["type"], span[2], span[3])
        changes |= {"type": "number"} if "values" in column else {}
    elif _SETTING.fullmatch(word):
        changes = _plain(f"{{{word}}}")
    elif word == "number" and "values" in column:
        changes = {"type": "number"}
    elif "values" in column:
        changes = {"values": _values(word)}
    else:
        raise SchemaError(f"answer y, s, d or q, or {ANSWERS_BY_KIND.get(column['type'], ANSWERS_BY_KIND['number'])}")
    if changes.get("type") == "number" and "values" in column:
        changes = _as_number(column) | changes
        if not changes.keys() >= {"min", "max"}:  # the least and the largest code of the rows are not public by this
            raise SchemaError("give its bounds too, as they are known without the rows, such as number 1..8")
    return {key: value for key, value in (column | changes).items() if value is not None}


def _values(word: str) -> list[Any]:
    """Categories as they were typed."""
    texts = next(csv.reader([word], skipinitialspace=True))
    if len(texts) < 2:  # such as n, ok, help or a forgotten comma
        raise SchemaError("answer y, s, d or q, or all values with commas such as F, M; one alone as values: [F]")
    whole = all(map(_WHOLE_NUMBER.fullmatch, texts)) and not any(map(_is_padded, texts))
    return list(map(int, texts)) if whole else texts


def _bounds(kind: str, low: str, high: str) -> dict[str, Any]:
    """Bounds as they were typed; of dates also whole months and years."""
    if kind not in ("date", "datetime"):
        return {"min": _plain(low), "max": _plain(high)}
    return {"min": _day(low, kind, last=False), "max": _day(high, kind, last=True)}


def _day(text: str, kind: str, last: bool) -> str:
    """A day; of a month or a year the first or the last one, where times count the end of that."""
    found = _DAY.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        year, month = int(found[1]), int(found[2] or (12 if last else 1))
        if found[3]:
            datetime.date(year, month, int(found[3]))
            return f"{year:04}-{month:02}-{int(found[3]):02}{found[4] or ''}"
        first = datetime.date(year, month, 1)
        after = datetime.date(year + month // 12, month % 12 + 1, 1)
    except ValueError:
        raise SchemaError(f"{one_line(text)!r} is no date; write {ANSWERS_BY_KIND['date']}") from None
    if not last:
        return str(first)
    return str(after if kind == "datetime" else after - datetime.timedelta(days=1))


def _is_padded(text: str) -> bool:
    return str(int(text)) != text


def _are_codes(column: dict[str, Any]) -> bool:
    """Whether a column lists whole numbers, which may be amounts after all."""
    values = column.get("values")
    return isinstance(values, list) and all(isinstance(value, int) for value in values)


def _as_number(column: dict[str, Any]) -> dict[str, Any]:
    """What a list of values leaves to a column of numbers: the step of codes, and no bound."""
    return {"values": None} | ({"step": 1} if _are_codes(column) else {})


def _plain(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise SchemaError("that cannot be read; write for example step: 5, missing: true") from None
