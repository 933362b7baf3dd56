"""How far a verb has come is told on stderr: a bar on a terminal, and elsewhere what is spent alone."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from sfumato.cli.progress import counted, rounds, steps, time_left, training, working
from sfumato.progress import Planned, Reading, Spending, Step, Streamed


class Terminal(io.StringIO):
    """Somebody is looking."""

    def isatty(self) -> bool:
        return True


def heard() -> tuple[list[tuple[float, str]], Any]:
    told: list[tuple[float, str]] = []
    return told, lambda fraction, now="": told.append((fraction, now))


def test_nothing_moves_where_nobody_is_looking(capsys: pytest.CaptureFixture[str]) -> None:
    with working("rows") as reach:
        reach(0.3, "half")
        reach(1.0)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_sees_percents_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, now = Terminal(), 0.0
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("rich.console.monotonic", lambda: now)
    with working("rows") as reach:
        reach(0.0, "first")
        now = 10.0
        reach(0.25, "a [red] one")
        now = 20.0
        reach(0.5)
        now = 25.0
        reach(0.1, "never back")
    shown = screen.getvalue()
    assert "50%" in shown
    assert "about 0:15 left" in shown
    assert "rows: never back" in shown
    assert "10%" not in shown


def test_parts_of_a_whole_add_up() -> None:
    told, reach = heard()
    advance = counted(reach, 4)
    advance(1)
    advance(2)
    assert [fraction for fraction, _ in told] == [0.25, 0.75]
    counted(reach, 0)(0)
    assert told[-1] == (1.0, "")


def test_the_time_left_is_of_the_time_so_far() -> None:
    assert time_left(30.0, 30.0 / 0.25) == "about 1:30 left"
    assert time_left(3600.0, 3600.0 / 0.25) == "about 3:00:00 left"
    assert time_left(2.0, 2.4) == "about 0:01 left"


def test_where_the_time_left_cannot_be_told_nothing_is() -> None:
    assert time_left(30.0, None) == ""
    assert time_left(0.5, 8.0) == ""
    assert time_left(31.0, 30.0) == ""


def test_every_round_is_told_before_it_is_asked_with_how_far_the_fit_is(capsys: pytest.CaptureFixture[str]) -> None:
    told, reach = heard()
    events = [
        Planned(("histograms", "moments")),
        Spending("histograms", 0.5, 0.25),
        Reading(50),
        Streamed("a reason"),
        Spending("moments", 0.5, 0.75),
    ]
    hear = rounds(reach)
    for event in events:
        hear(event)
    assert [now for _, now in told] == ["histograms", "reading the table: 50%", "moments"]
    fractions = [fraction for fraction, _ in told]
    assert 0.0 == fractions[0] < fractions[1] < fractions[2] < 1.0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [str(event) for event in events if isinstance(event, Spending | Streamed)]


def test_steps_alone_and_trainings(capsys: pytest.CaptureFixture[str]) -> None:
    told, reach = heard()
    merging = steps(reach)
    for event in (Step(4, 4, 0.5), Spending("histograms", 0.5, 0.25), Step(1, 11, 0.5)):
        merging(event)
    assert 0.2 < told[0][0] < told[1][0] < 0.8
    told.clear()
    training(reach)(50, 200, 0.12345)
    assert told == [(0.25, "step 50 of at most 200, loss 0.123")]
    assert capsys.readouterr() == ("", "training: step 50 of at most 200, loss 0.123\n")
