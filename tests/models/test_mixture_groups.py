"""Releases of columns in groups: small images, through both mechanisms, from the table to the file and back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.configs import asked
from tests.release.files import altered

import sfumato as sf
from sfumato.encoding.projected import Projected
from sfumato.errors import ArgumentError, ReleaseError, TableError
from sfumato.models.labellers import QuadraticLabeller
from sfumato.private.accounting import Adjacency

SIDE = 6
NAMES = [f"px_{i}" for i in range(SIDE * SIDE)]
KINDS = ["bar", "beam", "cross"]
PIXELS: dict[str, Any] = {"columns": "px_*", "min": 0, "max": 255, "step": 5, "shape": [SIDE, SIDE]}
LABEL = {"kind": {"type": "category", "values": KINDS}}
IMAGES: dict[str, Any] = {"label": "kind", "columns": LABEL, "groups": {"pixels": PIXELS}}
SMALL: dict[str, Any] = IMAGES | {"groups": {"pixels": PIXELS | {"projection": "dct2", "keep": 3}}}
JSON, ARRAYS = "release.json", "arrays.safetensors"


def images(n: int = 600, seed: int = 0) -> pd.DataFrame:
    """A bar, a beam or both, bright on dark, with noise."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, n)
    place = rng.integers(1, SIDE - 1, n)
    at = np.arange(SIDE)
    bars = (at[None, None, :] == place[:, None, None]) & (kinds != 1)[:, None, None]
    beams = (at[None, :, None] == place[:, None, None]) & (kinds != 0)[:, None, None]
    light = np.where(bars | beams, 200.0, 40.0) + rng.normal(0, 20, (n, SIDE, SIDE))
    frame = pd.DataFrame((np.rint(light.clip(0, 255) / 5) * 5).astype(int).reshape(n, -1), columns=NAMES)
    return frame.assign(kind=np.array(KINDS)[kinds])


def fit(table: pd.DataFrame | None = None, schema: dict[str, Any] = SMALL, **more: Any) -> sf.Release:
    options: dict[str, Any] = {"epsilon": 4, "delta": 1e-5, "adapt": None, "insecure_seed": 1, "workers": 1} | more
    return sf.fit(images() if table is None else table, schema, **asked(**options))


CASES = list(itertools.product(("mixture", "clustmix"), (None, "labels")))


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{case[1] or 'plain'}")
def made(request: pytest.FixtureRequest) -> sf.Release:
    mechanism, adapt = request.param
    return fit(mechanism=mechanism, adapt=adapt)


@pytest.mark.every(2)
def test_a_sample_is_of_the_schema(made: sf.Release) -> None:
    rows = made.sample(300, seed=0)
    assert list(rows) == ["kind", *NAMES]
    pixels = rows[NAMES].to_numpy()
    assert pixels.dtype == np.int64
    assert pixels.min() >= 0
    assert pixels.max() <= 255
    assert (pixels % 5 == 0).all()
    assert set(rows["kind"]) == set(KINDS)
    assert rows.equals(made.sample(300, seed=0))
    assert not rows.equals(made.sample(300, seed=1))
    assert len(made.sample(0)) == 0
    (batch,) = made.sample_batches(300, seed=0)
    assert batch.to_pandas()[NAMES].equals(rows[NAMES])


@pytest.mark.every(3)
def test_columns_keep_their_means(made: sf.Release) -> None:
    """Over seeds 1 to 5 the root mean square is 12 to 18 levels of 255."""
    drawn, real = made.sample(3000, seed=0), images()
    for kind in KINDS:
        apart = drawn.loc[drawn["kind"] == kind, NAMES].mean() - real.loc[real["kind"] == kind, NAMES].mean()
        assert np.sqrt((apart**2).mean()) < 25.0, kind


