"""`sfumato plan`: what a fit would ask."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.asked import asked_of
from sfumato.cli.output import print_json
from sfumato.cli.parameters import (
    Adapt,
    Adjacency,
    Alpha,
    Calibration,
    Components,
    Delta,
    Encode,
    Form,
    Json,
    Mechanism,
    Rows,
    SigmaMax,
    SliceCount,
    SliceDim,
)
from sfumato.errors import ArgumentError

if TYPE_CHECKING:
    from sfumato.mechanisms.plan import Plan, Round
    from sfumato.mechanisms.slices import SlicePlan


def plan(
    schema: Annotated[Path, typer.Argument(help="The schema: YAML or JSON.")],
    epsilon: Annotated[str, typer.Option(help="One epsilon, or several to compare: 0.5,1,2")],
    delta: Delta,
    mechanism: Mechanism = "mixture",
    rows: Rows = None,
    adjacency: Adjacency = "add-remove",
    components: Components = None,
    adapt: Adapt = None,
    sigma_max: SigmaMax = None,
    alpha: Alpha = None,
    form: Form = None,
    slices: SliceCount = None,
    slice_dim: SliceDim = None,
    calibration: Calibration = None,
    encoding: Encode = "scores",
    plot: Annotated[Path | None, typer.Option(help="Draw expected KL over epsilon into this PNG file.")] = None,
    as_json: Json = False,
) -> None:
    """Show what a fit would ask and how much it would lose. Touches no data."""
    from sfumato.api import plan as make

    sliced = form, slices, slice_dim, calibration
    asked = asked_of(mechanism, adjacency, encoding, rows, components, adapt, sigma_max, alpha, *sliced)
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
        "epsilon": made.epsilon,
        "delta": made.delta,
        "mu": made.mu,
        "adjacency": str(made.adjacency),
        "rows": made.rows,
        "classes": made.classes,
        "columns": made.columns,
        "cells": made.cells,
        "components": made.components or "auto",
        "rounds": [vars(each) for each in made.rounds],
        "moment_shares": dict(zip(("counts", "means", "covariances"), made.moment_shares, strict=True)),
        "cell_sd": made.cell_sd,
        "slicing": None if made.slicing is None else _slicing_data(made.slicing),
        "expected_kl": made.expected_kl and made.expected_kl | {"total": sum(made.expected_kl.values())},
    }


def _slicing_data(made: SlicePlan) -> dict[str, Any]:
    return vars(made) | {"slices": [vars(each) for each in made.slices], "asks": str(made)}


def _print_plans(plans: list[Plan]) -> None:
    first = plans[0]
    print(f"{first.columns} columns in {first.cells} cells, {first.classes} classes, a guess of {first.rows} rows")
    print(f"adjacency {first.adjacency}, delta {first.delta:g}\n")
    rows: list[tuple[str, list[str]]] = [
        ("epsilon", [f"{p.epsilon:g}" for p in plans]),
        ("mu (Gaussian DP)", [f"{p.mu:.5f}" for p in plans]),
    ]
    purposes = {_kind(each): each.purpose for p in plans for each in p.rounds}
    for name in purposes:
        shares = [sum(each.share for each in p.rounds if _kind(each) == name) for p in plans]
        rows.append((f"share of {name}", [f"{share:.0%}" if share else "-" for share in shares]))
    if first.slicing is None:
        rows.append(("Gaussians a class", [str(p.components or "auto") for p in plans]))
    elif first.slicing.noise is not None:
        noise = [p.slicing.noise or 0.0 for p in plans if p.slicing is not None]
        rows.append(("noise on a number of a row", [f"{sigma:.3g}" for sigma in noise]))
    if first.encoding != "projected":
        rows.append(("noise on a histogram cell (rows)", [f"{p.cell_sd:.1f}" for p in plans]))
    rows += [(f"expected KL, {part}", [f"{p.expected_kl[part]:.2g}" for p in plans]) for part in first.expected_kl]
    if first.expected_kl:
        rows.append(("expected KL, total", [f"{sum(p.expected_kl.values()):.2g}" for p in plans]))
    for name, cells in rows:
        print(f"{name:<34}" + "".join(f"{cell:>12}" for cell in cells))
    for name, purpose in purposes.items():
        print(f"\n{name}: {purpose}", end="")
    if first.slicing is not None:
        print(f"\nslices: {first.slicing}", end="")
    if first.expected_kl:
        parts = " / ".join(f"{share:.0%}" for share in first.moment_shares)
        print(f"\nof each look at the moments, counts / means / covariances get {parts}", end="")
    about = "KL is the loss in nats a row against the same model without noise. " if first.expected_kl else ""
    print(f"\n\n{about}No data was touched.")


def _kind(each: Round) -> str:
    """What a round is called beside others: steps towards the labels, of which there may be many, go together."""
    return "labels" if each.name.startswith("labels ") else each.name
