"""What a release says that it is good for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.planning.release_verdict import release_verdict

SCHEMA = {
    "label": "ill",
    "columns": {
        "age": {"type": "number", "min": 0, "max": 99, "step": 1},
        "town": {"type": "category", "values": ["Ulm", "Bonn", "Kiel"]},
        "ill": {"type": "category", "values": ["no", "yes"]},
    },
}
PLAIN = sf.Mixture(pairs=None, components=1)


def table(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    columns = {"age": rng.integers(0, 90, rows), "town": rng.choice(["Ulm", "Bonn", "Kiel"], rows)}
    return pd.DataFrame(columns | {"ill": rng.choice(["no", "yes"], rows)})


@pytest.mark.parametrize(("rows", "fit_for"), [(60, "nothing"), (600, "tables"), (20_000, "training")])
def test_it_is_the_verdict_of_the_plan(rows: int, fit_for: str) -> None:
    """The rows are told by noisy answers: at 60 rows, with noise of half as many, they are hardly told at all."""
    made = sf.fit(table(rows), SCHEMA, epsilon=1, delta=1e-6, rows=rows, mechanism=PLAIN, insecure_seed=1)
    planned = sf.outlook(sf.plan(SCHEMA, epsilon=1, delta=1e-6, rows=rows, mechanism=PLAIN)).verdict
    found = release_verdict(made)
    assert found.fit_for == planned.fit_for == fit_for
    assert found.blur == pytest.approx(planned.blur, rel=0.1 if rows > 60 else 3.0)


def test_a_wrong_guess_does_not_decide_it() -> None:
    made = sf.fit(table(60), SCHEMA, epsilon=1, delta=1e-6, rows=50_000, mechanism=PLAIN, insecure_seed=1)
    assert release_verdict(made).fit_for == "nothing"


def test_an_empty_table_is_fit_for_nothing() -> None:
    made = sf.fit(table(0), SCHEMA, epsilon=1, delta=1e-6, mechanism=PLAIN, insecure_seed=1)
    assert release_verdict(made).fit_for == "nothing"


def test_without_answers_it_is_unknown() -> None:
    made = sf.fit(table(60), SCHEMA, epsilon=1, delta=1e-6, mechanism=PLAIN, insecure_seed=1)
    assert release_verdict(replace(made, answers=())).fit_for == "unknown"


def test_a_table_of_another_schema_is_fit_for_nothing() -> None:
    """A quarter of a column's cells is written as the schema does not know it."""
    wrong = table(20_000)
    wrong.loc[:5_000, "town"] = "ULM"
    found = release_verdict(sf.fit(wrong, SCHEMA, epsilon=1, delta=1e-6, mechanism=PLAIN, insecure_seed=1))
    assert (found.fit_for, found.misfits) == ("nothing", ("town",))
    assert "`town` fits no bin" in str(found)
    assert found.data()["misfits"] == ["town"]


def test_a_few_odd_cells_do_not_decide_it() -> None:
    odd = table(20_000)
    odd.loc[:600, "town"] = "ULM"
    found = release_verdict(sf.fit(odd, SCHEMA, epsilon=1, delta=1e-6, mechanism=PLAIN, insecure_seed=1))
    assert (found.fit_for, found.misfits) == ("training", ())
