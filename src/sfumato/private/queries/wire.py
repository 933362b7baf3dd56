"""Questions as bytes: what a mechanism hands to the curator is data, never an object of its own.

A question comes as the length of a JSON text, the text, and the arrays that it names (`mechanisms.asker.encode` writes
it so). `decode` makes fresh objects from it, of a closed list of frozen classes, with plain read-only arrays over the
bytes themselves. Whatever was done to the object that was encoded (a subclass, another `total`, a field that was
changed, an array of a class of its own, an array that changes later) is not in the bytes, and so cannot reach a row.
What the bytes say is checked: names of classes and fields, types, shapes, sizes, and each class's own conditions.
"""

from __future__ import annotations

import json
import math
import typing
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any

import numpy as np

from sfumato.errors import ArgumentError, insist
from sfumato.private.queries import features, gradients, group_sums, histograms, images, tables, viewed, waves
from sfumato.private.slicing import law, rows

MOST_BYTES = 1 << 31
MOST_TEXT = 1 << 26
DTYPES = {"int64": np.dtype("<i8"), "float64": np.dtype("<f8")}

_MODULES = (features, gradients, group_sums, histograms, images, law, rows, tables, viewed, waves)
KINDS: dict[str, type] = {kind.__name__: kind for module in _MODULES for kind in module.KINDS}


def decode(request: bytes, wanted: Any = object) -> Any:
    """The question of the wanted type that the bytes stand for, made afresh; refuses what is none."""
    insist(type(request) is bytes and 8 <= len(request) <= MOST_BYTES, "a question comes as bytes")
    length = int.from_bytes(request[:8], "little")
    insist(length <= min(MOST_TEXT, len(request) - 8), "a question says that it is longer than it is")
    refusal = "a question cannot be read"
    try:
        document = json.loads(request[8 : 8 + length])
        insist(set(document) == {"question", "arrays"}, "a question comes with its arrays, and with nothing else")
        question = _made(document["question"], _arrays(document["arrays"], request, 8 + length))
        insist(_fits(question, wanted), "a question is of another kind than what it was asked as")
        return question
    except ArgumentError as error:
        refusal = str(error)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError):
        pass
    raise ArgumentError(refusal)


def _arrays(listed: list[Any], request: bytes, start: int) -> list[np.ndarray[Any, Any]]:
    found = []
    for name, *shape in listed:
        insist(all(type(size) is int and size >= 0 for size in shape), "an array of a question has no shape")
        count, dtype = math.prod(shape), DTYPES[name]
        found.append(np.frombuffer(request, dtype, count, start).reshape(shape))
        start += count * dtype.itemsize
    insist(start == len(request), "a question has bytes that it does not name")
    return found


def _made(tree: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(tree, list):
        return tuple(_made(each, arrays) for each in tree)
    if not isinstance(tree, dict):
        return tree
    if set(tree) == {"array"}:
        place = tree["array"]
        insist(type(place) is int and place >= 0, "an array of a question has no place")
        return arrays[place]
    kind = KINDS[tree["kind"]]
    given = {name: _made(value, arrays) for name, value in tree.items() if name != "kind"}
    hints = _hints(kind)
    insist(set(given) == set(hints), f"{kind.__name__} has other fields than a question names")
    for name, hint in hints.items():
        insist(_fits(given[name], hint), f"{name} of {kind.__name__} is of another type")
    return kind(**given)


@cache
def _hints(kind: type) -> dict[str, Any]:
    known = typing.get_type_hints(kind)
    return {each.name: known[each.name] for each in fields(kind)}


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a field's type, exactly: no truth value is a number here, and no infinity; whole numbers
    are those of an int64.
    """
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (UnionType, typing.Union):
        return any(_fits(value, each) for each in inside)
    if origin is tuple:
        if type(value) is not tuple:
            return False
        wanted = [inside[0]] * len(value) if inside[-1] is Ellipsis else list(inside)
        return len(wanted) == len(value) and all(map(_fits, value, wanted))
    if origin is np.ndarray:
        return type(value) is np.ndarray and value.dtype == np.dtype(typing.get_args(inside[1])[0])
    if hint is float:
        return type(value) in (int, float) and math.isfinite(value)
    if hint is int:
        return type(value) is int and abs(value) < 1 << 63
    return type(value) is hint if hint in (str, NoneType) else isinstance(value, hint)
