"""Options from the fields of a config, on a command of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import pytest
import typer

from sfumato.cli.options import ConfigCommand, Section, UsageError, configured, given, options_of
from sfumato.config import option
from sfumato.errors import ArgumentError


@dataclass(frozen=True)
class Deep:
    edge: float = option(1.5, help="Where noise ends.")


@dataclass(frozen=True)
class Inner:
    steps: int = option(600, help="Steps, at most.")
    rate: float = option(3e-3, help="Where the rate begins.")
    deep: Deep = option(Deep(), help="What was tuned.")


@dataclass(frozen=True)
class Config:
    name: ClassVar[str] = "toy"
    components: int | Literal["auto"] = option("auto", help="Gaussians a class.")
    sigma_max: float = option(0.1, help="The noise of a point.", unit="latent sd")
    adapt: Literal["labels", "points"] | None = option("labels", help="What is adapted.")
    floor: int | None = option(None, help="Rows, at least.", unit="rows")
    careful: bool = option(False, help="Whether to take care.")
    shares: tuple[float, float] = option((0.25, 0.75), help="Of two rounds.", unit="of mu^2")
    inner: Inner | None = option(Inner(), help="The inner part.")
    secret: int = 3
    odd: dict[str, int] = field(default_factory=dict, metadata={"help": "No word can say it."})

    def __post_init__(self) -> None:
        if isinstance(self.components, str) and self.components != "auto":
            raise ArgumentError(f"components must be a number or 'auto', not {self.components!r}")
        if self.sigma_max <= 0:
            raise ArgumentError(f"sigma_max must be above 0, not {self.sigma_max}")
        if self.shares == (0.0, 0.0):
            raise ValueError("no\nshares")


class Command(ConfigCommand):
    def sections(self, args: Sequence[str]) -> list[Section]:
        return [Section("toy", "Options of toy", options_of(Config))]


Run = Any


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """A command line, to the config that it makes."""

    def call(line: str, kind: type[ConfigCommand] = Command) -> Any:
        seen: list[Any] = []
        app = typer.Typer(add_completion=False, rich_markup_mode=None)

        @app.command(cls=kind)
        def verb(
            context: typer.Context, data: str, rows: Annotated[int | None, typer.Option(help="A guess.")] = None
        ) -> None:
            seen.append((data, rows, configured(Config, given(context, "toy"))))

        app(line.split(), standalone_mode=False)
        return seen[0] if seen else capsys.readouterr().out

    return call


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("", Config()),
        ("--components 8", Config(components=8)),
        ("--components=auto --sigma-max 0.5", Config(sigma_max=0.5)),
        ("--adapt points", Config(adapt="points")),
        ("--adapt no", Config(adapt=None)),
        ("--careful", Config(careful=True)),
        ("--no-careful", Config(careful=False)),
        ("--shares 0.5,0.5", Config(shares=(0.5, 0.5))),
        ("--inner.steps 5", Config(inner=Inner(steps=5))),
        ("--inner.steps 5 --inner.deep.edge 2", Config(inner=Inner(steps=5, deep=Deep(2.0)))),
        ("--no-inner", Config(inner=None)),
        ("--components 8 --components 9", Config(components=9)),
    ],
)
def test_a_line_makes_a_config(line: str, made: Config, run: Run) -> None:
    assert run(f"table.csv {line} --rows 7") == ("table.csv", 7, made)
    assert run(f"{line} --rows 7 table.csv") == ("table.csv", 7, made)  # wherever the options stand


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--inner.steps x", "Invalid value for '--inner.steps': must be a whole number, not 'x'"),
        ("--adapt both", "Invalid value for '--adapt': must be labels or points or none, not 'both'"),
        ("--secret 3", "No such option: --secret"),
        ("--odd 3", "No such option: --odd"),
        ("--components", "Option '--components' requires an argument."),
    ],
)
def test_what_no_config_can_be_made_of(line: str, said: str, run: Run) -> None:
    with pytest.raises(UsageError) as refused:
        run(f"table.csv {line}")
    assert refused.value.format_message().startswith(said)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--components many", "--components must be a number or 'auto', not 'many'"),
        ("--sigma-max 0", "--sigma-max must be above 0, not 0.0"),
        ("--shares 0,0", "no shares"),
        (
            "--inner.deep.edge 3 --no-inner",
            "--no-inner leaves nothing for --inner.deep.edge to say: leave out one of them",
        ),
        ("--no-inner --inner.steps 3", "--no-inner leaves nothing for --inner.steps to say: leave out one of them"),
    ],
)
def test_what_a_config_refuses(line: str, said: str, run: Run) -> None:
    with pytest.raises(ArgumentError) as refused:
        run(f"table.csv {line}")
    assert str(refused.value) == said


def test_help_has_a_section(run: Run) -> None:
    shown = run("--help")
    own, section = shown.split("Options of toy:")
    assert "--rows" in own
    assert "--components" not in own
    lines = " ".join(section.split())
    assert "--components <auto|int> Gaussians a class. [default: auto]" in lines
    assert "--sigma-max <float> The noise of a point. [default: 0.1 latent sd]" in lines
    assert "--shares <float,float> Of two rounds. [default: 0.25,0.75 of mu^2]" in lines
    assert "--floor <int|none> Rows, at least. [in rows]" in lines
    assert "--careful Whether to take care. [default: no]" in lines
    assert "--no-inner Leave out: the inner part. --inner.steps <int> Steps, at most. [default: 600]" in lines
    assert "--inner.deep.edge <float> Where noise ends. [default: 1.5]" in lines
    assert "secret" not in shown
    assert "odd" not in shown


def test_many_options_of_a_nested_config_are_told_in_one_line() -> None:
    numbers = {f"n{i}": option(i, help="A number.") for i in range(25)}
    tuned = dataclass(frozen=True)(type("Tuned", (), {"__annotations__": dict.fromkeys(numbers, int), **numbers}))
    body = {"__annotations__": {"tuning": tuned}, "tuning": option(tuned(), help="Tuned.")}
    config = dataclass(frozen=True)(type("Wide", (), body))
    section = Section("wide", "", options_of(config))
    assert len(section.options) == 25
    (usage, about) = section.records()[0]
    assert usage == "--tuning.<name> <value>"
    assert about == "25 more options, such as --tuning.n0 0."
    assert len(section.records()) == 1


def test_an_option_that_the_command_has_itself_is_refused(run: Run) -> None:
    @dataclass(frozen=True)
    class Rows:
        rows: Annotated[int, "of another kind"] = option(3, help="Hidden by the command's own.")

    class Twice(ConfigCommand):
        def sections(self, args: Sequence[str]) -> list[Section]:
            return [Section("toy", "", options_of(Rows))]

    with pytest.raises(ArgumentError, match="--rows would mean two things"):
        run("table.csv", Twice)
