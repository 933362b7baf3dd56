"""Conditions on rows, such as `age > 40 and town in ['Ulm', 'Bonn']`: parsed and checked, never run as code.

The text becomes a tree of the frozen nodes below, and there is nothing else that it can become: no calls, attributes,
subscripts or powers. Columns and values are checked against the schema, so that a misspelt one is refused before a row
is drawn. The grammar, from what binds last to what binds first:

    condition   =  if condition then condition
                |  condition or condition  |  condition and condition  |  not condition  |  (condition)
                |  value (< value)...  |  value in [constant, ...]  |  value not in [constant, ...]
                |  column is missing  |  column is not missing
    value       =  value + value  |  value - value  |  value * value  |  value / value  |  -value  |  (value)
                |  column  |  constant
    column      =  a name of letters, digits and _, or any name in `back-ticks`, a back-tick in it doubled
    constant    =  a number, true, false, or text in ' or ", the quote in it doubled; dates and times are such text

`<` stands for any of < <= > >= == !=, and a chain such as 0 < x <= 9 is read as 0 < x and x <= 9. |, & and ~ are other
spellings of or, and, not. Numbers are compared and calculated with; dates, times and durations are compared, a number
of days is added to or taken from dates, and the difference of two dates is a number of days; categories are compared
as text by ==, != and in, and so are truth values, which are also conditions by themselves.

Each condition is true or false. A comparison of what is missing is false, also with != and not in; so is one of what
cannot be calculated (a division by 0). Only `is missing` holds for it, and `not` of what is false. A rule of a schema
is a condition that no row may break, and a row breaks it where it is known to be wrong (`Condition.fails`): what is
missing breaks no comparison. So do WHERE and CHECK of SQL differ.

>>> from sfumato.schema.schema import Category, Number
>>> columns = {"age": Number(min=0, max=120), "home town": Category(values=("Ulm", "Bonn"), missing=True)}
>>> condition = parse("40 < age <= 60 and `home town` != 'Ulm'", columns)
>>> str(condition), sorted(condition.columns())
("40 < age and age <= 60 and `home town` != 'Ulm'", ['age', 'home town'])
>>> condition.holds(pd.DataFrame({"age": [50, 50, 50], "home town": ["Bonn", "Ulm", None]})).tolist()
[True, False, False]
"""

from __future__ import annotations

import datetime
import functools
import math
import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np
import pandas as pd

from sfumato.errors import ArgumentError
from sfumato.near_names import meant
from sfumato.schema.columns import (
    EPOCH_UTC,
    SECOND,
    Boolean,
    Category,
    Column,
    Date,
    Datetime,
    Time,
    category_text,
    read_datetime,
    read_seconds,
    read_time,
    since_midnight,
)
from sfumato.schema.layout import days
from sfumato.text import one_line


@dataclass(frozen=True)
class Limits:
    """How long a condition may be, and what a message shows."""

    letters: int = 20_000  # of a condition
    tokens: int = 2_000  # of a condition
    depth: int = 100  # nodes, or parentheses and signs, within each other: far from the interpreter's own limit
    rounding: float = 2.0**-48  # of what is added and subtracted: a smaller difference of results is none
    shown: int = 60  # letters of a condition in a message
    listed: int = 10  # categories in a message


LIMITS = Limits()

Kind: TypeAlias = Literal["number", "date", "datetime", "time", "duration", "category", "boolean"]
Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Frame: TypeAlias = pd.DataFrame | Mapping[str, Any]  # a frame, or the columns of one by name


class Power(IntEnum):
    """How tightly each operator binds."""

    IF = 0
    OR = 1
    AND = 2
    NOT = 3
    COMPARISON = 4
    SUM = 5
    PRODUCT = 6
    SIGN = 7
    ATOM = 8


