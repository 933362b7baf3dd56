"""Questions become bytes that hold numbers and nothing else, and a client hands on no more than these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sfumato.errors import ArgumentError
from sfumato.mechanisms.asker import Client, encode
from sfumato.mechanisms.questions import latent_space, row_question, score_image
from sfumato.private.queries.base import Answer, Batch, Public, Query, Reach
from sfumato.private.queries.features import QuadraticImage
from sfumato.private.queries.gradients import ClippedGradient
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.images import ProjectedImage
from sfumato.private.queries.wire import decode
from sfumato.private.slicing.rows import Whole

SCORES = score_image([[np.array([-1.0, 0.25, 1.0])] * 3] * 2)
SLOPES = np.random.default_rng(0).integers(-50_000, 50_000, (2, 10))  # of 3 coordinates, their products and 1
VECTORS = row_question(SCORES, 2, 2.0, 0.5)


@pytest.mark.parametrize(
    "way",
    [
        np.asfortranarray,
        lambda a: np.repeat(a, 2, axis=1)[:, ::2],
        lambda a: np.ascontiguousarray(a[::-1])[::-1],
        lambda a: a.astype(a.dtype.newbyteorder(">")),
    ],
    ids=["Fortran", "strided", "backwards", "big-endian"],
)
def test_the_layout_of_an_array_is_not_in_the_bytes(way: Callable[[Any], Any]) -> None:
    query = ClippedGradient(QuadraticImage(SCORES), way(SLOPES), 1000, 0.25)
    plain = replace(query, slopes=np.ascontiguousarray(query.slopes, np.int64))
    assert encode(query) == encode(plain)


def test_an_array_that_is_changed_later_is_not_in_the_bytes() -> None:
    centres = np.zeros((2, 4), np.int64)
    request = encode(GroupSums(latent_space(ProjectedImage(centres), [2.0, 2.0]), (0.3, 0.7)))
    centres[:] = 12345
    assert not decode(request).latent.image.centres.any()


def test_numpy_s_numbers_become_plain_ones() -> None:
    query = Histograms((np.int64(2),), np.int32(3), (np.float64(1.0),))  # type: ignore[arg-type]
    made = decode(encode(query))
    assert made == query
    assert [type(x) for x in (*made.sizes, made.classes, *made.shares)] == [int, int, float]


# What is not written


class Wider(Histograms):
    """A kind of somebody's own."""


class Homemade(Query):
    """A query of somebody's own."""

    weights = np.ones(1)
    reach = Reach(0.0, 0.0, 0.0, False, 1)

    def part(self, batch: Batch) -> Any:
        return np.ones(1, np.int64)

    def check(self, public: Public) -> None:
        pass


class Tagged(np.ndarray):
    """An array that is more than its numbers."""


ODD: dict[str, Any] = {
    "a subclass of a kind": Wider((2,), 1, (1.0,)),
    "a query of a class of its own": Homemade(),
    "an object beside a kind": (VECTORS, object()),
    "a list": [1, 2],
    "a dictionary": {"kind": "Histograms"},
    "a truth value": True,
    "numpy's truth value": np.bool_(True),
    "a complex number": 1j,
    "bytes": b"",
    "a class": Histograms,
    "an array of a class of its own": np.zeros(2).view(Tagged),
    "an array of objects": np.array([object()]),
    "an array of short numbers": np.zeros(2, np.int32),
    "an array of truth values": np.zeros(2, bool),
    "an array with names": np.zeros(2, [("a", "f8")]),
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_no_question_is_not_written(name: str) -> None:
    with pytest.raises(ArgumentError, match=r"^a question is made of"):
        encode(ODD[name])
    with pytest.raises(ArgumentError, match=r"^a question is made of"):
        encode((1, ODD[name]))


# What a client hands on


class Recording:
    """A door that keeps what comes to it."""

    remaining = 0.75

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []
        self.answer = Answer(np.zeros(2), np.ones(2))

    def total(self, *asked: Any) -> Any:
        self.seen.append(asked)
        return self.answer

    rows = total


def test_a_client_hands_on_bytes_and_gives_back_the_answer() -> None:
    door = Recording()
    client = Client(door)
    query = Histograms((2,), 1, (1.0,))
    assert client.remaining == 0.75
    assert client.total("histograms", query, 0.25) is door.answer
    assert client.rows("rows", VECTORS, Whole(0.25)) is door.answer  # type: ignore[comparison-overlap]
    assert door.seen == [("histograms", encode(query), 0.25), ("rows", encode((VECTORS, Whole(0.25))))]
    assert decode(door.seen[0][1]) == query


def test_what_is_no_question_does_not_reach_the_door() -> None:
    door = Recording()
    with pytest.raises(ArgumentError, match=r"^a question is made of"):
        Client(door).total("odd", Homemade(), 0.25)
    assert door.seen == []
