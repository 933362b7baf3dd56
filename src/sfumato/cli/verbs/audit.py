"""`sfumato audit`: attack a mechanism."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.claim import claim_name
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Delta, Json, Replace
from sfumato.cli.progress import counted, working
from sfumato.errors import ArgumentError, SfumatoError

CRASHED = 3


def audit(
    name: Annotated[str | None, typer.Argument(help="Which audit; --list shows them.")] = None,
    epsilon: Annotated[float, typer.Option(help="The epsilon that the mechanism claims.")] = 1.0,
    delta: Delta = 1e-5,
    trials: Annotated[int, typer.Option(help="Runs on each of the two tables. More show more.")] = 2000,
    adjacency: Annotated[
        str | None, typer.Option(help="Which neighbours: add-remove, replace-one or label; the audit's own by default.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="How sure the lower bounds are to hold.")] = 0.95,
    plot: Annotated[Path | None, typer.Option(help="Draw the attacks against the claim into this PNG file.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the audits and stop.")] = False,
    replace_file: Replace = False,
    as_json: Json = False,
) -> None:
    """Attack a mechanism, and bound its epsilon from below.

    It is run many times on two neighbouring tables of its own; no table of yours is read.

    Exit code 1 where a lower bound exceeds the claim: the guarantee does not hold.
    """
    from sfumato.audit.run import AUDITS, run

    if listed:
        _print_audits({key: each.about for key, each in AUDITS.items()}, as_json)
        return
    if name is None:
        raise ArgumentError("which audit? sfumato audit --list shows them")
    if plot is not None:
        claim_name(plot, replace_file)
    with working(f"auditing {name}") as reach, _crash_is_no_verdict():
        further = counted(reach, 1.0)
        verdict = run(
            name,
            epsilon=epsilon,
            delta=delta,
            trials=trials,
            adjacency=adjacency,
            confidence=confidence,
            advance=lambda done, total: further(done / total),
        )
    if plot is not None:
        from sfumato.audit.game_plot import draw

        draw(verdict, plot)
    if as_json:
        print_json(verdict.data())
    else:
        print(verdict.table())
    if verdict.violation:
        raise typer.Exit(1)


@contextmanager
def _crash_is_no_verdict() -> Iterator[None]:
    """Python leaves a program that crashed with exit code 1, which here says that a guarantee is broken."""
    try:
        yield
    except SfumatoError:
        raise
    except Exception as error:
        import traceback

        traceback.print_exc()
        raise typer.Exit(CRASHED) from error


def _print_audits(audits: dict[str, str], as_json: bool) -> None:
    if as_json:
        print_json(audits)
        return
    for name, about in audits.items():
        print(f"{name:<20}{about}")
