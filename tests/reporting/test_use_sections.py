"""Rules that are kept, rows to take away, and a program that runs."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from sfumato.release.release import Release
from sfumato.reporting.numbering import Numbering
from sfumato.reporting.seen_release import SeenRelease
from sfumato.reporting.use_sections import (
    _program,
    rules_section,
    sample_data,
    sample_rows,
    sample_section,
    use_section,
)
from sfumato.schema.schema import Schema


def test_no_row_breaks_a_rule(seen: SeenRelease) -> None:
    told = rules_section(Numbering(), seen)
    assert "if age &lt; 10 then smokes == false" in told
    assert "Broken by so many of 4,000 rows" in told
    assert told.count('<td class="number">0</td>') == 1
    schema = Schema.of({"columns": {"age": {"type": "number", "min": 0, "max": 9, "step": 1}}})
    plain = SeenRelease(replace(seen.release, schema=schema))
    assert "no rules between columns" in rules_section(Numbering(), plain)


def test_the_sample_is_of_the_schema(seen: SeenRelease) -> None:
    data = sample_data(seen, "stays.sfumato")
    frame = pd.read_csv(io.StringIO(data["csv"]))
    assert list(frame) == list(seen.release.schema.columns)
    assert len(frame) == 1000
    assert data["file"] == "stays.sample.csv"
    told = sample_section(Numbering(), seen)
    assert "Download 1,000 rows" in told
    assert "<svg" not in told


def test_long_categories_leave_the_page_small(seen: SeenRelease) -> None:
    schema = Schema.of({"columns": {"word": {"type": "category", "values": ["a" * 250_000, "b"]}}})
    rows = pd.DataFrame({"word": ["a" * 250_000, "b"] * 500})
    long = SeenRelease(replace(seen.release, schema=schema))
    long.__dict__["rows"] = rows
    assert sample_rows(long) == 16
    assert len(sample_data(long, "r.sfumato")["csv"]) < 4_000_000
    told = sample_section(Numbering(), long)
    assert "Download 16 rows" in told
    assert len(told) < 100_000


def test_no_cell_of_the_download_is_a_formula(seen: SeenRelease) -> None:
    levels = ["=1+1", "@x", "-1", "+2,5", "-x", "\tx", "plain"]
    columns = {"=name": {"type": "category", "values": levels, "missing": True}, "n": {"type": "boolean"}}
    odd = SeenRelease(replace(seen.release, schema=Schema.of({"columns": columns})))
    odd.__dict__["rows"] = pd.DataFrame({"=name": [*levels, None], "n": [True] * 8})
    lines = sample_data(odd, "r.sfumato")["csv"].splitlines()
    assert lines == [
        "'=name,n",
        *(f"{cell},True" for cell in ("'=1+1", "'@x", "-1", '"+2,5"', "'-x", "'\tx", "plain", "")),
    ]
    assert "an apostrophe stands before" in sample_section(Numbering(), odd)
    assert "apostrophe" not in sample_section(Numbering(), seen)


def test_how_to_cite_it(seen: SeenRelease, release: Release) -> None:
    told = use_section(Numbering(), seen, "Stays", "Hospital", "2026", "stays.sfumato")
    assert "Hospital (2026): Stays. Differentially private release, ε = 1" in told
    unsigned = use_section(Numbering(), SeenRelease(release), "Stays", None, None, "stays.sfumato")
    assert "Stays. Release without a guarantee" in unsigned
    assert "cost no privacy" in told
    assert "cost no privacy" not in unsigned
    assert "must not be published" in unsigned


def test_the_program_runs(
    promised: Release, release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The guarantee of this release is made up, which no file may hold: it is saved with its own."""
    path = tmp_path / "it's.sfumato"
    seed_made = replace(
        promised, guarantee=replace(promised.guarantee, epsilon=None, delta=None, mu=None, secure=False)
    )
    seed_made.save(path)
    exec(_program(SeenRelease(promised), str(path)), {})
    assert "the share of rows with smokes == false" in capsys.readouterr().out
