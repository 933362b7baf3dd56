"""The kinds of columns that a schema can describe.

An ordered column (a number, a date, a time ...) counts in its own unit: `span` gives its range, and `typed` turns such
numbers back into what the column holds. A listed column (a category, a boolean) has `levels`, and `codes` says to which
of them each of its `texts` leads.

>>> Time(step="15 min").span.step, Time().typed(np.array([30_600.0]), None).tolist()
(900.0, [datetime.time(8, 30)])
>>> Boolean(values={True: "J", False: "N"}).texts
('false', 'true', '0', '1', 'N', 'J')
"""

from __future__ import annotations

import datetime
import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from sfumato.schema import notation
from sfumato.schema.layout import FloatArray, IntArray, days
from sfumato.text import canonical

EPOCH_UTC = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
SECOND = datetime.timedelta(seconds=1)
ZONE = re.compile(r"(?!posix/|right/|localtime|posixrules)[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}", re.ASCII)
TRUTHS = {False: ("false", "no", "f", "n", "0"), True: ("true", "yes", "t", "y", "1")}

BoolArray: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Limits:
    """What a schema may say at the most, and how fine."""

    finest_step: float = 2.0**-50  # of the larger bound: a finer grid would not be representable
    narrowest: float = 1e-303  # the smallest range whose parts are still numbers
    finest_time: float = 1e-6  # seconds: what comes back has no finer ones
    decimals: int = 12  # a step that needs more digits is not a decimal one
    bins: int = 1 << 16
    unit_rows: int = 1 << 20
    group: int = 1 << 14  # columns of a group
    directions: int = 1024  # that a group is projected to: their second moment is asked
    entries: int = 1 << 22  # of a projection's matrix
    format_letters: int = 64
    rules: int = 1000
    rule_letters: int = 50_000  # of all rules together: every synthetic row is held against each of them
    yaml_letters: int = 1 << 22  # PyYAML reads them slowly
    yaml_items: int = 1 << 20  # each alias counted as what it stands for


LIMITS = Limits()

CategoryValue: TypeAlias = str | int | float


def _no_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("YAML reads an unquoted yes, no, true or false as a boolean; give a number")
    return value


def read_seconds(value: Any) -> Any:
    """A duration as a schema writes it, in seconds."""
    if isinstance(value, datetime.timedelta):
        return value / SECOND
    if not isinstance(value, str):
        return _no_boolean(value)
    found = notation.duration(value.strip())
    if found is not None:
        return found.second + found.nano / notation.NANOS
    try:
        return float(value)
    except ValueError:
        raise ValueError(f'{value!r} is no duration; write one such as "90 min" or "PT8H", or seconds') from None


def _words(seconds: float) -> str | float:
    """Seconds as a schema shows them.

    >>> _words(90_000.0), _words(-60.0), _words(0.5)
    ('1d 1h', '-1m', 0.5)
    """
    if not seconds.is_integer() or seconds == 0:
        return seconds
    left, words = int(abs(seconds)), []
    for unit, size in list(notation.UNITS.items())[1:]:  # days, and what is shorter
        count, left = divmod(left, size)
        words += [f"{count}{unit}"] * (count > 0)
    return ("-" if seconds < 0 else "") + " ".join(words)


