"""Frames: lengths that lie, heads that are none, and connections that dawdle."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from sfumato.errors import ArgumentError
from sfumato.serving.frames import LONGEST_HEAD, WORD, Broken, Frame, padded_size, receive, send


@pytest.fixture
def wires() -> Iterator[tuple[socket.socket, socket.socket]]:
    here, there = socket.socketpair()
    with here, there:
        yield here, there


@pytest.mark.parametrize("padded", [False, True])
def test_a_frame_comes_back_as_it_was(padded: bool) -> None:
    frame = Frame({"verb": "total", "mu_squared": 0.1, "who": "Zoë"}, b"\0\1\2" * 5000)
    assert Frame.unpacked(frame.packed(padded), padded) == frame


def test_replies_have_few_sizes() -> None:
    assert {len(Frame({}, b"x" * n).packed(padded=True)) for n in range(0, 20_000, 7)} == {4096, 8192, 16384, 32768}
    assert padded_size(4096) == 4096


def words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(WORD, "little") for number in numbers)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0",
        words(2, 0),
        words(2, 0) + b"{}{",
        words(2, 9) + b"{}",
        words(1 << 63, 0) + b"{}",
        words(2, 0) + b"[]",
        words(3, 0) + b"NaN",
        words(11, 0) + b'{"a": -NaN}',
        words(12, 0) + b'{"a": Infinity}',
        words(2, 0) + b"\xff\xfe",
        words(LONGEST_HEAD + 1, 0) + b" " * (LONGEST_HEAD - 1) + b"{}",
        words(60_000, 0) + b"[" * 60_000,
    ],
)
def test_what_is_no_frame_is_refused(content: bytes) -> None:
    with pytest.raises(ArgumentError, match="cannot be read"):
        Frame.unpacked(content)


def test_padding_is_exact() -> None:
    content = Frame({}).packed(padded=True)
    with pytest.raises(ArgumentError):
        Frame.unpacked(content + b"\0" * 4096, padded=True)
    with pytest.raises(ArgumentError):
        Frame.unpacked(content)


def test_a_frame_goes_through_a_socket(wires: tuple[socket.socket, socket.socket]) -> None:
    here, there = wires
    send(here, b"x" * 100)
    here.close()
    assert receive(there, 1000) == b"x" * 100
    assert receive(there, 1000) is None


@pytest.mark.parametrize("sent", [words(1001), words(15), words(20) + b"x" * 19, words(20)[:3]])
def test_a_broken_frame(sent: bytes, wires: tuple[socket.socket, socket.socket]) -> None:
    here, there = wires
    here.sendall(sent)
    here.close()
    with pytest.raises(Broken):
        receive(there, 1000)


def test_slow_ones_are_left(wires: tuple[socket.socket, socket.socket]) -> None:
    here, there = wires
    with pytest.raises(Broken):
        receive(there, 1000, idle=0.01)
    here.sendall(words(20) + b"x")
    with pytest.raises(Broken):
        receive(there, 1000, idle=10, seconds=0.01)
