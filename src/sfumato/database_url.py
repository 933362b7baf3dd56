"""The URL of a database, for tables and for ledgers alike."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError as BadUrl

from sfumato.errors import ArgumentError


def read_url(text: str, refusal: str) -> sa.URL:
    """Read a URL; PostgreSQL's gets the driver that the extra installs.

    Args:
        text: As a user wrote it.
        refusal: What to say of one that cannot be read. It must not repeat the text, which may hold a password.

    Returns:
        The URL.

    Raises:
        ArgumentError: It cannot be read.

    Example:
        >>> read_url("postgres://ann@host/stays", "no").drivername
        'postgresql+psycopg'
    """
    try:
        url = sa.make_url(text)
    except (BadUrl, ValueError):
        raise ArgumentError(refusal) from None
    return url.set(drivername="postgresql+psycopg") if url.drivername in ("postgresql", "postgres") else url
