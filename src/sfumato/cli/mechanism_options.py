"""The options of the mechanism that a command line chooses: the fields of its config, found in the registry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from sfumato.cli.entry_notes import note_section
from sfumato.cli.opening import table_section
from sfumato.cli.options import ConfigCommand, Section, UsageError, configured, given, options_of
from sfumato.cli.reaching import reach_section
from sfumato.cli.wish_options import refuse_repeats, wish_section
from sfumato.errors import ArgumentError

KEY = "mechanism"
FLAG = "--mechanism"
DEFAULT = "mixture"


class MechanismCommand(ConfigCommand):
    """A command that takes a mechanism by its name, and then the options of that one."""

    def sections(self, args: Sequence[str]) -> list[Section]:
        """The options of the mechanism. Help without a name imports none of them."""
        name = named(args)
        if name is None and "--help" in args:
            return []
        return [_section(DEFAULT if name is None else name)]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; an option that the mechanism does not have is named with those that do."""
        name = DEFAULT if (said := named(args)) is None else said
        try:
            rest = super().parse_args(ctx, args)
        except UsageError as error:
            flag = getattr(error, "option_name", "")
            if not hasattr(error, "possibilities") or not flag.startswith("--"):
                raise
            owners = [each for each in _registry().names() if each != name and flag in _flags(each)]
            if not owners:
                raise UsageError(f"{error.format_message()}; {_has(name)}", ctx) from None
            raise ArgumentError(f"{flag} is for mechanism {' or '.join(owners)}; {_has(name)}") from None
        if ctx.params.get(KEY) != name:  # the word after another option that takes one, such as --dataset
            raise ArgumentError(f"{FLAG} cannot be the value of another option; write --option={FLAG}")
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the help of all options, or how to see those of a mechanism."""
        super().format_options(ctx, formatter)
        if KEY not in {section.key for section in self.sections_of(ctx)}:
            with formatter.section("Options of the mechanism"):
                formatter.write_text(f"`{ctx.command_path} {FLAG} NAME --help` shows those of one.")


class FitCommand(MechanismCommand):
    """A command that takes a mechanism and a table, and that a ledger may count."""

    def sections(self, args: Sequence[str]) -> list[Section]:
        """The options of the mechanism, of the table, of a server and of the ledger's entry."""
        return [*super().sections(args), table_section(), reach_section(), note_section()]


class PlanCommand(MechanismCommand):
    """A command that takes a mechanism, and wishes."""

    def sections(self, args: Sequence[str]) -> list[Section]:
        """The options of the mechanism, and what is wished for."""
        refuse_repeats(args)
        return [*super().sections(args), wish_section()]


def chosen(context: typer.Context, name: str) -> Any:
    """The config that the command line makes of the mechanism of this name."""
    return configured(_registry().kind(name), given(context, KEY))


def named(args: Sequence[str]) -> str | None:
    """The mechanism that the arguments name, before they are read; the last one, if several."""
    found = None
    for i, word in enumerate(args):
        if word == "--":
            break
        if word == FLAG and i + 1 < len(args):
            found = args[i + 1]
        elif word.startswith(f"{FLAG}="):
            found = word.removeprefix(f"{FLAG}=")
    return found


def _section(name: str) -> Section:
    return Section(KEY, f"Options of {name}", options_of(_registry().kind(name)))


def _registry() -> Any:
    from sfumato import mechanisms

    return mechanisms


def _flags(name: str) -> list[str]:
    """The options of a mechanism; none of one that cannot be loaded."""
    try:
        return [each.flag for each in _section(name).options]
    except ArgumentError:
        return []


def _has(name: str) -> str:
    """What a mechanism has instead, in a few words: of a config inside its config only the name."""
    flags = dict.fromkeys(flag if "." not in flag else f"{flag.partition('.')[0]}.<name>" for flag in _flags(name))
    return f"{name} has {', '.join(flags)}" if flags else f"{name} has no options"
