"""Evaluate in private."""

from __future__ import annotations

import pytest

from sfumato.studio.folder import Outside
from sfumato.studio.jobs import Job
from sfumato.studio.screens import evaluate_screen
from sfumato.studio.work import Work


def test_the_page_says_in_its_name_that_it_is_private(drafted: Work, started: list[Job]) -> None:
    drafted.release = "people.sfumato"
    (drafted.folder.root / "more.csv").write_text("age\n1\n")
    form = {"test": ["more.csv"], "rows": ["few"], "target": ["age"]}
    shown = evaluate_screen.words(drafted, form)
    evaluate_screen.act(drafted, form)
    assert list(started[0].words) == shown[0]
    assert (
        " ".join(shown[0][3:])
        == "--train people.csv --test more.csv --target age --quick --html people-PRIVATE-evaluation.html"
    )
    started[0].then({})  # type: ignore[attr-defined]
    assert drafted.evaluation == "people-PRIVATE-evaluation.html"
    with pytest.raises(Outside):
        evaluate_screen.act(drafted, {"test": ["../secret.csv"]})


def test_it_takes_the_table_that_the_release_was_made_of(work: Work) -> None:
    work.release = "people.sfumato"
    assert evaluate_screen.STEP.needs(work) == "open the table that the release was made of"
