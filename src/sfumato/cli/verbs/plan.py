"""`sfumato plan`: what a fit would ask."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.mechanism_options import chosen
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Adjacency, Delta, Json, Mechanism, Rows
from sfumato.errors import ArgumentError

if TYPE_CHECKING:
    from sfumato.mechanisms import Plan

NAME_WIDTH = 34
CELL_WIDTH = 12


def plan(
    context: typer.Context,
    schema: Annotated[Path, typer.Argument(help="The schema: YAML or JSON.")],
    epsilon: Annotated[str, typer.Option(help="One epsilon, or several to compare: 0.5,1,2")],
    delta: Delta,
    mechanism: Mechanism = "mixture",
    rows: Rows = None,
    adjacency: Adjacency = "add-remove",
    plot: Annotated[Path | None, typer.Option(help="Draw expected KL over epsilon into this PNG file.")] = None,
    as_json: Json = False,
) -> None:
    """Show what a fit would ask and how much it would lose. Touches no data."""
    from sfumato.api import plan as make

    asked: dict[str, Any] = {"mechanism": chosen(context, mechanism), "adjacency": adjacency, "rows": rows}
    plans = [make(schema, epsilon=value, delta=delta, **asked) for value in _epsilons(epsilon)]
    if plot is not None:
        from sfumato.mechanisms.plan_plot import draw_plans, sweep

        draw_plans([make(schema, epsilon=value, delta=delta, **asked) for value in sweep(plans)], plans, plot)
    if as_json:
        print_json([_plan_data(each) for each in plans])
    else:
        _print_plans(plans)


def _epsilons(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ArgumentError(f"epsilon must be a number, or several with commas between, not {text!r}") from None


def _plan_data(made: Plan) -> dict[str, Any]:
    return {
        "mechanism": made.mechanism,
        "encoding": made.encoding,
        "epsilon": made.epsilon,
        "delta": made.delta,
        "mu": made.mu,
        "adjacency": str(made.adjacency),
        "rows": made.rows,
        "classes": made.classes,
        "columns": made.columns,
        "cells": made.cells,
        "rounds": [{"title": each.title} | vars(each) for each in made.rounds],
        "slices": [vars(each) for each in made.slices],
        "notes": dict(made.notes),
        "expected_kl": made.expected_kl and {**made.expected_kl, "total": sum(made.expected_kl.values())},
    }


def _print_plans(plans: list[Plan]) -> None:
    first = plans[0]
    print(f"{first.columns} columns in {first.cells} cells, {first.classes} classes, a guess of {first.rows} rows")
    print(f"adjacency {first.adjacency}, delta {first.delta:g}\n")
    for name, cells in _table(plans):
        print(f"{name:<{NAME_WIDTH}}" + "".join(f"{cell:>{CELL_WIDTH}}" for cell in cells))
    for name, purpose in _purposes(plans).items():
        print(f"\n{name}: {purpose}", end="")
    for name, note in first.notes.items():
        if not _fits(note):
            print(f"\n{name}: {note}", end="")
    about = "KL is the loss in nats a row against the same model without noise. " if first.expected_kl else ""
    print(f"\n\n{about}No data was touched.")


def _table(plans: list[Plan]) -> list[tuple[str, list[str]]]:
    """What the plans are compared by: one line a number, one column a plan."""
    first = plans[0]
    lines = [("epsilon", [f"{p.epsilon:g}" for p in plans]), ("mu (Gaussian DP)", [f"{p.mu:.5f}" for p in plans])]
    for name in _purposes(plans):
        shares = [sum(each.share for each in p.repeats(name)) for p in plans]
        lines.append((f"share of {name}", [f"{share:.0%}" if share else "-" for share in shares]))
    noted = [name for name, note in first.notes.items() if _fits(note)]
    lines += [(name, [_number(p.notes.get(name, "-")) for p in plans]) for name in noted]
    lines += [(f"expected KL, {part}", [f"{p.expected_kl[part]:.2g}" for p in plans]) for part in first.expected_kl]
    if first.expected_kl:
        lines.append(("expected KL, total", [f"{sum(p.expected_kl.values()):.2g}" for p in plans]))
    return lines


def _purposes(plans: list[Plan]) -> dict[str, str]:
    """What each kind of round is for; rounds that repeat go together."""
    return {each.name: each.purpose for p in plans for each in p.rounds}


def _fits(note: str | int | float) -> bool:
    """Whether a note goes into a column of the table."""
    return len(_number(note)) < CELL_WIDTH


def _number(note: str | int | float) -> str:
    return f"{note:.3g}" if isinstance(note, float) else str(note)