def test_a_given_label_is_kept(made: sf.Release) -> None:
    rows = made.sample(200, seed=0, given={"kind": "beam"})
    assert (rows["kind"] == "beam").all()
    others = made.sample(600, seed=0, given={"kind": "bar"})
    real = images()
    pattern = real.loc[real["kind"] == "beam", NAMES].mean() - real.loc[real["kind"] == "bar", NAMES].mean()
    assert (rows[NAMES].mean() - others[NAMES].mean()) @ pattern > 0
    bright = made.sample(20, seed=0, where="px_7 > 100")
    assert (bright["px_7"] > 100).all()


def test_a_given_column_of_a_group_is_refused(made: sf.Release) -> None:
    with pytest.raises(ArgumentError, match=r"^given: 'px_3' is in a group; of columns in groups none can be fixed$"):
        made.sample(3, given={"px_3": 100})
    with pytest.raises(ArgumentError, match=r"^given: 'px_99' is not a column of the release$"):
        made.sample(3, given={"px_99": 100})
    with pytest.raises(ArgumentError, match=r"^given: kind can never be 'dot'$"):
        made.sample(3, given={"kind": "dot"})


def test_there_is_no_density(made: sf.Release) -> None:
    with pytest.raises(ArgumentError, match=r"^columns in groups have no density: a release of them models a proj"):
        made.log_density(images(3))


def test_it_classifies(made: sf.Release) -> None:
    """Over seeds 1 to 5 the accuracy is 0.63 to 0.97; chance is 0.33, with a spread of 0.02 on 600 rows."""
    held = images(600, seed=9)
    chances = made.predict_proba(held.drop(columns="kind"))
    assert list(chances) == KINDS
    assert chances.to_numpy().sum(axis=1) == pytest.approx(np.ones(600))
    assert (chances.to_numpy() >= 0).all()
    assert (chances.idxmax(axis=1) == held["kind"]).mean() > 0.45
    assert made.predict_proba(held[NAMES].head(0)).shape == (0, 3)
    assert np.isfinite(made.predict_proba(pd.DataFrame({name: ["?"] for name in NAMES})).to_numpy()).all()


def test_a_file_gives_it_back(made: sf.Release, tmp_path: Path) -> None:
    path = tmp_path / "r.sfumato"
    made.save(path)
    again = sf.load(path)
    assert again.mechanism == made.mechanism
    assert again.encoding == "projected"
    assert again.guarantee == made.guarantee
    assert again.schema == made.schema
    assert again.sample(50, seed=2).equals(made.sample(50, seed=2))
    assert again.predict_proba(images(20)).equals(made.predict_proba(images(20)))
    assert isinstance(again.model.labeller, QuadraticLabeller) == (made.model.labeller is not None)
    assert again.class_weights == pytest.approx(made.class_weights)
    again.save(tmp_path / "again.sfumato")
    assert (tmp_path / "again.sfumato").read_bytes() == path.read_bytes()


def test_spends_are_those_of_the_plan(made: sf.Release) -> None:
    adapt = "labels" if made.model.labeller else None
    plan = sf.plan(SMALL, epsilon=4, delta=1e-5, **asked(mechanism=made.mechanism, adapt=adapt))
    assert plan.encoding == "projected"
    assert sum(each.share for each in plan.rounds) == pytest.approx(1.0)
    spends = made.guarantee.spends
    assert [spend.name for spend in spends] == [each.title for each in plan.rounds]
    assert math.hypot(*(spend.mu for spend in spends)) == pytest.approx(plan.mu, rel=1e-9)
    assert math.hypot(*(spend.mu for spend in spends)) <= plan.mu * (1 + 1e-12)


@pytest.mark.every(3)
@pytest.mark.parametrize("adjacency", Adjacency)
@pytest.mark.parametrize(("mechanism", "adapt"), CASES)
def test_every_adjacency_has_a_guarantee_that_loads(
    adjacency: Adjacency, mechanism: str, adapt: str | None, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"mechanism": mechanism, "adapt": adapt, "adjacency": adjacency, "insecure_seed": None}
    made = fit(schema=tiny(), **options)
    made.save(tmp_path / "r.sfumato")
    again = sf.load(tmp_path / "r.sfumato")
    assert again.guarantee == made.guarantee
    assert again.guarantee.secure
    assert again.guarantee.adjacency == adjacency
    assert len(again.sample(5)) == 5


