"""What goes over the wire: a length, then a head of plain JSON and a body of bytes. Nothing is ever unpickled.

A frame is the length of what follows, that of the head, that of the body (8 bytes each, little-endian), head, body, and
zeros. Requests have no zeros. Replies are padded to the next power of two, so that their length tells no more.
"""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass, field
from typing import Any

from sfumato.errors import ArgumentError, insist

WORD = 8
LONGEST_HEAD = 1 << 16
LONGEST_REQUEST = 1 << 26
LONGEST_REPLY = 1 << 31
SHORTEST_REPLY = 1 << 12
PIECE = 1 << 20  # bytes taken from a socket at once: room is made for what has come, not for what was announced


class Broken(Exception):
    """The other side hung up, was too slow, or announced more than there may be."""


@dataclass(frozen=True)
class Frame:
    """One request or reply."""

    head: dict[str, Any]
    body: bytes = field(default=b"", repr=False)

    def packed(self, padded: bool = False) -> bytes:
        """The frame as bytes, without the length that goes first."""
        head = json.dumps(self.head, allow_nan=False).encode()
        insist(len(head) <= LONGEST_HEAD, "a request's head is too long")
        content = b"".join([_word(len(head)), _word(len(self.body)), head, self.body])
        return content.ljust(padded_size(len(content)), b"\0") if padded else content

    @classmethod
    def unpacked(cls, content: bytes, padded: bool = False) -> Frame:
        """The frame that bytes stand for; refuses what is none."""
        refusal = ArgumentError("a request cannot be read")
        head, body = (int.from_bytes(content[place : place + WORD], "little") for place in (0, WORD))
        end = 2 * WORD + head + body
        if head > LONGEST_HEAD or end > len(content) or len(content) != (padded_size(end) if padded else end):
            raise refusal
        try:
            found = json.loads(content[2 * WORD : 2 * WORD + head], parse_constant=_no_number)
        except (ValueError, RecursionError):
            raise refusal from None
        if not isinstance(found, dict):
            raise refusal
        return cls(found, content[2 * WORD + head : end])


def padded_size(size: int) -> int:
    """The public schedule of sizes: powers of two.

    >>> padded_size(5), padded_size(4097)
    (4096, 8192)
    """
    return max(SHORTEST_REPLY, 1 << (size - 1).bit_length())


def send(wire: socket.socket, content: bytes, seconds: float | None = None) -> None:
    """Send a frame within so many seconds."""
    try:
        wire.settimeout(seconds)
        wire.sendall(_word(len(content)) + content)
    except (OSError, ValueError) as error:  # a TLS socket that was closed is a ValueError
        raise Broken from error


def receive(wire: socket.socket, longest: int, idle: float | None = None, seconds: float | None = None) -> bytes | None:
    """The next frame, or None where the other side hung up between two. It may take `idle` seconds to begin, and then
    so many seconds to come, however it is cut.
    """
    first = _piece(wire, 1, idle)
    if not first:
        return None
    end = None if seconds is None else time.monotonic() + seconds
    size = int.from_bytes(first + _exactly(wire, WORD - 1, end), "little")
    if not 2 * WORD <= size <= longest:
        raise Broken
    return _exactly(wire, size, end)


def _exactly(wire: socket.socket, size: int, end: float | None) -> bytes:
    found = bytearray()
    while len(found) < size:
        left = None if end is None else end - time.monotonic()
        piece = _piece(wire, min(PIECE, size - len(found)), left)
        if not piece:
            raise Broken
        found += piece
    return bytes(found)


def _piece(wire: socket.socket, size: int, seconds: float | None) -> bytes:
    if seconds is not None and seconds <= 0:
        raise Broken
    try:
        wire.settimeout(seconds)
        return wire.recv(size)
    except (OSError, ValueError) as error:
        raise Broken from error


def _word(number: int) -> bytes:
    return number.to_bytes(WORD, "little")


def _no_number(text: str) -> float:
    raise ValueError(text)
