"""`sf.merge`: what is merged is a release like any other, knows more than each part, and refuses what does not fit."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.merging.sites import SCHEMA, TERMS, adaptive, site, table

import sfumato as sf
from sfumato.audit.mixture import SHORT
from sfumato.errors import ArgumentError
from sfumato.models import ColumnLabelModel, MixtureModel, TiltedModel

pytestmark = pytest.mark.usefixtures("small_pool")


def numbers(release: sf.Release, name: str) -> tuple[Any, Any]:
    (answer,) = (each for each in release.answers if each.name == name)
    return answer.values, np.broadcast_to(answer.sd, answer.values.shape)


def test_a_merged_release_does_what_releases_do(tmp_path: Path) -> None:
    made = sf.merge([site(1), site(2), site(3)])
    assert isinstance(made.model, TiltedModel)
    made.save(tmp_path / "all.sfumato")
    again = sf.load(tmp_path / "all.sfumato")
    rows = made.sample(200, seed=1)
    pd.testing.assert_frame_equal(again.sample(200, seed=1), rows)
    assert (made.sample(50, given={"ill": "yes", "town": "Ulm"})["ill"] == "yes").all()
    new = table(9, 20)
    assert np.allclose(made.predict_proba(new).sum(axis=1), 1.0)
    assert np.isfinite(made.log_density(new)).all()
    assert {each.column for each in made.unread} == {"age", "pay"}
    assert sf.SharedLayout.of_release(made).tables == tuple(map(tuple, made.answers[1].what["tables"]))


def test_answers_are_sums_with_the_form_and_the_noise_of_a_fit() -> None:
    one, two = site(1), site(2)
    made = sf.merge([one, two])
    for name in ("histograms", "tables"):
        (values, sd), (mine, my_sd), (his, his_sd) = (numbers(each, name) for each in (made, one, two))
        assert np.allclose(values, mine + his)
        assert np.allclose(sd**2, my_sd**2 + his_sd**2)
        (what,), (own,) = ([a.what for a in each.answers if a.name == name] for each in (made, one))
        assert what == own, "whoever reads the answers of a fit reads these"


def test_two_equal_releases_sharpen_each_other_by_the_root_of_two() -> None:
    """Noise on some 660 cells, known exactly: its spread falls by sqrt(2) too, within five standard errors."""
    one, two = (site(1, noise=seed, rows=2000) for seed in (11, 12))
    made = sf.merge([one, two], same_people=True)
    exact = pd.crosstab(table(1)["ill"], table(1)["age"]).reindex(columns=range(100), fill_value=0).to_numpy()
    for name in ("histograms", "tables"):
        assert np.allclose(numbers(made, name)[1], numbers(one, name)[1] / np.sqrt(2.0))
    column = slice(1, 101)  # of age, behind those that fit no bin
    spread = []
    for release in (one, two, made):
        values, sd = (part.reshape(2, -1)[:, column] for part in numbers(release, "histograms"))
        spread.append(float(np.std((values - exact) / sd)))
    assert np.allclose(spread, 1.0, atol=5 / np.sqrt(2 * exact.size))


@pytest.mark.slow
def test_more_sites_know_more() -> None:
    """Of the same distribution: the merged marginal of age is nearer to it than each site's, on average by far."""
    truth = np.bincount(table(99, 200_000)["age"].astype(int), minlength=100) / 200_000
    sites = [site(seed, noise=seed) for seed in range(20, 26)]

    def off(release: sf.Release) -> float:
        drawn = release.sample(20_000, seed=0)["age"].astype(int)
        return float(np.abs(np.bincount(drawn, minlength=100) / 20_000 - truth).sum())

    assert off(sf.merge(sites)) < 0.8 * np.mean([off(each) for each in sites])


