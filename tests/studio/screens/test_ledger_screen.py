"""Book the release in a ledger."""

from __future__ import annotations

import pytest

from sfumato.errors import ArgumentError, LedgerError
from sfumato.studio.folder import Outside
from sfumato.studio.screens import ledger_screen
from sfumato.studio.work import Choice, Work

FORM = {"action": ["open"], "place": ["clinic.db"], "name": ["people"], "epsilon": ["2,5"], "delta": ["1e-6"]}


def test_a_data_set_is_entered_and_chosen(drafted: Work) -> None:
    drafted.choice = Choice(1.0)
    assert ledger_screen.words(drafted, {})[0][:4] == ["sfumato", "ledger", "ledger.db", "--open"]
    ledger_screen.act(drafted, FORM)
    assert drafted.ledger == ("clinic.db", "people")
    (account,) = ledger_screen.view(drafted)["accounts"]
    assert (account["cap"], account["spent"], account["entries"]) == ("2.5", "0", [])
    with pytest.raises(LedgerError, match="final"):
        ledger_screen.act(drafted, FORM)
    assert ledger_screen.act(drafted, {"action": ["none"]}) == "fit"
    assert drafted.ledger is None
    chosen = {"action": ["count"], "place": ["clinic.db"], "dataset": ["people"]}
    assert ledger_screen.act(drafted, chosen) == "fit"
    assert drafted.ledger == ("clinic.db", "people")


def test_a_ledger_lies_in_the_folder(drafted: Work) -> None:
    with pytest.raises(Outside):
        ledger_screen.act(drafted, FORM | {"place": ["../clinic.db"]})
    with pytest.raises(Outside):
        ledger_screen.act(drafted, FORM | {"place": ["postgresql://host/x.db"]})
    with pytest.raises(ArgumentError, match=r"ends in \.db"):
        ledger_screen.act(drafted, FORM | {"place": ["people.csv"]})
    (drafted.folder.root / "odd.db").write_text("no ledger")
    assert ledger_screen.view(drafted)["problems"] == ["odd.db"]


@pytest.mark.parametrize(("typed", "word"), [("-x.db", "./-x.db"), ("./a.db", "a.db"), ("sub/../b.db", None)])
def test_the_ledger_that_is_shown_is_the_one_that_is_opened(drafted: Work, typed: str, word: str | None) -> None:
    form = FORM | {"place": [typed]}
    if word is None:
        with pytest.raises(Outside):
            ledger_screen.words(drafted, form)
        return
    shown = ledger_screen.words(drafted, form)[0][2]
    ledger_screen.act(drafted, form)
    assert drafted.ledger is not None
    assert shown == drafted.ledger[0] == word
