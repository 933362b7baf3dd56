"""Where a curator is: a Unix socket, or a host and port that are reached under TLS. Plain TCP is refused."""

from __future__ import annotations

import socket
import ssl
import stat
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import ArgumentError
from sfumato.text import one_line

KINDS_OF_PLACE = ("unix:", "tls:")
LONGEST_SOCKET_PATH = 100  # bytes that every system takes
CONNECTING_SECONDS = 20.0
SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Address:
    """A Unix socket's path, or a host and a port."""

    text: str
    path: str = ""
    host: str = ""
    port: int = 0

    @classmethod
    def of(cls, text: str) -> Address:
        """The address that a text names.

        >>> Address.of("unix:/run/clinic.sock").path, Address.of("tls:db.example.org:7000").port
        ('/run/clinic.sock', 7000)
        """
        if isinstance(text, str) and text.startswith("unix:"):
            path = text.removeprefix("unix:")
            path = path.removeprefix("//") if path.startswith("///") else path
            check_socket_path(path)
            return cls(text, path=path)
        if isinstance(text, str) and text.startswith("tls:"):
            return cls(text, "", *host_and_port(text.removeprefix("tls:").removeprefix("//")))
        if isinstance(text, str) and text.startswith("tcp:"):
            raise ArgumentError("a curator is not reached by plain TCP, which anyone may read: say tls:HOST:PORT")
        raise ArgumentError(f"a curator's address is unix:PATH or tls:HOST:PORT, not {text!r}")

    def connected(self, ca: str | Path | None = None) -> socket.socket:
        """A connection; the host must have a certificate that the system trusts, or `ca` if it is given."""
        if self.path:
            wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                wire.settimeout(CONNECTING_SECONDS)
                wire.connect(self.path)
            except OSError:
                wire.close()
                raise
            return wire
        try:
            context = ssl.create_default_context(cafile=None if ca is None else str(ca))
        except OSError as error:
            raise ArgumentError(f"ca {ca} cannot be read: {one_line(error.strerror or str(error))}") from error
        plain = socket.create_connection((self.host, self.port), CONNECTING_SECONDS)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        try:
            return context.wrap_socket(plain, server_hostname=self.host)
        except OSError:
            plain.close()
            raise


def is_address(text: str) -> bool:
    """Whether a text is meant for a curator's address, and not for a table.

    >>> is_address("unix:clinic.sock"), is_address("clinic.csv")
    (True, False)
    """
    return text.startswith((*KINDS_OF_PLACE, "tcp:"))


def check_socket_path(path: str) -> None:
    """Refuse a path that no Unix socket can have."""
    if not path or "\0" in path or len(path.encode(errors="surrogateescape")) > LONGEST_SOCKET_PATH:
        raise ArgumentError(f"a socket's path has 1 to {LONGEST_SOCKET_PATH} bytes: {one_line(path)!r} has not")


def host_and_port(text: str) -> tuple[str, int]:
    """A host and a port from HOST:PORT.

    >>> host_and_port("[::1]:7000")
    ('::1', 7000)
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ArgumentError(f"say HOST:PORT, such as db.example.org:7000, not {text!r}")
    return host, int(port)


def read_token(path: str | Path) -> str:
    """The token in a file.

    Raises:
        ArgumentError: It cannot be read, is short, or others may read it.
    """
    try:
        text = Path(path).read_text(encoding="utf-8").strip()
        shared = Path(path).stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    except (OSError, ValueError):
        raise ArgumentError(f"the token in {path} cannot be read") from None
    if len(text) < SHORTEST_TOKEN or not text.isascii() or not text.isprintable():
        raise ArgumentError(f"a token is at least {SHORTEST_TOKEN} printable ASCII characters; {path} has none")
    if shared:
        raise ArgumentError(f"others may read the token in {path}: chmod 600 it")
    return text
