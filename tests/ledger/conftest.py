"""Empty places for a ledger."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ledger.helpers import POSTGRES

from sfumato.ledger import store as ledger_store


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty place for a ledger."""
    if request.param == "sqlite":
        yield str(tmp_path / "ledger.db")
        return
    if not POSTGRES:
        pytest.skip("SFUMATO_TEST_POSTGRES names no PostgreSQL server")
    import sqlalchemy as sa

    name = f"sfumato_{uuid.uuid4().hex}"
    engine = sa.create_engine(ledger_store.Place.of(POSTGRES).url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    yield f"{POSTGRES}?options=-csearch_path%3D{name}"
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"
