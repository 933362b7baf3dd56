"""`sfumato train`: train a generator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.asked import settings_of
from sfumato.cli.interrupts import unfinished
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Architecture, Depth, Divergence, Json, Rate, Steps, TrainSeed, Width
from sfumato.cli.progress import tell_training, working
from sfumato.cli.releases import release_data
from sfumato.errors import ArgumentError


def train(
    release: Annotated[Path, typer.Argument(help="A release of mechanism slicing.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where to write the trained release; in place without a word.")
    ] = None,
    steps: Steps = None,
    rate: Rate = None,
    architecture: Architecture = None,
    width: Width = None,
    depth: Depth = None,
    divergence: Divergence = None,
    train_seed: TrainSeed = None,
    warm: Annotated[bool, typer.Option("--warm", help="Begin with the weights that the release has.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a training that was interrupted.")] = False,
    as_json: Json = False,
) -> None:
    """Train a generator on what a release bought. Costs no privacy, however often."""
    from sfumato.api import load
    from sfumato.files import check_writable
    from sfumato.release.generator import GeneratorRelease

    made = load(release)
    if not isinstance(made, GeneratorRelease):
        raise ArgumentError(f"{release} is a release of mechanism {made.mechanism}: there is nothing to train in it")
    place = release if output is None else output
    check_writable(place)
    settings = settings_of(steps, rate, architecture, width, depth, divergence, train_seed)
    with working("training"), unfinished(place):
        done = made.train(settings, warm=warm, resume=resume, checkpoint=place, on_step=tell_training)
    if as_json:
        print_json({"output": str(place)} | release_data(done))
    else:
        print(f"wrote {place}: training {done.progress.number} on what was bought\n{done.guarantee}")
