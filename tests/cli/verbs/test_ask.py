"""`sfumato ask`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.calls import Call
from tests.cli.lines import document


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("count",), ("95 %", "rows that count: ", "from histograms")),
        (("count", "--where", "age > 40", "--level", "0.5"), ("50 %", "age > 40")),
        (("share", "--where", "town == 'Ulm'", "--about", "population"), ("population",)),
        (("mean", "age"), ("the mean of age",)),
        (
            ("mean", "age", "--by", "ill", "--where", "age < 90"),
            (", by ill\n", "  no  ", "  yes  ", "\n  of rows that count, whose cells"),
        ),
        (("quantile", "age", "0.5"), ("0.5-quantile",)),
        (("table", "town", "ill"), ("Ulm, no", "Bonn, yes", "missing, no")),
        (("regress", "ill ~ age", "--kind", "logistic"), ("intercept", "age  ")),
    ],
)
def test_questions(folder: Path, call: Call, line: tuple[str, ...], words: tuple[str, ...]) -> None:
    result = call("ask", "r.sfumato", *line)
    assert result.code == 0, result.err
    for each in words:
        assert each in result.out


def test_answers_as_json(folder: Path, call: Call) -> None:
    one = document(call("ask", "r.sfumato", "count", "--where", "age > 40", "--json"))
    assert one["question"] == "count"
    assert one["where"] == "age > 40"
    assert one["answer"]["interval"][0] < one["answer"]["estimate"] < one["answer"]["interval"][1]
    several = document(call("ask", "r.sfumato", "mean", "age", "--by", "ill", "--json"))
    assert [each["group"] for each in several["answer"]] == [{"ill": "no"}, {"ill": "yes"}]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("median", "age"), "a question is one of count, share"),
        (("mean",), "mean takes one word: sfumato ask RELEASE mean column"),
        (("table", "age"), "table takes two words"),
        (("count", "age"), "count takes no words"),
        (
            ("count", "--by", "age"),
            "count takes no --by: count ... --where \"age == '...'\" asks about one group, `table age OTHER` counts",
        ),
        (("share",), "give it by --where"),
        (("quantile", "age", "half"), "between 0 and 1"),
        (("quantile", "age", "50"), "between 0 and 1"),
        (("mean", "town"), "'town' is a category"),
        (("mean", "agee"), "there is no column 'agee'; did you mean 'age'?"),
        (("count", "--where", "town == 'Köln'"), "town is never 'Köln'"),
        (("regress", "age"), "a formula looks like"),
        (("regress", "age ~ ill", "--kind", "x"), "'linear' or 'logistic'"),
        (("count", "--about", "x"), "'table' or 'population'"),
        (("count", "--level", "95"), "between 0 and 1"),
    ],
)
def test_what_is_refused(folder: Path, call: Call, line: tuple[str, ...], words: str) -> None:
    result = call("ask", "r.sfumato", *line)
    assert result.code == 2
    assert words in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert result.out == ""


def test_no_release(folder: Path, call: Call) -> None:
    assert "does not exist" in call("ask", "no.sfumato", "count").err
