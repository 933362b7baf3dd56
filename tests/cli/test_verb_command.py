"""Refusals name options as they are typed; a shell completes verbs, options and words."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.calls import Call

from sfumato.cli.verb_command import by_option, completing

FIT = {"--epsilon", "--delta", "--rows", "--adapt", "--alpha", "--training.steps", "--ledger", "--dataset", "--given"}


@pytest.mark.parametrize(
    ("python", "typed"),
    [
        ("delta must lie inside (0, 1), not 0.0", "--delta must lie inside (0, 1), not 0.0"),
        ("given: 'zip' is not a column of the release", "--given: 'zip' is not a column of the release"),
        ("alpha is for what is adapted; say adapt='labels'", "--alpha is for what is adapted; say --adapt labels"),
        ("steps must be a whole number", "--training.steps must be a whole number"),
        ("ledger and dataset belong together: give both", "--ledger and --dataset belong together: give both"),
        ("ledger and zip belong together", "ledger and zip belong together"),
        ("zip must be there", "zip must be there"),
        ("rows of a table are private", "rows of a table are private"),
        ("a release with no epsilon", "a release with no epsilon"),
        ("--epsilon must be there", "--epsilon must be there"),
    ],
)
def test_arguments_become_options(python: str, typed: str) -> None:
    assert by_option(python, FIT) == typed


def test_an_option_of_two_configs_is_not_guessed() -> None:
    assert by_option("steps must be 1", {"--one.steps", "--two.steps"}) == "steps must be 1"
    assert by_option("insecure_seed must be 1", {"--insecure-seed"}) == "--insecure-seed must be 1"


def test_a_refusal_of_a_verb_names_the_option(call: Call) -> None:
    refused = call("fit", "x.csv", "--schema", "x", "--epsilon", 1, "--delta", 1, "-o", "x", "--mechanism", "magic")
    assert refused.err.startswith("error: --mechanism must be one of 'mixture'")


def test_words_are_completed() -> None:
    assert completing("mean", "median", "count")("me") == ["mean", "median"]


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("ev", ["evaluate"]),
        ("evaluate r.sfumato --te", ["--test"]),
        ("check data.csv --delim", ["--delimiter"]),
        ("ask r.sfumato q", ["quantile"]),
        pytest.param("fit --mechanism clustmix --sigma", ["--sigma-max"], marks=pytest.mark.slow),
    ],
)
def test_a_shell_completes(line: str, offered: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As bash asks: by environment variables, in a process of its own."""
    words = ["sfumato", *line.split()]
    monkeypatch.setenv("_SFUMATO_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(words))
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    code = "from sfumato.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == offered
    assert done.stderr == ""


def test_exit_codes_are_listed(call: Call) -> None:
    told = " ".join(call("--help").out.split())
    assert "Exit codes: 0 done; 1 found wanting" in told
    assert "130 interrupted" in told
