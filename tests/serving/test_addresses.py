"""Addresses of servers, and the token in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.errors import ArgumentError
from sfumato.serving.addresses import Address, is_address, read_token


def test_addresses() -> None:
    assert Address.of("unix:a b.sock").path == "a b.sock"
    assert Address.of("unix:///run/x").path == "/run/x"
    assert (Address.of("tls://db:7000").host, Address.of("tls:[::1]:7000").host) == ("db", "::1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tcp:localhost:7000", "plain TCP"),
        ("http://localhost", "unix:PATH or tls:HOST:PORT"),
        ("unix:", "1 to 100 bytes"),
        ("unix:" + "x" * 101, "1 to 100 bytes"),
        ("tls:localhost", "HOST:PORT"),
        ("tls:localhost:", "HOST:PORT"),
        ("tls::7000", "HOST:PORT"),
        ("tls:localhost:70000", "HOST:PORT"),
        (7, "unix:PATH"),
    ],
)
def test_what_is_no_address(text: str, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        Address.of(text)


def test_what_is_meant_for_one() -> None:
    assert all(map(is_address, ["unix:x", "tls:x:1", "tcp:x:1"]))
    assert not any(map(is_address, ["x.csv", "postgresql://x", "unix.csv"]))


def test_tokens(tmp_path: Path) -> None:
    path = tmp_path / "token"
    with pytest.raises(ArgumentError, match="cannot be read"):
        read_token(path)
    path.write_text("short\n")
    path.chmod(0o600)
    with pytest.raises(ArgumentError, match="at least 16"):
        read_token(path)
    path.write_text("0123456789abcdef\n")
    assert read_token(path) == "0123456789abcdef"
    path.chmod(0o640)
    with pytest.raises(ArgumentError, match="chmod 600"):
        read_token(path)