def read_time(value: Any) -> Any:
    """A time of day as a schema writes it."""
    if isinstance(value, datetime.time):
        return value
    found = notation.time_of_day(value.strip()) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f'{value!r} is no time of day; write one such as "08:30"')
    return (EPOCH_UTC + datetime.timedelta(seconds=found.second, microseconds=found.nano // 1000)).time()


def read_datetime(value: Any) -> Any:
    """A date with its time as a schema writes it, without a zone where none is written."""
    if isinstance(value, datetime.datetime):
        return value
    text = value.isoformat() if isinstance(value, datetime.date) else value
    found = notation.instant(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f'{value!r} is no date with a time; write one such as "2024-12-31 08:30"')
    try:
        when = EPOCH_UTC + datetime.timedelta(seconds=found.second, microseconds=found.nano // 1000)
    except OverflowError:
        raise ValueError(f"{value!r} is outside the calendar") from None
    return when if found.aware else when.replace(tzinfo=None)


def _known_zone(zone: str) -> str:
    """Refuse what is no time zone of the IANA list."""
    try:
        if ZONE.fullmatch(zone):
            ZoneInfo(zone)
            return zone
    except (KeyError, ValueError, OSError):
        pass
    raise ValueError(f"there is no time zone {zone!r}; give a name such as Europe/Vienna")


Real: TypeAlias = Annotated[float, BeforeValidator(_no_boolean)]
Whole: TypeAlias = Annotated[int, BeforeValidator(_no_boolean)]
Seconds: TypeAlias = Annotated[float, BeforeValidator(read_seconds), PlainSerializer(_words, when_used="json")]
TimeOfDay: TypeAlias = Annotated[datetime.time, BeforeValidator(read_time)]
Zone: TypeAlias = Annotated[str, AfterValidator(_known_zone)]
Moment: TypeAlias = Annotated[datetime.datetime, BeforeValidator(read_datetime)]
Format: TypeAlias = Annotated[str, Field(max_length=LIMITS.format_letters)]


class Span(NamedTuple):
    """The range of an ordered column, in its own unit, and how bins are to be laid over it."""

    low: float
    high: float
    step: float | None
    scale: str = "linear"
    atoms: tuple[float, ...] = ()


def category_text(value: CategoryValue) -> str:
    """A value of a category as cells are compared with it.

    >>> category_text(1.0), category_text(" a "), category_text("TRUE")
    ('1', 'a', 'true')
    """
    return canonical(str(int(value)) if isinstance(value, float) and value.is_integer() else str(value))


class Lookup(BaseModel):
    """How a column follows from another one, a category: value by value. Values are compared as text."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, validate_by_name=True)

    source: str = Field(alias="from")
    map: dict[str, CategoryValue] = Field(min_length=1, max_length=LIMITS.bins)

    @field_validator("source")
    @classmethod
    def _writable(cls, source: str) -> str:
        check_text(source)
        return source

    @field_validator("map", mode="before")
    @classmethod
    def _by_text(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if any(isinstance(item, (bool, type(None))) for pair in data.items() for item in pair):
            raise ValueError("YAML reads an unquoted yes, no, true, false or null as such; quote it")
        if any(not isinstance(key, (str, int, float)) for key in data):
            raise ValueError("it maps texts or numbers")
        texts = [category_text(key) for key in data]
        for text in (*texts, *(value for value in data.values() if isinstance(value, str))):
            check_text(text)
        if len(set(texts)) < len(texts):
            raise ValueError("it maps a value twice")
        return dict(zip(texts, data.values(), strict=True))


class _Column(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    missing: Annotated[bool, Field(strict=True)] = False
    sentinels: tuple[CategoryValue, ...] = ()
    """What means missing besides an empty cell; a schema says it as `missing: [...]`."""
    derived: str | Lookup | None = None
    """What the column is computed from; it is not modelled then."""

    @field_validator("derived", mode="before")
    @classmethod
    def _read_derived(cls, data: Any) -> Any:
        if isinstance(data, dict):
            try:
                return Lookup.model_validate(data)
            except ValidationError as error:
                problem = error.errors(include_url=False, include_context=False)[0]
                where = ".".join(map(str, problem["loc"]))
                raise ValueError(f"{where}: {problem['msg'].removeprefix('Value error, ')}") from None
        if data is not None and not isinstance(data, str | Lookup):
            raise ValueError("write a value such as 'a + b', or {from: COLUMN, map: {VALUE: VALUE}}")
        return data

    @model_validator(mode="before")
    @classmethod
    def _list_sentinels(cls, data: Any) -> Any:
        """Take a list under `missing` as a yes, and what is in it as sentinels."""
        if not isinstance(data, dict):
            return data
        if "sentinels" in data:
            raise ValueError("sentinels: list what means missing under `missing`")
        said = data.get("missing", False)
        if isinstance(said, bool):
            return data
        if not isinstance(said, (list, tuple)):
            raise ValueError("missing: write true, false or a list of the texts that mean it")
        _check_sentinels(said)
        return data | {"missing": True, "sentinels": tuple(said)}

    @model_serializer(mode="wrap")
    def _merge_sentinels(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Say sentinels as a schema does."""
        data: dict[str, Any] = handler(self)
        sentinels = data.pop("sentinels", ())
        return data | {"missing": list(sentinels)} if sentinels else data

    @property
    def sentinel_texts(self) -> tuple[str, ...]:
        """The sentinels as cells are compared with them."""
        return tuple(map(category_text, self.sentinels))


def _check_sentinels(values: Sequence[Any]) -> None:
    if not 0 < len(values) <= LIMITS.bins:
        raise ValueError("missing: list at least one text, or write true or false")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise ValueError("missing: YAML reads an unquoted yes, no, date or null as such; quote it in the list")
        check_text(category_text(value))
    if len(set(map(category_text, values))) < len(values):
        raise ValueError("missing has a text twice")


class Ordered(_Column):
    """A column whose values have an order: bins are ranges of them."""

    bins: Whole | None = Field(default=None, ge=1, le=LIMITS.bins)

    @property
    @abstractmethod
    def span(self) -> Span:
        """The column's range and grid, in its own unit."""

    @abstractmethod
    def typed(self, values: FloatArray, absent: BoolArray | None) -> pd.Series[Any]:
        """Numbers in the column's unit as what it holds, missing where `absent` says so."""


class Number(Ordered):
    """A number between two public bounds; values outside are clamped."""

    type: Literal["number"] = "number"
    min: Real
    max: Real
    step: Real | None = Field(default=None, gt=0)
    scale: Literal["linear", "log"] = "linear"
    atoms: Annotated[tuple[Real, ...], FailFast()] = Field(default=(), max_length=LIMITS.bins)
    format: Format | None = None

    @model_validator(mode="after")
    def _check(self) -> Number:
        check_range(self.min, self.max, self.step)
        if len(set(self.atoms)) < len(self.atoms):
            raise ValueError("atoms has a value twice")
        for atom in self.atoms:
            if not self.min <= atom <= self.max:
                raise ValueError(f"atom {atom:g} is outside min and max")
            if self.step is not None and not _on_grid(atom, self.min, self.step):
                raise ValueError(f"atom {atom:g} is not min plus a whole number of steps")
            if category_text(atom) in self.sentinel_texts:
                raise ValueError(f"{atom:g} cannot be an atom and mean missing; take one of the two away")
        if self.format is not None:
            notation.number_format(self.format)
        return self

    @property
    def integral(self) -> bool:
        """Whether every value the column can take is a whole number that an integer column holds."""
        whole = self.step is not None and self.step.is_integer() and self.min.is_integer()
        return whole and max(abs(self.min), abs(self.max)) < 2**62

    @property
    def decimals(self) -> int | None:
        """Digits after the point that a stepped value needs; None without a step, or with one that is not decimal."""
        if self.step is None:
            return None
        digits = max(-int(Decimal(repr(x)).normalize().as_tuple().exponent) for x in (self.step, self.min))
        return max(digits, 0) if digits <= LIMITS.decimals else None

    @property
    def span(self) -> Span:
        """The column's range and grid."""
        return Span(self.min, self.max, self.step, self.scale, self.atoms)

    def typed(self, values: FloatArray, absent: BoolArray | None) -> pd.Series[Any]:
        """Integers where the column has no others, decimals at their step, floats otherwise."""
        if self.integral:
            whole = pd.Series(np.rint(values).astype(np.int64))
            return whole if absent is None else whole.astype("Int64").mask(pd.Series(absent))
        rounded = values if self.decimals is None else np.round(values, self.decimals)
        return pd.Series(rounded if absent is None else np.where(absent, np.nan, rounded))


class Date(Ordered):
    """A calendar date between two public bounds, counted in days since 1970."""

    type: Literal["date"] = "date"
    min: datetime.date
    max: datetime.date
    zone: Zone | None = None
    format: Format | None = None

    @model_validator(mode="after")
    def _check(self) -> Date:
        _check_order(self)
        check_format(self.format, {"day"}, {"day", "time", "zone"})
        return self

    @property
    def span(self) -> Span:
        """The column's range, in days since 1970."""
        return Span(days(self.min), days(self.max), 1.0)

    def typed(self, values: FloatArray, absent: BoolArray | None) -> pd.Series[Any]:
        """Days as dates."""
        stamps = np.rint(values).astype("datetime64[D]").astype("datetime64[s]")
        return pd.Series(stamps if absent is None else np.where(absent, np.datetime64("NaT"), stamps))


class Datetime(Ordered):
    """A date with its time of day between two public bounds, counted in seconds since 1970 in UTC."""

    type: Literal["datetime"] = "datetime"
    min: Moment
    max: Moment
    step: Seconds = Field(default=60.0, ge=LIMITS.finest_time)
    zone: Zone | None = None
    format: Format | None = None

    @model_validator(mode="after")
    def _check(self) -> Datetime:
        _check_order(self)
        check_format(self.format, {"day", "time"}, {"day", "time", "zone"})
        return self

    def instant(self, when: datetime.datetime) -> datetime.datetime:
        """A date and time in UTC: without an offset it is of the column's zone, by the offset before a change."""
        local = datetime.UTC if self.zone is None else ZoneInfo(self.zone)
        try:
            return (when.replace(tzinfo=local, fold=0) if when.tzinfo is None else when).astimezone(datetime.UTC)
        except OverflowError:
            raise ValueError(f"{when} is outside the calendar") from None

    @property
    def span(self) -> Span:
        """The column's range, in seconds since 1970 in UTC."""
        low, high = ((self.instant(bound) - EPOCH_UTC) / SECOND for bound in (self.min, self.max))
        return Span(low, high, self.step)

    def typed(self, values: FloatArray, absent: BoolArray | None) -> pd.Series[Any]:
        """Seconds as instants, of the column's zone where it has one."""
        stamps = pd.Series(_micros(values, absent).astype("datetime64[us]"))
        return stamps if self.zone is None else stamps.dt.tz_localize("UTC").dt.tz_convert(self.zone)


class Time(Ordered):
    """A time of day, counted in seconds since midnight."""

    type: Literal["time"] = "time"
    min: TimeOfDay = datetime.time(0)
    max: TimeOfDay | None = None  # the last step of the day
    step: Seconds = Field(default=60.0, ge=LIMITS.finest_time)
    format: Format | None = None

    @model_validator(mode="after")
    def _check(self) -> Time:
        if self.min.tzinfo is not None or (self.max is not None and self.max.tzinfo is not None):
            raise ValueError("a time of day has no time zone")
        _check_order(self)
        check_format(self.format, {"time"}, {"time"})
        return self

    @property
    def span(self) -> Span:
        """The column's range, in seconds since midnight."""
        low = since_midnight(self.min)
        last = low + (math.ceil((notation.UNITS["d"] - low) / self.step) - 1) * self.step
        return Span(low, last if self.max is None else since_midnight(self.max), self.step)

    def typed(self, values: FloatArray, absent: BoolArray | None) -> pd.Series[Any]:
        """Seconds as times, None where missing."""
        found, places = np.unique(_micros(values, None), return_inverse=True)
        times = [(EPOCH_UTC + datetime.timedelta(microseconds=micro)).time() for micro in found.tolist()]
        cells = np.array([*times, None], dtype=object)
        return pd.Series(cells[places if absent is None else np.where(absent, len(times), places)], dtype=object)


class Duration(Ordered):
    """A span of time, counted in seconds."""

    type: Literal["duration"] = "duration"
    min: Seconds
    max: Seconds
    step: Seconds = Field(default=1.0, ge=LIMITS.finest_time)
    scale: Literal["linear", "log"] = "linear"
    format: Literal["seconds", "minutes", "hours", "days"] | None = None

    @model_validator(mode="after")
    def _check(self) -> Duration:
        _check_order(self)
        if max(abs(self.min), abs(self.max)) > datetime.timedelta.max / SECOND:
            raise ValueError("a duration is too long")
        return self

    @property
    def span(self) -> Span:
        """The column's range, in seconds."""
        return Span(self.min, self.max, self.step, self.scale)

    def typed(self, values: FloatArray, absent: BoolArray | None) -> pd.Series[Any]:
        """Seconds as durations."""
        return pd.Series(_micros(values, absent).astype("timedelta64[us]"))


Clocked: TypeAlias = Date | Datetime | Time | Duration
OrderedColumn: TypeAlias = Number | Clocked


class Listed(_Column):
    """A column of a public list of values."""

    @model_validator(mode="after")
    def _check_apart(self) -> Self:
        for text in self.sentinel_texts:
            if text in self.texts:
                raise ValueError(f"{text!r} cannot be a value and mean missing; take one of the two away")
        return self

    @property
    @abstractmethod
    def levels(self) -> tuple[Any, ...]:
        """What comes back, in the order of the bins."""

    @property
    @abstractmethod
    def texts(self) -> tuple[str, ...]:
        """All texts that cells are compared with."""

    @property
    @abstractmethod
    def codes(self) -> IntArray:
        """To which of the levels each text leads."""

    @abstractmethod
    def typed(self, codes: IntArray) -> pd.Series[Any]:
        """Levels by their places; the place behind them is a missing value."""


class Category(Listed):
    """One of a public list of values, compared as text (1.0 as 1)."""

    type: Literal["category"] = "category"
    values: Annotated[tuple[CategoryValue, ...], FailFast()] = Field(min_length=1, max_length=LIMITS.bins)

    @model_validator(mode="before")
    @classmethod
    def _no_booleans(cls, data: Any) -> Any:
        values = data.get("values", ()) if isinstance(data, dict) else ()
        if isinstance(values, (list, tuple)):
            if any(isinstance(value, bool) for value in values):
                raise ValueError("YAML reads an unquoted yes, no, true or false as a boolean; quote it in values")
            if any(isinstance(value, (datetime.date, type(None))) for value in values):
                raise ValueError("YAML reads an unquoted date or null as such; quote it in values")
        return data

    @model_validator(mode="after")
    def _check(self) -> Category:
        seen: set[str] = set()
        for text in self.texts:
            check_text(text)
            if text in seen:
                raise ValueError(f"value {text!r} is listed twice")
            seen.add(text)
        if self.missing and "" in seen:
            raise ValueError("an empty value is what missing means; take one of the two away")
        return self

    @property
    def levels(self) -> tuple[CategoryValue, ...]:
        """The values, as the schema writes them."""
        return self.values

    @property
    def texts(self) -> tuple[str, ...]:
        """The values as cells are compared with them."""
        return tuple(map(category_text, self.values))

    @property
    def codes(self) -> IntArray:
        """One level a text."""
        return np.arange(len(self.values))

    def typed(self, codes: IntArray) -> pd.Series[Any]:
        """The categories, with the type they have in the schema."""
        values: list[Any] = list(self.values)
        if all(isinstance(value, int) and abs(value) < 2**63 for value in values) and not self.missing:
            return pd.Series(np.array(values, dtype=np.int64)[codes])
        alike = len({type(value) for value in values}) == 1
        kind = pd.Series(values).dtype if alike and isinstance(values[0], str) else object
        names = pd.Series([*values, None] if self.missing else values, dtype=kind)
        return pd.Series(names.array.take(codes))


def _by_truth(values: Any) -> Any:
    """The two spellings by their truth values: JSON has texts for keys."""
    said = {"true": True, "false": False}
    if not isinstance(values, dict) or {said.get(key, key) for key in values} != {True, False}:
        raise ValueError('values says how true and false are written, such as {true: "Y", false: "N"}')
    if any(isinstance(value, bool) for value in values.values()):
        raise ValueError("YAML reads an unquoted yes, no, true or false as a boolean; quote it in values")
    return {said.get(key, key): value for key, value in values.items()}


class Boolean(Listed):
    """True or false."""

    type: Literal["boolean"] = "boolean"
    values: Annotated[dict[bool, CategoryValue], BeforeValidator(_by_truth)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Boolean:
        if self.values is None:
            return self
        said = {truth: category_text(value) for truth, value in self.values.items()}
        for text in said.values():
            check_text(text)
        if said[True] == said[False] or said[True] == "false" or said[False] == "true":
            raise ValueError("values has the same spelling for true and false")
        if self.missing and "" in said.values():
            raise ValueError("an empty value is what missing means; take one of the two away")
        return self

    @property
    def levels(self) -> tuple[bool, ...]:
        """False and true."""
        return (False, True)

    @property
    def _spellings(self) -> list[tuple[str, bool]]:
        if self.values is not None:
            declared = [(category_text(self.values[truth]), truth) for truth in (False, True)]
            by_number = any(text.isdigit() for text, _ in declared)  # and then other numbers have other meanings
            stored = [("false", False), ("true", True)] + ([] if by_number else [("0", False), ("1", True)])
            return stored + declared
        cases = (str.lower, str.capitalize, str.upper)
        return [(case(word), truth) for truth, words in TRUTHS.items() for word in words for case in cases]

    @property
    def texts(self) -> tuple[str, ...]:
        """What is read as true or false, each once."""
        return tuple(dict(self._spellings))

    @property
    def codes(self) -> IntArray:
        """Whether each text is true."""
        return np.array(list(dict(self._spellings).values()), dtype=np.int64)

    def typed(self, codes: IntArray) -> pd.Series[Any]:
        """Truth values; of the nullable type where some can be missing."""
        if not self.missing:
            return pd.Series(codes == 1)
        return pd.Series(pd.arrays.BooleanArray(codes == 1, codes == len(self.levels)))


ListedColumn: TypeAlias = Category | Boolean
Column: TypeAlias = Annotated[OrderedColumn | ListedColumn, Field(discriminator="type")]


def since_midnight(time: datetime.time) -> float:
    """A time of day in seconds."""
    return (time.hour * 60 + time.minute) * 60 + time.second + time.microsecond / 10**6


def _micros(values: FloatArray, absent: BoolArray | None) -> IntArray:
    """Seconds as whole microseconds, and as NumPy's "not a time" where absent."""
    whole = np.floor(values)
    micros = whole.astype(np.int64) * 10**6 + np.rint((values - whole) * 1e6).astype(np.int64)
    return micros if absent is None else np.where(absent, np.iinfo(np.int64).min, micros)


def check_range(low: float, high: float, step: float | None) -> None:
    """Refuse a range, or a grid over it, that double precision cannot hold."""
    if not low < high:
        raise ValueError(f"min ({low:g}) must be below max ({high:g})")
    if not LIMITS.narrowest < high - low < math.inf:
        raise ValueError("the range from min to max is too narrow or too wide for double precision")
    if step is not None and step > (high - low) * (1 + 1e-9):
        raise ValueError(f"step ({step:g}) is wider than the range from min to max")
    if step is not None and step < LIMITS.finest_step * max(abs(low), abs(high)):
        raise ValueError(f"step ({step:g}) is too fine for the range from min to max")


def _check_order(column: Clocked) -> None:
    low, high, step, *_ = column.span
    if not low < high:
        raise ValueError(f"min ({column.min}) must be before max ({column.max})")
    check_range(low, high, step)


def check_format(form: str | None, needed: set[str], allowed: set[str]) -> None:
    """Refuse a format of dates or times that leaves out what the column needs, or says what it cannot keep."""
    if form is None:
        return
    found = set(notation.compiled(form).groupindex)
    codes = set(re.findall(r"%(.)", form))
    parts = {"day": found & set("Yymbd"), "time": found & set("HMSp"), "zone": found & {"z"}}
    whole_day = len(found & set("Yy")) == len(found & set("mb")) == len(found & {"d"}) == 1
    if "day" in needed and not whole_day:
        raise ValueError(f"format: {form!r} needs a year (%Y or %y), a month (%m or %b) and a day (%d), each once")
    if "time" in needed and "H" not in found:
        raise ValueError(f"format: {form!r} needs the hour (%H, or %I with %p)")
    if ("I" in codes) != ("p" in codes):
        raise ValueError(f"format: {form!r} needs %I and %p together, or %H without them")
    if any(parts[kind] for kind in parts.keys() - allowed):
        raise ValueError(f"format: {form!r} has parts that a time of day has not")


def check_text(text: str) -> None:
    """Refuse text that no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text!r} is not text that a file can hold") from None


def _on_grid(value: float, origin: float, step: float) -> bool:
    steps = (value - origin) / step
    return abs(steps - round(steps)) <= max(1e-9, abs(steps) * 2.0**-50)
