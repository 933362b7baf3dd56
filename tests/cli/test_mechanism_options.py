"""The options of the mechanism that a command line names, from a registry that stands in for the library's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import pytest
import typer

from sfumato import mechanisms
from sfumato.cli.mechanism_options import MechanismCommand, chosen, named
from sfumato.cli.options import UsageError
from sfumato.config import option
from sfumato.errors import ArgumentError


@dataclass(frozen=True)
class Plain:
    name: ClassVar[str] = "mixture"
    components: int | Literal["auto"] = option("auto", help="Gaussians a class.")
    encoding: str = option("scores", help="How columns become numbers.")


@dataclass(frozen=True)
class Steps:
    steps: int = option(600, help="Steps, at most.")


@dataclass(frozen=True)
class Sliced:
    name: ClassVar[str] = "sliced"
    form: Literal["central", "rows"] = option("central", help="What is asked for.")
    training: Steps | None = option(Steps(), help="Train later.")


@dataclass(frozen=True)
class Bare:
    name: ClassVar[str] = "bare"


KINDS: dict[str, type] = {"mixture": Plain, "sliced": Sliced, "bare": Bare}


def kind(name: str) -> type:
    if name not in KINDS:
        raise ArgumentError(f"mechanism must be one of {', '.join(KINDS)}, not {name!r}")
    return KINDS[name]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """A command line, to the mechanism that it chooses."""
    monkeypatch.setattr(mechanisms, "names", lambda: (*KINDS, "broken"), raising=False)
    monkeypatch.setattr(mechanisms, "kind", kind, raising=False)

    def call(line: str) -> Any:
        seen: list[Any] = []
        app = typer.Typer(add_completion=False, rich_markup_mode=None)

        @app.command(cls=MechanismCommand)
        def fit(
            context: typer.Context,
            data: str,
            mechanism: str = "mixture",
            dataset: Annotated[str | None, typer.Option()] = None,
        ) -> None:
            seen.append(chosen(context, mechanism))

        app(line.split(), prog_name="sfumato fit", standalone_mode=False)
        return seen[0] if seen else capsys.readouterr().out

    return call


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ("t", Plain()),
        ("t --components 8", Plain(components=8)),
        ("--components 8 t --mechanism mixture", Plain(components=8)),
        ("t --form rows --mechanism sliced", Sliced(form="rows")),
        ("t --mechanism=sliced --training.steps 3", Sliced(training=Steps(3))),
        ("t --mechanism sliced --no-training", Sliced(training=None)),
        ("t --mechanism sliced --mechanism mixture --components 2", Plain(components=2)),
        ("t --mechanism bare", Bare()),
    ],
)
def test_a_line_chooses_a_mechanism(line: str, made: Any, run: Any) -> None:
    assert run(line) == made


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("t --form rows", "--form is for mechanism sliced; mixture has --components, --encoding"),
        (
            "t --mechanism sliced --components 3",
            "--components is for mechanism mixture; sliced has --form, --no-training, --training.<name>",
        ),
        (
            "t --mechanism sliced --no-training --training.steps 3",
            "--no-training leaves nothing for --training.steps to say: leave out one of them",
        ),
        ("t --mechanism bare --form rows", "--form is for mechanism sliced; bare has no options"),
        ("t --mechanism magic", "--mechanism must be one of mixture, sliced, bare, not 'magic'"),
        ("t --mechanism magic --help", "--mechanism must be one of mixture, sliced, bare, not 'magic'"),
        (
            "--dataset --mechanism sliced",
            "--mechanism cannot be the value of another option; write --option=--mechanism",
        ),
    ],
)
def test_refusals(line: str, said: str, run: Any) -> None:
    with pytest.raises(ArgumentError) as refused:
        run(line)
    assert str(refused.value) == said


@pytest.mark.parametrize("line", ["t --seed 3", "t -x", "t --mechanism"])
def test_what_no_mechanism_has_is_said_as_ever(line: str, run: Any) -> None:
    with pytest.raises(UsageError):
        run(line)


def test_help_is_of_the_mechanism_that_is_named(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run("--mechanism sliced --help")
    assert "Options of sliced:" in shown
    assert "--form <central|rows>" in shown
    assert "--components" not in shown

    def loaded(name: str) -> type:
        raise AssertionError(name)

    monkeypatch.setattr(mechanisms, "kind", loaded)
    shown = run("--help")
    assert "Options of the mechanism:\n  `sfumato fit --mechanism NAME --help` shows those of one.\n" in shown


def test_named() -> None:
    assert named(["a", "--mechanism", "x", "--mechanism=y"]) == "y"
    assert named(["a", "--", "--mechanism", "x"]) is None
    assert named(["--mechanism"]) is None
