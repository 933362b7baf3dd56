"""What work tells while it is done: a fit its rounds before they are asked, and only to who listens."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.progress import Event, Spending, Step, Work, listening, tell

SCHEMA = {"columns": {"x0": {"type": "number", "min": 0, "max": 1}}}


def test_rounds_are_told_before_they_are_asked_and_add_up() -> None:
    heard: list[Event] = []
    release = sf.fit(np.zeros((50, 1)), SCHEMA, epsilon=1, delta=1e-6, progress=heard.append, insecure_seed=1)
    spendings = [event for event in heard if isinstance(event, Spending)]
    assert [event.name for event in spendings] == [spend.name for spend in release.guarantee.spends]
    assert sum(event.share or 0.0 for event in spendings) == pytest.approx(1.0)


def test_who_stops_a_fit_stops_it_before_the_round() -> None:
    def stop(event: Event) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sf.fit(np.zeros((50, 1)), SCHEMA, epsilon=1, delta=1e-6, progress=stop)


def test_only_who_listens_hears() -> None:
    heard: list[Event] = []
    tell(Step(1, 2, 0.5))
    with listening(heard.append):
        tell(Step(2, 2, 0.25))
        with listening(None):
            tell(Step(3, 3, 0.0))
    tell(Step(4, 4, 0.0))
    assert heard == [Step(2, 2, 0.25)]


def test_noisy_rows_have_no_one_mu() -> None:
    assert str(Spending("rows", projections=6)) == "asking for 6 noisy projections of every row"


def test_work_is_told_before_it_is_done() -> None:
    told: list[tuple[float, str]] = []
    work = Work(lambda done, what: told.append((done, what)), 4)
    work.next("one", 1)
    work.next("two", 9)
    work.next("three", 1)
    assert told == [(0.0, "one"), (0.25, "two"), (1.0, "three")]
