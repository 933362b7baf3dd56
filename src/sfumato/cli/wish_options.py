"""The options by which `sfumato plan` is told wishes, and how their words are read: numbers have a decimal point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.errors import ArgumentError

if TYPE_CHECKING:
    from sfumato.planning.wishes import Wishes

MaxAdvantage = Annotated[
    str | None, typer.Option(help="Find epsilon: the best attacker's advantage at the most, such as 0.1.")
]
TprAt = Annotated[
    str | None,
    typer.Option(metavar="FALSE=TRUE", help="Find epsilon: true positives at the most at false alarms: 0.01=0.05."),
]
CountWithin = Annotated[
    str | None, typer.Option(help="Find epsilon: half-width of a 95 % interval for the rows of any bin or category.")
]
MeanWithin = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=WIDTH", help="Find epsilon: the same for the mean of a column, in its own units."),
]
Guess = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=MEAN", help="A public guess at the mean of a column; its middle without."),
]
PeriodCount = Annotated[
    int | None, typer.Option("--periods", help="What people pay if such a release is made in so many periods.")
]
Stays = Annotated[
    int | None, typer.Option(help="In how many of the --periods one person is, at the most; in all without.")
]


def wishes_of(
    max_advantage: str | None,
    tpr_at: str | None,
    count_within: str | None,
    mean: Sequence[str] | None,
    guesses: Mapping[str, float],
) -> Wishes | None:
    """The wishes that options tell; None where they tell none."""
    from sfumato.planning.wishes import Wishes

    if not any((max_advantage, tpr_at, count_within, mean)):
        return None
    return Wishes(
        max_advantage=None if max_advantage is None else number("--max-advantage", max_advantage),
        tpr_at=None if tpr_at is None else _pair("--tpr-at", tpr_at),
        count_within=None if count_within is None else number("--count-within", count_within),
        mean=named_numbers("--mean", mean),
        guesses=guesses,
    )


def number(option: str, text: str) -> float:
    """A number, with the line that a decimal comma needs.

    >>> number("--max-advantage", "0.1")
    0.1
    """
    try:
        return float(text)
    except ValueError:
        hint = f"; write {text.replace(',', '.')}" if _is_number(text.replace(",", ".")) else ""
        raise ArgumentError(f"{option} must be a number with a decimal point, not {text!r}{hint}") from None


def named_numbers(option: str, words: Sequence[str] | None) -> dict[str, float]:
    """Numbers by column, from words like age=0.5; the column's name may have an equals sign itself.

    >>> named_numbers("--mean", ["age=0.5", "a=b=1"])
    {'age': 0.5, 'a=b': 1.0}
    """
    found: dict[str, float] = {}
    for word in words or ():
        name, equals, text = word.rpartition("=")
        if not equals or not name:
            raise ArgumentError(f"{option} takes COLUMN=NUMBER, such as age=0.5, not {word!r}")
        if name in found:
            raise ArgumentError(f"{option} names {name!r} twice")
        found[name] = number(f"{option} {name}=", text)
    return found


def _pair(option: str, word: str) -> tuple[float, float]:
    false, equals, true = word.partition("=")
    if not equals:
        raise ArgumentError(f"{option} takes FALSE=TRUE, such as 0.01=0.05, not {word!r}")
    return number(option, false), number(option, true)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
