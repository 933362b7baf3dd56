"""A target with every fault in it, to show that the harness sees them: no part of a campaign unless asked for."""

from __future__ import annotations

import ctypes

from hypothesis import strategies as st

from fuzz.harness import Target
from sfumato.errors import TableError


def run(data: bytes) -> None:
    """Do what the first byte says."""
    ACTIONS.get(data[:1], _nothing)()


def _nothing() -> None:
    pass


def _key_error() -> None:
    raise KeyError("planted")


def _hang() -> None:
    while True:
        pass


def _eat() -> None:
    bytearray(b"x") * (96 << 20)


def _two_lines() -> None:
    raise TableError("one\ntwo")


def _crash() -> None:
    ctypes.string_at(0)


def _hang_in_c() -> None:
    ctypes.PyDLL(None).sleep(1000)  # with Python's lock held, so that no Python alarm can ring


def _refuse() -> None:
    raise TableError("planted, but rightly refused")


ACTIONS = {b"k": _key_error, b"h": _hang, b"m": _eat, b"l": _two_lines, b"c": _crash, b"s": _hang_in_c, b"r": _refuse}


def seeds() -> list[bytes]:
    return [b"", b"r", b"k", b"l", b"c", b"m", b"h"]


TARGET = Target("planted", run, seeds, lambda: st.sampled_from([b"", b"r", b"k"]), longest=4)
