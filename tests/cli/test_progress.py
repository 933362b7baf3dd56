"""How far a verb has come is told on stderr: a bar on a terminal, and elsewhere what is spent alone."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from sfumato.cli.progress import counted, rounds, steps, training, working
from sfumato.progress import Spending, Step


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
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    with working("rows") as reach:
        reach(0.0, "first")
        reach(0.25, "a [red] one")
        reach(0.5)
        reach(0.1, "never back")
    shown = screen.getvalue()
    assert "50%" in shown
    assert "left" in shown
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


def test_every_round_is_told_as_the_part_of_the_budget_before_it(capsys: pytest.CaptureFixture[str]) -> None:
    told, reach = heard()
    events = [Spending("histograms", 0.5, 0.25), Step(1, 9, 0.5), Spending("moments", 0.5, 0.75), Spending("rows")]
    hear = rounds(reach)
    for event in events:
        hear(event)
    assert told == [(0.0, "histograms"), (0.0, "step 1 of at most 9, loss 0.5"), (0.25, "moments"), (1.0, "rows")]
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [str(event) for event in events if isinstance(event, Spending)]


def test_steps_alone_and_trainings(capsys: pytest.CaptureFixture[str]) -> None:
    told, reach = heard()
    steps(reach)(Step(3, 12, 0.5))
    steps(reach)(Spending("histograms", 0.5, 0.25))
    training(reach)(50, 200, 0.12345)
    assert told == [(0.25, "step 3 of at most 12, loss 0.5"), (0.25, "step 50 of at most 200, loss 0.123")]
    assert capsys.readouterr() == ("", "training: step 50 of at most 200, loss 0.123\n")
