"""The door: nothing but plain data goes in, nothing but noisy numbers and fresh errors come out."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from tests.private.queries.helpers import told

from sfumato.errors import ArgumentError, TableError
from sfumato.insecure import insecure_bits
from sfumato.mechanisms.asker import Client, encode
from sfumato.mechanisms.questions import unpack
from sfumato.private.accounting import Adjacency, Budget
from sfumato.private.curator import Curator
from sfumato.private.engines.local import LocalEngine
from sfumato.private.queries import base
from sfumato.private.queries.base import Answer, Batch, FloatArray, IntArray, Public, Query, Reach
from sfumato.private.queries.group_sums import GroupSums, Latent
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.images import ScoreImage
from sfumato.private.queries.wire import decode
from sfumato.private.source import Source
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema
from sfumato.tables import open_table

SCHEMA = Schema.of(
    {
        "label": "group",
        "columns": {
            "x": {"type": "number", "min": 0, "max": 2, "step": 1},
            "y": {"type": "number", "min": 0, "max": 2, "step": 1},
            "group": {"type": "category", "values": ["a", "b"]},
        },
    }
)
SECRET = 987_654_321
ROWS = pd.DataFrame({"x": [0, 1, 2, 2], "y": [2, 2, 0, 1], "group": ["a", "b", "a", "b"]})
HONEST = Histograms((3, 3), 2, (0.5, 0.5))


class Watched(LocalEngine):
    """An engine that notes when rows are read."""

    looked = 0

    def total(self, query: Query) -> IntArray:
        self.looked += 1
        return super().total(query)


def engine_of(frame: pd.DataFrame = ROWS) -> Watched:
    return Watched(Source(open_table(frame), Layout.of(SCHEMA)), workers=1)


def curator_of(engine: LocalEngine, seed: int = 1) -> Curator:
    return Curator(engine, Budget(1.0), Adjacency.ADD_REMOVE, insecure_bits(seed))


# What a mechanism might bring along


@dataclass(frozen=True)
class Rogue:
    """Keeps every row's codes, and asks for so little that the noise would be nothing."""

    kept: list[Any]
    size = 1
    weights = np.ones(1)
    reach = Reach(1.0, 1.0, 1.0, True, 1)

    def check(self, public: Public) -> None: ...

    def part(self, batch: Batch) -> IntArray:
        self.kept.append(batch.codes.copy())
        return np.array([len(batch)])


class Scaled(Histograms):
    """Honest in all but its total."""

    def part(self, batch: Batch) -> IntArray:
        return super().part(batch) * 1000


class Spy(np.ndarray):
    """An array that would see what it is looked up with."""

    seen: ClassVar[list[Any]] = []

    def __getitem__(self, key: Any) -> Any:
        Spy.seen.append(key)
        return super().__getitem__(key)


def spying() -> Query:
    table = np.array([1, 2, 3, 0]).view(Spy)
    return GroupSums(Latent(ScoreImage(((table, table),) * 2), (1 << 30,) * 2), (0.5, 0.5))


STRANGERS = {
    "a class of its own": lambda: Rogue([]),
    "a subclass that scales its total": lambda: Scaled((3, 3), 2, (0.5, 0.5)),
    "an array of its own class in an image": spying,
    "a function": lambda: lambda batch: np.zeros(1),
}


@pytest.mark.parametrize("stranger", STRANGERS)
def test_a_query_of_a_mechanisms_own_is_refused_before_a_row_is_read(stranger: str) -> None:
    engine = engine_of()
    curator = curator_of(engine)
    Spy.seen.clear()
    query: Any = STRANGERS[stranger]()
    Spy.seen.clear()
    with pytest.raises(ArgumentError, match="plain"):
        Client(curator).total("stolen", query, 0.1)
    with pytest.raises(ArgumentError, match="bytes"):
        curator.total("stolen", query, 0.1)
    assert engine.looked == 0
    assert not Spy.seen
    assert curator.remaining == 1.0


