"""The server's sockets: a Unix socket that its owner alone may use, or TCP under TLS with a token.

Every connection has a thread, and time limits for each request, so that one that is slow or hostile holds nobody up but
itself; there are so many at most. A connection begins with the verb `facts`, which carries the token if there is one.
"""

from __future__ import annotations

import hmac
import os
import signal
import socket
import ssl
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from sfumato.errors import ArgumentError, OutputError
from sfumato.serving.addresses import check_socket_path, host_and_port
from sfumato.serving.desk import Desk
from sfumato.serving.frames import LONGEST_REQUEST, Broken, Frame, padded_size, receive, send

MOST_CONNECTIONS = 32
PRIVATE_MODE = 0o600


@dataclass(frozen=True)
class Patience:
    """How long a connection may take, in seconds: to its next request, for one to come in, for a reply to go out; and
    how long a question that is being answered may take once the server is told to stop.
    """

    idle: float = 600.0
    request: float = 60.0
    reply: float = 600.0
    stopping: float = 60.0


USUAL = Patience()


@contextmanager
def unix_socket(path: str | Path) -> Iterator[socket.socket]:
    """Listen on a Unix socket that nobody but its owner may use; its file goes when the block is left.

    Raises:
        ArgumentError: A server listens there already, or there is something that is no socket.
        OutputError: It cannot be made there.
    """
    place = str(path)
    check_socket_path(place)
    _clear_stale(place)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o777 & ~PRIVATE_MODE)  # from its first moment on
    try:
        listener.bind(place)
    except OSError as error:
        listener.close()
        raise OutputError(f"cannot make the socket {place}: {error.strerror}") from error
    finally:
        os.umask(before)
    mine = os.lstat(place).st_ino
    listener.listen()
    try:
        yield listener
    finally:
        listener.close()
        with suppress(OSError):
            if os.lstat(place).st_ino == mine:  # and not that of a server that came after
                os.unlink(place)


@contextmanager
def tcp_socket(place: str) -> Iterator[socket.socket]:
    """Listen on HOST:PORT.

    Raises:
        ArgumentError: It cannot be listened on.
    """
    host, port = host_and_port(place)
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(address, family=family)
    except OSError as error:
        raise ArgumentError(f"cannot listen on {place}: {error.strerror}") from error
    with listener:
        yield listener


def tls(certificate: str | Path, key: str | Path | None = None) -> ssl.SSLContext:
    """What a server proves itself by.

    Raises:
        ArgumentError: It cannot be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")
    except OSError as error:
        raise ArgumentError(f"the certificate {certificate} and its key cannot be read: {error.strerror}") from None
    return context


def serve(
    desk: Desk,
    listener: socket.socket,
    context: ssl.SSLContext | None = None,
    token: str | None = None,
    ready: Callable[[], None] = lambda: None,
    patience: Patience = USUAL,
) -> None:
    """Answer until SIGTERM or Ctrl-C. The question that is being answered then is answered and kept.

    Args:
        desk: Who answers.
        listener: Where.
        context: TLS; None on a Unix socket.
        token: What a connection has to show first, where there is one.
        ready: Called once requests are taken.
        patience: How long connections may take.

    Raises:
        ArgumentError: TCP without TLS and a token.
    """
    if listener.family != socket.AF_UNIX and (context is None or token is None):
        raise ArgumentError("TCP is served with TLS and a token only; or use a Unix socket")
    places = threading.BoundedSemaphore(MOST_CONNECTIONS)
    with _stoppable():
        try:
            ready()
            for wire in _callers(listener):
                if places.acquire(blocking=False):
                    _Connection(desk, wire, context, token, patience, places).start()
                else:
                    wire.close()
        except KeyboardInterrupt:
            listener.close()
    desk.shut(patience.stopping)


@dataclass(frozen=True)
class _Connection:
    desk: Desk
    wire: socket.socket
    context: ssl.SSLContext | None
    token: str | None
    patience: Patience
    places: threading.BoundedSemaphore

    def start(self) -> None:
        """Answer beside the others."""
        try:
            threading.Thread(target=self.run, daemon=True).start()
        except RuntimeError:  # as many threads as there may be
            self.wire.close()
            self.places.release()

    def run(self) -> None:
        """Answer one connection until it ends, however it does."""
        try:
            with suppress(Broken, OSError, ValueError):
                self._talk(self._secured())
        finally:
            with suppress(OSError):
                self.wire.close()
            self.places.release()

    def _secured(self) -> socket.socket:
        if self.context is None:
            return self.wire
        self.wire.settimeout(self.patience.request)
        return self.context.wrap_socket(self.wire, server_side=True)

    def _talk(self, wire: socket.socket) -> None:
        admitted = self.token is None
        with wire:
            while True:
                request = receive(wire, LONGEST_REQUEST, self.patience.idle, self.patience.request)
                if request is None:
                    return
                if not admitted:
                    request = self._admit(request)
                    admitted = request is not None
                reply = self.desk.reply(request) if request is not None else _turned_away()
                send(wire, reply.ljust(padded_size(len(reply)), b"\0"), self.patience.reply)
                if not admitted:
                    return

    def _admit(self, request: bytes) -> bytes | None:
        """The first request without its token, if the token is right."""
        with suppress(ArgumentError):
            head = Frame.unpacked(request).head
            shown = head.pop("token", None)
            right = isinstance(shown, str) and hmac.compare_digest(shown.encode(), str(self.token).encode())
            if right and head == {"verb": "facts"}:
                return Frame(head).packed()
        return None


def _callers(listener: socket.socket) -> Iterator[socket.socket]:
    """Whoever connects, until the listener is closed."""
    while listener.fileno() >= 0:
        try:
            yield listener.accept()[0]
        except OSError:  # closed, or as many files are open as may be: then wait
            time.sleep(0.05)


def _turned_away() -> bytes:
    return Frame({"refused": "the server wants another token", "kind": "ArgumentError"}).packed()


def _clear_stale(place: str) -> None:
    """Remove the socket of a server that is gone; refuse one that answers, and what is no socket."""
    try:
        mode = os.lstat(place).st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(mode):
        raise ArgumentError(f"{place} is there already and is no socket; give another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(place)
        except ConnectionRefusedError:
            with suppress(FileNotFoundError):
                os.unlink(place)
            return
        except OSError:
            pass
    raise ArgumentError(f"a server listens on {place} already, or its owner is another; give another path")


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM be what Ctrl-C is."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
