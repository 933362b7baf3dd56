"""`sfumato confirm`: walk through what a draft leaves to be confirmed."""

from __future__ import annotations

import shlex
import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from sfumato.cli.interrupts import Interrupted
from sfumato.cli.output import print_json
from sfumato.cli.parameters import Json
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from sfumato.drafting.confirming import Question
    from sfumato.schema.schema import Schema

HELP = "Enter: public, as it stands; a new value; d: drop the column; each: one by one; s: later; q: stop"
SAY_YES_TO = "PRIVATE: the draft was read off rows. Say yes only to what is public knowledge without them."
BULK_HELP = "Kinds of facts to accept at once, such as type,step,missing; bounds and values are asked one by one."

TABLE_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".parquet", ".xlsx")


def confirm(
    schema: Annotated[Path, typer.Argument(help="The draft, which is changed.")],
    accept: Annotated[str | None, typer.Option(help=BULK_HELP)] = None,
    as_json: Json = False,
) -> None:
    """Confirm a draft, one question after the other. To say yes is to declare that a fact is public knowledge.

    Every answer is kept at once: stop whenever you like, and go on by the same command. Answers: Enter or y, it is
    public as it stands; a new value (0..120; a, b, c; step: 5); d, drop the column; each, ask of several columns one
    by one; s, leave it for later; q, stop.
    """
    from sfumato.drafting.confirming import accepted
    from sfumato.schema.schema import Schema

    draft = Schema.load(schema)
    screen = sys.stderr if as_json else sys.stdout  # questions are no part of a result
    told = [SAY_YES_TO]
    if accept is not None:
        before = len(draft.unconfirmed)
        draft = accepted(draft, [kind.strip() for kind in accept.split(",") if kind.strip()])
        draft.save(schema)
        told.append(f"{before - len(draft.unconfirmed)} facts taken as public at once: {accept}")
    print("\n".join(told), file=screen)
    try:
        asked, draft = _walk(draft, schema, screen)
    except KeyboardInterrupt:
        again = shlex.join(["sfumato", "confirm", str(schema)])
        raise Interrupted(f"{schema} holds every answer so far; {again} goes on") from None
    left = len(draft.unconfirmed)
    if as_json:
        print_json({"private": SAY_YES_TO, "output": str(schema), "answered": asked, "left": left})
        return
    state = f"{left} facts are left: sfumato confirm goes on" if left else "nothing is left: fit accepts it"
    print(f"{asked} questions answered; {state}")
    if not left:
        print(f"next: {shlex.join(['sfumato', 'check', _table_beside(schema), '--schema', str(schema)])}")


def _table_beside(schema: Path) -> str:
    """The table that a draft is probably of: the one file beside it that has its name; DATA where that is not known."""
    found = [path for ending in TABLE_ENDINGS if (path := schema.with_suffix(ending)).is_file()]
    return str(found[0]) if len(found) == 1 else "DATA"


def _walk(draft: Schema, path: Path, screen: TextIO) -> tuple[int, Schema]:
    """Ask until all is answered or the answers end; how many were answered, and the schema."""
    from sfumato.drafting.confirming import answered, answers_to, questions, separate, slip_in, taken

    waiting, hinted = deque(questions(draft)), set()
    total, place, asked = len(waiting), 1, 0
    if waiting:
        print(HELP, file=screen)
    while waiting:
        question = waiting.popleft()
        kind, hint = answers_to(draft, question)  # what may be answered is said once of each kind
        hints = [slip_in(draft, question), "" if kind in hinted or not hint else f"or {hint}"]
        answer = _ask(question, place, total, list(filter(None, hints)), screen)
        hinted.add(kind)
        if answer is None or answer.lower() in ("q", "quit"):
            break
        if answer.lower() == "each" and question.can_be_parted:
            waiting.extendleft(reversed(separate(draft, question)))
            total += len(question.names) - 1
            continue
        if answer.lower() not in ("s", "skip"):
            try:
                draft = answered(draft, question, answer)
            except SchemaError as error:
                print(f"  {error}", file=screen)
                waiting.appendleft(question)
                continue
            draft.save(path)
            asked += 1
            print(f"  {taken(draft, question)}", file=screen)
        place += 1
    return asked, draft


def _ask(question: Question, place: int, total: int, hints: list[str], screen: TextIO) -> str | None:
    """The answer to a question; None where there are no more."""
    keys = f"  [{' '.join(question.keys)}]" if question.keys else ""
    print(f"{place} of {total}  {question.text}{keys}", file=screen)
    for hint in hints:
        print(f"  ({hint})", file=screen)
    print("> ", end="", file=screen, flush=True)
    line = sys.stdin.readline()
    if not sys.stdin.isatty():
        print(line.rstrip("\n"), file=screen)
    return line.strip() if line else None