SPELLINGS = {"|": "or", "&": "and", "~": "not"}
KEYWORDS = {"if", "then", "or", "and", "not", "in", "is", "missing", "true", "false"}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
POWERS = {"or": Power.OR, "and": Power.AND, "in": Power.COMPARISON, "is": Power.COMPARISON, "not": Power.COMPARISON} | {
    **dict.fromkeys(COMPARISONS, Power.COMPARISON),
    **dict.fromkeys("+-", Power.SUM),
    **dict.fromkeys("*/", Power.PRODUCT),
}

NAME = re.compile(r"[^\W\d]\w*")
TOKEN = re.compile(
    rf"""[ \t\r\n]*(?:
        (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>{NAME.pattern}|`(?:[^`]|``)+`)
      | (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
      | (?P<sign>[<>=!]=|[-+*/<>()\[\],&|~])
      | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)+`""")
BARE_DATE = re.compile(rf"\b{ISO_DATE.pattern}\b(?:[ T][0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}})?)?")

KINDS: dict[type, Kind] = {
    int: "number",
    float: "number",
    str: "category",
    bool: "boolean",
    datetime.date: "date",
    datetime.datetime: "datetime",
    datetime.time: "time",
    datetime.timedelta: "duration",
}
EXAMPLES = {
    "boolean": ("true or false", "true"),
    "date": ("a date", "'2024-12-31'"),
    "datetime": ("a date with a time", "'2024-12-31 08:30'"),
    "time": ("a time of day", "'08:30'"),
    "duration": ("a duration", "'90 min'"),
}


# --- the nodes


@dataclass(frozen=True)
class Node(ABC):
    """A part of a condition."""

    depth: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "depth", 1 + max((part.depth for part in self.parts()), default=0))
        if self.depth > LIMITS.depth:
            raise ArgumentError(f"a condition has more than {LIMITS.depth} operations within each other")

    @property
    @abstractmethod
    def power(self) -> int:
        """How tightly its operator binds."""

    @abstractmethod
    def parts(self) -> tuple[Node, ...]:
        """The nodes that it is made of."""

    def columns(self) -> frozenset[str]:
        """The columns that it speaks of."""
        return frozenset[str]().union(*(part.columns() for part in self.parts()))

    def _within(self, power: int) -> str:
        """Its text as an operand of an operator that binds like this."""
        return str(self) if self.power >= power else f"({self})"


class Value(Node):
    """A number, a date, a time, a truth value or a category for each row."""

    @property
    def kind(self) -> Kind:
        """What it is for every row."""
        return "number"

    @property
    def power(self) -> int:
        return Power.ATOM

    @abstractmethod
    def values(self, frame: Frame) -> Array:
        """Numbers, also for dates, times and truth values (NaN where missing), or texts of categories (or None)."""

    def magnitude(self, frame: Frame) -> Array:
        """How large the numbers are that it is calculated from, for what rounding may do to it."""
        return np.abs(self.values(frame))


class Condition(Node):
    """Something that holds for a row, or does not."""

    @property
    def power(self) -> int:
        return Power.COMPARISON

    @abstractmethod
    def holds(self, frame: Frame) -> Mask:
        """For which rows of a frame it holds.

        Args:
            frame: rows with the schema's columns, in the types in which `Release.sample` makes them.

        Returns:
            One truth value for each row.
        """

    def fails(self, frame: Frame) -> Mask:
        """Which rows of a frame break it as a rule: those that it is known not to hold for.

        Args:
            frame: as for `holds`.

        Returns:
            One truth value for each row: where cells are missing, a comparison of them neither holds nor fails.
        """
        return ~self.holds(frame)


class Once(dict[str, Any]):
    """The columns of a frame by name, each of which is read only once, however many conditions ask."""

    def __init__(self, columns: Frame) -> None:
        super().__init__(columns)
        self._found: dict[ColumnOf, Any] = {}

    def read(self, column: ColumnOf) -> Any:
        """What the cells of a column are."""
        if column not in self._found:
            self._found[column] = column.of_cells(self[column.name])
        return self._found[column]


