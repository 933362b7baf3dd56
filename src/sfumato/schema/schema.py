"""What is publicly known about a table: its columns, their ranges, their categories, the label.

A schema is the only thing a fit may know beforehand. Whatever it says must be public knowledge (a
questionnaire, a code book, a law of nature), because nothing in it is protected. A draft made from the
private table lists what it took from there under `unconfirmed`, and `fit` refuses it until that list is
empty.

>>> schema = Schema.parse('''
... label: ill
... columns:
...   age: {type: number, min: 0, max: 120, step: 1}
...   ill: {type: category, values: [yes_, no_]}
... ''')
>>> schema.features
('age',)
>>> schema.columns["age"].integral
True
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError, model_validator

from sfumato.errors import ArgumentError, SchemaError
from sfumato.files import replacing
from sfumato.near_names import meant
from sfumato.schema.columns import (
    LIMITS,
    Boolean,
    Category,
    Column,
    Date,
    Datetime,
    Duration,
    Number,
    Real,
    Time,
    Whole,
    category_text,
    check_range,
    check_text,
)
from sfumato.schema.layout import SINGLE_ROWS
from sfumato.text import one_line

if TYPE_CHECKING:
    from sfumato.schema.rules import Modelling

__all__ = [
    "LIMITS",
    "Boolean",
    "Category",
    "Column",
    "Date",
    "Datetime",
    "Duration",
    "Group",
    "Number",
    "Schema",
    "Time",
    "Unit",
    "category_text",
]

RANGE = re.compile(r"\{(\d{1,9})\.\.(\d{1,9})\}", re.ASCII)
MERGE_TAG, TEXT_TAG = "tag:yaml.org,2002:merge", "tag:yaml.org,2002:str"
NUMBER_TAGS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
DRAFT_NOTE = "# PRIVATE: read off rows. fit refuses this schema until all of it is confirmed to be public knowledge."
# After columns.NAME and groups.NAME.columns pydantic names the kind that it tried, which the reader knows.
TRIED = {("columns", 2), ("groups", 3)}


class Group(BaseModel):
    """Many number columns of one kind, such as the pixels of an image: they are modelled through a projection.

    `columns` is a list of names, or a pattern: `{1..617}` in it stands for these numbers, `*` for those from 0 to the
    last of `shape`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    columns: str | tuple[str, ...]
    min: Real
    max: Real
    step: Real | None = Field(default=None, gt=0)
    shape: tuple[Whole, Whole] | None = None
    projection: Literal["pca", "dct2", "random"] = "pca"
    keep: Whole | None = Field(default=None, ge=1, le=LIMITS.directions)

    @model_validator(mode="after")
    def _check(self) -> Group:
        check_range(self.min, self.max, self.step)
        if self.shape is not None and not (min(self.shape) >= 1 and math.prod(self.shape) <= LIMITS.group):
            raise ValueError(f"shape must be two whole numbers whose product is from 1 to {LIMITS.group}")
        count = len(self.names)
        if not 2 <= count <= LIMITS.group:
            raise ValueError(f"a group has from 2 to {LIMITS.group} columns, not {count}")
        if self.shape is not None and math.prod(self.shape) != count:
            raise ValueError(f"shape {list(self.shape)} does not fit {count} columns")
        if self.projection == "dct2" and self.shape is None:
            raise ValueError("projection dct2 needs the shape of the image")
        if self.projection == "dct2" and self.shape is not None and (self.keep or 1) > min(self.shape):
            raise ValueError(f"keep must be at most {min(self.shape)}, the shorter side of shape")
        if self.projection == "pca" and self.keep is not None:
            raise ValueError("keep is for the projections dct2 and random; pca finds out by itself")
        if self.projection == "pca" and count > LIMITS.directions:
            raise ValueError(f"projection pca takes at most {LIMITS.directions} columns; take dct2 or random")
        if self.directions > min(count, LIMITS.directions):
            raise ValueError(f"{self.directions} directions are too many: keep at most {min(count, LIMITS.directions)}")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The group's columns, in order."""
        if not isinstance(self.columns, str):
            return self.columns
        span = RANGE.search(self.columns)
        if span is not None:
            first, last = int(span[1]), int(span[2])
            if last - first >= LIMITS.group:
                raise ValueError(f"a group has at most {LIMITS.group} columns")
            return tuple(self.columns.replace(span[0], str(i)) for i in range(first, last + 1))
        if "*" not in self.columns or self.shape is None:
            raise ValueError("columns must be names, a pattern with {1..9}, or one with * where there is a shape")
        return tuple(self.columns.replace("*", str(i), 1) for i in range(math.prod(self.shape)))

    @property
    def side(self) -> int:
        """Frequencies of dct2 that are kept along each side."""
        return self.keep or min(8, *(self.shape or ()))

    @property
    def directions(self) -> int:
        """How many coordinates the public projection leaves."""
        if self.projection == "dct2":
            return self.side**2
        if self.projection == "random":
            return self.keep or min(64, len(self.names))
        return len(self.names)

    def column(self) -> Number:
        """What each of the columns is."""
        return Number(min=self.min, max=self.max, step=self.step)


