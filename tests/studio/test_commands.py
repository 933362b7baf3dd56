"""Commands as words."""

from __future__ import annotations

import os
import shlex
import subprocess

from sfumato.studio import commands
from sfumato.studio.work import Choice, Work


def test_how_a_file_is_opened_goes_into_every_command(drafted: Work) -> None:
    drafted.opening = {"delimiter": ";", "encoding": "cp1252", "quoted_breaks": True}
    wanted = ["--delimiter", ";", "--csv-encoding", "cp1252", "--quoted-breaks"]
    for words in (
        commands.schema(drafted, "s.yaml", {}),
        commands.check(drafted),
        commands.fit(drafted, Choice(), "r.sfumato", {}),
        commands.evaluate(drafted, "e.html", {}),
    ):
        start = words.index(wanted[0])
        assert words[start : start + 5] == wanted


def test_what_cannot_be_seen_is_spelt_out() -> None:
    odd = ["printf", "%s|", "a\x03b", "it's \u202etxt\\", "\n\x1b[200~rm", "\udcff1", "plain ü"]
    line = commands.shown(odd)
    assert line.isprintable()
    told = subprocess.run(["bash", "-c", line], capture_output=True, check=True).stdout
    assert told == b"".join(os.fsencode(word) + b"|" for word in odd[2:])


def test_what_is_usual_is_left_out_and_what_is_odd_is_kept_apart(drafted: Work) -> None:
    assert commands.shown(commands.plan(drafted, Choice(0.5, 1e-6, 100))) == (
        "sfumato plan known.yaml --epsilon 0.5 --delta 1e-06 --rows 100"
    )
    drafted.ledger = ("ledger.db", "two words")
    line = commands.shown(commands.fit(drafted, Choice(mechanism="clustmix"), "r.sfumato", {"why": "-x; rm"}))
    assert line.endswith("--mechanism clustmix --ledger ledger.db --dataset 'two words' '--why=-x; rm' -o r.sfumato")
    drafted.release = "r.sfumato"
    assert shlex.split(commands.shown(commands.ask(drafted, "mean", ["-age"], {})))[-3:] == ["mean", "--", "-age"]
