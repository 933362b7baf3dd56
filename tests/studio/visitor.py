"""A browser, as far as the server sees one."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from sfumato.studio.server import application
from sfumato.studio.work import Work

PORT = 4321
TOKEN = "t0ken"
PLACE = "pl4ce"
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"


def stranger(work: Work, **headers: str) -> TestClient:
    """Whoever reaches the port."""
    return TestClient(
        application(work, PORT, TOKEN, PLACE), base_url=f"{ORIGIN}/{PLACE}", headers=headers, follow_redirects=False
    )


def visitor(work: Work) -> TestClient:
    """Whoever opened the address that was printed."""
    client = stranger(work)
    client.get(f"/?token={TOKEN}")
    return client


def send(client: TestClient, path: str, **fields: Any) -> Any:
    """A form, sent from the studio's own page; then the page that it leads to."""
    return client.post(path, data=fields, headers={"Origin": ORIGIN}, follow_redirects=True)