def test_an_honest_query_passes() -> None:
    engine = engine_of()
    answer = Client(curator_of(engine)).total("honest", HONEST, 0.5)
    assert engine.looked == 1
    assert answer.values.shape == (16,)


TAMPERED: dict[str, Any] = {
    "sensitivity": lambda self, adjacency: 1e-9,
    "reach": Reach(1e-9, 1e-9, 1e-9, False, 1),
    "weights": np.full(16, 1e9),
    "total": lambda batch: np.zeros(16, dtype=np.int64),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_is_written_into_an_object_does_not_reach_the_curator(name: str) -> None:
    query = Histograms((3, 3), 2, (0.5, 0.5))
    query.__dict__[name] = TAMPERED[name]
    told = Client(curator_of(engine_of())).total("tampered", query, 0.5)
    honest = Client(curator_of(engine_of())).total("honest", HONEST, 0.5)
    assert np.array_equal(told.values, honest.values)
    assert np.array_equal(told.sd, honest.sd)


def test_an_array_that_changes_later_does_not_change_the_question() -> None:
    table = np.array([5, 6, 7, 0])
    query = GroupSums(Latent(ScoreImage(((table, table),) * 2), (1 << 30,) * 2), (0.5, 0.5))
    request = encode(query)
    before = decode(request).total(next(iter(engine_of()._source.jobs()))().batch)
    table[:] = 1 << 40
    assert np.array_equal(decode(request).total(next(iter(engine_of()._source.jobs()))().batch), before)
    with pytest.raises(ArgumentError, match="below 16"):  # and the changed one is refused, as any that is too large
        Client(curator_of(engine_of())).total("changed", query, 0.5)


def test_what_the_curator_works_on_cannot_be_written_to() -> None:
    made = decode(encode(spying_plainly()))
    table = made.latent.image.tables[0][0]
    assert type(table) is np.ndarray
    assert not table.flags.writeable
    assert table.base is not None
    with pytest.raises(ValueError, match=r"writeable|WRITEABLE"):
        table.setflags(write=True)


def spying_plainly() -> Query:
    table = np.array([1, 2, 3, 0])
    return GroupSums(Latent(ScoreImage(((table, table),) * 2), (1 << 30,) * 2), (0.5, 0.5))


def test_a_question_about_another_schema_is_refused_before_it_costs() -> None:
    engine = engine_of()
    curator = curator_of(engine)
    for query in (Histograms((3, 4), 2, (0.5, 0.5)), Histograms((3, 3), 3, (0.5, 0.5))):
        with pytest.raises(ArgumentError, match="schema"):
            Client(curator).total("other", query, 0.1)
    assert engine.looked == 0
    assert curator.remaining == 1.0


# What an exception might carry away


def frames_of(error: BaseException) -> list[FrameType]:
    """Every frame that can be reached from an exception, and from those that it came from."""
    found: list[FrameType] = []
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        each = todo.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        trace: TracebackType | None = each.__traceback__
        while trace is not None:
            found.append(trace.tb_frame)
            trace = trace.tb_next
        todo += [each.__cause__, each.__context__]
    return found


def holds_rows(error: BaseException) -> bool:
    """Whether a batch, or the secret, is among the locals of any of these frames."""
    values = [value for frame in frames_of(error) for value in frame.f_locals.values()]
    return any(isinstance(value, Batch) or (isinstance(value, int) and value == SECRET) for value in values)


class Breaking(LocalEngine):
    """Fails while it holds rows."""

    failure: BaseException = ValueError(f"row {SECRET}")

    def total(self, query: Query) -> IntArray:
        secret, batch = SECRET, next(iter(self._source.jobs()))().batch
        assert secret
        assert batch is not None
        raise self.failure


class Verbose(TableError):
    """Not one of the library's own: it takes other arguments, and says what it likes."""

    def __init__(self, secret: int, kind: str) -> None:
        super().__init__(f"{kind} {secret}")


def out_of_memory() -> MemoryError:
    """What numpy raises for an array that does not fit: a class of its own, which takes a shape and a type."""
    with pytest.raises(MemoryError) as caught:
        np.empty((1 << 55,))
    assert type(caught.value) is not MemoryError
    return caught.value


FAILURES = {
    "a fault of the library": (ValueError(f"row {SECRET}"), TableError),
    "a table that cannot be read": (TableError("the file has gone"), TableError),
    "an interrupt": (KeyboardInterrupt(f"row {SECRET}"), KeyboardInterrupt),
    "out of memory": (MemoryError(), MemoryError),
    "out of numpy's memory": (out_of_memory(), MemoryError),
    "an error of another's class": (Verbose(SECRET, "row"), TableError),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_no_exception_carries_rows_outside(failure: str) -> None:
    planted, expected = FAILURES[failure]
    engine = Breaking(Source(open_table(ROWS), Layout.of(SCHEMA)), workers=1)
    engine.failure = planted
    with pytest.raises(expected) as caught:
        Client(curator_of(engine)).total("failing", HONEST, 0.5)
    assert not holds_rows(caught.value)
    assert str(SECRET) not in str(caught.value)
    assert caught.value is not planted
    with pytest.raises(type(planted)) as bare:  # the twin: without the curator the rows are there to be read
        engine.total(HONEST)
    assert holds_rows(bare.value)


def test_an_error_after_the_total_is_known_does_not_hold_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("planted")

    curator = Curator(engine_of(), Budget(1.0), Adjacency.ADD_REMOVE, insecure_bits(1), before_noise=fail)
    with pytest.raises(TableError) as caught:
        Client(curator).total("failing", HONEST, 0.5)
    gc.collect()
    for frame in frames_of(caught.value):
        assert not any(isinstance(value, np.ndarray) and value.dtype == np.int64 for value in frame.f_locals.values())


# A row that is longer than its image says


def one_long_row() -> tuple[GroupSums, Batch]:
    """A row whose norm is above the radius by one part in 2^20, and one that is well inside."""
    tables = (np.array([1 << 15, 1, 0]), np.array([45, 1, 0]))
    query = GroupSums(Latent(ScoreImage((tables, tables)), (1 << 30,) * 2), (0.5, 0.5))
    norm = (1 << 30) + 45**2
    assert 2.0**-21 < np.sqrt(norm / (1 << 30)) - 1.0 < 2.0**-19
    return query, Batch(np.array([[0, 1], [0, 1]], dtype=np.int16), np.array([0, 0]))


def counted(query: GroupSums, batch: Batch) -> float:
    return float(unpack(query, told(query, batch).astype(np.float64))[0][0])


def test_a_row_that_is_longer_than_its_image_says_counts_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    query, batch = one_long_row()
    assert counted(query, batch) == 2.0  # clipped as it should be
    monkeypatch.setattr(base, "clip_rows", lambda z, radius: z)
    assert counted(query, batch) == 1.0
    monkeypatch.setattr(base, "squared_norms", lambda z: np.zeros(z.shape[1]))
    assert counted(query, batch) == 2.0  # the twin: nothing else would have seen it


def test_the_check_is_exact() -> None:
    z = np.array([[float(1 << 15), float(1 << 15)], [0.0, 1.0]])
    assert base.within(z, 1 << 30).tolist() == [[float(1 << 15), 0.0], [0.0, 0.0]]


def test_answers_are_kept_as_they_were_given() -> None:
    curator = curator_of(engine_of())
    answer: Answer = Client(curator).total("honest", HONEST, 0.5)
    ((name, query, kept),) = curator.answers
    assert query == HONEST
    values: FloatArray = kept.values
    assert name == "honest"
    assert np.array_equal(values, answer.values)
