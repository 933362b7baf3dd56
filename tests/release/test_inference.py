"""Scores of the release that comes with the package, against slow arithmetic row by row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from tests.models.plain_boxes import plainly_matched

import sfumato as sf
from sfumato.demo import adult
from sfumato.models import TiltedModel
from sfumato.models.base import CodedRows
from sfumato.release import inference
from sfumato.schema.layout import FloatArray
from sfumato.tables import open_table

ADULT = Path(__file__).parents[2] / "examples" / "adult.sfumato"
ROWS = 25


@pytest.fixture(scope="module")
def release() -> sf.Release:
    return sf.load(ADULT)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """Rows, some of which are there twice or begin alike."""
    _, test, _ = adult()
    return pd.concat([test.head(ROWS - 5), test.head(3), test.head(2).assign(hours_per_week=1)], ignore_index=True)


def plain_joint(model: TiltedModel, rows: CodedRows) -> FloatArray:
    """log p(x, class) of every row, one row, component and table at a time."""
    mixture, tilt = model.base.mixture, model.tilt
    found = np.full((len(rows.codes[0]), model.layout.classes), -np.inf)
    for k in range(model.layout.classes):
        boxes = model.base.encoder.boxes(rows.codes, rows.values, model.layout.bins, k)  # type: ignore[union-attr]
        for i in range(len(found)):
            levels = [int(level[code[i]]) for level, code in zip(tilt.levels, rows.codes, strict=True)] + [k]
            weight = 0.0
            for t, table in enumerate(tilt.tables):
                at = np.ravel_multi_index([levels[j] for j in table], tilt.shapes[t])
                weight += tilt.weights[tilt.starts[t] + at]
            for c in mixture.members(k):
                low, high = ((edge[i] - mixture.means[c])[boxes.order] for edge in (boxes.low, boxes.high))
                inside = plainly_matched(mixture.covariance(c)[np.ix_(boxes.order, boxes.order)], low, high)
                found[i, k] = np.logaddexp(found[i, k], np.log(mixture.weights[c]) + inside)
            found[i, k] += boxes.log_change[i] + min(weight, tilt.ceiling) - model.log_total
    return found


def test_scores_are_those_of_slow_arithmetic(release: sf.Release, people: pd.DataFrame) -> None:
    assert isinstance(release.model, TiltedModel)
    (batch,) = open_table(people).batches(list(release.layout.names))
    known = plain_joint(release.model, inference._coded(batch, release.layout))
    features = people.drop(columns="income")
    np.testing.assert_allclose(release.log_density(features), logsumexp(known, axis=1), rtol=0, atol=1e-6)
    posterior = np.exp(known - logsumexp(known, axis=1, keepdims=True))
    np.testing.assert_allclose(release.predict_proba(features), posterior, rtol=0, atol=1e-6)
    labels = people["income"].map({"<=50K": 0, ">50K": 1}).to_numpy()
    np.testing.assert_allclose(release.log_density(people), known[np.arange(ROWS), labels], rtol=0, atol=1e-6)


def test_rows_are_judged_alike_in_pieces_and_on_threads(
    release: sf.Release, people: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = release.log_density(people), release.predict_proba(people)
    monkeypatch.setattr(inference, "PIECE_ROWS", 4)
    monkeypatch.setattr(inference, "core_count", lambda: 3)
    monkeypatch.setattr("sfumato.cores.core_count", lambda: 3)
    np.testing.assert_allclose(release.log_density(people), whole[0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(release.predict_proba(people), whole[1], rtol=0, atol=1e-11)