@dataclass(frozen=True)
class ColumnOf(Value):
    """A column of the schema."""

    name: str
    of_kind: Kind

    @property
    def kind(self) -> Kind:
        return self.of_kind

    def parts(self) -> tuple[Node, ...]:
        return ()

    def columns(self) -> frozenset[str]:
        return frozenset([self.name])

    def values(self, frame: Frame) -> Array:
        if self.kind == "category":
            codes, found = self.coded(frame)
            return found[codes]
        return np.asarray(self._read(frame))

    def coded(self, frame: Frame) -> tuple[Array, Array]:
        """Of a category the place of each row's text, and the texts; the last, whose place is -1, is a missing one."""
        codes, found = self._read(frame)
        return codes, found

    def _read(self, frame: Frame) -> Any:
        return frame.read(self) if isinstance(frame, Once) else self.of_cells(frame[self.name])

    def of_cells(self, cells: pd.Series[Any]) -> Any:
        """What the cells of the column are, in the unit in which it counts."""
        return _texts_of(cells) if self.kind == "category" else COUNTS[self.kind](cells)

    def __str__(self) -> str:
        return written_name(self.name)


@dataclass(frozen=True)
class Constant(Value):
    """A number, a truth value, a date, a time, a duration, or the text of a category; `datetime` in UTC."""

    value: int | float | str | bool | datetime.date | datetime.time | datetime.timedelta

    @property
    def kind(self) -> Kind:
        return KINDS[type(self.value)]

    def parts(self) -> tuple[Node, ...]:
        return ()

    def values(self, frame: Frame) -> Array:
        return np.array(self._counted(), dtype=object if self.kind == "category" else np.float64)

    def _counted(self) -> int | float | str:
        """The constant as columns of its kind count."""
        if isinstance(self.value, datetime.datetime):
            return (self.value - EPOCH_UTC) / SECOND
        if isinstance(self.value, datetime.date):
            return days(self.value)
        if isinstance(self.value, datetime.time):
            return since_midnight(self.value)
        return self.value / SECOND if isinstance(self.value, datetime.timedelta) else self.value

    def __str__(self) -> str:
        if isinstance(self.value, bool):
            return str(self.value).lower()
        if isinstance(self.value, int | float):
            return repr(self.value)
        return f"""'{str(self.value).replace("'", "''")}'"""


@dataclass(frozen=True)
class Negative(Value):
    """A number with the other sign."""

    operand: Value

    @property
    def power(self) -> int:
        return Power.SIGN

    def parts(self) -> tuple[Node, ...]:
        return (self.operand,)

    def values(self, frame: Frame) -> Array:
        return np.asarray(-self.operand.values(frame))

    def magnitude(self, frame: Frame) -> Array:
        return self.operand.magnitude(frame)

    def __str__(self) -> str:
        return f"-{self.operand._within(Power.SIGN)}"


