"""What is adapted, what that needs, and the rounds that are set aside for it."""

from __future__ import annotations

from typing import Any

import pytest

import sfumato as sf
from sfumato.errors import ArgumentError
from sfumato.mechanisms.adapting import Adapting, refuse_alpha, what_adapts
from sfumato.mechanisms.budget import Share

NUMBER = {"type": "number", "min": 0, "max": 1}
LABEL = {"type": "category", "values": ["no", "yes"]}


def public(label: bool = True) -> Any:
    schema: dict[str, Any] = {"columns": {"x": NUMBER} | ({"y": LABEL} if label else {})}
    return sf.plan(schema | ({"label": "y"} if label else {}), epsilon=1, delta=1e-6).public


@pytest.mark.parametrize(
    ("adapt", "found"),
    [
        (None, ()),
        ("labels", ("labels",)),
        ("auto", ("labels",)),
        ("points", ("points",)),
        ("both", ("points", "labels")),
    ],
)
def test_words_stand_for_what_is_adapted(adapt: str | None, found: tuple[str, ...]) -> None:
    assert what_adapts(adapt, public(), "scores") == found


def test_auto_leaves_what_cannot_be_and_others_say_why() -> None:
    assert what_adapts("auto", public(label=False), "scores") == ()
    with pytest.raises(ArgumentError, match="adapt needs a label of at least two classes"):
        what_adapts("labels", public(label=False), "scores")
    assert what_adapts("both", public(), "projected") == ("points", "labels")
    with pytest.raises(ArgumentError, match="adapt needs encoding 'scores'"):
        what_adapts("labels", public(), "affine")


def test_what_is_set_aside_comes_last_and_all_adds_up() -> None:
    shares = Adapting(0.1, 0.2, 4).after((Share("histograms", 0.75, "."), Share("moments", 0.25, ".")))
    assert [each.name for each in shares] == ["histograms", "moments", "features", *["labels"] * 4]
    assert [each.number for each in shares[-4:]] == [1, 2, 3, 4]
    assert sum(each.share for each in shares) == pytest.approx(1.0)
    assert Adapting().after((Share("histograms", 1.0, "."),)) == (Share("histograms", 1.0, "."),)


def test_an_alpha_that_holds_nothing_is_refused() -> None:
    refuse_alpha(None, (), "scores")
    refuse_alpha(0.5, ("labels",), "scores")
    refuse_alpha(0.5, ("points",), "projected")
    for adapted, encoding in (((), "scores"), (("labels",), "projected")):
        with pytest.raises(ArgumentError, match="alpha is for moved points, and adapted labels of columns outside"):
            refuse_alpha(0.5, adapted, encoding)
