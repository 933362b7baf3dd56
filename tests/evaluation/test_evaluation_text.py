"""The lines on a screen."""

from __future__ import annotations

from dataclasses import replace

from tests.evaluation.test_release_evaluation import FOUND

from sfumato.evaluation.evaluation_text import SCREEN_WIDTH, lines
from sfumato.evaluation.release_evaluation import PRIVATE, Compared


def test_private_is_the_first_and_the_last_word() -> None:
    told = list(lines(FOUND))
    assert told[0] == told[-1] == PRIVATE
    assert str(FOUND) == "\n".join(told)


def test_figures_stand_beside_those_of_real_rows() -> None:
    told = str(FOUND)
    assert "  LightGBM    0.800  0.010      0.900        0.500       more" in told
    assert "Trained on synthetic rows, LightGBM learns in<come to AUC 0.800 on real rows; trained on real" in told
    assert "Tables of two columns are 0.050 off in total variation (0.040 for real rows, 0.200 for" in told
    assert "The worst column is in<come; the worst pair is in<come × plain." in told
    assert "sex = f, town = <Ulm>" in told
    assert "a <= b" in told
    assert "No measure of privacy" in told
    assert "Note: Something was left out." in told


def test_lines_fit_a_screen() -> None:
    assert max(map(len, lines(FOUND))) <= SCREEN_WIDTH


def test_what_there_is_not_is_not_told() -> None:
    bare = replace(FOUND, measures={"tv1": Compared(0.5)}, columns=(), pairs=(), groups=(), rare=(), rules=(), notes=())
    told = list(lines(bare))
    assert not any("Worst" in line or "Note" in line or "learn" in line for line in told)


def test_a_name_cannot_command_the_terminal() -> None:
    named = replace(FOUND, target="\x1b[31mred")
    assert "\x1b" not in str(named)