def test_sites_that_differ_are_mixed() -> None:
    """Young and old people at two sites: the merged release has both, and the correlation that only both show."""
    mechanism = sf.Mixture(layout=sf.SharedLayout.of(SCHEMA, **TERMS), tuning=SHORT, pairs=None)
    tables = [table(1, shift=-25), table(2, shift=25)]
    sites = [sf.fit(each, SCHEMA, mechanism=mechanism, insecure_seed=i, **TERMS) for i, each in enumerate(tables)]
    made = sf.merge(sites)
    assert isinstance(made.model, MixtureModel)
    rows, real = made.sample(20_000, seed=0), pd.concat(tables)
    assert abs(rows["age"].astype(float).std() / real["age"].std() - 1.0) < 0.05
    found, wanted = (np.corrcoef(each["age"].astype(float), np.log1p(each["pay"]))[0, 1] for each in (rows, real))
    assert abs(found - wanted) < 0.1


def test_columns_that_are_constant_or_hold_nothing_are_merged() -> None:
    mechanism = sf.Mixture(layout=sf.SharedLayout.of(SCHEMA, **TERMS), tuning=SHORT, pairs=None)
    for tables in ([table(seed, 1000).assign(age=7.0, town="Ulm") for seed in (1, 2)], [table(1, 1), table(2, 0)]):
        sites = [sf.fit(each, SCHEMA, mechanism=mechanism, insecure_seed=i, **TERMS) for i, each in enumerate(tables)]
        made = sf.merge(sites)
        rows = made.sample(500, seed=0)
        assert np.isfinite(made.log_density(rows)).all()
        if len(tables[0]) > 1:
            assert (rows["age"] == 7).mean() > 0.8


def test_releases_that_chose_their_own_bins_merge_on_common_ones() -> None:
    made = sf.merge([adaptive(1), adaptive(2)])
    assert len(made.sample(10)) == 10
    values, _ = numbers(made, "histograms")
    assert abs(values.sum() / 3 - 4000) < 500


