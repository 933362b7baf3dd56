"""Sockets: who may connect, what a slow or hostile connection can do, and how a server comes and goes."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from tests.serving.servers import QUICK, Place, listening, opening

import sfumato as sf
from sfumato.errors import ArgumentError, OutputError, TableError
from sfumato.serving import listening as sockets
from sfumato.serving.frames import LONGEST_REPLY, Broken, Frame, receive, send
from sfumato.serving.listening import Patience, serve, tcp_socket, tls, unix_socket
from sfumato.serving.remote import exchange

TOKEN = "a token of some length"
HASTY = Patience(idle=5, request=0.1, reply=5)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, seed=1)


def connected(address: str) -> socket.socket:
    wire = socket.socket(socket.AF_UNIX)
    wire.connect(address.removeprefix("unix:"))
    return wire


def ended(wire: socket.socket) -> bool:
    """Whether the server hung up, and no frame came before."""
    try:
        return receive(wire, LONGEST_REPLY, idle=10, seconds=10) is None
    except Broken:
        return True


def test_the_socket_is_its_owner_s_alone(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with unix_socket(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


def test_a_socket_in_use_is_refused_and_a_stale_one_removed(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with unix_socket(path), pytest.raises(ArgumentError, match=r"listens on .* already"), unix_socket(path):
        pass
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    assert path.exists()
    with unix_socket(path):
        connected(str(path)).close()
    path.write_text("a letter")
    with pytest.raises(ArgumentError, match="is no socket"), unix_socket(path):
        pass
    assert path.read_text() == "a letter"
    with pytest.raises(OutputError, match="cannot make"), unix_socket(tmp_path / "nowhere" / "socket"):
        pass


def test_the_socket_of_a_server_that_came_after_is_left(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with unix_socket(path):
        path.unlink()
        other = socket.socket(socket.AF_UNIX)
        other.bind(str(path))
    assert path.exists()
    other.close()


def test_replies_are_padded(place: Place) -> None:
    with listening(place) as address, connected(address) as wire:
        send(wire, Frame({"verb": "facts"}).packed())
        reply = receive(wire, LONGEST_REPLY)
        assert reply is not None
        assert len(reply) == 4096


def test_a_wrong_token_is_turned_away(place: Place) -> None:
    with listening(place, token=TOKEN) as address:
        assert sf.remote(address, token=TOKEN).schema == place.schema
        for token in (None, "another token, as long", "", "\ud800"):
            with pytest.raises((ArgumentError, TableError), match=r"another token|no curator"):
                _ = sf.remote(address, token=token).schema
        for first in (opening(), {"verb": "facts", "token": 7}, {"verb": "open", "token": TOKEN}):
            with connected(address) as wire:
                with pytest.raises(ArgumentError, match="another token"):
                    exchange(wire, Frame(first))
                with pytest.raises(Broken):
                    exchange(wire, Frame({"verb": "facts", "token": TOKEN}))


def test_a_token_for_a_server_without_one(place: Place) -> None:
    with listening(place) as address, pytest.raises(ArgumentError, match="other fields"):
        _ = sf.remote(address, token=TOKEN).schema


def test_a_slow_connection_holds_nobody_up(place: Place) -> None:
    with listening(place, patience=HASTY) as address, connected(address) as slow:
        slow.sendall(b"\x40")
        assert sf.remote(address).schema == place.schema
        assert ended(slow), "and is left"


def test_hostile_connections_end_alone(place: Place) -> None:
    with listening(place, patience=HASTY) as address:
        for sent in (b"\xff" * 100, b"GET / HTTP/1.1\r\n\r\n", b"\0" * 8, (1 << 40).to_bytes(8, "little")):
            with connected(address) as wire:
                wire.sendall(sent)
                assert ended(wire)
        with connected(address) as wire:
            send(wire, b"\0" * 100)
            with pytest.raises(ArgumentError, match="cannot be read"):
                exchange(wire, Frame({}))
        assert sf.remote(address).schema == place.schema


@pytest.mark.slow
def test_there_are_so_many_connections(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "MOST_CONNECTIONS", 1)
    with listening(place) as address:
        with connected(address) as first:
            exchange(first, Frame({"verb": "facts"}))
            with connected(address) as second:
                assert ended(second)
        way = sf.remote(address)
        for _ in range(100):  # until the server has seen that the first one is gone
            with suppress(TableError):
                assert way.schema == place.schema
                break
            threading.Event().wait(0.05)
        assert not sf.fit(way, epsilon=1, delta=1e-6, mechanism=QUICK).guarantee.secure


def test_sessions_take_turns(place: Place) -> None:
    from sfumato.serving.desk import Turns

    turns, order = Turns(), []
    inside, leave = threading.Event(), threading.Event()

    def first() -> None:
        with turns.turn("a"):
            inside.set()
            leave.wait(10)
            order.append("first")

    def second() -> None:
        with turns.turn("a"):
            order.append("second")

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    inside.wait(10)
    threads[1].start()
    with turns.turn("b"):
        order.append("another session")
    assert not turns.end(0.01)
    leave.set()
    threads[0].join(10)
    assert order[:2] == ["another session", "first"]
    assert turns.end(10), "nobody is let in any more"
    turns._over = False
    with turns._changed:
        turns._changed.notify_all()
    threads[1].join(10)
    assert order[2:] == ["second"]


def test_tcp_needs_tls_and_a_token(place: Place) -> None:
    with tcp_socket("localhost:0") as listener:
        for given in ((None, None), (None, TOKEN)):
            with pytest.raises(ArgumentError, match="TLS and a token only"):
                serve(place.desk, listener, *given)
    with pytest.raises(ArgumentError, match="cannot listen"), tcp_socket("no.such.host.invalid:7000"):
        pass


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
def test_tls(place: Place) -> None:
    certificate, key = place.folder / "cert.pem", place.folder / "key.pem"
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    where = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*make.split(), *where], check=True, capture_output=True)
    with listening(place, tcp_socket("localhost:0"), tls(certificate, key), TOKEN) as address:
        way = sf.remote(address, token=TOKEN, ca=certificate)
        there = sf.fit(way, epsilon=1, delta=1e-6, mechanism=QUICK)
        here = sf.fit(
            place.folder / "table.parquet", place.schema, epsilon=1, delta=1e-6, mechanism=QUICK, insecure_seed=1
        )
        assert [a.values.tolist() for a in there.answers] == [a.values.tolist() for a in here.answers]
        with pytest.raises(ArgumentError, match="another token"):
            _ = sf.remote(address, token="x" * 20, ca=certificate).schema
        with pytest.raises(TableError, match="certificate"):
            _ = sf.remote(address, token=TOKEN).schema
        host, port = address.removeprefix("tls:").split(":")
        with socket.create_connection((host, int(port))) as plain:  # without TLS nothing is answered
            plain.settimeout(10)
            send(plain, Frame({"verb": "facts", "token": TOKEN}).packed())
            assert ended(plain)
    with pytest.raises(ArgumentError, match="cannot be read"):
        tls(place.folder / "none.pem")
    with pytest.raises(ArgumentError, match=r"ca .* cannot be read"):
        _ = sf.remote("tls:localhost:1", ca=place.folder / "none.pem").schema


def test_files_that_run_out_do_not_end_a_server(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    real, failed = socket.socket.accept, []

    def scarce(self: socket.socket) -> object:
        if not failed:
            failed.append(True)
            raise OSError(24, os.strerror(24))
        return real(self)

    monkeypatch.setattr(socket.socket, "accept", scarce)
    with listening(place) as address:
        assert sf.remote(address).schema == place.schema
    assert failed
