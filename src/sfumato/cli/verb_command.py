"""What every verb is: a command whose refusals name its options as they are typed, and the app that is made of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand

from sfumato.errors import ArgumentError, MissingExtraError

# An argument at the beginning of a message: `epsilon must be ...`, `given: ...`, `ledger and dataset belong together`.
ONE_ARGUMENT = re.compile(r"[a-z_]+(?=: | (?:must|lies?|is for|needs|kept|=|') ?)")
SEVERAL_ARGUMENTS = re.compile(r"(?:[a-z_]+, )*[a-z_]+ and [a-z_]+(?= (?:are two|belong)\b)")
ARGUMENT_SET = re.compile(r"\b([a-z_]+)='([\w.-]+)'")  # adapt='labels'
ARGUMENT = re.compile(r"[a-z_]+(?= and |, |$)")


class Verb(TyperCommand):
    """A command. What it refuses speaks of `--epsilon` where Python speaks of `epsilon`."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the command line."""
        with named_by_option(self.params):
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        with named_by_option(self.get_params(ctx)):
            return super().invoke(ctx)


class Verbs(typer.Typer):
    """An app whose commands are verbs, but where it is told another class of them."""

    def command(self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **options: Any) -> Any:
        """Register a function as a command."""
        return super().command(name, cls=cls or Verb, **options)


@contextmanager
def named_by_option(parameters: Iterable[Any]) -> Iterator[None]:
    """Let refusals name options as they are typed."""
    try:
        yield
    except (ArgumentError, MissingExtraError) as error:
        flags = {flag for each in parameters for flag in getattr(each, "opts", ()) if flag.startswith("--")}
        raise type(error)(by_option(str(error), flags)) from error


def by_option(message: str, flags: Collection[str]) -> str:
    """A message with the arguments that it speaks of as options.

    Args:
        message: What Python says.
        flags: The options of the command.

    Returns:
        The same, where arguments that stand first, or are set to a text, are options of the command.

    Example:
        >>> by_option("epsilon must be above 0, not 0.0", {"--epsilon"})
        '--epsilon must be above 0, not 0.0'
        >>> by_option("alpha is for what is adapted; say adapt='labels'", {"--alpha", "--adapt"})
        '--alpha is for what is adapted; say --adapt labels'
        >>> by_option("ledger and dataset belong together", {"--ledger", "--dataset"})
        '--ledger and --dataset belong together'
    """

    def flag(name: str) -> str | None:
        typed = name.replace("_", "-")
        found = [each for each in flags if each == f"--{typed}" or each.endswith(f".{typed}")]
        return f"--{typed}" if f"--{typed}" in found else found[0] if len(found) == 1 else None

    def first(found: re.Match[str]) -> str:
        names = [flag(name) for name in ARGUMENT.findall(found[0])]
        return found[0] if None in names else ARGUMENT.sub(lambda each: flag(each[0]) or "", found[0])

    def setting(found: re.Match[str]) -> str:
        option = flag(found[1])
        return found[0] if option is None else f"{option} {found[2]}"

    for start in (SEVERAL_ARGUMENTS, ONE_ARGUMENT):
        if match := start.match(message):
            message = first(match) + message[match.end() :]
            break
    return ARGUMENT_SET.sub(setting, message)


def completing(*known: str) -> Callable[[str], list[str]]:
    """What a shell completes a word to."""
    return lambda incomplete: [word for word in known if word.startswith(incomplete)]
