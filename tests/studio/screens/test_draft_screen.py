"""Draft a schema."""

from __future__ import annotations

import pytest

from sfumato.errors import ArgumentError
from sfumato.studio.jobs import Job
from sfumato.studio.screens import draft_screen
from sfumato.studio.work import Work


def test_the_command_that_is_shown_is_the_one_that_runs(drafted: Work, started: list[Job]) -> None:
    drafted.schema = ""
    form = {"label": ["ill"], "unit": [""], "drop": ["town"], "missing": ["999 n/a"]}
    shown = draft_screen.words(drafted, form)
    draft_screen.act(drafted, form)
    assert [list(job.words) for job in started] == shown
    assert shown[0][3:] == [
        "--label",
        "ill",
        "--drop",
        "town",
        "--missing",
        "999",
        "--missing",
        "n/a",
        "-o",
        "people.yaml",
    ]
    started[0].then({"left_out": {}, "notes": ["x"], "options": {"delimiter": ";"}})  # type: ignore[attr-defined]
    assert drafted.schema == "people.yaml"
    assert drafted.opening == {"delimiter": ";"}


def test_a_schema_of_another_table_is_refused(drafted: Work) -> None:
    assert draft_screen.act(drafted, {"schema": ["known.yaml"]}) == "confirm"
    assert draft_screen.words(drafted, {})[0][-1] == "people.yaml"  # never what is there already
    drafted.columns = ("age", "town")
    with pytest.raises(ArgumentError, match="no column 'ill'"):
        draft_screen.act(drafted, {"schema": ["known.yaml"]})
    with pytest.raises(ArgumentError, match="is not a column"):
        draft_screen.act(drafted, {"label": ["ill"]})


def test_what_is_to_be_confirmed_is_listed_by_column(drafted: Work) -> None:
    found = draft_screen.view(drafted)
    assert [line["waiting"] for line in found["lines"]] == [["min", "max"], ["values"], ["values"]]
    assert found["lines"][2]["label"]
    assert found["facts"] == 4
