"""What a case may do, and what is a fault."""

from __future__ import annotations

import atexit
import contextlib
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sfumato.errors import SfumatoError

MEGABYTE = 1 << 20
LONGEST_MESSAGE = 10_000
OWN_FOLDERS = ("sfumato", "fuzz")  # a fault is told apart by the last line of ours that it passed


@dataclass(frozen=True)
class Target:
    """One kind of input: what reads it, good examples to start from, and a strategy for structured ones."""

    name: str
    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    cases: Callable[[], SearchStrategy[bytes]]
    longest: int = 1 << 14  # bytes of a case that atheris makes
    words: tuple[str, ...] = ()  # that atheris puts in


@dataclass(frozen=True)
class Limits:
    """What one case may take. Seconds are of processor time: a busy machine is no fault of the case."""

    seconds: float = 10.0
    megabytes: float = 512.0


@dataclass(frozen=True)
class Outcome:
    """How one case went: `fault` is empty where it passed or was refused in one line."""

    refused: bool
    fault: str
    detail: str
    seconds: float
    megabytes: float


class TooSlow(BaseException):
    """The alarm of a case. Not an Exception, so that no handler of the library swallows it."""


class FaultFound(AssertionError):
    """A target saw something that must not be, without an exception."""


def attempt(run: Callable[[bytes], None], data: bytes, limits: Limits | None = None) -> Outcome:
    """Run one case under a processor clock and a memory gauge, and judge how it went.

    A case that waits without working never rings that clock: the campaign's watcher sees it.
    """
    limits = limits or Limits()
    before = _reset_peak()
    started = time.process_time()
    refused, fault, detail = False, "", ""
    seen: list[warnings.WarningMessage] | None = None
    try:
        with warnings.catch_warnings(record=True) as seen, _alarm(limits.seconds):
            warnings.simplefilter("always", RuntimeWarning)
            run(data)
    except SfumatoError as error:
        refused, fault = True, wrong_with(str(error))
        detail = repr(str(error)) if fault else ""
    except TooSlow as error:
        fault = f"took more than {limits.seconds:g} s of processor time {_place(error.__traceback__)}"
        detail = _tail(error)
    except (Exception, SystemExit) as error:
        fault, detail = f"{type(error).__name__} {_place(error.__traceback__)}", _tail(error)
    seconds = time.process_time() - started
    megabytes = max(0.0, _peak() - before)
    numeric = [warning for warning in seen or () if issubclass(warning.category, RuntimeWarning)]
    if not fault and numeric:
        fault, detail = f"a warning at {Path(numeric[0].filename).name}:{numeric[0].lineno}", str(numeric[0].message)
    if not fault and megabytes > limits.megabytes:
        fault = f"took more than {limits.megabytes:g} MB"
    return Outcome(refused, fault, detail, seconds, megabytes)


def wrong_with(message: str) -> str:
    """What is wrong with an error message; empty if it is one readable line."""
    if not message.strip():
        return "an empty message"
    if len(message.splitlines()) > 1:
        return "a message of several lines"
    if any(ord(letter) < 32 or 0x7F <= ord(letter) < 0xA0 for letter in message):
        return "a control character in a message"
    return "a message that is far too long" if len(message) > LONGEST_MESSAGE else ""


def check_line(text: str, what: str) -> None:
    """Insist that something shown to a user is one readable line."""
    wrong = wrong_with(text)
    if wrong:
        raise FaultFound(f"{what}: {wrong}")


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    old = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old or signal.SIG_DFL)


def _reset_peak() -> float:
    """Forget the peak so far, where the system can (Linux), and return what is in use."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> float:
    """The most memory in use since the peak was forgotten, in megabytes.

    Not `ru_maxrss` where there is another way: it survives exec, so a small process inherits its parent's peak.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return float(status.read_text().split("VmHWM:")[1].split()[0]) * 1024 / MEGABYTE
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MEGABYTE


def _place(trace: TracebackType | None) -> str:
    """The last line of our own that an exception passed."""
    frames = traceback.extract_tb(trace)
    rest = [f for f in frames if f.filename != __file__]
    own = [f for f in rest if any(f"/{folder}/" in f.filename for folder in OWN_FOLDERS)]
    last = (own or rest or frames)[-1]
    return f"at {Path(last.filename).name}:{last.lineno}"


def _tail(error: BaseException) -> str:
    lines = traceback.format_exception(error)
    return "".join(lines)[-1500:]


@cache
def scratch(name: str) -> Path:
    """A folder for a target's files, gone when this process ends."""
    folder = tempfile.TemporaryDirectory(prefix=f"fuzz-{name}-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def limit_memory(megabytes: float) -> None:
    """Let this process address no more than this beyond what it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else 0
    if pages:
        most = pages * resource.getpagesize() + int(megabytes * MEGABYTE)
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def edited(draw: Any, content: bytes) -> bytes:
    """Damage: some bytes changed, a piece repeated or taken out, the end cut off."""
    damaged = bytearray(content)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, max(0, len(damaged) - 1)))
        kind = draw(st.integers(0, 4))
        size = draw(st.integers(0, 16))
        if kind == 0:
            damaged[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
        elif kind == 1:
            damaged[at:at] = damaged[at : at + size]
        elif kind == 2:
            del damaged[at : at + size]
        elif kind == 3:
            damaged[at : at + 8] = draw(st.sampled_from(ODD_WORDS))
        else:
            del damaged[at:]
    return bytes(damaged)


ODD_WORDS = [
    b"\xff" * 8,
    b"\0" * 8,
    b"\xff\xff\xff\x7f",
    b"\0\0\0\x80",
    b"\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\xff\xff\xff\xff\x0f",
    b"\x80\x80\x80\x80\x80\x80\x80\x01",
]
