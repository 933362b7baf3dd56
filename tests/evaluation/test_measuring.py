"""All measures of some rows, and how far the work is."""

from __future__ import annotations

import pytest
from tests.evaluation.tables import RELATED, related

from sfumato.evaluation import measuring
from sfumato.evaluation.measures import MEASURES
from sfumato.evaluation.measuring import Measured, Measuring
from sfumato.evaluation.typed_rows import typed
from sfumato.progress import Work

TRAIN, TEST, OURS = (typed(related(300, seed), RELATED) for seed in (0, 1, 2))


def test_a_column_is_as_far_off_as_its_pairs() -> None:
    found = Measured({}, pairs={("a", "b"): 0.2, ("a", "c"): 0.4, ("b", "c"): 0.0})
    assert found.together == pytest.approx({"a": 0.3, "b": 0.1, "c": 0.2})


@pytest.mark.parametrize("target", [None, pytest.param("a", marks=pytest.mark.slow)])
def test_the_work_adds_up_to_what_was_foretold(target: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if target is None:
        monkeypatch.setattr(measuring, "has_lightgbm", lambda: False)
    held = Measuring(TRAIN, TEST, True, target)
    told: list[float] = []
    work = Work(lambda done, what: told.append(done), held.cost(1))
    for found in (held.real(work), held.independent(work), held.synthetic(OURS, "sample", work)):
        assert set(found.figures) <= set(MEASURES)
        assert len(found.shares) == len(held.few)
    work.next("end", 0)
    assert told[-1] == pytest.approx(1.0)
    assert max(told[:-1]) < 1.0


def test_all_columns_are_targets_of_a_narrow_table(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightgbm")
    assert Measuring(TRAIN, TEST, True, None).targets == list("abcde")
    monkeypatch.setattr(measuring, "has_lightgbm", lambda: False)
    assert Measuring(TRAIN, TEST, True, None).targets == []
