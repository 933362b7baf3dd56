"""The file that a release is written to: what came there while it was paid for is not written over."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.cli.output import say

if TYPE_CHECKING:
    from sfumato.release.release import Release


class Claim:
    """A place for a release, from before it is paid for.

    What is there by then is replaced, as it is by any command. What comes there later is somebody else's, who may have
    paid for it too: the release is then written beside it.

    Args:
        path: Where the release is to be.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._before = _stamp(path)

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was written there since."""
        return _stamp(self.path) == self._before

    def save(self, release: Release) -> None:
        """Write it, under a free name where the wanted one was taken meanwhile."""
        is_new = self._take()
        try:
            release.save(self.path)
        finally:
            if is_new and self.path.exists() and self.path.stat().st_size == 0:
                self.path.unlink()

    def _take(self) -> bool:
        """Settle on a name that is ours alone; whether an empty file holds it."""
        if self._before is not None and self.is_untouched:
            return False
        wanted = self.path
        for number in count(2):
            try:
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
                break
            except FileExistsError:
                self.path = wanted.with_name(f"{wanted.stem}-{number}{wanted.suffix}")
            except OSError:  # which saving will tell of
                return False
        self._before = None
        if self.path != wanted:
            say(f"another file has come to {wanted} meanwhile; this release is written to {self.path}")
        return True


def _stamp(path: Path) -> tuple[int, int] | None:
    """What is at a path: a link for itself, since it is the link that would be replaced."""
    try:
        found = path.lstat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ino
