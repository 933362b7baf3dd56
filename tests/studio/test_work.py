"""The state that pages are drawn from."""

from __future__ import annotations

import pytest

from sfumato.errors import ArgumentError
from sfumato.studio.jobs import Job
from sfumato.studio.work import Choice, Work


def test_another_table_forgets_what_was_chosen_but_not_what_was_spent(drafted: Work) -> None:
    drafted.choice, drafted.release, drafted.spent = Choice(), "r.sfumato", 2
    drafted.begin(table="other.csv")
    assert (drafted.table, drafted.schema, drafted.release, drafted.choice) == ("other.csv", "", "", None)
    assert drafted.spent == 2


def test_one_command_at_a_time(drafted: Work, started: list[Job], monkeypatch: pytest.MonkeyPatch) -> None:
    drafted.start(["sfumato", "fit"])
    monkeypatch.setattr(type(started[0]), "running", True)
    assert drafted.runs("fit") is started[0]
    assert drafted.runs("check") is None
    with pytest.raises(ArgumentError, match="sfumato fit is still at work"):
        drafted.start(["sfumato", "fit"])
    with pytest.raises(ArgumentError, match="still at work"):
        drafted.begin()
    assert len(started) == 1


def test_a_schema_is_known_by_what_its_file_holds(drafted: Work) -> None:
    before = drafted.digest()
    drafted.read_schema().save(drafted.path("known.yaml"))
    assert drafted.digest() != before
