"""A label that is a column like all others: it samples, scores, conditions and travels as any label does."""

import itertools
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.api import prepare
from sfumato.errors import ArgumentError, ReleaseError
from sfumato.models import ColumnLabelModel

KINDS = ["a", "b", "c"]
SCHEMA = {
    "label": "kind",
    "columns": {
        "kind": {"type": "category", "values": KINDS},
        "size": {"type": "number", "min": 0, "max": 3, "step": 1},
        "is_new": {"type": "boolean"},
    },
}
COLUMN = sf.Mixture(label="column")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 4000)
    return pd.DataFrame(
        {
            "kind": np.array(KINDS)[kind],
            "size": np.clip(kind + rng.integers(0, 2, 4000), 0, 3),
            "is_new": rng.random(4000) < 0.2 + 0.3 * (kind == 1),
        }
    )


@pytest.fixture(scope="module")
def release(table):
    return sf.fit(table, SCHEMA, epsilon=4, delta=1e-6, mechanism=COLUMN, rows=4000, insecure_seed=1)


@pytest.fixture(scope="module")
def every_row():
    cells = list(itertools.product(KINDS, range(4), [False, True]))
    return pd.DataFrame(cells, columns=["kind", "size", "is_new"])


def test_density_of_all_rows_adds_up_to_one(release, every_row):
    assert isinstance(release.model, ColumnLabelModel)
    assert np.exp(release.log_density(every_row)).sum() == pytest.approx(1.0, abs=0.02)


def test_samples_density_and_classes_agree(release, every_row):
    joint = np.exp(release.log_density(every_row)).reshape(3, 8)
    drawn = release.sample(200_000, seed=3)
    places = drawn["kind"].map(KINDS.index) * 8 + drawn["size"] * 2 + drawn["is_new"]
    shares = np.bincount(places, minlength=24).reshape(3, 8) / len(drawn)
    assert np.abs(joint - shares).sum() < 0.03
    told = release.predict_proba(every_row[:8][["size", "is_new"]])
    assert list(told.columns) == KINDS
    np.testing.assert_allclose(told.to_numpy(), (joint / joint.sum(axis=0)).T, atol=1e-9)
    np.testing.assert_allclose(release.class_weights, shares.sum(axis=1), atol=0.02)


def test_it_follows_the_label(release, table):
    said = release.predict_proba(table.drop(columns="kind")).idxmax(axis=1)
    best = pd.crosstab([table["size"], table["is_new"]], table["kind"]).max(axis=1).sum() / len(table)
    assert (said == table["kind"]).mean() > best - 0.03


def test_rows_without_a_label_are_summed_over_labels(release, every_row):
    features = every_row[:8][["size", "is_new"]]
    joint = np.exp(release.log_density(every_row)).reshape(3, 8)
    np.testing.assert_allclose(np.exp(release.log_density(features)), joint.sum(axis=0), rtol=1e-9)


def test_the_label_can_be_given(release):
    assert set(release.sample(200, seed=0, given={"kind": "b"})["kind"]) == {"b"}
    assert (release.sample(100, seed=0, where="kind == 'c' and size > 1")["kind"] == "c").all()


def test_it_comes_back_from_a_file(release, tmp_path):
    release.save(tmp_path / "it.sfumato")
    again = sf.load(tmp_path / "it.sfumato")
    assert again.sample(50, seed=2).equals(release.sample(50, seed=2))
    assert again.layout.label == "kind"
    assert again.asked.names == ("size", "is_new", "kind")
    assert [each.column for each in again.unread] == ["size", "is_new", "kind"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda d: d["guarantee"].update(adjacency="label"), "another adjacency than add-remove"),
        (lambda d: d["schema"].pop("label"), "cannot be a column"),
        (lambda d: d["model"]["facts"].update(kind="generator"), "not valid"),
    ],
)
def test_a_doctored_file_is_refused(release, tmp_path, change, told):
    path = tmp_path / "it.sfumato"
    release.save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    (document,) = (name for name in parts if name.endswith(".json"))
    facts = json.loads(parts[document])
    change(facts)
    parts[document] = json.dumps(facts).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(ReleaseError, match=told):
        sf.load(path)


@pytest.mark.slow
def test_rules_with_the_label_hold(table):
    schema = {**SCHEMA, "constraints": ["if kind == 'a' then size < 2"]}
    release = sf.fit(table, schema, epsilon=2, delta=1e-6, mechanism=COLUMN, rows=4000, insecure_seed=1)
    drawn = release.sample(5000, seed=0)
    assert not ((drawn["kind"] == "a") & (drawn["size"] >= 2)).any()


def test_few_rows_of_many_classes_make_it_a_column():
    def plans(rows, **options):
        made = sf.plan(SCHEMA, epsilon=0.1, delta=1e-6, mechanism=sf.Mixture(**options), rows=rows)
        return made.layout.label is None

    assert plans(100)
    assert not plans(1_000_000)
    assert not plans(100, label="classes")
    assert not plans(100, adapt="labels")
    assert plans(1_000_000, label="column")


def test_neighbours_that_differ_in_labels_keep_classes(table):
    """A label that is a column moves other numbers than labels do: nobody may ask so where labels are what differs."""

    class Hostile(sf.Mixture):
        def plan(self, public):
            made = super().plan(public)
            object.__setattr__(made, "public", sf.plan({"columns": SCHEMA["columns"]}, epsilon=1, delta=1e-6).public)
            return made

    terms = {"epsilon": 1, "delta": 1e-6, "mechanism": Hostile(label="classes")}
    for adjacency, names in (("label", ("size", "is_new")), ("add-remove", ("size", "is_new", "kind"))):
        job = prepare(table, SCHEMA, adjacency=adjacency, **terms)
        assert len(job.engine.public.sizes) == len(names)


@pytest.mark.parametrize(
    ("schema", "terms"),
    [
        (SCHEMA, {"adjacency": "label"}),
        (SCHEMA, {"mechanism": sf.Mixture(label="column", adapt="labels")}),
        ({"columns": SCHEMA["columns"]}, {}),
    ],
)
def test_a_label_that_cannot_be_a_column_is_told(schema, terms):
    with pytest.raises(ArgumentError, match="label='column' needs"):
        sf.plan(schema, epsilon=1, delta=1e-6, **{"mechanism": COLUMN, **terms})
