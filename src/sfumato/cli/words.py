"""A word of the command line as a value: what a type's annotation allows, how it is read, and how that is told."""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

NO = ("no", "false")
SWITCH = {"yes": True, "true": True} | dict.fromkeys(NO, False)
NONE = "none"
PLAIN = {int: ("int", "a whole number"), float: ("float", "a number"), str: ("str", "a text")}


def alternatives(annotation: Any) -> list[Any]:
    """The types that a union is of; the type itself where it is none."""
    if get_origin(annotation) is Annotated:
        return alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [each for part in get_args(annotation) for each in alternatives(part)]
    return [annotation]


def kinds(annotation: Any) -> list[Any]:
    """The alternatives that one word can say, a value to be read as the first that takes it."""
    ranked = [(rank, each) for each in alternatives(annotation) if (rank := _rank(each)) is not None]
    return [each for _, each in sorted(ranked, key=lambda pair: pair[0])]


def read(word: str, annotation: Any) -> Any:
    """The value that a word says.

    Raises:
        ValueError: It is none that the annotation allows; the message says which would be.
    """
    for kind in kinds(annotation):
        try:
            return _as(word, kind)
        except (ValueError, KeyError):
            continue
    if _none(annotation) and word in (NONE, *NO):
        return None
    raise ValueError(f"must be {_or([_told(each) for each in kinds(annotation)] + _none(annotation))}, not {word!r}")


def takes_words(annotation: Any) -> bool:
    """Whether some words are values, so that another one is a wrong word and not a wrong kind of value."""
    literals = [each for each in alternatives(annotation) if get_origin(each) is Literal]
    return any(isinstance(value, str) for each in literals for value in get_args(each))


def wording(annotation: Any) -> str:
    """What may stand for a value, in the help."""
    return "|".join([_sign(each) for each in kinds(annotation)] + _none(annotation))


def _rank(kind: Any) -> int | None:
    """The order in which readings are tried, the narrowest first; None for a type that no word can say."""
    if get_origin(kind) is Literal:
        return 0
    if get_origin(kind) is tuple:
        parts = [each for each in get_args(kind) if each is not Ellipsis]
        return 4 if parts and all(each in (int, float) for each in parts) else None
    return {bool: 1, int: 2, float: 3, str: 5}.get(kind)


def _as(word: str, kind: Any) -> Any:
    if get_origin(kind) is Literal:
        return {str(value): value for value in get_args(kind)}[word]
    if get_origin(kind) is tuple:
        return _numbers(word.split(","), get_args(kind))
    if kind is bool:
        return SWITCH[word]
    return kind(word)


def _numbers(words: list[str], parts: tuple[Any, ...]) -> tuple[Any, ...]:
    wanted = [parts[0]] * len(words) if parts[-1] is Ellipsis else list(parts)
    if len(wanted) != len(words):
        raise ValueError
    return tuple(kind(word) for kind, word in zip(wanted, words, strict=True))


def _sign(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    if get_origin(kind) is tuple:
        return ",".join("..." if each is Ellipsis else PLAIN[each][0] for each in get_args(kind))
    return "yes|no" if kind is bool else PLAIN[kind][0]


def _told(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return _or(list(map(str, get_args(kind))))
    if get_origin(kind) is tuple:
        parts = get_args(kind)
        return "numbers with commas between" if parts[-1] is Ellipsis else f"{len(parts)} numbers with commas between"
    return "yes or no" if kind is bool else PLAIN[kind][1]


def _none(annotation: Any) -> list[str]:
    """The word for no value; where any text is a value, there is none."""
    found = alternatives(annotation)
    return [NONE] if type(None) in found and str not in found else []


def _or(choices: list[str]) -> str:
    *first, last = choices
    return f"{', '.join(first)} or {last}" if first else last
