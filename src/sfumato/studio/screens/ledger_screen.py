"""Book the release in a ledger, which adds up what all releases of the same people tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError, LedgerError
from sfumato.studio import commands
from sfumato.studio.entered import number, written
from sfumato.studio.folder import LEDGERS
from sfumato.studio.screens import Form, Step, View, said
from sfumato.studio.screens.table_screen import stem
from sfumato.studio.work import Choice, Work

if TYPE_CHECKING:
    from sfumato.ledger.account import Account


def view(work: Work) -> View:
    """The data sets of every ledger in the folder."""
    choice = work.choice or Choice()
    accounts, problems = found_accounts(work)
    return {
        "accounts": accounts,
        "problems": problems,
        "now": work.ledger,
        "wanted": written(choice.epsilon),
        "new": _new(work),
        "unit": unit(work) or "row",
    }


def words(work: Work, form: Form) -> list[list[str]]:
    """What enters the data set that the form says; what shows the one that was chosen."""
    if said(form, "name"):
        choice = work.choice or Choice()
        place = _place(work, form)
        return [commands.ledger_open(place, said(form, "name"), *_cap(form), choice.adjacency, unit(work))]
    if work.ledger is not None:
        return [commands.ledger(*work.ledger)]
    return words(work, {name: [value] for name, value in _new(work).items()})


def act(work: Work, form: Form) -> str:
    """Choose a data set, enter one with its cap, or go without."""
    work.refuse_while_running()
    action = said(form, "action")
    if action == "open":
        _open(work, form)
        return ""
    work.ledger = _chosen(work, said(form, "place"), said(form, "dataset")) if action == "count" else None
    work.booked = True
    return "fit"


def found_accounts(work: Work) -> tuple[list[dict[str, Any]], list[str]]:
    """What was spent and is left, by ledger and data set; and the files that are no ledger, with the reason."""
    from sfumato.ledger.ledger import Ledger

    accounts, problems = [], []
    for place in work.folder.files(LEDGERS):
        try:
            accounts += [_told(place, each) for each in Ledger(work.path(place)).accounts()]
        except LedgerError:
            problems.append(place)
    return accounts, problems


def unit(work: Work) -> str | None:
    """Whose privacy the schema is about; None for a row."""
    known = work.read_schema().unit if work.schema else None
    return None if known is None else known.column


def _new(work: Work) -> dict[str, str]:
    """A data set that could be entered: with a cap for two releases like this one."""
    choice, place = work.choice or Choice(), work.ledger[0] if work.ledger else work.folder.free("ledger", LEDGERS[0])
    cap = {"epsilon": written(2 * choice.epsilon), "delta": written(choice.delta)}
    return {"place": place, "name": stem(work.table), **cap}


def _open(work: Work, form: Form) -> None:
    from sfumato.ledger.ledger import Ledger

    word, name = _place(work, form), said(form, "name")
    choice = work.choice or Choice()
    Ledger(work.path(word)).open(name, *_cap(form), choice.adjacency, unit(work) or "row")
    work.ledger = word, name


def _place(work: Work, form: Form) -> str:
    """The ledger's file, as commands take it."""
    place = said(form, "place")
    if not place.endswith(LEDGERS):
        raise ArgumentError(f"the name of a ledger ends in {LEDGERS[0]} here, not as {place!r}")
    return work.folder.word(work.path(place))


def _cap(form: Form) -> tuple[float, float]:
    return number("the cap's epsilon", said(form, "epsilon")), number("the cap's delta", said(form, "delta"))


def _chosen(work: Work, place: str, dataset: str) -> tuple[str, str]:
    from sfumato.ledger.ledger import Ledger

    word = work.folder.existing(place)
    Ledger(work.path(word)).accounts(dataset)  # refuses what it does not know
    return word, dataset


def _told(place: str, account: Account) -> dict[str, Any]:
    from sfumato.text import rounded_up

    cap = account.dataset
    entries = [
        {
            "time": entry.time.removesuffix("+00:00").replace("T", " "),
            "id": entry.id,
            "mechanism": entry.mechanism,
            "state": str(entry.state),
            "epsilon": f"{entry.epsilon:.3g}",
            "who": entry.who or "",
            "why": entry.why or "",
            "total": rounded_up(total),
        }
        for entry, total in zip(account.entries, account.running(), strict=True)
    ]
    return {
        "place": place,
        "name": cap.name,
        "words": str(cap),
        "cap": f"{cap.epsilon:g}",
        "spent": rounded_up(account.epsilon),
        "left": f"{account.left_epsilon:g}",
        "share": min(account.epsilon / cap.epsilon, 1.0),
        "entries": entries,
    }


def _needs(work: Work) -> str:
    return "" if work.choice is not None else "choose epsilon first"


def _is_done(work: Work) -> bool:
    return work.booked


STEP = Step("ledger", "Book it in a ledger", view, words, act, _needs, _is_done)
