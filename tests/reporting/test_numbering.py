"""Sections, tables and figures count up, and a figure has its words and its numbers."""

from __future__ import annotations

from sfumato.reporting.numbering import Numbering, listing, source_line


def test_everything_has_a_number() -> None:
    numbering = Numbering()
    numbering.table("One", ["a"], [("x",)])
    second = numbering.table("Two", ["a"], [("x",)], source="answers.")
    assert "<b>Table 2.</b> Two" in second
    assert "answers." in second
    figure = numbering.figure("Shape", "What is seen", {"kind": "bars"}, "the numbers")
    assert "<b>Figure 1.</b> Shape" in figure
    assert 'role="img" aria-label="What is seen"' in figure
    assert "<details><summary>Figure 1 as numbers</summary>the numbers</details>" in figure
    assert numbering.figures == {"figure-1": {"kind": "bars"}}
    numbering.section("a", "First")
    assert '<section id="b">' in numbering.section("b", "Second & last")
    assert numbering.sections == {"a": "First", "b": "Second & last"}


def test_nothing_is_said_of_no_source() -> None:
    assert source_line("") == ""
    assert listing(["<"]) == "<ul><li>&lt;</li></ul>"
