"""Options that are the fields of a config: a frozen dataclass whose fields say in their metadata what they are for.

A field `sigma_max: float` is the option `--sigma-max`. A field that is a config itself, such as `training`, gives
`--training.steps` and so on, and `--no-training` where it may be None. A field without a help text, or of a type that
one word cannot say, is set from Python only.

`ConfigCommand` is a typer command with such options beside its own; `given` is what a verb was told by them, and
`configured` the config that they make.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from typing import Annotated, Any, get_type_hints

import typer

from sfumato.cli.verb_command import Verb
from sfumato.cli.words import alternatives, kinds, read, takes_words, wording
from sfumato.errors import ArgumentError
from sfumato.text import one_line

# Typer ships its own copy of click under a private name; this is the UsageError of whichever it raises.
UsageError: Any = typer.BadParameter.__bases__[0]
SECTIONS = "sfumato.sections"
SHOWN = 20  # options of a nested config that are listed one by one

FieldPath = tuple[str, ...]
Given = Mapping[FieldPath, Any]


@dataclass(frozen=True)
class ConfigOption:
    """One option: the fields that lead to it, what its value may be, and what is told about it."""

    path: FieldPath
    annotation: Any
    default: Any
    help: str
    unit: str = ""
    turns_off: bool = False  # `--no-training`: the whole of a nested config

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        dotted = ".".join(self.path).replace("_", "-")
        return f"--no-{dotted}" if self.turns_off else f"--{dotted}"

    @property
    def is_switch(self) -> bool:
        """Whether it takes no value."""
        return self.turns_off or self.annotation is bool

    @property
    def parameter(self) -> str:
        """Its name among the parameters of a command, where no parameter of the command itself can be."""
        return "config_" + "_".join((*self.path, "off") if self.turns_off else self.path)

    def is_inside(self, other: ConfigOption) -> bool:
        """Whether it is of a config that the other one stands for."""
        return len(self.path) > len(other.path) and self.path[: len(other.path)] == other.path

    def declared(self) -> inspect.Parameter:
        """It as a parameter of a function that typer can read."""
        names = f"{self.flag}/--no-{self.flag[2:]}" if self.is_switch and not self.turns_off else self.flag
        told = typer.Option(names, hidden=True, help=self.help)  # its section lists it
        return inspect.Parameter(
            self.parameter,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[bool | None, told] if self.is_switch else Annotated[str | None, told],
        )

    def record(self) -> tuple[str, str]:
        """Its line of help."""
        usage = self.flag if self.is_switch else f"{self.flag} <{wording(self.annotation)}>"
        unit = f" {self.unit}" if self.unit else ""
        has_default = not self.turns_off and self.default is not None and self.default is not MISSING
        default = f"  [default: {_shown(self.default)}{unit}]" if has_default else f"  [in{unit}]" if unit else ""
        return usage, f"{self.help}{default}"

    def value(self, said: Any, context: typer.Context) -> Any:
        """What was said, as the field takes it."""
        if self.turns_off:
            return None
        if isinstance(said, bool):
            return said
        try:
            return read(said, self.annotation)
        except ValueError as error:
            problem = typer.BadParameter(str(error), ctx=context, param_hint=f"'{self.flag}'")
        if takes_words(self.annotation):
            word = Unread(said)
            word.problem = problem
            return word
        raise problem


class Unread(str):
    """A word that is none of those a field takes. The config gets it and says so itself, in the words of Python."""

    problem: Exception  # what is said where the config does not mind


@dataclass(frozen=True)
class Section:
    """The options of one config, under one heading; `key` is what a verb asks for them by."""

    key: str
    heading: str
    options: tuple[ConfigOption, ...]

    def parameters(self) -> list[Any]:
        """Its options as parameters of a command."""

        def holder(**_: Any) -> None:
            """Never called: typer makes its parameters from the signature."""

        holder.__annotations__ = {}
        declared = [each.declared() for each in self.options]
        holder.__signature__ = inspect.Signature(declared)  # type: ignore[attr-defined]
        app = typer.Typer(add_completion=False)
        app.command()(holder)
        return list(typer.main.get_command(app).params)

    def taken(self, context: typer.Context) -> dict[FieldPath, Any]:
        """What was said by its options, taken out of what the verb's function is called with."""
        words = [(each, context.params.pop(each.parameter, None)) for each in self.options]
        said = [(each, word) for each, word in words if word is not None]
        for off in (each for each, _ in said if each.turns_off):
            inside = [each.flag for each, _ in said if each.is_inside(off)]
            if inside:
                raise ArgumentError(f"{off.flag} leaves nothing for {inside[0]} to say: leave out one of them")
        return {each.path: each.value(word, context) for each, word in said}

    def records(self) -> list[tuple[str, str]]:
        """Its lines of help; of a nested config with many options one line tells of all."""
        found: list[tuple[str, str]] = []
        for name in dict.fromkeys(each.path[0] for each in self.options):
            inside = [each for each in self.options if each.path[0] == name]
            many = [each for each in inside if len(each.path) > 1]
            if len(many) <= SHOWN:
                found += [each.record() for each in inside]
            else:
                about = f"{len(many)} more options, such as {many[0].flag} {_shown(many[0].default)}."
                found.append((f"--{name.replace('_', '-')}.<name> <value>", about))
        return found