def tiny(columns: int = 4, **more: Any) -> dict[str, Any]:
    """A schema of so few columns that a fit takes no time."""
    return {
        "label": "kind",
        "columns": LABEL,
        "groups": {"some": {"columns": NAMES[:columns], "min": 0, "max": 255}},
    } | more


def test_a_seed_repeats_a_fit() -> None:
    first, again, other = (
        fit(mechanism="clustmix"),
        fit(mechanism="clustmix"),
        fit(mechanism="clustmix", insecure_seed=2),
    )
    assert first.sample(20, seed=0).equals(again.sample(20, seed=0))
    assert not first.sample(20, seed=0).equals(other.sample(20, seed=0))


@pytest.mark.parametrize("mechanism", ["mixture", "clustmix"])
def test_without_a_label(mechanism: str, tmp_path: Path) -> None:
    made = fit(schema={"groups": {"pixels": PIXELS}}, mechanism=mechanism, adapt="auto")
    assert made.model.labeller is None
    rows = made.sample(100, seed=0)
    assert list(rows) == NAMES
    with pytest.raises(ArgumentError, match="no label, so there is nothing to predict"):
        made.predict_proba(rows)
    made.save(tmp_path / "r.sfumato")
    assert sf.load(tmp_path / "r.sfumato").sample(100, seed=0).equals(rows)


def test_two_groups_with_ranges_of_their_own() -> None:
    groups = {
        "left": {"columns": NAMES[:18], "min": 0, "max": 255, "step": 1},
        "right": {"columns": NAMES[18:], "min": 0, "max": 1, "projection": "random", "keep": 5},
    }
    table = images()
    table[NAMES[18:]] = table[NAMES[18:]] / 255.0
    made = fit(table, IMAGES | {"groups": groups})
    assert made.model.mixture.dim == 18 + 5
    rows = made.sample(200, seed=0)
    assert rows["px_0"].dtype == np.int64
    assert rows[NAMES[18:]].to_numpy().dtype == np.float64
    assert 0.0 <= rows[NAMES[18:]].to_numpy().min() <= rows[NAMES[18:]].to_numpy().max() <= 1.0
    assert rows[NAMES[:18]].to_numpy().max() > 100


@pytest.mark.parametrize("odd", ["missing", "text", "outside", "no label"])
def test_odd_cells_are_read_alone(odd: str) -> None:
    """A missing cell is the middle of its range; a row without a label of the schema does not count."""
    table = images().astype(object)
    if odd == "no label":
        table.loc[::2, "kind"] = "dot"
    else:
        table.iloc[::3, 5:9] = {"missing": None, "text": "?", "outside": 1e300}[odd]
    made = fit(table, tiny(12))
    assert np.isfinite(made.sample(50, seed=0).drop(columns="kind").to_numpy(dtype=float)).all()


def test_an_empty_table_and_a_class_of_nobody() -> None:
    for table, adapt in ((images().head(0), "labels"), (images().query("kind == 'bar'"), "labels"), (images(1), None)):
        for mechanism in ("mixture", "clustmix"):
            made = fit(table, tiny(), mechanism=mechanism, adapt=adapt)
            assert made.sample(50, seed=0).notna().all(axis=None)


def test_columns_that_never_change() -> None:
    table = images()
    table[NAMES[:4]] = 255
    made = fit(table, tiny(), mechanism="clustmix", adapt="labels")
    assert made.sample(100, seed=0)[NAMES[:4]].to_numpy().mean() > 200


def test_a_missing_column_is_named_before_anything_is_spent() -> None:
    spent: list[Any] = []
    with pytest.raises(TableError, match="px_35"):
        fit(images().drop(columns="px_35"), progress=spent.append)
    assert spent == []