@dataclass(frozen=True)
class Arithmetic(Value):
    """Two numbers joined by + - * or /, or days added to and taken from dates; not finite where there is no result."""

    operation: str
    left: Value
    right: Value

    @property
    def kind(self) -> Kind:
        return "number" if self.left.kind == self.right.kind else "date"

    @property
    def power(self) -> int:
        return POWERS[self.operation]

    def parts(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def values(self, frame: Frame) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(ARITHMETIC[self.operation](self.left.values(frame), self.right.values(frame)))

    def magnitude(self, frame: Frame) -> Array:
        joined = operator.add if self.operation in "+-" else ARITHMETIC[self.operation]
        with np.errstate(all="ignore"):
            return np.asarray(joined(self.left.magnitude(frame), self.right.magnitude(frame)))

    def __str__(self) -> str:
        return f"{self.left._within(self.power)} {self.operation} {self.right._within(self.power + 1)}"


@dataclass(frozen=True)
class Comparison(Condition):
    """Two values of one kind compared; false where one of them is missing.

    Results of a calculation that differ by no more than it rounds are equal: 0.1 + 0.2 == 0.3.
    """

    operation: str
    left: Value
    right: Value

    def parts(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def holds(self, frame: Frame) -> Mask:
        found, known = self._compare(frame)
        return np.asarray(found & known, dtype=bool)

    def fails(self, frame: Frame) -> Mask:
        found, known = self._compare(frame)
        return np.asarray(~found & known, dtype=bool)

    def _compare(self, frame: Frame) -> tuple[Mask, Mask]:
        """What the comparison says, and for which rows it says anything."""
        if isinstance(self.left, ColumnOf) and self.left.kind == "category" and isinstance(self.right, Constant):
            codes, texts = self.left.coded(frame)
            return np.asarray(COMPARISONS[self.operation](texts, self.right.value), dtype=bool)[codes], codes >= 0
        left, right = self.left.values(frame), self.right.values(frame)
        known = _known(left) & _known(right)
        if isinstance(self.left, Arithmetic) or isinstance(self.right, Arithmetic):
            with np.errstate(all="ignore"):
                scale = LIMITS.rounding * (self.left.magnitude(frame) + self.right.magnitude(frame))
                right = np.where(np.abs(left - right) <= scale, left, right)
        return np.asarray(COMPARISONS[self.operation](left, right), dtype=bool), known

    def __str__(self) -> str:
        return f"{self.left._within(Power.SUM)} {self.operation} {self.right._within(Power.SUM)}"


@dataclass(frozen=True)
class Among(Condition):
    """A value that is one of some constants, or with `outside` none of them; false where it is missing."""

    value: Value
    options: tuple[Constant, ...]
    outside: bool = False

    def parts(self) -> tuple[Node, ...]:
        return (self.value, *self.options)

    def holds(self, frame: Frame) -> Mask:
        return self._among(frame, self.outside)

    def fails(self, frame: Frame) -> Mask:
        return self._among(frame, not self.outside)

    def _among(self, frame: Frame, outside: bool) -> Mask:
        values = self.value.values(frame)
        options = [option.values(frame).item() for option in self.options]
        found = np.asarray(pd.Series(values).isin(options))
        return np.asarray((found != outside) & _known(values), dtype=bool)

    def __str__(self) -> str:
        options = ", ".join(map(str, self.options))
        return f"{self.value._within(Power.SUM)} {'not in' if self.outside else 'in'} [{options}]"


@dataclass(frozen=True)
class Missing(Condition):
    """A column that is missing."""

    column: ColumnOf

    def parts(self) -> tuple[Node, ...]:
        return (self.column,)

    def holds(self, frame: Frame) -> Mask:
        return ~_known(self.column.values(frame))

    def __str__(self) -> str:
        return f"{self.column} is missing"


@dataclass(frozen=True)
class Not(Condition):
    """The opposite of a condition."""

    operand: Condition

    @property
    def power(self) -> int:
        return Power.NOT

    def parts(self) -> tuple[Node, ...]:
        return (self.operand,)

    def holds(self, frame: Frame) -> Mask:
        return ~self.operand.holds(frame)

    def __str__(self) -> str:
        return f"not {self.operand._within(Power.NOT)}"


@dataclass(frozen=True)
class Joined(Condition):
    """Conditions of which all must hold ("and"), or at least one ("or")."""

    operation: Literal["and", "or"]
    operands: tuple[Condition, ...]

    @property
    def power(self) -> int:
        return POWERS[self.operation]

    @classmethod
    def of(cls, operation: Literal["and", "or"], *operands: Condition) -> Joined:
        """Join conditions; what is joined in the same way already goes into one node."""
        flat: list[Condition] = []
        for operand in operands:
            if isinstance(operand, Joined) and operand.operation == operation:
                flat += operand.operands
            else:
                flat.append(operand)
        return cls(operation, tuple(flat))

    def parts(self) -> tuple[Node, ...]:
        return self.operands

    def holds(self, frame: Frame) -> Mask:
        join = np.logical_and if self.operation == "and" else np.logical_or
        return functools.reduce(join, (operand.holds(frame) for operand in self.operands))

    def fails(self, frame: Frame) -> Mask:
        join = np.logical_or if self.operation == "and" else np.logical_and
        return functools.reduce(join, (operand.fails(frame) for operand in self.operands))

    def __str__(self) -> str:
        return f" {self.operation} ".join(operand._within(self.power + 1) for operand in self.operands)


@dataclass(frozen=True)
class If(Condition):
    """What must hold wherever something else does."""

    condition: Condition
    consequence: Condition

    @property
    def power(self) -> int:
        return Power.IF

    def parts(self) -> tuple[Node, ...]:
        return (self.condition, self.consequence)

    def holds(self, frame: Frame) -> Mask:
        return ~self.condition.holds(frame) | self.consequence.holds(frame)

    def fails(self, frame: Frame) -> Mask:
        return self.condition.holds(frame) & self.consequence.fails(frame)

    def __str__(self) -> str:
        return f"if {self.condition._within(Power.OR)} then {self.consequence._within(Power.OR)}"


def _numbers_of(cells: pd.Series[Any]) -> Array:
    return cells.to_numpy(dtype=np.float64, na_value=np.nan)


def _texts_of(cells: pd.Series[Any]) -> tuple[Array, Array]:
    codes, found = pd.factorize(cells)
    return codes, np.array([*map(category_text, found), None], dtype=object)


def _ticks_of(cells: pd.Series[Any], dtype: str, per_unit: int) -> Array:
    ticks = cells.to_numpy(dtype=dtype)
    return np.where(np.isnat(ticks), np.nan, ticks.astype(np.int64) / per_unit)


def _times_of(cells: pd.Series[Any]) -> Array:
    codes, found = pd.factorize(cells)  # -1 for a missing cell, which is the last
    return np.array([*map(since_midnight, found), np.nan])[codes]


COUNTS: dict[Kind, Callable[[Any], Array]] = {  # cells of a frame in the unit in which the column counts
    "number": _numbers_of,
    "boolean": _numbers_of,
    "date": functools.partial(_ticks_of, dtype="datetime64[D]", per_unit=1),
    "datetime": functools.partial(_ticks_of, dtype="datetime64[us]", per_unit=10**6),
    "duration": functools.partial(_ticks_of, dtype="timedelta64[us]", per_unit=10**6),
    "time": _times_of,
}


def _known(values: Array) -> Mask:
    """Which values are neither missing nor without a result."""
    return np.asarray(pd.notna(values) if values.dtype == object else np.isfinite(values), dtype=bool)


def written_name(name: str) -> str:
    """A column's name as conditions write it: in back-ticks, unless it is plain.

    >>> written_name("age"), written_name("hours-per-week"), written_name("in")
    ('age', '`hours-per-week`', '`in`')
    """
    plain = NAME.fullmatch(name) is not None and name not in KEYWORDS
    return name if plain else f"`{name.replace('`', '``')}`"


# --- from text to nodes


def parse(text: str, columns: Mapping[str, Column]) -> Condition:
    """Read a condition and check it against the columns of a schema.

    Args:
        text: the condition, as the module describes it.
        columns: the columns of a schema, by name (`Schema.columns`).

    Returns:
        The condition as a node, whose `holds` says for which rows of a frame it is true. Its `str` is the condition in
        one spelling, which reads back as the same node unless it is now longer or deeper than a text may be.

    Raises:
        ArgumentError: in one line, if the text is not a condition, is too long or too deep, or speaks of columns or
            values that the schema does not have.

    Example:
        >>> from sfumato.schema.schema import Number
        >>> str(parse("not (x + 1) * 2 >= 4 | x is missing", {"x": Number(min=0, max=9, missing=True)}))
        'not (x + 1) * 2 >= 4 or x is missing'
    """
    return _condition(_parsed(text, columns, _condition))


def parse_value(text: str, columns: Mapping[str, Column]) -> Value:
    """Read a value, such as `a + b`, and check it against the columns of a schema.

    Args:
        text: the value, as the module describes it.
        columns: the columns of a schema, by name (`Schema.columns`).

    Returns:
        The value as a node, whose `values` calculates it for the rows of a frame.

    Raises:
        ArgumentError: in one line, as for `parse`.

    Example:
        >>> from sfumato.schema.schema import Number
        >>> str(parse_value("(x + 1) * 2", {"x": Number(min=0, max=9)}))
        '(x + 1) * 2'
    """
    return _value(_parsed(text, columns, _value))


def _parsed(text: str, columns: Mapping[str, Column], insist: Callable[[Node], Node]) -> Node:
    try:
        if len(text) > LIMITS.letters:
            raise ArgumentError(f"it has more than {LIMITS.letters} letters")
        return insist(_Parser(text, columns).whole())
    except ArgumentError as error:
        shown = text if len(text) <= LIMITS.shown else f"{text[: LIMITS.shown]}..."
        date = BARE_DATE.search(QUOTED.sub("", text[: LIMITS.letters]))
        hint = "" if date is None else f"; write {date[0]!r} in quotes"
        raise ArgumentError(f"condition {one_line(repr(shown))}: {one_line(str(error))}{hint}") from None


class _Token(NamedTuple):
    kind: str
    text: str  # as it is written; operators in one spelling
    place: int


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    for count in range(LIMITS.tokens + 1):
        found = TOKEN.match(text, place)
        if found is None:
            start = len(text) - len(text[place:].lstrip(" \t\r\n"))
            raise ArgumentError(_no_token(text[start], start))
        kind = found.lastgroup or ""
        written, start = found[kind], found.start(kind)
        kind = "sign" if written in KEYWORDS else kind
        yield _Token(kind, SPELLINGS.get(written, written), start)
        if kind == "end":
            return
        if count == LIMITS.tokens:
            raise ArgumentError(f"it has more than {LIMITS.tokens} words and signs")
        place = found.end()


def _no_token(letter: str, place: int) -> str:
    if letter in "'\"`":
        return f"the {letter} at letter {place + 1} has no counterpart"
    hint = {"=": "write == to compare", ".": "put a column name that holds one in back-ticks"}.get(letter, "")
    return f"{letter!r} at letter {place + 1} has no meaning here" + (f"; {hint}" if hint else "")


class _Parser:
    """Operator precedence parsing: an operand, then operators as long as they bind tightly enough."""

    def __init__(self, text: str, columns: Mapping[str, Column]) -> None:
        self._columns = columns
        self._tokens = list(_tokens(text))
        self._next = 0
        self._depth = 0
        self._known_texts: dict[str, frozenset[str]] = {}

    def whole(self) -> Node:
        """The whole text."""
        found = self._expression(Power.OR)
        if self._peek().kind != "end":
            self._unexpected()
        return found

    # reading tokens

    def _peek(self, ahead: int = 0) -> _Token:
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)]

    def _take(self) -> _Token:
        token = self._peek()
        self._next += 1
        return token

    def _accept(self, *signs: str) -> bool:
        """Go past these signs, if they come next."""
        here = all(self._peek(ahead).text == sign for ahead, sign in enumerate(signs))
        self._next += len(signs) if here else 0
        return here

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            self._unexpected(f"{sign!r} is expected")

    def _unexpected(self, wanted: str = "") -> NoReturn:
        token = self._peek()
        what = "it ends too early" if token.kind == "end" else f"unexpected {token.text!r} at letter {token.place + 1}"
        raise ArgumentError(f"{what}; {wanted}" if wanted else what)

    # operators

    def _expression(self, power: int) -> Node:
        """What stands here up to an operator that binds less tightly than `power`."""
        self._depth += 1
        if self._depth > LIMITS.depth:
            raise ArgumentError(f"more than {LIMITS.depth} parentheses and signs within each other")
        left = self._operand()
        while POWERS.get(sign := self._peek().text, 0) >= power:
            left = self._operation(left, sign)
        self._depth -= 1
        return left

    def _operation(self, left: Node, sign: str) -> Node:
        if POWERS[sign] == Power.COMPARISON:
            return self._comparison(_value(left))
        self._take()
        right = self._expression(POWERS[sign] + 1)
        if sign in ARITHMETIC:
            return _calculated(sign, _value(left), _value(right))
        return Joined.of("and" if sign == "and" else "or", _condition(left), _condition(right))

    def _comparison(self, left: Value) -> Condition:
        if self._accept("is"):
            outside = self._accept("not")
            self._expect("missing")
            if not isinstance(left, ColumnOf):
                raise ArgumentError(f"{left} is no column, so it cannot be asked whether it is missing")
            return Not(Missing(left)) if outside else Missing(left)
        if (outside := self._accept("not", "in")) or self._accept("in"):
            return self._among(left, outside)
        if self._peek().text not in COMPARISONS:
            self._unexpected()
        chain: list[Condition] = []
        while self._peek().text in COMPARISONS:
            sign = self._take().text
            right = _value(self._expression(Power.SUM))
            chain.append(self._compared(sign, left, right))
            left = right
        return chain[0] if len(chain) == 1 else Joined.of("and", *chain)

    def _among(self, value: Value, outside: bool) -> Condition:
        self._expect("[")
        options = [self._option(value)]
        while self._accept(","):
            options.append(self._option(value))
        self._expect("]")
        return Among(value, tuple(options), outside)

    def _option(self, value: Value) -> Constant:
        option = self._expression(Power.SUM)
        if not isinstance(option, Constant):
            raise ArgumentError(f"{option} is no number and no quoted text; a list holds nothing else")
        fitting = self._compared("==", value, option).right
        assert isinstance(fitting, Constant)  # it stays one
        return fitting

    # operands

    def _operand(self) -> Node:
        token = self._peek()
        if self._accept("("):
            inner = self._expression(Power.OR)
            self._expect(")")
            return inner
        if self._accept("if"):
            condition = _condition(self._expression(Power.OR))
            self._expect("then")
            return If(condition, _condition(self._expression(Power.OR)))
        if self._accept("not"):
            return Not(_condition(self._expression(Power.NOT)))
        if self._accept("-"):
            return _negative(_number(self._expression(Power.SIGN)))
        if self._accept("true") or self._accept("false"):
            return Constant(token.text == "true")
        if token.kind in ("sign", "end"):
            self._unexpected("a column, a number or a quoted text is expected")
        self._next += 1
        if token.kind == "number":
            return _number_of(token.text)
        if token.kind == "text":
            return Constant(token.text[1:-1].replace(token.text[0] * 2, token.text[0]))
        return self._column(token.text)

    def _column(self, written: str) -> ColumnOf:
        name = written[1:-1].replace("``", "`") if written.startswith("`") else written
        if name not in self._columns:
            if self._peek().text == "(":
                raise ArgumentError(f"{written!r} is no column, and a condition calls nothing")
            raise ArgumentError(f"there is no column {name!r}" + _alike(name, self._columns))
        return ColumnOf(name, self._columns[name].type)

    # what may be compared with what

    def _compared(self, sign: str, left: Value, right: Value) -> Comparison:
        """A comparison whose constants have become what they are compared with."""
        if not left.columns() and not right.columns():
            raise ArgumentError(f"{left} {sign} {right} speaks of no column")
        left, right = self._fitting(left, right), self._fitting(right, left)
        if left.kind != right.kind:
            raise ArgumentError(f"{_said(left)} and {_said(right)} cannot be compared")
        if left.kind in ("category", "boolean") and sign not in ("==", "!="):
            what = "categories" if left.kind == "category" else "truth values"
            raise ArgumentError(f"{what} have no order: compare {left} and {right} by ==, != or in")
        return Comparison(sign, left, right)

    def _fitting(self, value: Value, other: Value) -> Value:
        """A constant as what it is compared with; any other value as it is."""
        if not isinstance(value, Constant) or not other.columns():
            return value
        if not isinstance(other, ColumnOf):
            dates = [described for name in other.columns() if isinstance(described := self._columns[name], Date)]
            return _constant_of(value, other, dates[0]) if other.kind == "date" else value
        if other.kind == "category":
            return self._category_of(value, other)
        return value if other.kind == "number" else _constant_of(value, other, self._columns[other.name])

    def _category_of(self, value: Constant, column: ColumnOf) -> Constant:
        described = self._columns[column.name]
        assert isinstance(described, Category)
        assert isinstance(value.value, str | int | float)  # nothing else is read before it is compared
        if column.name not in self._known_texts:
            self._known_texts[column.name] = frozenset(described.texts)
        text = category_text(value.value)
        if text in self._known_texts[column.name]:
            return Constant(text)
        listed = ", ".join(str(Constant(text)) for text in described.texts[: LIMITS.listed])
        more = ", ..." if len(described.texts) > LIMITS.listed else ""
        raise ArgumentError(f"{column} is never {value}; its values are {listed}{more}")


