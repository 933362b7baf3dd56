"""`sfumato inspect`: what a release holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.output import print_json
from sfumato.cli.parameters import Json
from sfumato.cli.releases import release_data
from sfumato.text import one_line

if TYPE_CHECKING:
    from sfumato.release.release import Guarantee, Release


def inspect(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    as_json: Json = False,
) -> None:
    """Say what a release holds and what it promises."""
    from sfumato.api import load

    made = load(release)
    if as_json:
        print_json(release_data(made))
    else:
        _print_release(made)


def _print_release(made: Release) -> None:
    promise = made.guarantee
    print(f"A {made.mechanism} release ({made.encoding} encoding) of {len(made.schema.columns)} columns.\n")
    print(f"Guarantee  {promise}")
    if promise.secure:
        print(
            "           Whoever reads this file learns almost the same whether or not "
            f"any one {one_line(promise.unit)} was in\n"
            "           the table: no conclusion about it gets more than "
            f"exp({promise.epsilon:g}) times likelier,\n"
            f"           except with probability {promise.delta:.3g}. It {_scope(promise)}."
        )
    print("\nWhat was asked of the rows, with noise:")
    for spend in promise.spends:
        print(f"  {one_line(spend.name):<16} mu {spend.mu:.4f}")
    for slices in promise.slices:
        noise = slices.sigma / slices.distance
        print(f"  {'every row':<16} {slices.projections} projections, noise {noise:.3g} times the largest change")
    _print_generator(made)
    if made.schema.label is not None:
        print(f"\nClasses of {one_line(made.schema.label)}:")
        labeller = getattr(made, "labeller", None)
        if labeller is not None:
            print(f"  ({1.0 - labeller.alpha:.0%} of the labels are drawn from a logistic model)")
        for name, weight in zip(made.layout.class_names(), made.class_weights, strict=True):
            print(f"  {one_line(str(name)):<16} {weight:6.1%}")
    print("\nColumns:")
    grouped = made.schema.grouped
    for name, column in made.schema.columns.items():
        if name not in grouped:
            print(f"  {one_line(name):<16} {column.type}")
    for name, group in made.schema.groups.items():
        print(f"  {one_line(name):<16} a group of {len(group.names)} numbers, projection {group.projection}")


def _print_generator(made: Release) -> None:
    from sfumato.release.generator import GeneratorRelease

    if not isinstance(made, GeneratorRelease):
        return
    progress = made.progress
    print(f"\nBought once: {made.bought}.")
    if progress.number == 0:
        print("Not trained yet: rows come from a Gaussian for each class. `sfumato train` trains it, for free.")
        return
    loss = "" if progress.loss is None else f", loss {progress.loss:.3f}"
    state = "over" if progress.finished else "interrupted: `sfumato train --resume` goes on"
    print(
        f"Training {progress.number} on it is {state}, after {progress.step} of at most {progress.settings.steps} "
        f"steps{loss}.\nTraining sees no rows: however many there are, the guarantee stays what it is."
    )


def _scope(promise: Guarantee) -> str:
    return promise.scope if promise.entry is None else f"is {promise.scope}"
