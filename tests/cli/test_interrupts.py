"""Ctrl-C is answered with how things stand, where there is more to say than that nothing was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.cli.claim import Claim
from sfumato.cli.interrupts import Interrupted, elsewhere, interruptible, unfinished
from sfumato.ledger.ledger import Ledger


def test_without_a_ledger_there_is_nothing_to_say() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible(None, "it may be charged"):
        raise KeyboardInterrupt


def test_a_ledger_is_named_as_a_shell_takes_it(tmp_path: Path) -> None:
    place = tmp_path / "my ledger.db"
    with pytest.raises(Interrupted) as caught, interruptible(Ledger(place), "it may be charged"):
        raise KeyboardInterrupt
    assert str(caught.value) == f"it may be charged; sfumato ledger '{place}' shows"


@pytest.mark.parametrize(("counted", "told"), [(True, Interrupted), (False, KeyboardInterrupt)])
def test_a_server_may_have_counted(counted: bool, told: type[BaseException]) -> None:
    with pytest.raises(told), elsewhere(counted):
        raise KeyboardInterrupt


@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_did_not_change_holds_nothing_new(there: bool, tmp_path: Path) -> None:
    place = tmp_path / "r.sfumato"
    if there:
        place.write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt), unfinished(Claim(place, replace=True)):
        raise KeyboardInterrupt


def test_other_errors_pass(tmp_path: Path) -> None:
    place = tmp_path / "r.sfumato"

    def fail() -> None:
        place.write_bytes(b"new")
        raise ZeroDivisionError

    with (
        pytest.raises(ZeroDivisionError),
        unfinished(Claim(place, replace=True)),
        interruptible(Ledger(tmp_path / "l.db"), "charged"),
    ):
        fail()