def _condition(node: Node) -> Condition:
    if isinstance(node, ColumnOf) and node.kind == "boolean":
        return Comparison("==", node, Constant(True))
    if isinstance(node, Constant) and node.kind == "boolean":
        raise ArgumentError(f"{node} speaks of no column")
    if not isinstance(node, Condition):
        raise ArgumentError(f"{node} is neither true nor false; compare it with something")
    return node


def _value(node: Node) -> Value:
    if not isinstance(node, Value):
        raise ArgumentError(f"{node} is true or false, and cannot be compared or calculated with")
    return node


def _number(node: Node) -> Value:
    value = _value(node)
    if value.kind != "number":
        raise ArgumentError(f"only numbers can be calculated with, not {_said(value)}")
    return value


def _calculated(sign: str, left: Value, right: Value) -> Arithmetic:
    """Two numbers joined, or a date and a number of days, or two dates: their distance."""
    kinds = left.kind, right.kind
    dated = kinds == ("date", "number") or (sign == "+" and kinds == ("number", "date"))
    if not (dated and sign in "+-") and not (kinds == ("date", "date") and sign == "-"):
        left, right = _number(left), _number(right)
    return Arithmetic(sign, left, right)


def _negative(value: Value) -> Value:
    if isinstance(value, Constant) and isinstance(value.value, int | float):
        return Constant(-value.value)
    return Negative(value)


