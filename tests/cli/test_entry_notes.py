"""Who asks and why, on the command line of a fit."""

from __future__ import annotations

from tests.calls import Call

from sfumato.cli.entry_notes import Notes, note_section


def test_both_may_be_said_and_neither_has_to_be() -> None:
    assert [each.flag for each in note_section().options] == ["--who", "--why"]
    assert Notes() == Notes(None, None)


def test_the_help_of_fit_tells_of_them(call: Call) -> None:
    said = call("fit", "--help").out
    assert "Notes in the ledger's entry" in said
    assert "--who <str>" in said
