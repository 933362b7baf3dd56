"""The options by which `sfumato plan` is told wishes and periods, and how their words are read.

Numbers have a decimal point: a comma stands between several columns, and the message for 0,5 says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from sfumato.cli.options import Section, configured, given, options_of
from sfumato.config import option
from sfumato.errors import ArgumentError

if TYPE_CHECKING:
    from sfumato.planning.wishes import Wishes

KEY = "wishes"
NAMED = ("--mean", "--guess", "--spread")  # take numbers by column


@dataclass(frozen=True)
class Wanted:
    """What a plan is to keep to, and over which time, as it was typed."""

    max_advantage: str | None = option(None, help="Find epsilon: the best attacker's advantage at the most, like 0.1.")
    tpr_at: str | None = option(None, help="Find epsilon: true positives at the most at false alarms, like 0.01=0.05.")
    count_within: str | None = option(
        None, help="Find epsilon: half-width of the 95 % interval of the rows in any bin or category, like 200."
    )
    mean: str | None = option(
        None, help="Find epsilon: half-widths of means in their own units, like age=0.5 or age=0.5,hours=1."
    )
    guess: str | None = option(None, help="Public guesses at means, like age=40; the middle of the bins without.")
    spread: str | None = option(
        None, help="Public guesses at standard deviations, like age=18, for correlations where a layout settles tables."
    )
    periods: int | None = option(None, help="Say what people pay if such a release is made in so many periods.")
    stays: int | None = option(None, help="In how many of the periods one person is at the most; in all without.")

    @property
    def guesses(self) -> dict[str, float]:
        """Guesses at means, by column."""
        return named_numbers("--guess", self.guess)

    @property
    def spreads(self) -> dict[str, float]:
        """Guesses at standard deviations, by column."""
        return named_numbers("--spread", self.spread)

    @property
    def wishes(self) -> Wishes | None:
        """What epsilon is to be found by; None where nothing is wished for."""
        from sfumato.planning.wishes import Wishes

        if (self.max_advantage, self.tpr_at, self.count_within, self.mean) == (None,) * 4:
            return None
        return Wishes(
            max_advantage=None if self.max_advantage is None else number("--max-advantage", self.max_advantage),
            tpr_at=None if self.tpr_at is None else _rates("--tpr-at", self.tpr_at),
            count_within=None if self.count_within is None else number("--count-within", self.count_within),
            mean=named_numbers("--mean", self.mean),
            guesses=self.guesses,
        )


def wish_section() -> Section:
    """The options, under their heading."""
    return Section(KEY, "Wishes, and time", options_of(Wanted))


def refuse_repeats(args: Sequence[str]) -> None:
    """Refuse a wish that is given twice: only the last would count.

    Raises:
        ArgumentError: One is.
    """
    for flag in (each.flag for each in options_of(Wanted)):
        if sum(word == flag or word.startswith(f"{flag}=") for word in args) > 1:
            several = f"; several columns have commas between: {flag} age=0.5,hours=1" if flag in NAMED else ""
            raise ArgumentError(f"{flag} is given twice{several or ', and only one would count'}")


def wanted(context: typer.Context) -> Wanted:
    """What the command line wants of a plan."""
    found: Wanted = configured(Wanted, given(context, KEY))
    if found.stays is not None and found.periods is None:
        raise ArgumentError("--stays belongs to --periods")
    return found


def number(name: str, text: str) -> float:
    """A number, with the line that a decimal comma needs.

    >>> number("--max-advantage", "0.1")
    0.1
    """
    try:
        return float(text)
    except ValueError:
        pointed = text.replace(",", ".", 1)
        hint = f"; write {pointed}" if pointed != text and _is_number(pointed) else ""
        raise ArgumentError(f"{name} must be a number with a decimal point, not {text!r}{hint}") from None


def named_numbers(name: str, text: str | None) -> dict[str, float]:
    """Numbers by column; the column's name may have an equals sign itself.

    >>> named_numbers("--mean", "age=0.5,a=b=1")
    {'age': 0.5, 'a=b': 1.0}
    """
    found: dict[str, float] = {}
    for part in _parts(text or ""):
        column, equals, word = part.rpartition("=")
        if not equals or not column:
            raise ArgumentError(f"{name} takes COLUMN=NUMBER, such as age=0.5, not {part!r}")
        if column in found:
            raise ArgumentError(f"{name} names {column!r} twice")
        found[column] = number(f"{name} {column}", word)
    return found


def _parts(text: str) -> list[str]:
    """What stands between commas; digits alone are what follows a decimal comma."""
    parts: list[str] = []
    for part in text.split(",") if text else ():
        if parts and part.isdigit():
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts


def _rates(name: str, word: str) -> tuple[float, float]:
    false, equals, true = word.partition("=")
    if not equals:
        raise ArgumentError(f"{name} takes FALSE=TRUE, such as 0.01=0.05, not {word!r}")
    return number(name, false), number(name, true)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
