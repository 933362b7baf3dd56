"""`sfumato train`: train a generator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.claim import Claim
from sfumato.cli.interrupts import unfinished
from sfumato.cli.options import ConfigCommand, Section, configured, given, options_of
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Json, Replace
from sfumato.cli.progress import training, working
from sfumato.cli.releases import release_data
from sfumato.errors import ArgumentError
from sfumato.training.settings import Training

KEY = "training"


class TrainCommand(ConfigCommand):
    """Its own options and the fields of `sf.Training`."""

    def sections(self, args: Sequence[str]) -> list[Section]:
        """The settings of a training."""
        return [Section(KEY, "Options of the training", options_of(Training))]


def train(
    context: typer.Context,
    release: Annotated[Path, typer.Argument(help="A release of mechanism slicing.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where to write the trained release; in place by default.")
    ] = None,
    warm: Annotated[bool, typer.Option("--warm", help="Begin with the weights that the release has.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a training that was interrupted.")] = False,
    replace_file: Replace = False,
    as_json: Json = False,
) -> None:
    """Train a generator on what a release bought. Costs no privacy, however often."""
    from sfumato.api import load
    from sfumato.files import real_path
    from sfumato.models import GeneratorModel

    made = load(release)
    if not isinstance(made.model, GeneratorModel):
        raise ArgumentError(f"{release} is a release of mechanism {made.mechanism}: there is nothing to train in it")
    place = release if output is None else output
    claim = Claim(place, replace=replace_file or real_path(place) == real_path(release))
    said = given(context, KEY)
    settings = configured(Training, said) if said else None
    with working("training") as reach, unfinished(claim):
        done = made.train(settings, warm=warm, resume=resume, checkpoint=place, on_step=training(reach))
    if as_json:
        print_json({"output": str(place)} | release_data(done))
    else:
        assert isinstance(done.model, GeneratorModel)
        print(f"wrote {place}: training {done.model.progress.number} on what was bought\n{done.guarantee}")