def test_a_unit_of_several_rows() -> None:
    table = images().assign(person=[f"p{i // 3}" for i in range(600)])
    made = fit(table, tiny(unit={"column": "person", "rows": 3}), mechanism="clustmix", adapt="labels")
    assert made.guarantee.unit == "person"
    assert "person" not in made.sample(5)
    assert min(spend.sensitivity for spend in made.guarantee.spends) >= 3.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoding": "affine"}, "columns in groups have an encoding of their own; leave encoding='affine' out"),
        ({"components": 3}, "a mixture of columns in groups has one Gaussian a class; mechanism 'clustmix' has more"),
        ({"adapt": "labels", "alpha": 0.5}, "alpha is for moved points, and adapted labels of columns outside groups"),
    ],
)
def test_what_groups_cannot_do_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        sf.plan(SMALL, epsilon=1, delta=1e-6, **asked(**options))
    assert message in str(caught.value)


def test_labels_adapt_more_than_a_score_model_could_hold() -> None:
    """The limit on weights is for columns that have one each; a group's labels follow its main directions."""
    wide = {"columns": "x{1..1000}", "min": 0, "max": 1}
    plan = sf.plan(IMAGES | {"groups": {"wide": wide}}, epsilon=1, delta=1e-6, mechanism="clustmix")
    assert plan.has("labels")


# --- hostile files


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("groups") / "good.sfumato"
    fit(schema=tiny(), mechanism="clustmix", adapt="labels", insecure_seed=None).save(path)
    return path.read_bytes()


def put(name: str, value: float, at: Any = 0) -> Callable[[Any, dict[str, Any]], None]:
    def change(document: Any, arrays: dict[str, Any]) -> None:
        arrays[name].flat[at] = value

    return change


def facts(**changes: Any) -> Callable[[dict[str, Any], Any], None]:
    return lambda document, arrays: document["model"]["facts"].update(changes)


def without(name: str) -> Callable[[dict[str, Any], Any], None]:
    return lambda document, arrays: document["model"]["facts"].pop(name)


