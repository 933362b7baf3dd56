"""How far a verb has come is told on stderr, and not at every step."""

from __future__ import annotations

import pytest

from sfumato.cli.progress import TOLD_STEPS, tell, tell_training, working
from sfumato.progress import Spending, Step


def test_nothing_moves_where_nobody_is_looking(capsys: pytest.CaptureFixture[str]) -> None:
    with working("rows", 10) as advance:
        advance(3)
    assert capsys.readouterr() == ("", "")


def test_every_round_is_told_and_few_of_the_steps(capsys: pytest.CaptureFixture[str]) -> None:
    rounds = [Spending("histograms", 0.5, 0.25), Spending("moments", 0.5, 0.25)]
    steps = [Step(step, 2 * TOLD_STEPS, 0.5) for step in range(1, 2 * TOLD_STEPS + 1)]
    for event in (*rounds, *steps):
        tell(event)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        *map(str, rounds),
        *(f"moving points: {steps[step - 1]}" for step in (TOLD_STEPS, 2 * TOLD_STEPS)),
    ]


def test_training_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    tell_training(50, 600, 0.12345)
    assert capsys.readouterr() == ("", "training: step 50 of at most 600, loss 0.123\n")