@pytest.mark.slow
def test_units_and_rules_go_with_it() -> None:
    rules = ["if age < 18 then pay < 5000"]
    schema = copy.deepcopy(SCHEMA) | {"unit": {"column": "id", "rows": 2}, "constraints": rules}
    made = []
    for seed in (1, 2):
        rows = table(seed, 1500).assign(id=lambda t: t.index // 2)
        rows.loc[rows["age"] < 18, "pay"] = 100.0
        layout = sf.SharedLayout.of(schema, epsilon=4, delta=1e-6, rows=1500)
        mechanism = sf.Mixture(layout=layout, tuning=SHORT)
        made.append(sf.fit(rows, schema, epsilon=4, delta=1e-6, rows=1500, mechanism=mechanism, insecure_seed=seed))
    both = sf.merge(made)
    drawn = both.sample(500, seed=0)
    assert (drawn.loc[drawn["age"] < 18, "pay"] < 5000).all()
    assert both.guarantee.unit == "id"


def other_schema(release: sf.Release) -> sf.Release:
    data = copy.deepcopy(SCHEMA)
    data["columns"]["age"]["max"] = 120
    return replace(release, schema=sf.Schema.of(data))


def column_label(seed: int) -> sf.Release:
    mechanism = sf.Mixture(label="column", tuning=SHORT)
    return sf.fit(table(seed), SCHEMA, mechanism=mechanism, insecure_seed=seed, **TERMS)


def other_order(release: sf.Release) -> sf.Release:
    columns = dict(reversed(SCHEMA["columns"].items()))
    return replace(release, schema=sf.Schema.of(SCHEMA | {"columns": columns}))


def adapted() -> sf.Release:
    mechanism = sf.Mixture(adapt="labels", pairs=None)
    return sf.fit(table(1), SCHEMA, mechanism=mechanism, **TERMS)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no list": (lambda: site(1), "merge takes a list of releases"),
    "a path": (lambda: [site(1), "b.sfumato"], "sf.load reads one from its file"),
    "one": (lambda: [site(1)], "two releases or more"),
    "itself": (lambda: [site(1), site(1)], "there twice"),
    "another schema": (lambda: [site(1), other_schema(site(2))], "1 and 2 differ in the schema of column 'age'"),
    "another order": (lambda: [site(1), other_order(site(2))], "1 and 2 differ in the order of columns"),
    "another adjacency": (
        lambda: [site(1), replace(site(2), guarantee=replace(site(2).guarantee, adjacency="label"))],
        "releases 1 and 2 have adjacency add-remove and label",
    ),
    "another mechanism": (
        lambda: [site(1), sf.fit(table(1), SCHEMA, mechanism="clustmix", **TERMS)],
        "release 2 is of mechanism 'clustmix'",
    ),
    "adapted labels": (lambda: [site(1), adapted()], "release 2 has adapted labels"),
    "no answers": (lambda: [site(1), replace(site(2), answers=())], "release 2 has no histograms"),
    "no answers anywhere": (
        lambda: [replace(site(i), answers=()) for i in (1, 2)],
        "release 1 has no histograms of all columns; a compact release cannot be merged",
    ),
    "one label as a column": (lambda: [site(1), column_label(2)], "of releases 1 and 2 one has its label as a column"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_go_together_is_refused_in_one_line(what: str) -> None:
    make, line = REFUSED[what]
    with pytest.raises(ArgumentError, match=line) as error:
        sf.merge(make())
    assert "\n" not in str(error.value)


def test_the_same_people_are_those_of_one_table() -> None:
    older = sf.fit(table(1).assign(age=lambda t: (t["age"] + 10).clip(0, 99)), SCHEMA, insecure_seed=3, **TERMS)
    for other in (site(2, noise=2, rows=600), older):
        with pytest.raises(ArgumentError, match="1 and 2 differ in 'age' by more than noise, so they are not of one"):
            sf.merge([site(1, noise=1), other], same_people=True)


def test_labels_that_are_columns_are_merged(tmp_path: Path) -> None:
    made = sf.merge([column_label(1), column_label(2)])
    ill = sum((table(i)["ill"] == "yes").sum() for i in (1, 2))
    found = made.count("ill == 'yes'")
    assert abs(found.estimate - ill) < 6 * found.se
    assert made.class_weights[1] == pytest.approx(ill / 4000, abs=0.05)
    made.save(tmp_path / "both.sfumato")
    assert sf.load(tmp_path / "both.sfumato").sample(20, seed=0).equals(made.sample(20, seed=0))
    again = sf.update(made, table(3), epsilon=1, delta=1e-6, new_people=True, insecure_seed=3)
    assert isinstance(again.model, ColumnLabelModel)


def test_questions_are_answered_on_common_bins() -> None:
    made = sf.merge([adaptive(1, 11), adaptive(2, 12)])
    uneven = [np.ptp(answer.sd) > 0.1 * answer.sd.max() for answer in made.answers]
    assert any(uneven), "or nothing is coarser"
    both = pd.concat([table(1), table(2)])
    for where in ("age <= 30", "town == 'Ulm'", "ill == 'yes' and age > 60"):
        found = made.count(where)
        assert found.interval is not None
        assert abs(found.estimate - len(both.query(where))) < 5 * found.se
    assert len(made.sample(10, seed=0, draws=2)) == 2


def test_data_units_are_refused() -> None:
    numbers_only = {"columns": {name: {"type": "number", "min": 0, "max": 9} for name in "xy"}}
    rows = pd.DataFrame({"x": np.arange(100) % 10, "y": np.arange(100) % 7})
    made = [
        sf.fit(rows, numbers_only, epsilon=1, delta=1e-6, mechanism=sf.Mixture(encoding="affine")) for _ in range(2)
    ]
    with pytest.raises(ArgumentError, match="release 1 is in encoding 'affine'"):
        sf.merge(made)
