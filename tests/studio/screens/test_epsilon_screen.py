"""Choose epsilon."""

from __future__ import annotations

import pytest

from sfumato.errors import ArgumentError
from sfumato.studio import commands
from sfumato.studio.screens import epsilon_screen
from sfumato.studio.work import Work

TERMS = {"delta": ["1e-6"], "rows": ["5 000"]}


def test_wishes_find_epsilon_and_come_back_into_the_form(drafted: Work) -> None:
    wishes = {
        "max_advantage": ["0,1"],
        "tpr": ["0,05"],
        "count_within": ["100"],
        "mean_column": ["age"],
        "mean_within": ["2"],
    }
    assert epsilon_screen.act(drafted, {"way": ["wishes"], **TERMS, **wishes}) == "ledger"
    assert drafted.choice is not None
    assert 0.0 < drafted.choice.epsilon < 1.1
    assert commands.shown(commands.plan(drafted, drafted.choice)) == (
        "sfumato plan known.yaml --max-advantage 0.1 --tpr-at 0.01=0.05 --count-within 100 --mean age=2 "
        "--delta 1e-06 --rows 5000"
    )
    now = epsilon_screen.view(drafted)["now"]
    assert (now["way"], now["max_advantage"], now["mean_column"], now["mean_within"]) == ("wishes", "0.1", "age", "2")


def test_what_cannot_be_is_said_before_anything_is_kept(drafted: Work) -> None:
    for form, told in (
        ({"epsilon": ["0"]}, "epsilon"),
        ({"epsilon": ["1"], "mechanism": ["magic"]}, "no mechanism 'magic'"),
        ({"epsilon": ["1"], "adjacency": ["magic"]}, "adjacency"),
        ({"way": ["wishes"]}, "at least one wish"),
        ({"way": ["wishes"], "max_advantage": ["0.01"], "count_within": ["20"]}, "exclude each other"),
    ):
        with pytest.raises(ArgumentError, match=told):
            epsilon_screen.act(drafted, TERMS | form)
    assert drafted.choice is None
    assert "exclude" in epsilon_screen.forecast(drafted, TERMS | form)["problem"]
