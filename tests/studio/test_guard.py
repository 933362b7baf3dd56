"""Who is let in."""

from __future__ import annotations

import re

import pytest
from starlette.websockets import WebSocketDisconnect
from tests.studio.visitor import HOST, ORIGIN, PLACE, PORT, TOKEN, stranger, visitor

from sfumato.studio.guard import MOST_BODY
from sfumato.studio.work import Work


def test_the_token_is_swapped_for_a_cookie_that_no_script_and_no_other_site_has(work: Work) -> None:
    client = stranger(work)
    answer = client.get(f"/?token={TOKEN}")
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert TOKEN not in answer.text
    assert client.get("/", follow_redirects=True).status_code == 200


def test_the_cookie_is_sent_to_no_other_server_of_this_machine(work: Work) -> None:
    """Ports do not part cookies: whoever listens on another one may lead the browser there."""
    client = visitor(work)

    def sent(address: str) -> bool:
        return "cookie" in client.build_request("GET", address).headers

    assert f"Path=/{PLACE}/;" in client.get(f"/?token={TOKEN}").headers["set-cookie"]
    assert sent(f"{ORIGIN}/{PLACE}/table")
    for other in ("/", "/table", f"/{PLACE}", f"/{PLACE}x/", f"/x/{PLACE}/"):
        assert not sent(f"http://127.0.0.1:{PORT + 1}{other}")


@pytest.mark.parametrize(
    "place", ["", "/table", f"/?token={TOKEN}", f"/other/?token={TOKEN}", f"/{PLACE}", f"//{PLACE}/"]
)
def test_nothing_lies_elsewhere(work: Work, place: str) -> None:
    """Neither the token nor the cookie is enough without the place, nor the place without them."""
    client = visitor(work)
    held = client.build_request("GET", f"{ORIGIN}/{PLACE}/").headers["cookie"]
    assert client.get(f"{ORIGIN}{place}", headers={"Cookie": held}).status_code == 403
    assert stranger(work).get(f"{ORIGIN}/{PLACE}/table").status_code == 403


def test_links_stay_in_the_place(confirmed: Work) -> None:
    client = visitor(confirmed)
    for page in ("table", "draft", "confirm", "check", "epsilon", "nothing"):
        answer = client.get(f"/{page}")
        assert answer.status_code in (200, 404)
        assert not re.findall(r'(?:href|src|action)="/', answer.text)
    assert client.get("/static/studio.css").status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/table", "/job", "/forecast", "/static/studio.css", "/?token=wrong", "/?token="]
)
def test_without_a_token_nothing_is_told(work: Work, path: str) -> None:
    answer = stranger(work).get(path)
    assert answer.status_code == 403
    assert "people.csv" not in answer.text


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "localhost:1", "[::1]:4321", ""])
def test_another_host_is_refused_with_the_token_too(work: Work, host: str) -> None:
    """A page elsewhere whose name was made to point here (DNS rebinding) sends its own name."""
    assert visitor(work).get("/table", headers={"Host": host}).status_code == 403
    assert stranger(work).get(f"/?token={TOKEN}", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"https://{HOST}", f"http://localhost:{PORT}", f"{ORIGIN}1"]
)
def test_another_origin_is_refused(work: Work, origin: str) -> None:
    client = visitor(work)
    assert client.get("/job", headers={"Origin": origin}).status_code == 403
    assert client.post("/table", data={"file": "people.csv"}, headers={"Origin": origin}).status_code == 403
    assert not work.table


def test_a_form_has_to_say_whence_it_comes(work: Work) -> None:
    client = visitor(work)
    assert client.post("/table", data={"file": "people.csv"}).status_code == 403
    assert not work.table
    assert client.post("/table", data={"file": "people.csv"}, headers={"Origin": ORIGIN}).status_code == 303
    assert work.table == "people.csv"


def test_a_page_elsewhere_cannot_embed_or_call_it(work: Work) -> None:
    client = visitor(work)
    for site in ("cross-site", "same-site"):
        assert client.get("/table", headers={"Sec-Fetch-Site": site}).status_code == 403
    assert client.get("/table", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/job"):
        pass


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused(work: Work, method: str) -> None:
    assert visitor(work).request(method, "/table", headers={"Origin": ORIGIN}).status_code == 405


def test_forms_are_short_and_say_how_long_they_are(work: Work) -> None:
    client, own = visitor(work), {"Origin": ORIGIN}
    assert client.post("/table", content=b"a" * (MOST_BODY + 1), headers=own).status_code == 413
    assert client.post("/table", content=iter([b"file=people.csv"]), headers=own).status_code == 411
    pieces = own | {"Content-Length": "5", "Transfer-Encoding": "chunked"}
    assert client.post("/table", content=b"a" * (MOST_BODY + 1), headers=pieces).status_code == 411
    assert client.post("/table", content=b"a=1&" * 6000, headers=own).status_code == 400


def test_every_answer_says_what_a_browser_may_do_with_it(work: Work) -> None:
    for client, path in ((visitor(work), "/table"), (visitor(work), "/static/studio.js"), (stranger(work), "/")):
        headers = client.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert "access-control-allow-origin" not in headers
