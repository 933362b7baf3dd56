"""A release in a notebook: a few lines, no script, and loud where there is no guarantee."""

from __future__ import annotations

from sfumato.release.release import Release


def test_the_short_form(promised: Release, release: Release, compact: Release) -> None:
    told = promised._repr_html_()
    assert "(1, 1e-06)-differentially private" in told
    assert "<script" not in told
    assert "<img" not in told
    assert "NOT PRIVATE" not in told
    assert "none kept" in compact._repr_html_()
    assert "NOT PRIVATE" in release._repr_html_()