FAULTS: dict[str, tuple[Callable[[dict[str, Any], dict[str, Any]], Any], str]] = {
    "scores of groups": (facts(encoding="scores"), "its encoding does not fit its schema"),
    "data units of groups": (facts(encoding="affine"), "its encoding does not fit its schema"),
    "an encoder of no mixture": (facts(matched=False), "its encoder does not fit its mixture"),
    "a schema without groups": (
        lambda d, a: d.update(schema={"columns": {"x": {"type": "number", "min": 0, "max": 1}}}),
        "its encoding does not fit its schema",
    ),
    "no components": (without("components"), "not valid at components"),
    "components of two classes": (facts(components=[1, 1]), "components do not fit the classes"),
    "a class of none": (facts(components=[0, 1, 1]), "not valid at components"),
    "more components": (
        lambda d, a: d["model"]["facts"]["components"].__setitem__(0, 99),
        "array weights does not fit the schema",
    ),
    "alpha without directions": (facts(directions=None), "directions do not fit its labels"),
    "directions without alpha": (facts(alpha=None), "directions do not fit its labels"),
    "alpha of another kind": (facts(alpha=0.5), "alpha does not fit its labels"),
    "no directions at all": (facts(directions=0), "not valid at directions"),
    "very many directions": (facts(directions=10**6), "not valid at directions"),
    "directions of another number": (
        lambda d, a: d["model"]["facts"].update(directions=1 + d["model"]["facts"]["directions"]),
        "does not fit the schema",
    ),
    "half a direction": (facts(directions=1.5), "not valid at directions"),
    "labels without a label": (
        lambda d, a: (
            d["schema"].pop("label"),
            d["schema"].pop("columns"),
            d["model"]["facts"].update(components=[3], covariances=3),
        ),
        "labels of their own do not fit its schema",
    ),
    "another column": (lambda d, a: d["schema"]["groups"]["some"]["columns"].append("more"), "does not fit the schema"),
    "another projection": (
        lambda d, a: d["schema"]["groups"]["some"].update(projection="random", keep=2),
        "does not fit the schema",
    ),
    "a faulty group": (lambda d, a: d["schema"]["groups"]["some"].update(min=900), "the schema inside is not valid"),
    "an odd pattern": (
        lambda d, a: d["schema"]["groups"]["some"].update(columns="x"),
        "the schema inside is not valid",
    ),
    "too wide": (
        lambda d, a: d["schema"]["groups"]["some"].update(columns="x{1..16384}", projection="random"),
        "too small to be a release of its schema",
    ),
    "a scale of zero": (put("scales", 0.0), "scales are not positive"),
    "a negative scale": (put("scales", -1.0), "scales are not positive"),
    "a scale that is no number": (put("scales", math.nan), "array scales has a value that is no number"),
    "no scales": (lambda d, a: a.pop("scales"), "does not hold the arrays of its schema"),
    "too many scales": (lambda d, a: a.update(scales=np.ones(99)), "array scales does not fit the schema"),
    "a covariance a component": (
        lambda d, a: a.update(covariances=np.repeat(a["covariances"], 2, axis=0)),
        "array covariances does not fit the schema",
    ),
    "a flat covariance": (lambda d, a: a["covariances"].fill(0.0), "a covariance is not positive definite"),
    "an odd covariance": (put("covariances", 0.3, 1), "a covariance is not symmetric"),
    "weights of nothing": (lambda d, a: a["weights"].fill(0.0), "weights are not probabilities"),
    "a mean that is no number": (put("means", math.nan), "array means has a value that is no number"),
    "an infinite mean": (put("column_means", math.inf), "array column_means has a value that is no number"),
    "a mean outside": (put("column_means", 2.0), "column_means are not between 0 and 1"),
    "a variance below zero": (put("column_variances", -1.0), "column_variances are not positive"),
    "a variance that is no number": (put("column_variances", math.nan), "array column_variances has a value"),
    "no radius": (put("radius", 0.0), "the radius of the labels is not positive"),
    "a radius that is no number": (put("radius", math.nan), "array radius has a value that is no number"),
    "an infinite radius": (put("radius", math.inf), "array radius has a value that is no number"),
    "a slope without end": (put("slopes", 1e300), "array slopes has a value that is no number, or too large"),
    "slopes of two classes": (lambda d, a: a.update(slopes=a["slopes"][:2]), "array slopes does not fit the schema"),
    "whole numbers": (lambda d, a: a.update(scales=np.ones(len(a["scales"]), dtype=np.int64)), "array scales does not"),
    "an order of bins": (lambda d, a: a.update({"order.0": np.zeros(4)}), "does not hold the arrays of its schema"),
}


def test_the_good_file_is_good(good: bytes, tmp_path: Path) -> None:
    path = tmp_path / "r.sfumato"
    path.write_bytes(altered(good, lambda document, arrays: None))
    made = sf.load(path)
    assert isinstance(made.model.encoder, Projected)
    assert len(made.sample(5)) == 5


@pytest.mark.parametrize("fault", FAULTS)
def test_a_hostile_file_gets_one_line(fault: str, good: bytes, tmp_path: Path) -> None:
    change, message = FAULTS[fault]
    path = tmp_path / "bad.sfumato"
    path.write_bytes(altered(good, change))
    with pytest.raises(ReleaseError) as caught:
        sf.load(path)
    line = str(caught.value)
    assert message in line
    assert "\n" not in line
    assert str(path) in line


def test_clustmix_of_scores_comes_back(tmp_path: Path) -> None:
    schema = {"label": "kind", "columns": {"px_0": {"type": "number", "min": 0, "max": 255}} | LABEL}
    made = fit(schema=schema, mechanism="clustmix", sigma_max=1.0, insecure_seed=None)
    made.save(tmp_path / "r.sfumato")
    again = sf.load(tmp_path / "r.sfumato")
    assert again.sample(20, seed=1).equals(made.sample(20, seed=1))
    np.testing.assert_array_equal(again.log_density(images(5)), made.log_density(images(5)))
