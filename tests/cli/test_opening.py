"""The options by which a table is opened are those of `sf.open_table`."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import pytest
from tests.calls import Call

from sfumato.cli.opening import Opening
from sfumato.tables import open_table


def test_the_command_line_has_the_options_of_python() -> None:
    options = {field.name.removeprefix("csv_") for field in fields(Opening)}
    assert options == set(inspect.signature(open_table).parameters) - {"source"}


@pytest.mark.parametrize("verb", ["fit", "schema", "convert"])
def test_every_verb_that_reads_a_table_has_them(verb: str, call: Call) -> None:
    shown = call(verb, "--help").out
    for field in fields(Opening):
        assert f"--{field.name.replace('_', '-')}" in shown


def test_what_is_said_reaches_the_table(folder: Path, call: Call) -> None:
    Path("odd.csv").write_bytes("größe|b\n'1|\n2'|é\n".encode("latin-1"))
    options = ("--delimiter", "|", "--quote", "'", "--csv-encoding", "latin-1", "--quoted-breaks")
    assert call("convert", "odd.csv", "-", *options).out == '"größe","b"\n"1|\n2","é"\n'
