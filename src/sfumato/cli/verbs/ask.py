"""`sfumato ask`: numbers from a release, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.output import print_json
from sfumato.cli.parameters import Json
from sfumato.cli.verb_command import completing
from sfumato.errors import ArgumentError
from sfumato.text import one_line

if TYPE_CHECKING:
    from sfumato.asking import Estimate, Estimates
    from sfumato.release.release import Release

OF_ROWS = ", of rows that count, "  # in an estimand: what comes before is the question
QUESTIONS = {  # what follows each, and which options it takes
    "count": ((), ("where",)),
    "share": ((), ("by", "where", "among")),
    "mean": (("column",), ("by", "where")),
    "quantile": (("column", "q"), ("where",)),
    "table": (("column", "column"), ()),
    "correlation": (("column", "column"), ()),
    "regress": (("formula",), ("kind",)),
}


def ask(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    question: Annotated[
        str,
        typer.Argument(
            help="count, share, mean, quantile, table, correlation or regress.", autocompletion=completing(*QUESTIONS)
        ),
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(help="A column (mean), a column and a number (quantile), two columns, or 'hours ~ age + sex'."),
    ] = None,
    by: Annotated[str | None, typer.Option(help="A column whose values are groups: mean hours --by sex.")] = None,
    where: Annotated[str | None, typer.Option(help="Only rows like this: --where 'age > 40'.")] = None,
    among: Annotated[
        str | None,
        typer.Option(help="Of a share: of the rows like this: share --where \"ill == 'yes'\" --among 'age > 80'."),
    ] = None,
    kind: Annotated[str | None, typer.Option(help="Of a regression: linear (the default) or logistic.")] = None,
    level: Annotated[float, typer.Option(help="How often intervals hold the number.")] = 0.95,
    about: Annotated[
        str, typer.Option(help="table: with noise alone; population: with that of sampling rows, too.")
    ] = "table",
    as_json: Json = False,
) -> None:
    """Ask for a number, with the interval that the noise leaves it. Costs no privacy, however often.

    sfumato ask r.sfumato mean hours --by sex --where 'age > 40'
    """
    given = {"by": by, "where": where, "among": among, "kind": kind}
    taken = arguments(question, words or [], given)
    from sfumato.api import load

    told = {name: value for name, value in given.items() if value is not None}
    found = answer(load(release), question, taken, told | {"level": level, "about": about})
    if as_json:
        print_json({"question": question, "words": words or [], **told, "answer": found.data()})
    else:
        print("\n".join(told_lines(found, by)))


def arguments(question: str, words: Sequence[str], given: Mapping[str, str | None]) -> list[Any]:
    """The words of a question, as its arguments."""
    if question not in QUESTIONS:
        raise ArgumentError(f"a question is one of {', '.join(QUESTIONS)}, not {question!r}")
    wanted, options = QUESTIONS[question]
    if len(words) != len(wanted):
        told = " ".join(["sfumato ask RELEASE", question, *wanted])
        raise ArgumentError(f"{question} takes {_number(len(wanted))}: {told}")
    wrong = [name for name, value in given.items() if value is not None and name not in options]
    if wrong:
        raise ArgumentError(f"{question} takes no --{wrong[0]}{_instead(question, wrong[0], given)}")
    if question == "share" and given.get("where") is None:
        raise ArgumentError("a share is of the rows for which something holds: give it by --where")
    return [_number_of(word) if name == "q" else word for name, word in zip(wanted, words, strict=True)]


def _instead(question: str, option: str, given: Mapping[str, str | None]) -> str:
    """What asks about groups, where a question takes none."""
    if option != "by" or question not in ("count", "quantile"):
        return ""
    column = given["by"]
    one = f"{question} ... --where \"{column} == '...'\" asks about one group"
    return f": {one}" + (f", `table {column} OTHER` counts all groups of two columns" if question != "quantile" else "")


def _number(count: int) -> str:
    return ("no words", "one word", "two words")[count]


def _number_of(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ArgumentError(f"a quantile lies between 0 and 1, like 0.5 for the median, not at {word!r}") from None


def answer(made: Release, question: str, taken: list[Any], options: Mapping[str, Any]) -> Estimate | Estimates:
    """What a release answers."""
    found: Estimate | Estimates = getattr(made, question)(*taken, **options)
    return found


def told_lines(found: Estimate | Estimates, by: str | None = None) -> list[str]:
    """What was asked, the number with its interval, and what both are about.

    Args:
        found: The answer.
        by: The column whose values are groups, if there is one.

    Returns:
        Lines for a screen.
    """
    from sfumato.asking import Estimate
    from sfumato.asking.estimate import TOO_NOISY, WHY_TOO_NOISY

    first = found if isinstance(found, Estimate) else next(iter(found), None)
    if first is None:
        return [str(found)]
    subject, _, read = first.estimand.partition(OF_ROWS)
    if isinstance(found, Estimate):
        lines = [f"{subject}: {found.shown()}"]
    else:
        lines = [subject if by is None else f"{subject}, by {one_line(by)}", *str(found).splitlines()[1:]]
    if first.interval is not None:
        whose = "the table" if first.about == "table" else "the population"
        lines.append(f"  {100 * first.level:g} of 100 such intervals hold the number of {whose} itself, without noise")
    if any(each.is_too_noisy for each in ([found] if isinstance(found, Estimate) else found)):
        lines.append(f"  {TOO_NOISY}: {WHY_TOO_NOISY}")
    lines += [f"  of rows that count, {read}"] if read else []
    return lines + ([f"  from {', '.join(first.rests_on)}"] if first.rests_on else [])
