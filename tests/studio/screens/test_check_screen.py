"""Check the table."""

from __future__ import annotations

from sfumato.studio.jobs import Job
from sfumato.studio.screens import check_screen
from sfumato.studio.work import Work

FOUND = {
    "columns": {
        "age": {
            "cells": 10,
            "missing": 1,
            "unreadable": 0,
            "unlisted": 0,
            "clamped_low": 0,
            "clamped_high": 5,
            "lost": 0,
        }
    }
}


def test_what_was_found_counts_for_the_schema_as_it_was(drafted: Work, started: list[Job]) -> None:
    check_screen.act(drafted, {})
    started[0].then(FOUND)  # type: ignore[attr-defined]
    found = check_screen.view(drafted)
    assert found["lines"] == [{"name": "age", "shares": ["10 %", "", "", "", "50 %", ""]}]
    assert check_screen.STEP.is_done(drafted)
    drafted.read_schema().save(drafted.path("known.yaml"))
    assert not check_screen.STEP.is_done(drafted)


def test_proposals_become_a_new_schema_that_is_to_be_confirmed(drafted: Work, started: list[Job]) -> None:
    check_screen.act(drafted, {"action": ["take"]})
    assert started[0].words[-2:] == ("-o", "people-checked.yaml")
    started[0].then(FOUND)  # type: ignore[attr-defined]
    assert (drafted.schema, drafted.go) == ("people-checked.yaml", "confirm")
