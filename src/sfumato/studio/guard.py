"""Who may speak to the studio: the browser that was given its address, on this machine, from its own page.

Host: a page elsewhere that has its name point to 127.0.0.1 (DNS rebinding) sends its own name. Origin and
Sec-Fetch-Site: a page elsewhere that has the browser send a form or a request says whence. Token: whoever else is on
this machine does not know the address. Ports do not part cookies, paths do: all pages lie in a place with a random
name, and to no other path does a browser send the cookie. Links in pages are relative, and so stay in it.
"""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BODY = 1 << 20  # bytes of a form
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # without one, browsers say of a form's origin that it is `null`
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
WELCOME = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>sfumato studio</title>'
    '<link rel="icon" href="data:,">'
    '<meta http-equiv="refresh" content="0; url=./"><p><a href="./">Go on to the studio</a></p></html>'
)


class Guard:
    """Middleware that refuses whatever is not the studio's own page.

    Args:
        app: What it guards.
        port: Where the server listens.
        token: What the address has.
        place: The path that all pages lie in, which nobody can guess; without slashes.
    """

    def __init__(self, app: ASGIApp, port: int, token: str, place: str) -> None:
        self._app = app
        self._token = token
        self._place = f"/{place}"
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._cookie = f"sfumato-studio-{port}"
        self._pass = secrets.token_urlsafe(32)  # what the cookie holds: the address does not tell it

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no WebSocket is served
            await send({"type": "websocket.close", "code": 1008})
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._answer(Request(scope))
        await (answer or self._app)(dict(scope, root_path=self._place), receive, with_headers)

    def _answer(self, request: Request) -> Response | None:
        """What is answered here; None where the request may pass."""
        headers = request.headers
        if headers.getlist("host") not in [[host] for host in self._hosts]:
            return _refused("this address is not the studio's; open the one that it printed")
        if not self._is_own(request.method, headers):
            return _refused("the studio takes requests from its own page only")
        place, slash, page = request.url.path[1:].partition("/")
        if not self._knows(f"/{place}{slash}", f"{self._place}/"):
            return _refused("open the address that sfumato studio printed, all of it")
        if not page and self._knows(request.query_params.get("token", ""), self._token):
            return self._welcome()
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return _refused("the studio is not reached from other pages; open the address that it printed")
        if not self._knows(_cookies(headers).get(self._cookie, ""), self._pass):
            return _refused("open the address that sfumato studio printed, with its token")
        return _too_much(headers) if request.method == "POST" else None

    def _is_own(self, method: str, headers: Headers) -> bool:
        """Whether the page that asks is of this very server, as far as the browser says; of what changes something it
        has to.
        """
        origins = headers.getlist("origin")
        return origins == [f"http://{headers['host']}"] or (not origins and method in ("GET", "HEAD"))

    def _knows(self, said: str, secret: str) -> bool:
        return secrets.compare_digest(said.encode(), secret.encode())

    def _welcome(self) -> Response:
        """A page that leads to the studio by itself: to a redirect from elsewhere no browser would show the cookie."""
        answer = HTMLResponse(WELCOME)
        answer.set_cookie(self._cookie, self._pass, httponly=True, samesite="strict", path=f"{self._place}/")
        return answer


def _refused(reason: str) -> Response:
    return PlainTextResponse(f"403: {reason}\n", 403)


def _too_much(headers: Headers) -> Response | None:
    """A form says how long it is, and is not long."""
    length = headers.get("content-length", "")
    if not length.isdecimal() or "transfer-encoding" in headers:  # in pieces, it may be longer than it says
        return PlainTextResponse("411: a form has to say how long it is\n", 411)
    return PlainTextResponse("413: the form is too long\n", 413) if int(length) > MOST_BODY else None


def _cookies(headers: Headers) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}
