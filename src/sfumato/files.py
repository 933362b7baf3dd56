"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.errors import OutputError


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary name beside `path`, and rename it to `path` when the block succeeds."""
    target = Path(path)
    check_writable(target)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror}") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    except OSError as error:
        raise OutputError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: str | Path) -> None:
    """Refuse a place that no file can be written to."""
    target = Path(path)
    if os.path.isdir(target):  # unlike Path's own, these say no to a name that no file can have
        raise OutputError(f"cannot write {target}: it is a folder")
    if not os.path.isdir(target.parent):
        raise OutputError(f"cannot write {target}: the folder {target.parent} does not exist")
    if not os.access(target.parent, os.W_OK):
        raise OutputError(f"cannot write {target}: no permission to write into {target.parent}")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
