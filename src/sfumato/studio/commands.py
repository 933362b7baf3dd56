"""The command of each step, as words: what the page shows is what runs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sfumato.cli.verbs.schema import FLAGS
from sfumato.studio.entered import written
from sfumato.studio.work import Choice, Work


def shown(words: Sequence[str]) -> str:
    r"""A command as it is typed into a shell; letters that cannot be seen are spelt out, so that to paste it is safe.

    >>> print(shown(["sfumato", "check", "a b.csv", "it's\x03.csv"]))
    sfumato check 'a b.csv' $'it\'s\x03.csv'
    """
    return " ".join(shlex.quote(word) if word.isprintable() else f"$'{''.join(map(_spelt, word))}'" for word in words)


def option(flag: str, value: Any) -> list[str]:
    """An option with its value; one that could be taken for an option itself is tied to it.

    >>> option("label", "ill"), option("label", "-x"), option("quoted_breaks", True), option("rows", None)
    (['--label', 'ill'], ['--label=-x'], ['--quoted-breaks'], [])
    """
    name = f"--{flag.replace('_', '-')}"
    if value is None or value is False or value == "":
        return []
    if value is True:
        return [name]
    text = written(value) if isinstance(value, float) else str(value)
    return [f"{name}={text}"] if text.startswith("-") else [name, text]


def options(given: Mapping[str, Any]) -> list[str]:
    """Several options, a list for one that is given several times."""
    return [
        word
        for flag, value in given.items()
        for each in (value if isinstance(value, list | tuple) else [value])
        for word in option(flag, each)
    ]


def opening(work: Work) -> list[str]:
    """How the table is opened."""
    return options({FLAGS.get(name, name): value for name, value in work.opening.items()})


def schema(work: Work, output: str, given: Mapping[str, Any]) -> list[str]:
    """Draft a schema."""
    return ["sfumato", "schema", work.table, *opening(work), *options(given), "-o", output]


def confirm(work: Work, kinds: Iterable[str] = ()) -> list[str]:
    """Confirm it, some kinds of facts at once."""
    return ["sfumato", "confirm", work.schema, *option("accept", ",".join(kinds))]


def check(work: Work, output: str = "") -> list[str]:
    """See what of the table it cannot read."""
    proposal = ["-o", output] if output else []
    return ["sfumato", "check", work.table, *opening(work), "--schema", work.schema, *proposal]


def plan(work: Work, choice: Choice) -> list[str]:
    """What a fit would ask and mean."""
    found = {} if choice.wishes else {"epsilon": choice.epsilon}
    return ["sfumato", "plan", work.schema, *options({**found, **choice.wishes}), *_terms(choice)]


def ledger(place: str, dataset: str = "") -> list[str]:
    """What was spent."""
    return ["sfumato", "ledger", place, *option("dataset", dataset)]


def ledger_open(place: str, name: str, epsilon: float, delta: float, adjacency: str, unit: str | None) -> list[str]:
    """Enter a data set, with its cap."""
    given = {"open": name, "epsilon": epsilon, "delta": delta, "adjacency": adjacency, "unit": unit}
    return ["sfumato", "ledger", place, *options(given)]


def fit(work: Work, choice: Choice, output: str, notes: Mapping[str, str]) -> list[str]:
    """Release the table."""
    counted = {} if work.ledger is None else dict(zip(("ledger", "dataset"), work.ledger, strict=True)) | dict(notes)
    start = ["sfumato", "fit", work.table, *opening(work), "--schema", work.schema]
    return [*start, *option("epsilon", choice.epsilon), *_terms(choice), *options(counted), "-o", output]


def report(work: Work, output: str, given: Mapping[str, str]) -> list[str]:
    """Show the release to everybody."""
    return ["sfumato", "report", work.release, *options(given), "-o", output]


def evaluate(work: Work, output: str, given: Mapping[str, Any]) -> list[str]:
    """Compare it with real rows."""
    return [
        "sfumato",
        "evaluate",
        work.release,
        "--train",
        work.table,
        *opening(work),
        *options(given),
        "--html",
        output,
    ]


def sample(work: Work, output: str) -> list[str]:
    """Draw rows of it."""
    return ["sfumato", "sample", work.release, "-n", "1000", "-o", output]


def ask(work: Work, question: str, words: Sequence[str], given: Mapping[str, str]) -> list[str]:
    """Ask it for a number."""
    last = ["--", *words] if any(word.startswith("-") for word in words) else list(words)
    return ["sfumato", "ask", work.release, *options(given), question, *last]


def _spelt(letter: str) -> str:
    """A letter between $' and ', as bash reads it."""
    if letter.isprintable():
        return f"\\{letter}" if letter in "\\'" else letter
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(letter))


def _terms(choice: Choice) -> list[str]:
    """What a plan and a fit have in common; what is usual is left out."""
    usual = Choice()
    said = {name: getattr(choice, name) for name in ("mechanism", "adjacency")}
    unusual = {name: value for name, value in said.items() if value != getattr(usual, name)}
    return options({"delta": choice.delta, "rows": choice.rows} | unusual)
