"""Questions as bytes: what comes out is what went in, made afresh; whatever else the bytes say is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import some
from tests.private.queries.helpers import ADD_REMOVE, TOP, told

from sfumato.errors import ArgumentError
from sfumato.mechanisms.asker import encode
from sfumato.mechanisms.questions import (
    around,
    cells_at,
    clipped_gradient,
    feature_image,
    feature_moments,
    label_gradient,
    label_model,
    latent_space,
    projected_image,
    row_question,
    score_image,
    wave_image,
)
from sfumato.private.queries import wire
from sfumato.private.queries.base import LATENT_BITS, Batch, Image, Public, Query
from sfumato.private.queries.features import QuadraticImage, WithOne
from sfumato.private.queries.group_sums import GroupSums, Latent
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.images import AffineImage, ColumnImage, Within
from sfumato.private.queries.tables import Distances, Tables
from sfumato.private.queries.viewed import Viewed
from sfumato.private.queries.wire import KINDS, decode
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import RowVectors, Whole
from sfumato.schema.view import View

VIEW = View((2, 0), (5, 4), (np.array([0, 1, 4]), np.array([0, 2])))
SIZES, CLASSES, DIRECTIONS, ROWS = (4, 3, 5), 2, 4, 30
BINNED = Public(SIZES, CLASSES, values=True)
GROUPED = Public(SIZES, CLASSES, DIRECTIONS, values=True)
RNG = np.random.default_rng(0)
SCORES = score_image([[RNG.normal(size=size) for size in SIZES] for _ in range(CLASSES)])
VALUES = AffineImage(RNG.integers(0, TOP, (CLASSES, 3)).astype(float), RNG.normal(size=(CLASSES, 3)) * 1e-3)
PROJECTED = projected_image(RNG.normal(size=(CLASSES, DIRECTIONS)))
MAPPED = projected_image(RNG.normal(size=(CLASSES, 3)), RNG.normal(size=(3, DIRECTIONS)))
CELLS = cells_at(SCORES, [RNG.normal(size=(2, 3)), RNG.normal(size=(3, 3))])
FEATURES = feature_image(SCORES, *RNG.normal(size=(2, 4, 4)), 1.0)
MODEL = label_model(np.array([0.3]), [[RNG.normal(size=size) for size in SIZES]])
TABLES = Tables(
    tuple(RNG.integers(0, 3, size + 1) for size in SIZES), CLASSES, ((0, 2), (1, 3), (2,)), (0.5, 0.25, 0.25)
)
WAVES = wave_image(SCORES, RNG.normal(size=(3, 3)))


def batch() -> Batch:
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(-1, size, ROWS) for size in SIZES]).astype(np.int16)
    fixed = rng.integers(-1, TOP + 1, (3, ROWS)).astype(np.int32)
    projected = np.rint(rng.normal(size=(DIRECTIONS, ROWS)) * 2**LATENT_BITS).astype(np.int32)
    return Batch(codes, rng.integers(0, CLASSES, ROWS), fixed, projected)


BATCH = batch()


def sums(image: Image, second: str = "none", **parts: Any) -> GroupSums:
    shares = (0.3, 0.7) if second == "none" else (0.2, 0.3, 0.5)
    return GroupSums(latent_space(image, [2.0] * CLASSES, **parts), shares, second)


QUERIES: dict[str, tuple[Query, Public]] = {
    "a view": (Viewed(VIEW, Histograms((3, 2), CLASSES, (0.5, 0.5))), BINNED),
    "histograms": (Histograms(SIZES, CLASSES, (0.5, 0.25, 0.25)), BINNED),
    "tables": (TABLES, BINNED),
    "distances": (Distances(TABLES, RNG.integers(0, 1 << 12, TABLES.size)), BINNED),
    "scores": (sums(SCORES, "outer"), BINNED),
    "mapped scores": (sums(SCORES, "norm", maps=[np.eye(3), -np.eye(3)]), BINNED),
    "values": (sums(VALUES), BINNED),
    "columns": (sums(ColumnImage(RNG.integers(0, TOP, (CLASSES, 3)))), BINNED),
    "cells": (GroupSums(latent_space(around(CELLS), [2.0] * 5, cells=CELLS), (0.3, 0.7)), BINNED),
    "within cells": (sums(Within(CELLS), "outer"), BINNED),
    "projected": (sums(PROJECTED, "norm"), GROUPED),
    "mapped": (sums(MAPPED), GROUPED),
    "waves": (GroupSums(Latent(WAVES, (WAVES.longest,) * 2), (0.2, 0.8)), BINNED),
    "features": (feature_moments(FEATURES, 2.0, CLASSES, (0.4, 0.6)), BINNED),
    "with one": (feature_moments(WithOne(PROJECTED), 2.0, CLASSES, (0.4, 0.6)), GROUPED),
    "gradient": (label_gradient(MODEL, [[RNG.normal(size=size) for size in SIZES]], 2.0), BINNED),
    "clipped gradient": (
        clipped_gradient(QuadraticImage(SCORES), RNG.normal(size=(CLASSES, 10)), 3.0, 0.25),
        BINNED,
    ),
}
VECTORS = row_question(SCORES, CLASSES, 2.0, 0.5)
SLICES = Slices(dim=5, projections=2, distance=4.0, sigma=3.5, rounding=1e-9, rows=2)
QUESTIONS: dict[str, Any] = {
    **{name: query for name, (query, _) in QUERIES.items()},
    "rows": (VECTORS, Whole(0.25)),
    "slices": (VECTORS, SLICES),
    "rows in a view": (replace(VECTORS, view=VIEW), SLICES),
}


def same(one: Any, other: Any) -> bool:
    """Equal field by field, and of the same types."""
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return bool(one == other)


def parts_of(value: Any) -> tuple[Any, ...]:
    if is_dataclass(value):
        return tuple(getattr(value, f.name) for f in fields(value))
    return value if isinstance(value, tuple) else ()


def arrays_in(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        yield value
    parts = (
        value
        if isinstance(value, tuple)
        else [getattr(value, f.name) for f in fields(value)]
        if is_dataclass(value)
        else []
    )
    for part in parts:
        yield from arrays_in(part)


def kinds_in(value: Any) -> set[str]:
    own = {type(value).__name__} if is_dataclass(value) else set()
    return own.union(*map(kinds_in, parts_of(value)))


# What goes in comes out


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_comes_out_as_it_went_in(name: str) -> None:
    asked = QUESTIONS[name]
    made = decode(encode(asked))
    assert made is not asked
    assert same(made, asked)
    assert encode(made) == encode(asked)
    for array in arrays_in(made):
        assert type(array) is np.ndarray
        assert not array.flags.writeable
        with pytest.raises(ValueError):
            array.flags.writeable = True  # the bytes are nobody's to change


def test_every_kind_is_tried_here() -> None:
    assert kinds_in(tuple(QUESTIONS.values())) == set(KINDS)


@pytest.mark.parametrize("name", QUERIES)
def test_what_comes_out_gives_the_same_totals_at_the_same_price(name: str) -> None:
    query, public = QUERIES[name]
    made = decode(encode(query))
    made.check(public)
    assert np.array_equal(made.total(BATCH), query.total(BATCH))
    assert query.total(BATCH).any()
    assert np.array_equal(made.weights, query.weights)
    assert made.reach == query.reach


@settings(deadline=None, max_examples=some(60))
@given(
    st.lists(st.integers(1, 10**9), min_size=1, max_size=5),
    st.integers(1, 10**6),
    st.lists(st.floats(1e-300, 1.0), min_size=5, max_size=5),
)
def test_numbers_come_out_to_the_last_bit(sizes: list[int], classes: int, raw: list[float]) -> None:
    shares = tuple(share / math.fsum(raw[: len(sizes)]) for share in raw[: len(sizes)])
    if min(shares) > 0.0:
        query = Histograms(tuple(sizes), classes, shares)
        assert decode(encode(query)) == query


# What is not read


def refused(request: Any) -> bool:
    """Whether bytes are refused, as an argument and as nothing else, and with no trace of what was tried."""
    refusal: ArgumentError | None = None
    try:
        decode(request)
    except ArgumentError as error:
        refusal = error
    assert refusal is None or (refusal.__cause__ is None and refusal.__context__ is None)
    return refusal is not None


def opened(request: bytes) -> tuple[Any, bytes]:
    """The document and the arrays' bytes."""
    length = int.from_bytes(request[:8], "little")
    return json.loads(request[8 : 8 + length]), request[8 + length :]


