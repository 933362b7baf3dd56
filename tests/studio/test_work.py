"""The state that pages are drawn from."""

from __future__ import annotations

import pytest

from sfumato.errors import ArgumentError, SchemaError
from sfumato.studio.folder import Outside
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


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("people.csv", ["sfumato", "check", "people.csv"]),
        ("known.yaml", ["sfumato", "check", "people.csv", "--schema", "known.yaml"]),
        ("more.csv", ["sfumato", "evaluate", "--test", "more.csv"]),
        ("spent.db", ["sfumato", "fit", "--ledger", "spent.db"]),
    ],
)
def test_a_file_that_leads_elsewhere_by_now_is_not_read(
    drafted: Work, started: list[Job], name: str, words: list[str]
) -> None:
    drafted.ledger = ("spent.db", "people")
    place = drafted.folder.root / name
    place.unlink(missing_ok=True)
    place.symlink_to("../secret.csv")
    with pytest.raises(Outside, match="opens files below"):
        drafted.start(words)
    assert not started


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("columns:\n  age: {type: number, min: 3217, max: [}\n", "is no schema at line 2, column 40; mend it"),
        ("columns:\n  age: {type: number, min: 3217, max: 5}\n", "known.yaml is no schema; mend it"),
    ],
)
def test_of_a_schema_that_was_broken_only_the_place_is_told(drafted: Work, text: str, told: str) -> None:
    drafted.path("known.yaml").write_text(text)
    with pytest.raises(SchemaError, match=told) as caught:
        drafted.read_schema()
    assert "3217" not in str(caught.value)


def test_a_schema_is_known_by_what_its_file_holds(drafted: Work) -> None:
    before = drafted.digest()
    drafted.read_schema().save(drafted.path("known.yaml"))
    assert drafted.digest() != before
