"""The files that a verb writes to: what is there, or came there meanwhile, is not written over without being asked."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from sfumato.cli.output import say
from sfumato.errors import OutputError
from sfumato.files import check_writable

if TYPE_CHECKING:
    from sfumato.release.release import Release


def claim_name(path: Path, replace: bool) -> None:
    """Refuse to write over a file unasked: it may be a release, a schema confirmed by hand, or the private table.

    Args:
        path: Where something is to be written.
        replace: Whether what is there may go.

    Raises:
        OutputError: Nothing can be written there, or something is there that may not go.
    """
    check_writable(path)
    if not replace and os.path.lexists(path):
        raise OutputError(f"{path} is there already; give another name, or --replace to write over it")


class Claim:
    """A place for a release, from before it is paid for.

    What comes there later is somebody else's, who may have paid for it too: the release is then written beside it.

    Args:
        path: Where the release is to be.
        replace: Whether what is there by now may go.

    Raises:
        OutputError: Nothing can be written there, or something is there that may not go.
    """

    def __init__(self, path: Path, replace: bool = False) -> None:
        claim_name(path, replace)
        self.path = path
        self._before = _stamp(path)

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was written there since."""
        return _stamp(self.path) == self._before

    def save(self, release: Release) -> None:
        """Write it, under a free name where the wanted one was taken meanwhile."""
        check_writable(self.path)
        if self._before is not None and self.is_untouched:
            release.save(self.path)
            return
        whole = self.path.with_name(f".{token_hex(8)}{self.path.suffix}")  # so that nobody ever sees half of one
        try:
            release.save(whole)
            self._name(whole)
        finally:
            whole.unlink(missing_ok=True)

    def _name(self, whole: Path) -> None:
        """Give a written file the wanted name, or the first like it that is free."""
        wanted = self.path
        for number in count(2):
            try:
                _name_new(whole, self.path)
                break
            except FileExistsError:
                self.path = wanted.with_name(f"{wanted.stem}-{number}{wanted.suffix}")
        self._before = None
        if self.path != wanted:
            say(f"another file has come to {wanted} meanwhile; this release is written to {self.path}")


def _name_new(whole: Path, path: Path) -> None:
    """Name a file as none is named yet: renaming would replace what is there, a second link does not."""
    try:
        os.link(whole, path)
    except FileExistsError:
        raise
    except OSError:  # a disk without links: whoever is killed between these two lines leaves an empty file
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        whole.replace(path)


def _stamp(path: Path) -> tuple[int, int] | None:
    """What is at a path: a link for itself, since it is the link that would be replaced."""
    try:
        found = path.lstat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ino
