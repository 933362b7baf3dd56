"""The rounds of pair tables: what they may ask, and what they spend."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from tests.audit.helpers import ADD_REMOVE, ONE

import sfumato as sf
from sfumato.audit.mixture import SHORT, FitGame, pair_tables
from sfumato.errors import ArgumentError
from sfumato.mechanisms.pairs import pair_rounds
from sfumato.mechanisms.pairs.pair_rounds import DISTANCES, TABLES
from sfumato.models import TiltedModel
from sfumato.private.accounting import Adjacency
from sfumato.private.curator import Curator
from sfumato.private.queries.tables import Distances, Tables


def asked(game: FitGame) -> Curator:
    job = game._job(True, seed=3)
    curator = job.curator()
    job.release(curator)
    return curator


def tables_of(curator: Curator) -> list[Tables]:
    queries = [getattr(query, "query", query) for _, query, _ in curator.answers]
    return [q.tables if isinstance(q, Distances) else q for q in queries if isinstance(q, Distances | Tables)]


@pytest.mark.parametrize("adjacency", Adjacency)
def test_rounds_spend_all_that_is_left_and_no_more(adjacency: Adjacency) -> None:
    (game,) = pair_tables(ONE, adjacency)
    curator = asked(game)
    assert curator.remaining == 0.0
    plan = game._job(True, seed=3).plan
    assert math.fsum(each.share for each in plan.rounds) <= 1.0 + 1e-12
    titles = [each.title for each in plan.rounds if each.name in (DISTANCES, TABLES)]
    assert [name for name, _, _ in curator.answers][-len(titles) :] == titles
    assert all(round(sum(query.shares), 12) == 1.0 for query in tables_of(curator))


def test_a_question_never_has_more_cells_than_a_curator_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many classes, columns or rows there are more candidates than fit: a fit must not fail once it has spent."""
    (game,) = pair_tables(ONE, ADD_REMOVE)
    before = [sum(query.cells) for query in tables_of(asked(game))]
    assert max(before) > 100
    monkeypatch.setattr(pair_rounds, "CELLS_OF_ALL", 100)
    monkeypatch.setattr(pair_rounds, "CELLS_OF_ONE", 40)
    queries = tables_of(asked(game))
    assert len(queries) == len(before)
    for query in queries:
        assert sum(query.cells) <= 100
        assert max(query.cells) <= 40


def test_tables_may_be_left_out() -> None:
    (game,) = pair_tables(ONE, ADD_REMOVE)

    def names(mechanism: sf.Mixture) -> set[str]:
        return {each.name for each in sf.plan(game.schema, epsilon=1, delta=1e-6, mechanism=mechanism).rounds}

    assert names(sf.Mixture()) - names(sf.Mixture(pairs=None)) >= {DISTANCES, TABLES}
    with pytest.raises(ArgumentError, match="pairs must be one of"):
        sf.Mixture(pairs="all")  # type: ignore[arg-type]


def test_rules_that_the_mixture_gives_no_mass_do_not_lose_what_was_spent() -> None:
    """Rows that keep four equalities of columns with thirty categories are not found in a mixture of few rows."""
    values = [f"v{i}" for i in range(30)]
    drawn = np.random.default_rng(0).choice(values, (4, 200))
    table = pd.DataFrame({f"{side}{i}": drawn[i] for i in range(4) for side in "ab"})
    schema = {
        "columns": {name: {"type": "category", "values": values} for name in table},
        "constraints": [f"a{i} == b{i}" for i in range(4)],
    }
    release = sf.fit(table, schema, epsilon=0.5, delta=1e-6, mechanism=sf.Mixture(tuning=SHORT), insecure_seed=1)
    assert isinstance(release.model, TiltedModel)
    assert release.model.log_total > -math.inf
