"""A word as a value of an annotated field."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Optional

import pytest

from sfumato.cli.words import kinds, read, takes_words, wording

Choice = Literal["labels", "points"]
GOOD: list[tuple[Any, str, Any]] = [
    (int, "8", 8),
    (int, "-8", -8),
    (float, "8", 8.0),
    (float, "1e-3", 1e-3),
    (str, "auto", "auto"),
    (str, "none", "none"),
    (str | None, "none", "none"),
    (bool, "yes", True),
    (bool, "false", False),
    (int | Literal["auto"], "auto", "auto"),
    (int | Literal["auto"], "3", 3),
    (int | str | None, "3", 3),
    (int | str | None, "many", "many"),
    (bool | str | None, "no", False),
    (Choice | None, "no", None),
    (Choice | None, "none", None),
    (Choice | None, "points", "points"),
    (Optional[float], "none", None),  # noqa: UP045
    (Literal[0, 1], "0", 0),
    (Annotated[int, "anything"], "3", 3),
    (tuple[float, float], "0.5,1", (0.5, 1.0)),
    (tuple[int, ...], "1,2,3", (1, 2, 3)),
    (int | float, "3", 3),
    (int | float, "3.5", 3.5),
]


@pytest.mark.parametrize(("annotation", "word", "value"), GOOD)
def test_read(annotation: Any, word: str, value: Any) -> None:
    found = read(word, annotation)
    assert found == value
    assert type(found) is type(value)


BAD: list[tuple[Any, str, str]] = [
    (int, "3.5", "must be a whole number, not '3.5'"),
    (int, "", "must be a whole number, not ''"),
    (float, "much", "must be a number, not 'much'"),
    (int | Literal["auto"], "many", "must be auto or a whole number, not 'many'"),
    (Choice | None, "both", "must be labels or points or none, not 'both'"),
    (bool, "1", "must be yes or no, not '1'"),
    (tuple[float, float], "1,2,3", "must be 2 numbers with commas between, not '1,2,3'"),
    (tuple[int, ...], "1,x", "must be numbers with commas between, not '1,x'"),
]


@pytest.mark.parametrize(("annotation", "word", "said"), BAD)
def test_refusals(annotation: Any, word: str, said: str) -> None:
    with pytest.raises(ValueError, match="must be") as refused:
        read(word, annotation)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("annotation", "told"),
    [
        (int, "int"),
        (int | Literal["auto"] | None, "auto|int|none"),
        (Choice | None, "labels|points|none"),
        (str | None, "str"),
        (tuple[float, float], "float,float"),
        (tuple[int, ...], "int,..."),
        (bool | None, "yes|no|none"),
    ],
)
def test_wording(annotation: Any, told: str) -> None:
    assert wording(annotation) == told


@pytest.mark.parametrize("annotation", [dict, list[int], object, tuple[str, ...], tuple[()], None, Any])
def test_what_no_word_can_say(annotation: Any) -> None:
    assert kinds(annotation) == []


@pytest.mark.parametrize(
    ("annotation", "takes"),
    [(Choice | None, True), (int | Literal["auto"], True), (int, False), (Literal[1, 2], False)],
)
def test_takes_words(annotation: Any, takes: bool) -> None:
    assert takes_words(annotation) == takes