class Unit(BaseModel):
    """Whose privacy is meant: all rows with the same value of `column`, of which `rows` count."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    column: str
    rows: Whole = Field(ge=1, le=LIMITS.unit_rows)


class Schema(BaseModel):
    """The public description of a table: build it with `load`, `parse`, or `of` a dictionary.

    Attributes:
        label: The column to predict; None where there is none.
        unit: The column that says whose privacy is meant, and how many rows of each unit count; None where it is a row.
        columns: What is known of each column, those of groups behind the others.
        groups: Columns of one kind, such as pixels, that are modelled through a public projection.
        constraints: Rules between columns, in the grammar of conditions, that every synthetic row keeps.
        unconfirmed: What a draft took from private rows. `fit` refuses a schema in which it is not empty.

    Example:
        >>> schema = Schema.of({"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}})
        >>> schema.features
        ('age',)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: str | None = None
    unit: Unit | None = None
    columns: dict[str, Column] = Field(default={}, validate_default=True)
    groups: dict[str, Group] = {}
    constraints: Annotated[tuple[str, ...], FailFast()] = Field(default=(), max_length=LIMITS.rules)
    unconfirmed: Annotated[tuple[str, ...], FailFast()] = ()

    @model_validator(mode="after")
    def _with_groups(self) -> Schema:
        """The columns of groups stand among the others, behind them."""
        columns: dict[str, Column] = dict(self.columns)
        if sum(len(group.names) for group in self.groups.values()) > LIMITS.group:
            raise ValueError(f"groups: they have more than {LIMITS.group} columns together")
        if sum(len(group.names) * group.directions for group in self.groups.values()) > LIMITS.entries:
            raise ValueError(f"groups: columns times directions are more than {LIMITS.entries}; keep fewer directions")
        if sum(group.directions for group in self.groups.values()) > LIMITS.directions:
            raise ValueError(f"groups: keep at most {LIMITS.directions} directions of them together")
        for place, group in self.groups.items():
            for name in group.names:
                if name in columns:
                    raise ValueError(f"groups.{one_line(place)}: column {name!r} is described twice")
                columns[name] = group.column()
        if not columns:
            raise ValueError("columns: there are none; name the columns to be modelled")
        object.__setattr__(self, "columns", columns)
        return self

    @model_validator(mode="after")
    def _check(self) -> Schema:
        for name in (*self.columns, *self.groups, *self.unconfirmed, "" if self.unit is None else self.unit.column):
            check_text(name)
        if self.unit is not None and self.unit.column in self.columns:
            raise ValueError(f"unit: {self.unit.column!r} names people, so it cannot be a column of the release")
        if self.unit is not None and self.unit.column in SINGLE_ROWS:
            raise ValueError(f"unit: {self.unit.column!r} is what a unit is called without a column; rename the column")
        if self.groups and self.label in self.grouped:
            raise ValueError(f"label {self.label!r} belongs to a group; describe it under columns")
        if self.groups and set(self.features) != self.grouped:
            raise ValueError("a schema with groups has no other features yet: put all columns but the label in groups")
        self._check_label()
        self._check_rules()
        return self

    def _check_label(self) -> None:
        if self.label is None:
            return
        if self.label not in self.columns:
            alike = meant(self.label, self.columns)
            hint = f"; did you mean {alike!r}?" if alike else ""
            raise ValueError(f"label {self.label!r} is not among the columns{hint}")
        if not self.features:
            raise ValueError("the label is the only column; add the columns to be modelled")
        column = self.columns[self.label]
        if column.missing:
            raise ValueError(f"columns.{self.label}: rows without a label do not count; take missing away")
        if isinstance(column, Number) and column.bins is None:
            raise ValueError(f"columns.{self.label}: a number used as label needs bins")
        if not isinstance(column, (Category, Boolean, Number)):
            raise ValueError(f"columns.{self.label}: a {column.type} cannot be the label")

    def _check_rules(self) -> None:
        derived = [column.derived for column in self.columns.values() if isinstance(column.derived, str)]
        for text in (*self.constraints, *derived):
            check_text(text)
        if sum(map(len, (*self.constraints, *derived))) > LIMITS.rule_letters:
            raise ValueError(f"constraints: they have more than {LIMITS.rule_letters} letters together")
        try:
            _ = self.modelling
        except ArgumentError as error:
            raise ValueError(str(error)) from None

    @property
    def modelling(self) -> Modelling:
        """How rows are modelled so that they keep the rules between columns."""
        from sfumato.schema.rules import Modelling  # which reads the rules of a schema, so it stands behind it

        return Modelling.of(self)

    @property
    def features(self) -> tuple[str, ...]:
        """The columns in the schema's order, without the label; `modelling` tells which of them are modelled."""
        return tuple(name for name in self.columns if name != self.label)

    @property
    def grouped(self) -> set[str]:
        """The columns that belong to groups."""
        return {name for group in self.groups.values() for name in group.names}

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema from a YAML or JSON file.

        Args:
            path: The file.

        Returns:
            The schema.

        Raises:
            SchemaError: There is no such file, or what it says is no schema.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise SchemaError(f"cannot read the schema {path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise SchemaError(f"cannot read the schema {path}: it is not UTF-8 text") from error
        except ValueError as error:
            raise SchemaError(f"cannot read the schema {str(path)!r}: no file has such a name") from error
        try:
            return cls.parse(text)
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from error

    @classmethod
    def parse(cls, text: str) -> Schema:
        """Read a schema from YAML or JSON text.

        Args:
            text: YAML or JSON.

        Returns:
            The schema.

        Raises:
            SchemaError: What it says is no schema.
        """
        try:
            data = _read(text)
        except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise SchemaError(f"not valid YAML or JSON: {one_line(str(error)) or type(error).__name__}") from error
        return cls.of(data)

    @classmethod
    def of(cls, data: Any) -> Schema:
        """Check plain data (dictionaries and lists) and make a schema of it.

        Args:
            data: A mapping with `columns`; a schema comes back as it is.

        Returns:
            The schema.

        Raises:
            SchemaError: What it says is no schema.
        """
        if isinstance(data, Schema):
            return data
        if not isinstance(data, dict):
            raise SchemaError("a schema is a mapping with `columns:`, and optionally `label:`")
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise SchemaError(_first_problem(error)) from error

    @classmethod
    def from_array(cls, X: Any, bounds: Sequence[Any], *, names: Sequence[str] | None = None) -> Schema:
        """Number columns for a 2-D array, from public bounds: (low, high), each one number or one for each column.

        Nothing but the number of columns is taken from `X`, never a value. The columns are called x0, x1 and so
        on, as those of an array are when it is read as a table, unless `names` are given.

        Args:
            X: The array.
            bounds: (low, high), each one number or one for each column.
            names: Of the columns.

        Returns:
            The schema.

        Raises:
            SchemaError: X has not two dimensions, or bounds or names do not fit it.

        Example:
            >>> Schema.from_array(np.array([[3.0, 70.0]]), (0, [10, 100])).columns["x1"].max
            100.0
        """
        shape: tuple[int, ...] = getattr(X, "shape", ())
        if len(shape) != 2:
            raise SchemaError("X must be a 2-D array")
        width = shape[1]
        names = [f"x{place}" for place in range(width)] if names is None else list(names)
        if len(names) != width or len(set(names)) < width:
            raise SchemaError(f"names must be {width} different names, one for each column of X")
        try:
            low, high = (np.broadcast_to(np.asarray(bound, dtype=float), width).tolist() for bound in bounds)
        except (TypeError, ValueError):
            raise SchemaError(f"bounds must be (low, high), each a number or {width} of them") from None
        ends = zip(names, low, high, strict=True)
        return cls.of({"columns": {name: {"type": "number", "min": a, "max": b} for name, a, b in ends}})

    def dump(self) -> dict[str, Any]:
        """The schema as plain JSON data, without defaults.

        Returns:
            What `of` makes the same schema of.
        """
        grouped = self.grouped
        columns = {
            name: {"type": column.type} | _tidy(column.model_dump(mode="json", exclude_defaults=True, by_alias=True))
            for name, column in self.columns.items()
            if name not in grouped
        }
        groups = {name: _tidy(g.model_dump(mode="json", exclude_defaults=True)) for name, g in self.groups.items()}
        rest = self.model_dump(mode="json", exclude_defaults=True, exclude={"columns", "groups"})
        return rest | {"columns": columns} | ({"groups": groups} if groups else {})

    def save(self, path: str | Path) -> None:
        """Write the schema as YAML, or as JSON where the name ends in .json; a draft for its owner's eyes alone.

        Args:
            path: Where to; what is there is replaced.

        Raises:
            OutputError: It cannot be written there.
        """
        text = json.dumps(self.dump(), indent=2) if str(path).endswith(".json") else self.to_yaml()
        with replacing(path, private=bool(self.unconfirmed)) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def to_yaml(self) -> str:
        """The schema as YAML text, one line a column.

        Returns:
            What `parse` makes the same schema of.
        """
        data = self.dump()
        lines = [f"label: {_flow(data['label'])}"] if self.label is not None else []
        if self.unit is not None:
            lines.append(f"unit: {_flow(data['unit'])}")
        for kind in ("columns", "groups"):
            if data.get(kind):
                lines += [f"{kind}:", *(f"  {_flow(name)}: {_flow(item)}" for name, item in data[kind].items())]
        for kind, note in (("constraints", []), ("unconfirmed", [DRAFT_NOTE])):
            if data.get(kind):
                lines += [*note, f"{kind}:", *(f"  - {_flow(item)}" for item in data[kind])]
        return "\n".join(lines) + "\n"

    def require_confirmed(self) -> None:
        """Refuse a draft: what it took from private rows must first be declared public.

        Raises:
            SchemaError: `unconfirmed` is not empty.
        """
        if self.unconfirmed:
            raise SchemaError(
                f"the schema is a draft: check {one_line(self.unconfirmed[0])}"
                + (f" and {len(self.unconfirmed) - 1} more" if len(self.unconfirmed) > 1 else "")
                + " against public knowledge, by `sfumato confirm`"
            )


def _read(text: str) -> Any:
    """JSON where it is JSON (YAML reads some of it differently), YAML otherwise."""
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError:
        if len(text) > LIMITS.yaml_letters:
            raise yaml.YAMLError(f"more than {LIMITS.yaml_letters} letters; write so large a schema as JSON") from None
        return _counted(yaml.load(text, Loader=_UniqueKeys))


def _counted(data: Any) -> Any:
    """The data itself, unless aliases make more of it than anyone can write down."""
    waiting, count = [data], 0
    while waiting:
        item = waiting.pop()
        inner = [*item.keys(), *item.values()] if isinstance(item, dict) else item
        if isinstance(inner, (list, tuple, set)):
            count += len(inner)
            waiting += inner
        if count > LIMITS.yaml_items:
            raise yaml.YAMLError("aliases make it too large; write out what they stand for")
    return data


def _unique(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    seen: set[str] = set()
    for key, _ in pairs:
        if isinstance(key, (list, dict, set, tuple)):  # by aliases a short text can make one without end
            raise yaml.YAMLError("a key must be a name, not a list or a mapping")
        if str(key) in seen:
            raise yaml.YAMLError(f"{key!r} is given twice")
        seen.add(str(key))
    return dict(pairs)


class _UniqueKeys(yaml.SafeLoader):
    """A loader that refuses a key given twice, which plain YAML would silently drop; and 8:30 is no number to it."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """The tag of a node: what has a colon is text, not a number to the base of 60."""
        tag = super().resolve(kind, value, implicit)
        return TEXT_TAG if tag in NUMBER_TAGS and ":" in value else tag


def _unique_mapping(loader: _UniqueKeys, node: yaml.MappingNode) -> dict[Any, Any]:
    if any(key.tag == MERGE_TAG for key, _ in node.value):  # merges of merges grow without end
        raise yaml.YAMLError(
            "the merge key << is not read; repeat what it stands for, or use an alias for a whole column"
        )
    return _unique(loader.construct_pairs(node, deep=True))


_UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _unique_mapping)


def _tidy(value: Any) -> Any:
    """Whole numbers without a point, wherever they stand."""
    if isinstance(value, dict):
        return {key: _tidy(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_tidy(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


class _Dumper(yaml.SafeDumper):
    """A dumper that escapes line breaks of every kind."""


def _text_node(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if text.isprintable() else '"')


_Dumper.add_representer(str, _text_node)


def _flow(value: Any) -> str:
    text = yaml.dump(
        value, Dumper=_Dumper, default_flow_style=True, width=math.inf, sort_keys=False, allow_unicode=True
    )
    return text.removesuffix("\n").removesuffix("\n...")


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_context=False)[0]
    place = [str(part) for i, part in enumerate(problem["loc"]) if (problem["loc"][0], i) not in TRIED]
    where = one_line(".".join(place))
    what = one_line(problem["msg"].removeprefix("Value error, "))
    if problem["type"] == "extra_forbidden":
        what = "is not something a schema can say here"
    elif problem["type"] in ("union_tag_not_found", "union_tag_invalid"):
        what = "type must be number, category, boolean, date, datetime, time or duration"
    return f"{where}: {what}" if where else what
