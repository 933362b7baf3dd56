"""A release that is asked, from the fit to the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.asking.simulated import SCHEMA, rows

import sfumato as sf


@pytest.fixture(scope="module")
def release() -> sf.Release:
    mechanism = sf.Mixture(pairs=None)
    return sf.fit(rows(4000), SCHEMA, epsilon=2, delta=1e-6, mechanism=mechanism, insecure_seed=3)


def test_a_fitted_release_answers(release: sf.Release) -> None:
    frame = rows(4000)
    for found, truth in (
        (release.count(), 4000),
        (release.count("age > 40"), (frame.age > 40).sum()),
        (release.share("sex == 'f' and income == 'low'"), ((frame.sex == "f") & (frame.income == "low")).mean()),
        (release.mean("hours"), frame.hours.mean()),
        (
            release.mean("age", by="income", where="age < 50")["low"],
            frame.query("age < 50 and income == 'low'").age.mean(),
        ),
        (release.quantile("age", 0.25), np.quantile(frame.age, 0.25)),
        (release.table("sex", "income")["f", "low"], ((frame.sex == "f") & (frame.income == "low")).sum()),
    ):
        assert isinstance(found, sf.Estimate)
        assert found.interval is not None
        room = found.width  # twice as far as the interval reaches
        assert found.interval[0] - room <= truth <= found.interval[1] + room
        assert found.level == 0.95
    assert release.regress("income ~ age", kind="logistic")["age"].estimate > 0.0
    assert release.correlation("age", "hours").interval is None
    assert release.mean("hours", level=0.5).width < release.mean("hours").width
    assert release.mean("hours", about="population").width > release.mean("hours").width


def test_answers_are_kept_in_the_file(release: sf.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r.sfumato")
    assert sf.load(tmp_path / "r.sfumato").mean("hours", by="income") == release.mean("hours", by="income")
    release.save(tmp_path / "c.sfumato", compact=True)
    assert "compact" in sf.load(tmp_path / "c.sfumato").count("age > 40").reason


def test_columns_in_groups_tell_the_classes(small_pool: None) -> None:
    rng = np.random.default_rng(0)
    frame = rows(2000)[["income"]].assign(**{f"p{i}": rng.random(2000) for i in range(4)})
    schema = {
        "label": "income",
        "columns": {"income": {"type": "category", "values": ["low", "high"]}},
        "groups": {"pixels": {"columns": [f"p{i}" for i in range(4)], "min": 0, "max": 1, "projection": "random"}},
    }
    release = sf.fit(frame, schema, epsilon=2, delta=1e-6, insecure_seed=3)
    found = release.count("income == 'high'")
    assert found.interval is not None
    assert abs(found.estimate - (frame.income == "high").sum()) < 6 * found.se
    assert release.mean("p1").interval is None