def closed(document: Any, rest: bytes = b"") -> bytes:
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    return len(text).to_bytes(8, "little") + text + rest


REQUESTS = {name: encode(question) for name, question in QUESTIONS.items()}


@pytest.mark.parametrize("kind", [bytearray, memoryview, type("Bytes", (bytes,), {}), bytes.hex, list, lambda b: None])
def test_what_is_not_bytes_is_refused(kind: Callable[[bytes], Any]) -> None:
    assert not refused(REQUESTS["scores"])
    assert refused(kind(REQUESTS["scores"]))


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_request_with_too_few_or_too_many_bytes_is_refused(name: str) -> None:
    request = REQUESTS[name]
    places = {*range(12), *range(len(request) - 12, len(request)), *range(0, len(request), 97)}
    for end in places:
        assert refused(request[:end])
    for more in (b"\0", b"x" * 8, request):
        assert refused(request + more)
    assert refused(b"\0" + request)


@pytest.mark.parametrize("length", [0, 1, 10**6, wire.MOST_TEXT + 1, 2**62, 2**64 - 1])
def test_a_length_that_is_wrong_is_refused(length: int) -> None:
    assert refused(length.to_bytes(8, "little") + REQUESTS["scores"][8:])


def test_a_request_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_BYTES", len(REQUESTS["scores"]) - 1)
    assert refused(REQUESTS["scores"])
    monkeypatch.undo()
    monkeypatch.setattr(wire, "MOST_TEXT", 10)
    assert refused(REQUESTS["scores"])


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'"question"',
        b"\xff\xfe{",
        b'{"question": 1',
        b'{"question": 1}',
        b'{"arrays": []}',
        b'{"question": 1, "arrays": null}',
        b'{"question": 1, "arrays": 5}',
        b'{"question": 1, "arrays": [[]]}',
        b'{"question": 1, "arrays": [], "more": 2}',
        b'{"question": {"kind": "Whole", "mu_squared": ' + b"9" * 5000 + b'}, "arrays": []}',
        b"[" * 100_000,
        b'{"arrays": [], "question": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"arrays": [], "question": ' + b'{"kind":' * 50_000 + b"1" + b"}" * 50_000 + b"}",
        '{"arrays": [], "question": 1}'.encode("utf-16")[:-1],
    ],
    ids=lambda text: repr(text[:40]),
)
def test_a_text_that_is_no_question_is_refused(text: bytes) -> None:
    assert refused(closed(text))