def _number_of(written: str) -> Constant:
    number = float(written)
    if math.isinf(number):
        raise ArgumentError("a number is too large")
    return Constant(int(written) if written.isdigit() else number)  # whole numbers name categories exactly


def _constant_of(value: Constant, column: Value, described: Column) -> Constant:
    """A constant that is compared with a column of dates, times, durations or truth values."""
    try:
        found = _read_as(value.value, described)
    except (ValueError, OverflowError):  # such as the 30th of February
        found = None
    if found is None:
        what, example = EXAMPLES[column.kind]
        raise ArgumentError(f"{column} is {what}, and {value} is none; write one like {example}")
    return Constant(found)


def _read_as(value: Any, described: Column) -> Any:
    """The constant, or None where it is none of the column's kind."""
    if isinstance(described, Boolean):
        truths = dict(zip(described.texts, described.codes.tolist(), strict=True))
        truth = truths.get(category_text(value))
        return None if truth is None else bool(truth)
    if not isinstance(value, str):
        return None
    if isinstance(described, Date):
        return datetime.date.fromisoformat(value) if ISO_DATE.fullmatch(value) else None
    if isinstance(described, Datetime):
        return described.instant(read_datetime(value))
    return read_time(value) if isinstance(described, Time) else datetime.timedelta(seconds=read_seconds(value))


def _said(value: Value) -> str:
    """A value and its kind, for a message."""
    if isinstance(value, Constant):
        return f"the {'text' if value.kind == 'category' else value.kind} {value}"
    return f"the {value.kind} {value}"


def _alike(name: str, columns: Mapping[str, Column]) -> str:
    """The column that was perhaps meant."""
    found = meant(name, columns)
    return f"; did you mean {written_name(found)}?" if found else ""
