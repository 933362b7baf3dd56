"""The server: one page a step, drawn from the state; forms change it, and commands run beside."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import jinja2
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from sfumato.cli.output import say
from sfumato.errors import ArgumentError, SfumatoError
from sfumato.studio import commands
from sfumato.studio.folder import Folder, Outside
from sfumato.studio.guard import Guard
from sfumato.studio.screens import Form, Step, epsilon_screen, fit_screen, table_screen
from sfumato.studio.steps import WAY, current, is_done, needed
from sfumato.studio.work import Work

HERE = Path(__file__).parent
TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(HERE / "pages"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters["sentence"] = lambda text: text[:1].upper() + text[1:]  # names in it stay as they are
MOST_FIELDS = 5000  # of a form: a table may have many columns
DOCUMENTS = ("report", "evaluation")
WALLED_OFF = {
    "Content-Security-Policy": "sandbox allow-scripts allow-downloads; default-src 'none'; "
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
}
SECONDS_TO_CLOSE = 2  # that requests have, once the server is told to stop


def serve(place: Path, port: int, announce: Callable[[str, str], None]) -> None:
    """Serve the studio for a folder until Ctrl-C. Then a command that runs is stopped as Ctrl-C would, and says so.

    Args:
        place: The folder.
        port: Where to listen; 0 for a free one.
        announce: Hears the folder and the address, token and all, once it is served.

    Raises:
        ArgumentError: There is no such folder, or the port is taken.
    """
    work = Work(Folder.of(place))
    with _listening(port) as listener:
        here = listener.getsockname()[1]
        token, page = secrets.token_urlsafe(24), secrets.token_urlsafe(16)
        announce(str(work.folder.root), f"http://127.0.0.1:{here}/{page}/?token={token}")
        config = uvicorn.Config(
            application(work, here, token, page),
            log_level="critical",  # an address may hold the token
            access_log=False,
            timeout_graceful_shutdown=SECONDS_TO_CLOSE,
            ws="none",
            server_header=False,
        )
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            pass
        finally:
            _close(work)


def application(work: Work, port: int, token: str, place: str) -> ASGIApp:
    """The studio as an application, guarded."""
    pages = Pages(work)
    routes = [
        Route("/", pages.home),
        Route("/job", pages.job),
        Route("/forecast", pages.forecast),
        Route("/commands/{step}", pages.commands),
        Route("/document-{which}", pages.document),
        Route("/{step}", pages.show, methods=["GET"]),
        Route("/{step}", pages.change, methods=["POST"]),
        Mount("/static", StaticFiles(directory=HERE / "static")),
    ]
    return Guard(Starlette(routes=routes), port, token, place)


class Pages:
    """What answers requests.

    Args:
        work: The state.
    """

    def __init__(self, work: Work) -> None:
        self._work = work

    def home(self, request: Request) -> Response:
        """The step where somebody stands."""
        return self._safely(lambda: _to(current(self._work)))

    def show(self, request: Request) -> Response:
        """The page of a step."""
        step = WAY.get(request.path_params["step"])
        if step is None:
            return self._page("problem.html", {"problem": "there is no such page"}, 404)
        place = request.query_params.get("folder", ".")
        return self._safely(lambda: self._show(step, place))

    async def change(self, request: Request) -> Response:
        """What a form does; then the page again, or the next one."""
        step = WAY.get(request.path_params["step"])
        try:
            fields = parse_qs((await request.body()).decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS)
        except ValueError:
            return self._page("problem.html", {"problem": "that form cannot be read"}, 400)
        if step is None:
            return self._page("problem.html", {"problem": "there is no such page"}, 404)
        return await run_in_threadpool(self._safely, lambda: self._change(step, fields))

    def job(self, request: Request) -> Response:
        """How far the command that runs has come, in words without a value."""

        def told() -> Response:
            job = self._work.job
            if job is None or not job.running:
                return JSONResponse({"running": False})
            found: dict[str, Any] = {"running": True, "seconds": round(job.seconds)}
            if job.words[1] == "fit":
                found["progress"] = fit_screen.progress(self._work, job)
            return JSONResponse(found)

        return self._safely(told)

    def forecast(self, request: Request) -> Response:
        """What a release would mean, for a form that is being filled in."""
        form = {key: [value] for key, value in request.query_params.items()}

        def told() -> Response:
            reason = needed(epsilon_screen.STEP, self._work)
            found = {"problem": reason} if reason else epsilon_screen.forecast(self._work, form)
            return self._page("forecast.html", {"forecast": found}, 200)

        return self._safely(told)

    def commands(self, request: Request) -> Response:
        """The commands for a form that is being filled in; none while it makes no sense."""
        step = WAY.get(request.path_params["step"])
        form = {key: request.query_params.getlist(key) for key in request.query_params}
        return self._safely(lambda: JSONResponse([] if step is None else self._shown(step, form)))

    def document(self, request: Request) -> Response:
        """The report or the evaluation, walled off: its scripts reach nothing of the studio."""
        which = request.path_params["which"]
        name = getattr(self._work, which) if which in DOCUMENTS else ""
        if not name:
            return self._page("problem.html", {"problem": "there is no such document yet"}, 404)
        return self._safely(lambda: FileResponse(self._work.path(name), media_type="text/html", headers=WALLED_OFF))

    def _shown(self, step: Step, form: Form) -> list[str]:
        try:
            if job := self._work.runs(step.verb):
                return [commands.shown(job.words)]
            words = [] if needed(step, self._work) else step.commands(self._work, form)
            return [commands.shown(each) for each in words]
        except Outside:
            raise
        except SfumatoError:
            return []

    def _show(self, step: Step, place: str = ".") -> Response:
        work = self._work
        if work.go and work.go != step.name:
            name, work.go = work.go, ""
            return _to(name)
        work.go = ""
        if needed(step, work):
            return _to(current(work))
        return self._step(step, work.problem(step.verb), 200, {}, place)

    def _change(self, step: Step, form: Form) -> Response:
        try:
            if reason := needed(step, self._work):
                raise ArgumentError(reason)
            self._work.dismiss()
            return _to(step.act(self._work, form) or step.name)
        except Outside:
            raise
        except SfumatoError as error:
            if needed(step, self._work):
                return _to(current(self._work))
            return self._step(step, str(error), 422, form)

    def _step(self, step: Step, problem: str, status: int, form: Form, place: str = ".") -> Response:
        """The page of a step, with what was typed where something is wrong with it."""
        work = self._work
        view = table_screen.view(work, place) if step.name == "table" else step.view(work)
        known = {
            "step": step,
            "steps": [(each, needed(each, work), is_done(each, work)) for each in WAY.values()],
            "number": list(WAY).index(step.name) + 1,
            "problem": problem,
            "typed": lambda name, usual="": form.get(name, [usual])[0],
            "picked": lambda name: form.get(name, []),
            "work": work,
            "shown": self._shown(step, form),
        }
        return self._page(f"{step.name}.html", known | view, status)

    def _page(self, name: str, known: dict[str, Any], status: int) -> Response:
        return HTMLResponse(TEMPLATES.get_template(name).render(known), status)

    def _safely(self, answer: Callable[[], Response]) -> Response:
        """One request at a time. What goes wrong is told in a line, never in the words of a foreign exception: they may
        hold a cell.
        """
        with self._work.lock:
            try:
                self._work.settle()
                return answer()
            except Outside as error:
                return self._page("problem.html", {"problem": str(error)}, 403)
            except SfumatoError as error:
                return self._page("problem.html", {"problem": str(error)}, 422)
            except OSError as error:
                return self._page(
                    "problem.html", {"problem": f"a file cannot be opened or written: {error.strerror}"}, 422
                )
            except Exception as error:
                say(f"studio: {type(error).__name__} at {_where(error)}")
                return self._page("problem.html", {"problem": "something went wrong in the studio itself"}, 500)


def _to(name: str) -> Response:
    return RedirectResponse(name, 303)


def _where(error: Exception) -> str:
    """The line of code, without what was in it."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return "?" if place is None else f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}"


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()  # before the address is told
    except (OSError, OverflowError):
        listener.close()
        raise ArgumentError(f"--port {port} cannot be used; take another, or leave it out") from None
    return listener


def _close(work: Work) -> None:
    """Stop what runs, as Ctrl-C would have, and say how things stand."""
    if work.job is not None and work.job.running:
        say(f"stopping sfumato {work.job.words[1]}, which was at work")
        try:
            say(work.job.interrupt() or f"sfumato {work.job.words[1]} had ended")
        except KeyboardInterrupt:  # again, while it is waited for
            say(f"sfumato {work.job.words[1]} ends by itself, as process {work.job.process}")
