"""`sfumato inspect`: what a release holds."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.output import print_json
from sfumato.cli.parameters import Json
from sfumato.cli.releases import followed_tables, release_data, worth_lines
from sfumato.reporting.promise import promise
from sfumato.reporting.spent_for import spent_for
from sfumato.text import one_line, rounded_up

if TYPE_CHECKING:
    from sfumato.guarantee import Guarantee
    from sfumato.release.release import Release

TOLD_WIDTH = 96
SHOWN_TABLES = 8
INDENT = " " * len("Guarantee  ")


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
    guarantee = made.guarantee
    print(f"A {made.mechanism} release ({made.encoding} encoding) of {len(made.schema.columns)} columns.\n")
    print(f"Guarantee  {guarantee}")
    scope = f" It {_scope(guarantee)}." if guarantee.secure else ""
    told = promise(guarantee, shows_rows=_shows_rows(made)) + scope
    print(fill(told, TOLD_WIDTH, initial_indent=INDENT, subsequent_indent=INDENT, break_long_words=False))
    for line in worth_lines(made):
        print(f"\nWorth      {line}")
    print("\nWhat was asked of the rows, with noise (docs/mechanisms.md has more on each):")
    _print_spends(guarantee)
    for slices in guarantee.slices:
        noise = slices.sigma / slices.distance
        print(f"  {'every row':<16} {slices.projections} projections, noise {noise:.3g} times the largest change")
    _print_generator(made)
    _print_tables(made)
    _print_unread(made)
    if made.schema.label is not None:
        print(f"\nClasses of {one_line(made.schema.label)}:")
        labeller = getattr(made.model, "labeller", None)
        if labeller is not None:
            print(f"  ({1.0 - labeller.alpha:.0%} of the labels are drawn from a logistic model)")
        for name, weight in zip(made.layout.class_names(), made.class_weights, strict=True):
            print(f"  {one_line(str(name)):<16} {weight:6.1%}")
    print("\nColumns:")
    grouped = made.schema.grouped
    for name, column in made.schema.columns.items():
        if name not in grouped:
            print(f"  {one_line(name):<16} {column.type}{', derived' if column.derived is not None else ''}")
    for name, group in made.schema.groups.items():
        print(f"  {one_line(name):<16} a group of {len(group.names)} numbers, projection {group.projection}")
    if made.schema.constraints:
        print("\nRules that every row keeps:")
        print("\n".join(f"  {one_line(rule)}" for rule in made.schema.constraints))


def _print_spends(guarantee: Guarantee) -> None:
    """What each question cost; of a merged release part by part."""
    if guarantee.joint is None:
        for spend in guarantee.spends:
            print(f"  {one_line(spend.name):<16} mu {rounded_up(spend.mu, 5):<10} {spent_for(spend.name)}".rstrip())
        return
    for number, part in enumerate(guarantee.joint.parts, start=1):
        spent = ", ".join(f"{one_line(spend.name)} mu {rounded_up(spend.mu, 5)}" for spend in part.guarantee.spends)
        print(f"  release {number}, of people {part.people + 1}: {spent}")


def _print_tables(made: Release) -> None:
    tables = followed_tables(made)
    if not tables:
        return
    print("\nTables of columns that rows follow, chosen by noisy answers:")
    for table in tables[:SHOWN_TABLES]:
        print(f"  {' x '.join(map(one_line, table))}")
    if len(tables) > SHOWN_TABLES:
        print(f"  and {len(tables) - SHOWN_TABLES} more (--json has all)")


def _print_unread(made: Release) -> None:
    from sfumato.release.unread import unread_lines

    told = unread_lines(made.unread)
    if told:
        print("\nCells that the schema could not read, from the noisy answers:")
    for line in told:
        print(f"  {line}")


def _print_generator(made: Release) -> None:
    from sfumato.models import GeneratorModel

    if not isinstance(made.model, GeneratorModel):
        return
    progress = made.model.progress
    print(f"\nBought once: {made.model.bought}.")
    if progress.number == 0:
        print("Not trained yet: rows come from a Gaussian for each class. `sfumato train` trains it, for free.")
        return
    loss = "" if progress.loss is None else f", loss {progress.loss:.3f}"
    state = "over" if progress.finished else "interrupted: `sfumato train --resume` goes on"
    print(
        f"Training {progress.number} on it is {state}, after {progress.step} of at most {progress.settings.steps} "
        f"steps{loss}.\nTraining sees no rows: however many there are, the guarantee stays what it is."
    )


def _scope(guarantee: Guarantee) -> str:
    return guarantee.scope if guarantee.entry is None else f"is {guarantee.scope}"


def _shows_rows(made: Release) -> bool:
    """Whether every row was released with noise of its own."""
    from sfumato.models.bought import BoughtRows

    return isinstance(getattr(made.model, "bought", None), BoughtRows)
