"""Fit: spend epsilon, write the release, and count it in the ledger, by the command as it is shown."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError
from sfumato.studio import commands
from sfumato.studio.folder import RELEASES
from sfumato.studio.screens import Form, Step, View, asked_for, said
from sfumato.studio.screens.confirm_screen import STEP as CONFIRM
from sfumato.studio.screens.table_screen import stem
from sfumato.studio.work import Choice, Work

if TYPE_CHECKING:
    from sfumato.studio.jobs import Job

ASKING = re.compile(r"asking for (.+?)(?:: \d+% of the budget.*)?$")  # as `sfumato fit` tells it
TRAINING = "training: "


def view(work: Work) -> View:
    """What will be spent; while it is, how far it has come; and what came of it."""
    choice = work.choice or Choice()
    job = work.runs("fit")
    found: View = {
        "choice": choice,
        "output": work.output,
        "next_output": work.folder.free(stem(work.table), RELEASES[0]),
        "ledger": work.ledger,
        "spent": work.spent,
        "seen": seen(work),
        "job": job,
        "progress": None if job is None else progress(work, job),
    }
    if not job and was_written(work):
        guarantee = work.load_release().guarantee
        found |= {"release": work.release, "guarantee": guarantee, "unread": _unread(work)}
    return found


def words(work: Work, form: Form) -> list[list[str]]:
    """What spends it; once it ran, what did."""
    job = work.job
    if job is not None and job.words[1] == "fit" and not form and was_written(work):
        return [list(job.words)]
    output = said(form, "output") or work.folder.free(stem(work.table), RELEASES[0])
    return [commands.fit(work, work.choice or Choice(), output, asked_for(form, "who", "why"))]


def act(work: Work, form: Form) -> str:
    """Begin the fit. What is to be refused is refused by the command, before it spends anything."""
    work.refuse_while_running()
    if said(form, "spent") != str(work.spent):
        raise ArgumentError("this form was sent already: a fit spends once, and this is what came of it")
    if said(form, "seen") != seen(work):
        raise ArgumentError("what this page showed has changed since; look again, then fit")
    choice = work.choice or Choice()
    output = work.folder.new(said(form, "output"), RELEASES)
    notes = asked_for(form, "who", "why")

    def then(found: dict[str, Any]) -> None:
        work.output = work.release = work.folder.word(
            work.folder.root / found["output"]
        )  # beside it, if somebody was quicker
        work.report, work.evaluation, work.asked = "", "", None

    with work.folder.alone() as right:
        work.start(commands.fit(work, choice, output, notes), then, keeps=[right])
    work.output = output
    work.spent += 1
    return ""


def seen(work: Work) -> str:
    """What a page shows that a fit would spend, and on what: another tab may have chosen otherwise since."""
    command = commands.shown(commands.fit(work, work.choice or Choice(), "", {}))
    return hashlib.sha256(f"{command}\n{work.digest()}".encode()).hexdigest()


def was_written(work: Work) -> bool:
    """Whether the release is what the last fit wrote."""
    return bool(work.release) and work.release == work.output


def progress(work: Work, job: Job) -> View:
    """The rounds of the plan, and which of them were asked so far: public, as the plan is."""
    rounds = (work.choice or Choice()).plan(work.read_schema()).rounds
    told = [found[1] for line in job.lines if (found := ASKING.match(line))]
    lines = [
        {
            "title": each.title,
            "purpose": each.purpose,
            "share": f"{each.share:.0%}",
            "state": _state(each.title, told),
        }
        for each in rounds
    ]
    done = sum(each.share for each, line in zip(rounds, lines, strict=True) if line["state"] == "done")
    total = sum(each.share for each in rounds) or 1.0
    share = done / total
    return {"rounds": lines, "share": share, "percent": f"{share:.0%}", "now": _now(job.lines, told)}


def _now(lines: list[str], told: list[str]) -> str:
    """What the fit is at: a round, or after all of them the training of a generator, which is free."""
    if lines and lines[-1].startswith(TRAINING):
        return lines[-1]
    return told[-1] if told else "getting ready"


def _state(title: str, told: list[str]) -> str:
    """A round is done when the next one is asked."""
    if title not in told:
        return "waiting"
    return "asking" if title == told[-1] else "done"


def _unread(work: Work) -> list[str]:
    from sfumato.release.unread import unread_lines

    return list(unread_lines(work.load_release().unread))


def _needs(work: Work) -> str:
    if not work.table:
        return "open a table first"
    if not CONFIRM.is_done(work):
        return "confirm what is public first"
    if work.choice is None:
        return "choose epsilon first"
    return "" if work.booked else "say first where it is counted"


STEP = Step("fit", "Fit", view, words, act, _needs, is_done=lambda work: bool(work.release), verb="fit")
