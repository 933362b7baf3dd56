"""URLs of databases: one driver for PostgreSQL, and no password in a refusal."""

from __future__ import annotations

import pytest

from sfumato.database_url import read_url
from sfumato.errors import ArgumentError


@pytest.mark.parametrize(
    ("text", "driver"),
    [
        ("postgresql://ann@host/stays", "postgresql+psycopg"),
        ("postgres://ann@host/stays", "postgresql+psycopg"),
        ("postgresql+pg8000://ann@host/stays", "postgresql+pg8000"),
        ("sqlite:///stays.db", "sqlite"),
    ],
)
def test_postgresql_gets_the_driver_of_the_extra_and_others_keep_theirs(text: str, driver: str) -> None:
    assert read_url(text, "refused").drivername == driver


@pytest.mark.parametrize("text", ["no url", "postgresql://ann:secret@host:port/stays", ""])
def test_what_is_none_is_refused_in_the_words_that_were_given(text: str) -> None:
    with pytest.raises(ArgumentError, match=r"^refused$") as refused:
        read_url(text, "refused")
    assert refused.value.__cause__ is None
