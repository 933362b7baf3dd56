"""`sfumato ledger`: what was spent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.interrupts import interruptible
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Json
from sfumato.errors import ArgumentError

if TYPE_CHECKING:
    from sfumato.ledger.account import Account, Dataset


def ledger(
    place: Annotated[str, typer.Argument(metavar="ledger", help="The ledger: a file, or a PostgreSQL URL.")],
    dataset: Annotated[str | None, typer.Option(help="Show this data set only.")] = None,
    open_name: Annotated[
        str | None, typer.Option("--open", metavar="NAME", help="Enter a data set. Its cap is final.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="The cap of a data set to --open.")] = None,
    delta: Annotated[float | None, typer.Option(help="The cap of a data set to --open.")] = None,
    adjacency: Annotated[str | None, typer.Option(help="In which its cost is counted: add-remove by default.")] = None,
    unit: Annotated[
        str | None, typer.Option(help="The column that says whose privacy is meant; a row without.")
    ] = None,
    give_back: Annotated[
        str | None, typer.Option(metavar="ID", help="Return an entry that is `reserved` and whose process is gone.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what was spent on each data set, and what is left.

    Or open a data set (--open), or return what was set aside and never drawn (--give-back).
    """
    from sfumato.ledger.ledger import Ledger

    _check_ledger_options(open_name, give_back, dataset, {"epsilon": epsilon, "delta": delta}, adjacency or unit)
    found = Ledger(place)
    may_have_changed = interruptible(found, "the ledger may have been changed")
    if open_name is not None and epsilon is not None and delta is not None:
        with may_have_changed:
            opened = found.open(open_name, epsilon, delta, adjacency or "add-remove", unit or "row")
        if as_json:
            print_json({"ledger": found.place, "opened": _cap_data(opened)})
        else:
            print(f"opened {opened.name} in {found.place}: {opened}")
    elif give_back is not None:
        with may_have_changed:
            found.give_back(give_back)
        if as_json:
            print_json({"ledger": found.place, "returned": give_back})
        else:
            print(f"returned {give_back}: it no longer counts")
    else:
        accounts = found.accounts(dataset)
        if as_json:
            print_json({"ledger": found.place, "datasets": [_account_data(account) for account in accounts]})
        else:
            _print_accounts(accounts)


def _check_ledger_options(
    name: str | None, give_back: str | None, shown: str | None, cap: dict[str, float | None], more: str | None
) -> None:
    """One thing at a time, with all that it needs."""
    if sum(value is not None for value in (name, give_back, shown)) > 1:
        raise ArgumentError("give one of --open, --give-back and --dataset")
    if name is None and (more is not None or any(value is not None for value in cap.values())):
        raise ArgumentError("epsilon, delta, adjacency and unit belong to --open NAME")
    if name is not None and any(value is None for value in cap.values()):
        raise ArgumentError("--open needs the cap of the data set: --epsilon E --delta D")


def _cap_data(dataset: Dataset) -> dict[str, Any]:
    return vars(dataset) | {"mu": dataset.mu}


def _account_data(account: Account) -> dict[str, Any]:
    running = account.running()
    entries = [
        {**vars(entry), "descriptor": json.loads(entry.descriptor), "who": entry.who, "why": entry.why}
        | {"total_epsilon": _finite(total)}
        for entry, total in zip(account.entries, running, strict=True)
    ]
    return _cap_data(account.dataset) | {
        "spent": {"mu": account.mu, "epsilon": _finite(account.epsilon), "chance": account.chance},
        "left": {"mu": account.left(), "epsilon": account.left_epsilon},
        "over": bool(account.over),
        "entries": entries,
    }


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None  # JSON has no infinity


def _print_accounts(accounts: list[Account]) -> None:
    for i, account in enumerate(accounts):
        if i:
            print()
        _print_account(account)


def _print_account(account: Account) -> None:
    from sfumato.text import rounded_down, rounded_up

    cap = account.dataset
    print(f"{cap.name}: {cap}")
    print(f"  cap    mu {rounded_up(cap.mu, 5):<10} epsilon {cap.epsilon:g} at delta {cap.delta:g}")
    print(f"  spent  mu {rounded_up(account.mu, 5):<10} epsilon {rounded_up(account.epsilon)}")
    if account.chance:
        print(f"         with bounds on noisy projections of every row, which fail with chance {account.chance:.2g}")
    print(f"  left   mu {rounded_down(account.left(), 5):<10} epsilon {account.left_epsilon:g}")
    if account.over:
        print(f"  {account.over}")
    if not account.entries:
        return
    print(f"  {'time (UTC)':<20}{'entry':<34}{'mechanism':<11}{'state':<10}{'epsilon':>8}{'delta':>9}{'mu':>10}  total")
    for entry, total in zip(account.entries, account.running(), strict=True):
        # Returned entries stay in the table, with nothing charged.
        charged = rounded_up(entry.charged_mu, 4) if entry.counts else "-"
        print(
            f"  {entry.time.removesuffix('+00:00'):<20}{entry.id:<34}{entry.mechanism:<11}{entry.state:<10}"
            f"{entry.epsilon:>8.3g}{entry.delta:>9.2g}{charged:>10}  {_bar(total / cap.epsilon)} {rounded_up(total)}"
        )
        for name, note in (("who", entry.who), ("why", entry.why)):
            if note is not None:
                print(f"    {name}: {note}")


def _bar(share: float, width: int = 10) -> str:
    """A share of the cap; only nothing at all is drawn empty."""
    from math import ceil

    full = min(width, ceil(share * width)) if share < float("inf") else width
    return "#" * full + "." * (width - full)
