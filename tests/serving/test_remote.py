"""The analyst's side: the same release as a fit beside the table, and a way that breaks and mends."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.serving.servers import DELTA, QUICK, ROWS, SCHEMA, Place, listening, people

import sfumato as sf
from sfumato.errors import ArgumentError, BudgetError, SfumatoError, TableError
from sfumato.private.accounting import Adjacency
from sfumato.progress import Planned, Spending
from sfumato.serving import remote as module
from sfumato.serving.desk import CHARGED_FOR_NOTHING
from sfumato.serving.frames import Broken, Frame, receive, send
from sfumato.serving.journal import Journal

WISH = {"epsilon": 0.5, "delta": DELTA, "mechanism": QUICK}


def saved(release: sf.Release, folder: Path) -> bytes:
    release.save(folder / "r.sfumato")
    return (folder / "r.sfumato").read_bytes()


def test_the_release_is_that_of_a_fit_beside_the_table(tmp_path: Path) -> None:
    place, events = Place(tmp_path, seed=7), ([], [])
    here = sf.fit(tmp_path / "table.parquet", SCHEMA, insecure_seed=7, progress=events[0].append, **WISH)
    with listening(place) as address:
        there = sf.fit(sf.remote(address), progress=events[1].append, **WISH)
    assert saved(there, tmp_path) == saved(here, tmp_path)
    assert there.guarantee == here.guarantee
    told = [[str(event) for event in heard if isinstance(event, Planned | Spending)] for heard in events]
    assert told[1] == told[0]
    assert len(told[1]) == len(events[1])


@pytest.mark.slow
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize(
    "mechanism", [sf.Slicing(form="rows", training=None), sf.Slicing(form="rows", slices=2, slice_dim=1, training=None)]
)
def test_noisy_rows_are_those_of_a_fit_beside_the_table(tmp_path: Path, mechanism: Any, unit: bool) -> None:
    schema = sf.Schema.of(SCHEMA.dump() | ({"unit": {"column": "who", "rows": 1}} if unit else {}))
    place = Place(tmp_path, schema=schema, adjacency=Adjacency.REPLACE_ONE, seed=7)
    wish = {"epsilon": 1, "delta": DELTA, "mechanism": mechanism, "adjacency": "replace-one", "rows": ROWS}
    here = sf.fit(tmp_path / "table.parquet", schema, insecure_seed=7, **wish)
    with listening(place) as address:
        there = sf.fit(sf.remote(address), **wish)
    assert saved(there, tmp_path) == saved(here, tmp_path)
    assert len(there.guarantee.slices) == (mechanism.slices is not None)


def test_a_release_that_a_ledger_counts(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with listening(place) as address:
        release = sf.fit(sf.remote(address), SCHEMA, who="A. Lovelace", **WISH)
        (entry,) = place.ledger.accounts("people")[0].entries
        assert (release.guarantee.entry, str(entry.state), entry.who) == (entry.id, "released", "A. Lovelace")
        assert release.guarantee.epsilon == 0.5
        assert sf.load(_path(release, tmp_path)).guarantee == release.guarantee
        with pytest.raises(BudgetError, match="too little left"):
            sf.fit(sf.remote(address), **WISH | {"epsilon": 1})
    assert place.states == ["released"]


def _path(release: sf.Release, folder: Path) -> Path:
    release.save(folder / "r.sfumato")
    return folder / "r.sfumato"


def test_two_analysts_at_once_stay_within_the_cap(tmp_path: Path) -> None:
    place, told = Place(tmp_path), []

    def fit(address: str) -> None:
        try:
            told.append(sf.fit(sf.remote(address), **WISH | {"epsilon": 0.6}).guarantee.entry)
        except BudgetError:
            told.append(None)

    with listening(place) as address:
        threads = [threading.Thread(target=fit, args=(address,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    account = place.ledger.accounts("people")[0]
    assert account.mu <= account.dataset.mu
    released = [entry.id for entry in account.entries if entry.counts]
    assert sorted(filter(None, told)) == sorted(released)
    assert told.count(None) == 4 - len(released)
    assert 1 <= len(released) < 4


def test_a_schema_that_changed_meanwhile_is_seen(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with listening(place) as address:
        way = sf.remote(address)
        assert way.schema == SCHEMA
    changed = SCHEMA.dump()
    changed["columns"]["ward"]["values"] = ["south", "north"]
    place.schema = sf.Schema.of(changed)
    place.restart()
    with listening(place) as address, pytest.raises(TableError, match="another schema than before"):
        sf.fit(way, **WISH)
    assert place.states == []


def test_what_is_the_server_s_is_refused(tmp_path: Path) -> None:
    place = Place(tmp_path)
    other = sf.Schema.of(SCHEMA.dump() | {"label": None})
    with listening(place) as address:
        way = sf.remote(address)
        for name, value in {"insecure_seed": 1, "ledger": "l.db", "dataset": "people", "engine": sf.Local()}.items():
            with pytest.raises(ArgumentError, match=f"{name} must be left out: it is the server's"):
                sf.fit(way, **WISH | {name: value})
        with pytest.raises(ArgumentError, match="schema is not that of"):
            sf.fit(way, other, **WISH)
        with pytest.raises(ArgumentError, match="adjacency='add-remove'"):
            sf.fit(way, adjacency="replace-one", **WISH)
        with pytest.raises(ArgumentError, match="epsilon must"):
            sf.fit(way, **WISH | {"epsilon": -1})
    assert place.states == []


def test_a_table_of_one_s_own_needs_a_schema() -> None:
    with pytest.raises(ArgumentError, match="schema must be given"):
        sf.fit(people(), **WISH)


def test_nobody_there(tmp_path: Path) -> None:
    way = sf.remote(f"unix:{tmp_path / 'none'}")
    assert repr(way) == f"remote('unix:{tmp_path / 'none'}')"
    with pytest.raises(TableError, match=r"no curator answers at unix:.*No such file"):
        sf.fit(way, **WISH)
    with pytest.raises(ArgumentError, match="patience"):
        sf.remote("unix:x", patience=-1)


@pytest.mark.parametrize("when", ["before it is sent", "before the answer comes"])
def test_a_lost_connection_is_made_again_and_the_answer_is_the_same(
    tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, real, seen = Place(tmp_path, seed=7), module.exchange, set()
    here = sf.fit(tmp_path / "table.parquet", SCHEMA, insecure_seed=7, **WISH)

    def breaks(wire: socket.socket, request: Frame) -> Frame:
        if request.packed() not in seen:  # every request, once
            seen.add(request.packed())
            if when == "before the answer comes":
                send(wire, request.packed())
            raise Broken
        return real(wire, request)

    with listening(place) as address:
        way = sf.remote(address)
        assert way.schema == SCHEMA
        monkeypatch.setattr(module, "exchange", breaks)
        there = sf.fit(way, **WISH)
    assert saved(there, tmp_path) == saved(here, tmp_path), "and nothing was drawn twice"
    assert len(seen) > 4


def test_a_server_that_lost_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path)
    monkeypatch.setattr(Journal, "store", lambda *given: pytest.fail("no power"))
    with listening(place) as address, pytest.raises(TableError, match=CHARGED_FOR_NOTHING):
        sf.fit(sf.remote(address), **WISH)
    assert place.states == ["drawing"]


def test_a_fit_that_ends_before_it_asks_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path)

    def stop(event: Any) -> None:
        raise KeyboardInterrupt

    with listening(place) as address, pytest.raises(KeyboardInterrupt):
        sf.fit(sf.remote(address), progress=stop, **WISH)
    assert place.states == ["returned"]


def test_patience_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path)
    with listening(place) as address:
        way = sf.remote(address, patience=0)
        assert way.schema == SCHEMA

        def gone(wire: socket.socket, request: Frame) -> Frame:
            raise Broken

        monkeypatch.setattr(module, "exchange", gone)
        with pytest.raises(TableError, match="was lost; what was asked may have been charged"):
            sf.fit(way, **WISH)


@contextmanager
def liar(folder: Path, reply: Callable[[Frame], Frame]) -> Iterator[str]:
    """A server that says what it likes."""
    path = folder / "liar"

    def answer() -> None:
        while True:
            try:
                wire, _ = listener.accept()
            except OSError:
                return
            with wire:
                while (request := receive(wire, 1 << 26)) is not None:
                    send(wire, reply(Frame.unpacked(request)).packed(padded=True))

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"unix:{path}"
        listener.shutdown(socket.SHUT_RDWR)


LIES = {
    "no document": ("facts", Frame({}, b"[1")),
    "no schema": ("facts", Frame({}, b'{"adjacency": "add-remove", "secure": true}')),
    "no adjacency": ("facts", Frame({}, json.dumps({"schema": SCHEMA.dump(), "adjacency": 7}).encode())),
    "no answer": ("total", Frame({"remaining": 1.0}, b"12345678")),
    "another size": ("total", Frame({"remaining": 1.0, "values": [1], "sd": [1]}, b"\0" * 16)),
    "no shape": ("total", Frame({"remaining": 1.0, "values": [-1], "sd": ["x"]}, b"\0" * 16)),
    "no number": ("total", Frame({"remaining": "much"}, b"")),
    "no guarantee": ("close", Frame({}, b'{"spends": [{"x": 1}], "slices": []}')),
    "an escape": ("open", Frame({"refused": "\x1b[2J\nred", "kind": "exit"})),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_server_that_lies_gets_one_line(lie: str, tmp_path: Path) -> None:
    place, (verb, told) = Place(tmp_path, seed=1), LIES[lie]

    def reply(request: Frame) -> Frame:
        return told if request.head["verb"] == verb else Frame.unpacked(place.desk.reply(request.packed()))

    with liar(tmp_path, reply) as address, pytest.raises(SfumatoError) as caught:
        sf.fit(sf.remote(address), **WISH)
    assert "\n" not in str(caught.value)
    assert str(caught.value).isprintable()


def test_numbers_that_are_none_are_refused() -> None:
    frame = Frame({"values": [1], "sd": [1]}, b"\xff" * 16)
    with pytest.raises(TableError, match="cannot read"):
        module._arrays(frame, "values", "sd")
    assert replace(frame, body=b"\0" * 16).body
    assert [array.shape for array in module._arrays(replace(frame, body=b"\0" * 16), "values", "sd")] == [(1,), (1,)]
