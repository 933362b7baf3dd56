"""The order of the steps."""

from __future__ import annotations

from sfumato.studio.steps import WAY, current, is_done, needed
from sfumato.studio.work import Choice, Work


def test_a_step_opens_when_what_it_needs_is_there(work: Work) -> None:
    def are_open() -> list[str]:
        return [step.name for step in WAY.values() if not step.needs(work)]

    assert are_open() == ["table"]
    work.begin(table="people.csv", columns=("age",))
    assert are_open() == ["table", "draft"]
    assert current(work) == "draft"
    work.schema = "known.yaml"
    assert are_open() == ["table", "draft", "confirm", "check"]
    assert current(work) == "confirm"
    work.choice = Choice()
    assert {"epsilon", "fit"}.isdisjoint(are_open())  # facts are still to be confirmed
    text = work.path("known.yaml").read_text()
    work.path("known.yaml").write_text(text[: text.index("unconfirmed")])
    assert are_open()[-1] == "ledger"
    assert needed(WAY["fit"], work) == "say first where it is counted"
    work.booked = True  # or said that no ledger counts it
    assert are_open()[-2:] == ["ledger", "fit"]
    work.release = "r.sfumato"
    assert are_open() == list(WAY)


def test_a_schema_that_was_broken_by_hand_keeps_nobody_out(drafted: Work) -> None:
    drafted.path("known.yaml").write_text("columns: [")
    assert not is_done(WAY["confirm"], drafted)
    assert current(drafted) == "confirm"
    drafted.choice = Choice()
    assert "known.yaml" in needed(WAY["fit"], drafted)
    drafted.path("known.yaml").unlink()
    drafted.settle()
    assert current(drafted) == "draft"