class ConfigCommand(Verb):
    """A command with options of configs beside its own; which ones may depend on what it is called with."""

    def sections(self, args: Sequence[str]) -> list[Section]:
        """The sections of options that these arguments may use."""
        raise NotImplementedError

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; what the options of a config say is kept for `given`."""
        sections = self.sections(args)
        extra = [parameter for section in sections for parameter in section.parameters()]
        self._refuse_twice(extra)
        ctx.meta[SECTIONS] = sections, extra
        rest = super().parse_args(ctx, args)
        for section in sections:
            ctx.meta[section.key] = section.taken(ctx)
        return rest

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters of the command and those of its sections."""
        _, extra = ctx.meta.get(SECTIONS, ([], []))
        return [*super().get_params(ctx), *extra]

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """What a shell completes a word to: options of configs too."""
        _, extra = ctx.meta.get(SECTIONS, ([], []))
        for each in extra:
            each.hidden = False
        return list(super().shell_complete(ctx, incomplete))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the command's own options, then section by section."""
        super().format_options(ctx, formatter)
        for section in self.sections_of(ctx):
            with formatter.section(section.heading):
                formatter.write_dl(section.records())

    def sections_of(self, ctx: Any) -> list[Section]:
        """The sections of the command line that is being read."""
        sections, _ = ctx.meta.get(SECTIONS, ([], []))
        return list(sections)

    def _refuse_twice(self, extra: list[Any]) -> None:
        """An option that the command has itself would hide one of a config."""
        own = {flag for each in self.params for flag in each.opts}
        for flag in (flag for each in extra for flag in each.opts):
            if flag in own:
                raise ArgumentError(f"{flag} would mean two things: the command has an option of that name itself")


def options_of(config: type, path: FieldPath = ()) -> tuple[ConfigOption, ...]:
    """The options that a config's fields make, in their order."""
    hints = get_type_hints(config)
    found: list[ConfigOption] = []
    for each in fields(config):
        found += _options(each, hints[each.name], (*path, each.name))
    return tuple(found)


def given(context: typer.Context, key: str) -> Given:
    """What the options of a section said, by the path of the field that they are."""
    return dict(context.meta[key])


def configured(config: Any, said: Given) -> Any:
    """A config that says what was said, and else what it said before; a class stands for its defaults.

    Raises:
        ArgumentError: The config refuses what was said.
    """
    values = {path[0]: value for path, value in said.items() if len(path) == 1}
    nested: dict[str, dict[FieldPath, Any]] = {}
    for path, value in said.items():
        if len(path) > 1:
            nested.setdefault(path[0], {})[path[1:]] = value
    for name, inner in nested.items():
        values[name] = configured(_before(config, name), inner)
    try:
        made = config(**values) if isinstance(config, type) else replace(config, **values)
    except ValueError as error:  # of a mechanism of another package
        raise ArgumentError(one_line(str(error))) from error
    for value in values.values():
        if isinstance(value, Unread):
            raise value.problem
    return made


def _options(field: Field[Any], annotation: Any, path: FieldPath) -> list[ConfigOption]:
    about = field.metadata.get("help")
    if about is None:
        return []
    told = {"default": _default(field), "help": about, "unit": field.metadata.get("unit", "")}
    nested = _nested(annotation)
    if nested is not None:
        may_be_off = type(None) in alternatives(annotation)
        told |= {"unit": "", "help": f"Leave out: {about[:1].lower()}{about[1:]}"}
        off = [ConfigOption(path, None, turns_off=True, **told)] if may_be_off else []
        return [*off, *options_of(nested, path)]
    return [ConfigOption(path, annotation, **told)] if kinds(annotation) else []


def _nested(annotation: Any) -> type | None:
    """The config that a field is, where it is one."""
    return next((each for each in alternatives(annotation) if isinstance(each, type) and is_dataclass(each)), None)


def _before(config: Any, name: str) -> Any:
    """The nested config to change: the value before, or the class where there is none."""
    if not isinstance(config, type):
        before = getattr(config, name)
    else:
        before = _default(next(each for each in fields(config) if each.name == name))
    if before is None or before is MISSING:
        return _nested(get_type_hints(config if isinstance(config, type) else type(config))[name])
    return before


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return ",".join(map(_shown, value)) if isinstance(value, tuple) else str(value)
