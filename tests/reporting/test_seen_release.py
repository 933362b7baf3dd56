"""What a report sees is bounded, however many columns there are."""

from __future__ import annotations

from dataclasses import replace

from sfumato.reporting.seen_release import SeenRelease, Sizes
from sfumato.schema.schema import Schema


def test_rows_are_the_same_every_time(seen: SeenRelease) -> None:
    assert len(seen.rows) == 4000
    assert seen.rows.equals(SeenRelease(seen.release).rows)


def test_why_no_answer_speaks(seen: SeenRelease, seen_compact: SeenRelease) -> None:
    assert seen.why_not("age") == ""
    assert seen.first("age", "ill").name == "histograms"
    assert "no table of age x smokes" in seen.why_not("smokes", "age")
    assert "compact" in seen_compact.why_not("age")
    assert seen_compact.total.interval is None


def test_codes_fit_one_byte_and_the_labels(seen: SeenRelease) -> None:
    for name, codes in seen.codes.items():
        assert codes.min() >= 0
        assert codes.max() < len(seen.classes[name].labels) <= Sizes().classes + 10
    assert abs(seen.model_shares("smokes").sum() - 1.0) < 1e-12


def test_rows_are_bounded_by_their_letters(seen: SeenRelease) -> None:
    columns = {"word": {"type": "category", "values": ["a" * 250_000, "b"]}, "sex": {"type": "boolean"}}
    long = SeenRelease(replace(seen.release, schema=Schema.of({"columns": columns})))
    assert long.rows_within(4_000_000) == 15
    assert long.rows_within(7) == 1
    assert seen.rows_within(Sizes().model_letters) > Sizes().model_rows
