"""`sfumato plan`: what a fit would ask."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.claim import claim_name
from sfumato.cli.mechanism_options import chosen
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Adjacency, Delta, Json, Mechanism, Replace, Rows
from sfumato.cli.releases import promise_lines
from sfumato.cli.wish_options import wanted
from sfumato.errors import ArgumentError
from sfumato.text import one_line, rounded_up

if TYPE_CHECKING:
    from sfumato.mechanisms import Plan
    from sfumato.planning.outlook import Outlook
    from sfumato.planning.periods import Periods
    from sfumato.planning.wishes import EpsilonRange, Wishes

NAME_WIDTH = 34
CELL_WIDTH = 12


def plan(
    context: typer.Context,
    schema: Annotated[Path, typer.Argument(help="The schema: YAML or JSON.")],
    delta: Delta,
    epsilon: Annotated[
        str | None, typer.Option(help="One epsilon, or several to compare: 0.5,1,2. Or wishes, as below.")
    ] = None,
    mechanism: Mechanism = "mixture",
    rows: Rows = None,
    adjacency: Adjacency = "add-remove",
    plot: Annotated[Path | None, typer.Option(help="Draw expected KL over epsilon into this PNG file.")] = None,
    replace_file: Replace = False,
    details: Annotated[bool, typer.Option("--details", help="Show too how the budget is divided, and why.")] = False,
    as_json: Json = False,
) -> None:
    """Show what a fit would cost, and how good it would be. Touches no data.

    Its cost is what it would tell of one person; how good it would be, how sure its numbers are.

    Without --epsilon, wishes (--max-advantage, --tpr-at, --count-within, --mean) are solved for it.
    """
    from sfumato.api import plan as make
    from sfumato.planning.outlook import outlook
    from sfumato.planning.periods import Periods
    from sfumato.planning.wide_means import what_helps
    from sfumato.planning.wishes import epsilon_for
    from sfumato.schema.schema import Schema

    if plot is not None:
        claim_name(plot, replace_file)
    known = Schema.load(schema)
    asks = wanted(context)
    guesses, wishes = asks.guesses, asks.wishes
    asked: dict[str, Any] = {"mechanism": chosen(context, mechanism), "adjacency": adjacency, "rows": rows}
    values = _epsilons(epsilon, wishes)
    solved = None if wishes is None else epsilon_for(known, wishes, delta=delta, **asked)
    plans = [make(known, epsilon=e, delta=delta, **asked) for e in (values if solved is None else [solved.epsilon])]
    outlooks = [outlook(each, guesses, asks.spreads) for each in plans]

    def replan(changed: Schema) -> Plan:
        return make(changed, epsilon=plans[0].epsilon, delta=delta, **asked)

    over = [None if asks.periods is None else Periods.of(each, asks.periods, asks.stays) for each in plans]
    if plot is not None:
        from sfumato.mechanisms.plan_plot import draw_plans, sweep

        draw_plans([make(known, epsilon=value, delta=delta, **asked) for value in sweep(plans)], plans, plot)
    if as_json:
        print_json([_plan_data(*each, solved) for each in zip(plans, outlooks, over, strict=True)])
        return
    if solved is not None:
        print(f"{solved} (at {plans[0].rows} rows{'' if rows else ', a guess: give --rows'})\n")
    _print_plans(plans, outlooks, known.label, details)
    if len(plans) == 1 and (helps := what_helps(known, outlooks[0].widths, replan)):
        print("\n" + "\n".join(helps))
    if told := dict.fromkeys(line for each in over if each is not None for line in each.lines()):
        print("\n" + "\n".join(told))
    print("\n".join(["", *promise_lines(plans[0]), "No data was touched."]))


def _epsilons(text: str | None, wishes: Wishes | None) -> list[float]:
    """The epsilons that are named; none where wishes are to find one."""
    if text is None and wishes is None:
        raise ArgumentError(
            "give --epsilon, or wishes that it is found by: --max-advantage, --tpr-at, --count-within, --mean"
        )
    if text is None:
        return []
    if wishes is not None:
        raise ArgumentError("wishes are there to find epsilon: leave out --epsilon, or the wishes")
    parts = text.split(",")
    if len(parts) == 2 and parts[0].strip() == "0":  # 0,5
        raise ArgumentError(f"--epsilon {text} reads as {parts[0]} and {parts[1]}: write {text.replace(',', '.')}")
    try:
        return [float(part) for part in parts]
    except ValueError:
        raise ArgumentError(f"epsilon must be a number, or several with commas between, not {text!r}") from None


def _plan_data(made: Plan, meant: Outlook, over: Periods | None, solved: EpsilonRange | None) -> dict[str, Any]:
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
        **meant.data(),
        "periods": over and over.data(),
        "wishes": solved and vars(solved),
    }


def _print_plans(plans: list[Plan], outlooks: list[Outlook], label: str | None, details: bool) -> None:
    first = plans[0]
    print(f"{first.columns} columns in {first.cells} cells{_label(first, label)}, a guess of {first.rows} rows")
    print(f"adjacency {first.adjacency}, delta {first.delta:g}\n")
    _print_table([*_budget(plans), *_meaning(outlooks)])
    if details:
        _print_details(plans)
    else:
        print("(--details: how the budget is divided)")
    for each in outlooks:
        print("\n" + "\n".join(each.lines() if len(plans) == 1 else [f"epsilon {each.risk.epsilon:g}: {each.verdict}"]))


def _print_table(lines: list[tuple[str, list[str]]]) -> None:
    for name, cells in lines:
        print(f"{name:<{NAME_WIDTH}}" + "".join(f"{cell:>{CELL_WIDTH}}" for cell in cells))


def _print_details(plans: list[Plan]) -> None:
    """How the budget is divided, and what each part of it is for."""
    first = plans[0]
    print()
    _print_table(_division(plans))
    long = {name: note for name, note in first.notes.items() if not _fits(note)}
    for name, purpose in (_purposes(plans) | long).items():
        print(f"\n{name}: {purpose}", end="")
    print()
    if first.expected_kl:
        print("\nKL is the loss in nats a row against the same model without noise.")


def _label(made: Plan, label: str | None) -> str:
    """What becomes of the label: every column is counted for each of its classes, or it is a column like others."""
    if label is None:
        return ""
    if made.layout.label is None:
        return f" (the label {one_line(label)} is one of them)"
    return f" for each of the {made.classes} classes of {one_line(label)}"


def _meaning(outlooks: list[Outlook]) -> list[tuple[str, list[str]]]:
    """What the plans mean for people and for whoever uses the release; of one alone, columns have a table below."""
    cells = [each.cells() for each in outlooks]
    if len(outlooks) > 1:
        for told, each in zip(cells, outlooks, strict=True):
            verdict = {"fit for": told.pop("fit for")} if "fit for" in told else {}
            told |= {f"the mean of {name}, ±": width for name, width in each.means().items()} | verdict
    return [(name, [each.get(name, "-") for each in cells]) for name in cells[0]]


def _budget(plans: list[Plan]) -> list[tuple[str, list[str]]]:
    """What the plans would spend: one line a number, one column a plan."""
    return [("epsilon", [f"{p.epsilon:g}" for p in plans]), ("mu (Gaussian DP)", [rounded_up(p.mu, 5) for p in plans])]


def _division(plans: list[Plan]) -> list[tuple[str, list[str]]]:
    """On what the plans would spend it, and what would be lost."""
    first = plans[0]
    lines = []
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
