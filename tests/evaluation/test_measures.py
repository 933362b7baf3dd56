"""Every figure has a name, a direction and a sentence."""

from __future__ import annotations

from sfumato.evaluation.measures import MEASURE_SECTIONS, MEASURES


def test_every_measure_is_told_once() -> None:
    listed = [name for section in MEASURE_SECTIONS.values() for name in section]
    assert sorted(listed) == sorted(set(listed)) == sorted(MEASURES)
    assert all(each.title and each.about.endswith(".") for each in MEASURES.values())
    titles = [each.title for each in MEASURES.values()]
    assert len(set(titles)) == len(titles)
