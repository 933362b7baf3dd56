"""DATA that is a server: which options belong to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.calls import Call
from tests.cli.lines import FIT


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*FIT, "--ca", "x.pem"), "are for a server"),
        (("fit", "tcp:localhost:7", *FIT[4:]), "plain TCP"),
        (("fit", "unix:none.sock", *FIT[4:]), "no curator answers at unix:none.sock"),
        (("fit", "unix:none.sock", *FIT[4:], "--token-file", "none"), "the token in none cannot be read"),
        (("fit", "data.csv", *FIT[4:]), "--schema must be given"),
    ],
)
def test_what_cannot_be_reached(arguments: tuple[str, ...], words: str, folder: Path, call: Call) -> None:
    result = call(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert words in result.err
    assert len(result.err.splitlines()) == 1
    assert not (folder / "new.sfumato").exists()
