"""What Ctrl-C leaves behind, said in one line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.cli.claim import Claim
    from sfumato.ledger.ledger import Ledger


class Interrupted(Exception):
    """Ctrl-C, where there is more to say than that nothing was written."""


@contextmanager
def interruptible(ledger: Ledger | None, state: str) -> Iterator[None]:
    """Say of Ctrl-C how things may stand, where a ledger may have changed."""
    try:
        yield
    except KeyboardInterrupt:
        if ledger is None:
            raise
        raise Interrupted(f"{state}; {shlex.join(['sfumato', 'ledger', ledger.place])} shows") from None


@contextmanager
def elsewhere(counted: bool) -> Iterator[None]:
    """Say of Ctrl-C that a server may have counted what was asked."""
    try:
        yield
    except KeyboardInterrupt:
        if not counted:
            raise
        raise Interrupted("nothing was written, but the server's ledger may have counted the release") from None


@contextmanager
def unfinished(claim: Claim) -> Iterator[None]:
    """What to say of a training that is interrupted: the file that was claimed holds it, if anything was bought."""
    try:
        yield
    except KeyboardInterrupt:
        if claim.is_untouched:
            raise
        from sfumato.api import load

        place = claim.path
        progress = getattr(load(place).model, "progress", None)
        if progress is None or progress.finished:
            raise Interrupted(f"{place} was written") from None
        again = shlex.join(["sfumato", "train", str(place), *(["--resume"] * (progress.number > 0))])
        raise Interrupted(f"{place} holds what was bought and how far the training is; {again} goes on") from None
