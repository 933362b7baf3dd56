"""`sfumato serve`: answer for a private table, so that analysts need not hold it."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from sfumato.cli.opening import opened
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Adjacency, Data, Json
from sfumato.errors import ArgumentError

if TYPE_CHECKING:
    import socket
    import ssl


def serve(
    context: typer.Context,
    data: Data,
    schema: Annotated[Path, typer.Option(help="What is publicly known about it: YAML or JSON.")],
    ledger: Annotated[
        str | None, typer.Option(help="Where every release is counted: a file, or a PostgreSQL URL.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="The name under which the table was opened there.")] = None,
    socket_path: Annotated[
        Path | None, typer.Option("--socket", help="The Unix socket to listen on; its owner alone may use it.")
    ] = None,
    adjacency: Adjacency = "add-remove",
    answers: Annotated[
        Path | None,
        typer.Option(help="Where charges and answers are kept; beside the ledger by default, or beside the socket."),
    ] = None,
    listen: Annotated[
        str | None, typer.Option(help="HOST:PORT to listen on instead: with --certificate and --token-file only.")
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="The certificate for TLS, PEM.")] = None,
    key: Annotated[Path | None, typer.Option(help="Its key, where it is in a file of its own.")] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the token that analysts have to show; 16 characters or more.")
    ] = None,
    insecure_seed: Annotated[
        int | None, typer.Option(help="Repeatable noise, for tests, instead of a ledger: releases have NO guarantee.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Answer for a private table that analysts fit from elsewhere.

    They work in another process, or on another machine, and cannot read a row. Every release is counted: --ledger and
    --dataset are needed, and one of --socket and --listen.
    """
    from sfumato.accounting import check_adjacency
    from sfumato.ledger.ledger import Ledger
    from sfumato.private.accounting import Adjacency as Neighbours
    from sfumato.schema.schema import Schema
    from sfumato.serving.addresses import read_token
    from sfumato.serving.desk import Desk, Served
    from sfumato.serving.journal import Journal
    from sfumato.serving.listening import serve as answer

    check_adjacency(adjacency)
    token = None if token_file is None else read_token(token_file)
    counted_in = None if ledger is None else Ledger(ledger)
    known, table = Schema.load(schema), opened(context, data)
    served = Served(table, known, Neighbours(adjacency), counted_in, dataset, insecure_seed)
    place = answers or _beside(ledger, dataset, socket_path)
    with ExitStack() as stack:
        journal = Journal(place)  # before the socket, which a second server might take for stale: it gets no further
        stack.callback(journal.shut)
        desk = Desk(served, journal)
        listener, secured, address = _listener(stack, socket_path, listen, certificate, key, token)

        def ready() -> None:
            if as_json:
                print_json({"address": address, "dataset": dataset, "answers": str(place)})
            else:
                print(f"serving {dataset or 'with seeded noise, NOT PRIVATE,'} on {address}; Ctrl-C ends it")
            sys.stdout.flush()  # whoever waits for it reads a pipe

        answer(desk, listener, secured, token, ready)


def _beside(ledger: str | None, dataset: str | None, socket_path: Path | None) -> Path:
    if ledger is not None and dataset is not None and "://" not in ledger:
        return Path(f"{ledger}.{quote(dataset, safe='')}.answers")
    if socket_path is not None:
        return Path(f"{socket_path}.answers")
    raise ArgumentError("answers must be given: a file on this machine, since the ledger is none")


def _listener(
    stack: ExitStack,
    socket_path: Path | None,
    listen: str | None,
    certificate: Path | None,
    key: Path | None,
    token: str | None,
) -> tuple[socket.socket, ssl.SSLContext | None, str]:
    """Where to listen, under which protection, and how analysts name it."""
    from sfumato.serving.listening import tcp_socket, tls, unix_socket

    if (socket_path is None) == (listen is None):
        raise ArgumentError("give one of --socket PATH and --listen HOST:PORT")
    if socket_path is not None:
        if certificate is not None or key is not None:
            raise ArgumentError("--certificate and --key are for --listen; a Unix socket needs none")
        return stack.enter_context(unix_socket(socket_path)), None, f"unix:{socket_path}"
    if certificate is None or token is None or listen is None:
        raise ArgumentError("--listen is for TLS with a token: give --certificate and --token-file, or use --socket")
    secured = tls(certificate, key)
    listener = stack.enter_context(tcp_socket(listen))
    return listener, secured, f"tls:{listen.rpartition(':')[0]}:{listener.getsockname()[1]}"
