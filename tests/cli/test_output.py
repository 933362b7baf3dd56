"""Results on stdout, everything else on stderr."""

from __future__ import annotations

import json

import pytest

from sfumato.cli.output import print_json, say


def test_lines_and_results_go_apart(capsys: pytest.CaptureFixture[str]) -> None:
    say("a line")
    print_json({"name": "Zoë", "values": [1, None]})
    out, err = capsys.readouterr()
    assert err == "a line\n"
    assert json.loads(out) == {"name": "Zoë", "values": [1, None]}
    assert "Zoë" in out, "letters are printed as they are"