def test_images_of_images_to_any_depth_are_refused() -> None:
    document, rest = opened(REQUESTS["with one"])
    inner = json.dumps(document["question"]["image"])
    deep = '{"kind": "WithOne", "image": ' * 5000 + inner + "}" * 5000
    assert refused(closed(json.dumps(document).replace(inner, deep).encode(), rest))


def nodes(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all the parts of a document."""
    yield path
    for key, part in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield from nodes(part, (*path, key))


def put(tree: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = tree.copy()
    copy[path[0]] = put(tree[path[0]], path[1:], value)
    return copy


def at(tree: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


NEVER = [
    True,
    math.nan,
    math.inf,
    -math.inf,
    "text",
    {},
    [[[[]]]],
    {"kind": "Nothing"},
    {"kind": "Histograms"},
    {"kind": ["Histograms"]},
    {"kind": None},
    {"kind": "Whole", "mu_squared": 0.1},
    {"kind": "wire.decode"},
    {"array": -1},
    {"array": True},
    {"array": 0.0},
    {"array": 10**6},
    {"array": "0"},
    {"array": 0, "more": 1},
    10**400,
]


@pytest.mark.every(4)
@pytest.mark.parametrize("name", QUESTIONS)
def test_nothing_odd_is_taken_in_the_place_of_any_part(name: str) -> None:
    document, rest = opened(REQUESTS[name])
    for path in nodes(document["question"]):
        for odd in NEVER:
            whole = {"question": put(document["question"], path, odd), "arrays": document["arrays"]}
            # At the top a question may be anything that can be read: the curator asks what it is.
            top = len(path) <= isinstance(QUESTIONS[name], tuple)
            assert top or refused(closed(whole, rest)), (path, odd)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_field_more_or_less_is_refused(name: str) -> None:
    document, rest = opened(REQUESTS[name])
    question = document["question"]
    for path in nodes(question):
        part = at(question, path)
        if not isinstance(part, dict) or "kind" not in part:
            continue
        changes = [part | {"more": 1}, part | {"total": 1}, part | {"reach": 0.1}, part | {"__class__": "object"}]
        changes += [{k: v for k, v in part.items() if k != gone} for gone in part]
        for change in changes:
            assert refused(closed(document | {"question": put(question, path, change)}, rest)), (path, change)


@pytest.mark.parametrize("name", QUESTIONS)
def test_another_kind_in_the_place_of_one_is_refused(name: str) -> None:
    """Also where the fields would be alike, but for two pairs of images that may stand for each other."""
    document, rest = opened(REQUESTS[name])
    question = document["question"]
    alike = {frozenset(("WithOne", "QuadraticImage")), frozenset(("Shifted", "Within"))}
    for path in nodes(question):
        part = at(question, path)
        if not isinstance(part, dict) or "kind" not in part:
            continue
        for kind in [*KINDS, "Query", "Image", "Batch", "object", "", "Histograms ", "Asker"]:
            whole = document | {"question": put(question, path, part | {"kind": kind})}
            if kind != part["kind"] and frozenset((kind, part["kind"])) not in alike:
                assert refused(closed(whole, rest)), (path, kind)


def test_a_whole_question_in_the_place_of_an_image_is_refused() -> None:
    for name in ("scores", "features", "clipped gradient"):
        document, rest = opened(REQUESTS[name])
        question = document["question"]
        for path in nodes(question):
            if path and path[-1] in ("image", "latent", "cells"):
                assert refused(closed(document | {"question": put(question, path, question)}, rest)), path


SHAPES: list[Any] = [
    ["int64"],
    ["int64", -1, -1],
    ["int64", -2, -4],
    ["int64", True, 8],
    ["int64", 2.0, 4],
    ["int64", "2", 4],
    ["int64", None],
    ["int64", [2], [4]],
    ["int64", 2, 2**63],
    ["int64", 2**62, 2**62],
    ["int64", 10**30],
    ["int64", 0, 10**30],
    ["int64", 0],
    ["int64", 8],
    ["int64", *[1] * 100, 2, 4],
    ["float64", 2, 4],
    ["int32", 2, 8],
    ["int8", 8, 8],
    ["object", 2, 4],
    ["<i8", 2, 4],
    ["i8", 2, 4],
    ["O", 2, 4],
    ["", 2, 4],
    [["int64"], 2, 4],
    [None, 2, 4],
    [2, 4],
    [],
    "int64",
    None,
    {"int64": 2},
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_an_array_of_another_shape_or_type_is_refused(shape: Any) -> None:
    document, rest = opened(REQUESTS["projected"])
    assert document["arrays"] == [["int64", CLASSES, DIRECTIONS]]
    assert refused(closed(document | {"arrays": [shape]}, rest))


def test_arrays_that_overlap_or_are_missing_are_refused() -> None:
    document, rest = opened(REQUESTS["mapped"])
    first, second = document["arrays"]
    for listed in ([first], [second], [], [second, first], [first, second, first], [first, [*second, 2]]):
        assert refused(closed(document | {"arrays": listed}, rest)), listed


# Random bytes


def check_harmless(request: bytes, public: Public) -> None:
    """Bytes that can be read are a question that keeps its own bound, or that is refused before rows are looked at."""
    if refused(request):
        return
    made = decode(request)
    vectors = made[0] if isinstance(made, tuple) and len(made) == 2 else None
    asked = vectors if isinstance(vectors, RowVectors) else made
    if not isinstance(asked, (RowVectors, Query)):
        return
    try:
        asked.check(public)
    except ArgumentError:
        return
    if isinstance(asked, RowVectors):
        lengths = np.sqrt((asked.find(BATCH) ** 2).sum(axis=0)) * 2.0**-LATENT_BITS
        assert (2.0 * lengths <= asked.distance()).all()
        return
    bound = asked.reach.sensitivity(ADD_REMOVE)
    nothing = told(asked, BATCH.only(slice(0, 0)))
    for i in range(0, ROWS, 5):
        moved = told(asked, BATCH.only(slice(i, i + 1))) - nothing
        assert np.linalg.norm(asked.weights * moved) <= bound


@pytest.mark.parametrize("name", QUESTIONS)
def test_flipped_bytes_are_refused_or_harmless(name: str) -> None:
    request = REQUESTS[name]
    public = QUERIES[name][1] if name in QUERIES else BINNED
    rng = np.random.default_rng(len(name))
    text = 8 + int.from_bytes(request[:8], "little")
    for i in range(300):
        flipped = bytearray(request)
        end = text if i % 3 else len(request)  # the text is where things can go wrong
        for place in rng.integers(0, end, rng.integers(1, 4)):
            flipped[place] = rng.integers(0, 256) if i % 2 else rng.choice(list(b'0123456789-.eE"{}[],: '))
        check_harmless(bytes(flipped), public)


@pytest.mark.every(4)
@pytest.mark.parametrize("name", QUESTIONS)
def test_other_numbers_are_refused_or_harmless(name: str) -> None:
    """Every number of a question replaced by others, one at a time."""
    document, rest = opened(REQUESTS[name])
    question = document["question"]
    public = QUERIES[name][1] if name in QUERIES else BINNED
    for path in nodes(question):
        if type(at(question, path)) in (int, float):
            for other in (0, -1, 1, 2, 3, 7, 2**31, 2**32, 2**53, 2**63, 2**64, 10**300, 0.5, 1e-300, 1e300, 5e-324):
                check_harmless(closed(document | {"question": put(question, path, other)}, rest), public)


WHOLE = (-(2**63), 2**63 - 1, 2**52, -1, 1)
REAL = np.array([math.nan, math.inf, -math.inf, 1e308]).view("<i8").tolist()


@pytest.mark.parametrize("name", QUESTIONS)
def test_other_arrays_are_refused_or_harmless(name: str) -> None:
    """The same text with numbers of any size in its arrays, infinities and those that are none among them."""
    document, rest = opened(REQUESTS[name])
    public = QUERIES[name][1] if name in QUERIES else BINNED
    rng = np.random.default_rng(3)
    for i in range(40):
        words = np.frombuffer(rest, "<i8").copy()
        if len(words):
            odd = [
                -(2**63),
                2**63 - 1,
                2**52,
                -1,
                1,
                np.array([math.nan, math.inf, -math.inf, 1e308]).view("<i8")[i % 4],
            ]
            for place in rng.integers(0, len(words), 1 + i % 5):
                words[place] = rng.choice(odd)
        with np.errstate(over="ignore", invalid="ignore"):
            check_harmless(closed(document, words.tobytes()), public)


@settings(deadline=None, max_examples=some(150))
@given(st.binary(max_size=60), st.sampled_from(sorted(REQUESTS)))
def test_any_bytes_are_refused(tail: bytes, name: str) -> None:
    assert refused(tail)
    assert refused(closed(tail))
    assert refused(REQUESTS[name] + tail) == bool(tail)
