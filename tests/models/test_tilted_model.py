"""A tilted mixture against the probability of every cell of a small table, through all that a release can be asked.

Counts are compared by chi-square at 1e-7 with fixed seeds, some 20 comparisons in all. Balanced samples lie nearer to
what is expected than chance would have it, so that the comparison is one-sided anyway.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import cKDTree
from scipy.stats import chi2
from tests.models.small_mixtures import SIZES, cells, frame, log_mixture, mixture, schema, shares, tilt, tilted
from tests.release.files import with_arrays, with_facts

import sfumato as sf
from sfumato.errors import ArgumentError, ReleaseError
from sfumato.models import CodedRows, MixtureModel, Tilt, TiltedModel
from sfumato.models import tilted_model as module
from sfumato.models.balance import balanced
from sfumato.models.chains import Chains, Rows
from sfumato.schema.layout import FloatArray, Layout
from sfumato.schema.schema import Schema

FALSE_ALARM = 1e-7
ROWS = 15_000
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no label": {"label": False},
    "components": {"components": 3},
    "adapted": {"adapted": True},
    "follows": {"follows": True},
    "follows, no label": {"follows": True, "label": False},
    "follows, adapted": {"follows": True, "adapted": True, "components": 2},
}
each = pytest.mark.parametrize("variant", VARIANTS)


@cache
def guaranteed(label: bool) -> sf.Release:
    """A release of the small schema, for its guarantee."""
    table = frame(3 if label else 1)
    made = sf.fit(pd.concat([table] * 5), schema(label), epsilon=1, delta=1e-6, insecure_seed=1)
    return made


@cache
def made(variant: str, correlated: bool = True) -> sf.Release:
    options = VARIANTS[variant]
    label = options.get("label", True)
    model = tilted(with_holes(3 if label else 1), **options, correlated=correlated)
    return replace(guaranteed(label), model=model)


def with_holes(classes: int) -> Tilt:
    """A tilt with a few cells where no row can be."""
    plain = tilt(classes)
    weights = plain.weights.copy()
    weights[[2, 9]] = -np.inf  # of a by b, and of b by c
    return plain.reweighted(weights)


def truth(release: sf.Release) -> FloatArray:
    model = release.model
    assert isinstance(model, TiltedModel)
    return shares(model.base, model.tilt, bool(model.followers))[0]


def counted(release: sf.Release, rows: pd.DataFrame) -> FloatArray:
    every = frame(release.layout.classes).astype(object).fillna("missing")
    found = rows.astype(object).fillna("missing").groupby(list(rows), sort=False).size()
    return found.reindex(pd.MultiIndex.from_frame(every)).fillna(0).to_numpy(float)


def excess(found: FloatArray, share: FloatArray) -> float:
    """The chi-square of counts over its limit."""
    possible = share > 0
    assert found[~possible].sum() == 0
    wanted = found.sum() * share[possible]
    return float(((found[possible] - wanted) ** 2 / wanted).sum() / chi2.isf(FALSE_ALARM, possible.sum() - 1))


# --- sampling


@pytest.mark.every(2)
@each
def test_samples_have_the_shares_of_all_cells(variant: str) -> None:
    release = made(variant)
    rows = release.sample(ROWS, seed=1)
    assert excess(counted(release, rows), truth(release)) < 1
    assert (truth(release) == 0).any()


def test_samples_are_balanced() -> None:
    """Counts in the cells of the tables come within a few rows of what is expected, where chance alone is 80 off."""
    release = made("components")
    model = release.model
    assert isinstance(model, TiltedModel)
    columns, labels = model.draw(ROWS, np.random.default_rng(0))
    codes = [
        bins.code(column.to_numpy(float))
        if name == "c"
        else np.array([list(bins.column.levels).index(v) if isinstance(v, str) else 3 for v in column])
        for name, bins, column in zip(release.layout.names, release.layout.bins, columns, strict=True)
    ]
    places = model.tilt.places(model.tilt.levels_of(codes, labels))
    found = np.bincount(places.ravel(), minlength=model.tilt.cells)
    assert np.abs(found - ROWS * model.expected).max() < 12


@pytest.mark.every(2)
@pytest.mark.parametrize("given", [{"b": "r"}, {"c": 1}, {"y": "yes"}, {"b": None, "y": "so"}, {"b": "p", "c": 2}])
@pytest.mark.parametrize("variant", ["plain", "adapted", "follows", "follows, adapted"])
def test_given_is_the_conditional_distribution(variant: str, given: dict[str, Any]) -> None:
    release = made(variant)
    rows = release.sample(ROWS // 3, seed=2, given=given)
    every = frame(3).astype(object).fillna("missing")
    kept = np.logical_and.reduce([every[name] == ("missing" if v is None else v) for name, v in given.items()])
    share = np.where(kept, truth(release), 0.0)
    assert excess(counted(release, rows), share / share.sum()) < 1


def test_where_is_the_conditional_distribution() -> None:
    release = made("components")
    rows = release.sample(ROWS // 3, seed=2, where="a == 'p' and c > 0")
    share = np.where((frame(3)["a"] == "p") & (frame(3)["c"] > 0), truth(release), 0.0)
    assert excess(counted(release, rows), share / share.sum()) < 1


@pytest.mark.parametrize("n", [0, 1, 7])
def test_few_rows_can_be_drawn(n: int) -> None:
    assert len(made("plain").sample(n, seed=0)) == n


def test_mass_that_the_fit_had_not_seen_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rare cell of which no row was in the fit's pool has a weight that nothing was told for: nearly all rows."""
    release = made("plain")
    model = release.model
    assert isinstance(model, TiltedModel)
    weights = model.tilt.weights.copy()
    weights[np.argmin(np.where(model.expected > 0, model.expected, 1.0))] += 14.0
    unseen = replace(release, model=replace(model, tilt=model.tilt.reweighted(weights)))

    def apart() -> float:
        found = counted(release, unseen.sample(5000, seed=1))
        return float(np.abs(found / found.sum() - truth(release)).sum() / 2.0)

    assert apart() < 0.05
    monkeypatch.setattr(module, "DRAWING", replace(module.DRAWING, missed=np.inf))
    assert apart() > 0.9


def test_the_same_seed_gives_the_same_rows() -> None:
    release = made("adapted")
    pd.testing.assert_frame_equal(release.sample(50, seed=3), release.sample(50, seed=3))
    assert not release.sample(50, seed=3).equals(release.sample(50, seed=4))


def continuous(bins: int = 512) -> TiltedModel:
    """Columns with many bins, strongly tilted over a few levels of each."""
    columns = {name: {"type": "number", "min": 0, "max": 1, "bins": bins} for name in "uvw"}
    layout = Layout.of(Schema.of({"columns": columns}))
    small = mixture(label=False)
    uniform = np.full((1, bins), 1 / bins)
    encoder = type(small.encoder)(  # type: ignore[call-arg]
        tuple(type(column)(np.arange(bins), uniform) for column in small.encoder.columns)  # type: ignore[union-attr]
    )
    base = MixtureModel(layout, encoder, small.mixture)
    levels = tuple(np.arange(bins) * 4 // bins for _ in range(3))
    rough = Tilt(levels, 1, (), np.zeros(0)).with_tables([(0, 1), (1, 2), (0, 2)])
    rough = rough.reweighted(np.random.default_rng(1).normal(0, 2.0, rough.cells))
    return TiltedModel.of(base, rough, 50_000, np.random.default_rng(2))


def test_no_row_is_repeated_and_levels_are_as_expected() -> None:
    model = continuous()
    columns, _ = model.draw(ROWS, np.random.default_rng(0))
    rows = pd.DataFrame(dict(zip("uvw", columns, strict=True)))
    assert not rows.duplicated().any()
    codes = [np.minimum((rows[name] * 512).astype(int), 511) for name in "uvw"]
    levels = model.tilt.levels_of([c.to_numpy() for c in codes], np.zeros(ROWS, int))
    found = np.bincount(model.tilt.places(levels).ravel(), minlength=model.tilt.cells)
    assert np.abs(found - ROWS * model.expected).max() < 12


def in_pieces(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Samples of so many rows at a time, for which all candidates are moved on."""
    monkeypatch.setattr(module, "DRAWING", module.Drawing(at_once=rows, fewest=rows))


@pytest.mark.every(2)
@each
def test_rows_of_candidates_that_are_moved_on_have_the_shares_of_all_cells(
    variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_pieces(monkeypatch, 500)
    release = made(variant)
    assert excess(counted(release, release.sample(ROWS, seed=1)), truth(release)) < 1


def drawn_in_pieces(rows: int, pieces: int, seed: int) -> FloatArray:
    """(rows, 3): values of the continuous model."""
    columns, _ = continuous().draw(rows * pieces, np.random.default_rng(seed))
    return np.stack([column.to_numpy(float) for column in columns], axis=1)


def likeness(found: FloatArray, pieces: int) -> float:
    """How near rows of a piece have one in the piece before, over how near in one far from it: 1 by chance."""
    parts = found.reshape(pieces, -1, found.shape[1])
    nearest = [cKDTree(parts[i]).query(parts[i + 1])[0].mean() for i in range(pieces - 1)]
    far = [cKDTree(parts[i]).query(parts[(i + pieces // 2) % pieces])[0].mean() for i in range(pieces - 1)]
    return float(np.mean(nearest) / np.mean(far))


def test_rows_that_were_put_out_do_not_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Next to none is one of those before, and rows of the next piece are no nearer than those of pieces far away."""
    in_pieces(monkeypatch, 500)
    found = drawn_in_pieces(500, 12, 0)
    assert len(np.unique(found.round(5), axis=0)) > 0.98 * len(found)  # a tilt so strong refuses most steps
    assert likeness(found, 12) > 0.9
    honest = Chains.sweep

    def lazy(self: Chains, rows: Rows, tilt: Tilt, rng: np.random.Generator) -> float:
        """Moves one row in four."""
        some = rng.permutation(len(rows))[: len(rows) // 4]
        part = rows.take(some)
        share = honest(self, part, tilt, rng)
        rows.put(some, part)
        return share

    monkeypatch.setattr(Chains, "sweep", lazy)
    stuck = drawn_in_pieces(500, 12, 0)
    assert len(np.unique(stuck.round(5), axis=0)) < 0.8 * len(stuck)
    assert likeness(stuck, 12) < 0.8


def test_tables_of_all_pieces_together_come_out_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one piece has too many of, the next has less of; where each piece is on its own, errors add up."""

    def off() -> float:
        found = np.minimum((drawn_in_pieces(200, 40, 3) * 512).astype(int), 511)
        levels = model.tilt.levels_of(list(found.T), np.zeros(len(found), int))
        counts = np.bincount(model.tilt.places(levels).ravel(), minlength=model.tilt.cells)
        return float(np.abs(counts - len(found) * model.expected).max())

    in_pieces(monkeypatch, 200)
    model = continuous()
    together = off()
    monkeypatch.setattr(module, "balanced", lambda places, wanted, n, rng, ahead: balanced(places, wanted, n, rng))
    assert together < 8 < off()


# --- scoring


@pytest.mark.every(2)
@each
def test_the_density_is_the_share_of_a_cell(variant: str) -> None:
    release = made(variant, correlated=False)  # whose integrals over cells are exact
    share = truth(release)
    np.testing.assert_allclose(np.exp(release.log_density(frame(release.layout.classes))), share, rtol=1e-6)


@pytest.mark.parametrize("variant", ["plain", "components", "adapted", "follows", "follows, adapted"])
def test_classes_have_the_probabilities_that_cells_give_them(variant: str) -> None:
    release = made(variant, correlated=False)
    share = truth(release).reshape(-1, 3)
    possible = share.sum(axis=1) > 0
    rows = frame(3).drop(columns="y").iloc[::3]
    found = release.predict_proba(rows).to_numpy()
    np.testing.assert_allclose(
        found[possible], (share / share.sum(axis=1, keepdims=True).clip(1e-300))[possible], rtol=1e-6
    )
    model = release.model
    assert isinstance(model, TiltedModel)
    plain = np.exp(log_mixture(model.base, bool(model.followers))).reshape(-1, 3)
    np.testing.assert_allclose(found[~possible], (plain / plain.sum(axis=1, keepdims=True))[~possible], rtol=1e-6)
    np.testing.assert_allclose(np.exp(release.log_density(rows)), share.sum(axis=1), rtol=1e-6)


def test_cells_that_fit_no_bin_are_integrated_out() -> None:
    release = made("plain", correlated=False)  # where the mean over levels is exact
    share = truth(release).reshape(*SIZES, 3)
    rows = frame(3)
    for unknown, axes in (({"a": "?"}, 0), ({"c": None}, 2), ({"a": "?", "c": None}, (0, 2))):
        expected = np.broadcast_to(share.sum(axis=axes, keepdims=True), share.shape).ravel()
        np.testing.assert_allclose(np.exp(release.log_density(rows.assign(**unknown))), expected, rtol=1e-6)


def test_a_leader_that_fits_no_bin_tells_of_its_follower_by_how_often_it_comes() -> None:
    bare = Tilt(tilt(3).levels, 3, (), np.zeros(0))
    release = replace(made("plain"), model=tilted(bare, follows=True, correlated=False))
    share = truth(release).reshape(*SIZES, 3)
    for unknown, axes in (({"c": None}, 2), ({"a": "?"}, 0), ({"a": "?", "c": None}, (0, 2))):
        wanted = np.broadcast_to(share.sum(axis=axes, keepdims=True), share.shape).ravel()
        np.testing.assert_allclose(np.exp(release.log_density(frame(3).assign(**unknown))), wanted, rtol=1e-6)


def test_many_unknown_cells_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    release = made("plain", correlated=False)
    rows = frame(3).assign(a="?", c=None)
    exact = np.exp(release.log_density(rows))
    monkeypatch.setattr(module, "UNKNOWN_COMBINATIONS", 5)
    assert np.abs(np.exp(release.log_density(rows)) - exact).max() > 1e-6
    monkeypatch.setattr(module, "UNKNOWN_COMBINATIONS", 4000)
    monkeypatch.setattr(module, "prod", lambda sizes: 1e9)
    np.testing.assert_allclose(np.exp(release.log_density(rows)), exact, rtol=0.2)


def test_no_rows_are_scored() -> None:
    model = made("plain").model
    nobody = CodedRows(tuple(np.zeros(0, np.int64) for _ in SIZES), (None, None, np.zeros(0)))
    assert model.log_joint(nobody).shape == model.log_posterior(nobody).shape == (0, 3)


@pytest.mark.every(2)
@each
def test_classes_come_as_often_as_in_the_tables(variant: str) -> None:
    release = made(variant)
    share = truth(release).reshape(-1, release.layout.classes).sum(axis=0)
    np.testing.assert_allclose(release.class_weights, share, rtol=1e-9)


def test_without_a_table_of_the_label_classes_are_counted() -> None:
    base = mixture()
    bare = Tilt(tilt(3).levels, 3, (), np.zeros(0)).with_tables([(0, 1)], np.linspace(-1, 1, 6))
    model = tilted(bare)
    share = shares(base, bare)[0].reshape(-1, 3).sum(axis=0)
    np.testing.assert_allclose(model.class_weights, share, atol=0.02)
    assert model.class_weights.sum() == pytest.approx(1.0)


# --- making and keeping


def test_shares_and_total_are_found_by_drawing() -> None:
    exact = tilted(with_holes(3))
    found = TiltedModel.of(exact.base, exact.tilt, ROWS, np.random.default_rng(0))
    assert abs(found.log_total - exact.log_total) < 6 * found.log_total_sd
    np.testing.assert_allclose(found.expected, exact.expected, atol=6 * 0.5 / np.sqrt(ROWS))
    assert (found.expected[exact.tilt.weights == -np.inf] == 0).all()


def test_what_does_not_fit_is_refused() -> None:
    good = tilted(tilt(3))
    with pytest.raises(ArgumentError, match="one share for each of its"):
        replace(good, expected=good.expected[1:])
    with pytest.raises(ArgumentError, match="do not fit the bins"):
        replace(good, base=mixture(label=False))


@pytest.mark.every(2)
@each
def test_a_file_keeps_it(variant: str, tmp_path: Path) -> None:
    release = made(variant)
    release.save(tmp_path / "a.sfumato")
    again = sf.load(tmp_path / "a.sfumato")
    assert repr(again) == repr(release)
    np.testing.assert_array_equal(again.model.tilt.weights, release.model.tilt.weights)  # type: ignore[attr-defined]
    pd.testing.assert_frame_equal(again.sample(100, seed=1), release.sample(100, seed=1))
    rows = frame(release.layout.classes)
    np.testing.assert_array_equal(again.log_density(rows), release.log_density(rows))


def setting(name: str, place: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name][place] = value

    return change


HOSTILE_FACTS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no tables": (lambda f: f.pop("tables"), "not valid"),
    "more": (lambda f: f.update(extra=1), "not valid"),
    "base": (lambda f: f.update(base=7), "not valid"),
    "another encoding": (lambda f: f["base"].update(encoding="affine"), "its encoding does not fit a tilt"),
    "column": (lambda f: f["tables"][0].__setitem__(0, 9), "no such columns"),
    "negative column": (lambda f: f["tables"][0].__setitem__(0, -1), "not valid"),
    "column twice": (lambda f: f["tables"].__setitem__(0, [1, 1]), "no such columns"),
    "empty table": (lambda f: f["tables"].__setitem__(0, []), "not valid"),
    "wide table": (lambda f: f["tables"].__setitem__(0, list(range(40))), "not valid"),
    "levels": (lambda f: f["levels"].__setitem__(0, 3), "do not fit the bins"),
    "fewer levels": (lambda f: f["levels"].pop(), "do not fit the columns"),
    "no level": (lambda f: f["levels"].__setitem__(0, 0), "not valid"),
    "many levels": (lambda f: f["levels"].__setitem__(1, 2**40), "not valid"),
    "another table": (lambda f: f["tables"].append([0]), "does not fit the schema"),
    "many tables": (lambda f: f.update(tables=[[0, 1, 2, 3]] * 16_000), "too small to be a release"),
    "tables without end": (lambda f: f.update(tables=[[0]] * 17_000), "not valid"),
    "impossible": (lambda f: f.update(impossible=10**6), "too many cells"),
    "total": (lambda f: f.update(log_total=float("inf")), "not valid"),
    "large total": (lambda f: f.update(log_total=1e9), "not valid"),
    "error": (lambda f: f.update(log_total_sd=-1.0), "not valid"),
    "no such follower": (lambda f: f.update(followers=[[7, 2]]), "is none, or does so twice"),
    "no such leader": (lambda f: f.update(followers=[[1, 7]]), "is none, or does so twice"),
    "follows twice": (lambda f: f.update(followers=[[1, 2], [1, 0]]), "is none, or does so twice"),
    "follows itself": (lambda f: f.update(followers=[[1, 1]]), "follows another itself"),
    "in a ring": (lambda f: f.update(followers=[[1, 2], [2, 1]]), "follows another itself"),
    "no leader": (lambda f: f.update(followers=[[1]]), "not valid"),
    "one more": (lambda f: f.update(followers=[[1, 2], [0, 2]]), "does not hold the arrays"),
    "no chances": (lambda f: f.update(followers=[]), "does not hold the arrays"),
}
HOSTILE_ARRAYS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "level": (setting("tilt.levels.1", 0, 5), "not numbered from 0"),
    "negative level": (setting("tilt.levels.1", 0, -1), "not numbered from 0"),
    "a level left out": (setting("tilt.levels.1", slice(None), 0), "not numbered from 0"),
    "no number": (setting("tilt.weights", 0, np.nan), "no number"),
    "infinite": (setting("tilt.weights", 0, np.inf), "no number"),
    "large": (setting("tilt.weights", 0, -2e3), "too large"),
    "negative share": (setting("tilt.expected", slice(0, 2), [-0.1, 0.5]), "not probabilities"),
    "share of the impossible": (setting("tilt.expected", 2, 0.1), "not probabilities"),
    "sum": (setting("tilt.expected", 0, 0.99), "add up to one"),
    "place": (setting("tilt.impossible", 1, 10**9), "not places of cells"),
    "negative place": (setting("tilt.impossible", 0, -1), "not places of cells"),
    "order": (setting("tilt.impossible", slice(None), [9, 2]), "not places of cells"),
    "left out": (lambda a: a.pop("tilt.weights"), "does not hold the arrays"),
    "length": (lambda a: a.update({"tilt.expected": a["tilt.expected"][1:]}), "does not fit the schema"),
    "base": (setting("weights", 0, -1.0), "not probabilities"),
    "negative chance": (setting("tilt.chances.0", (0, slice(0, 2)), [-0.1, 1.07]), "are not probabilities"),
    "no chance": (setting("tilt.chances.0", (0, slice(0, 2)), [0.97, 0.0]), "are not probabilities"),
    "chances": (setting("tilt.chances.0", (0, 0), 0.5), "are not probabilities"),
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "good.sfumato"
    made("follows").save(path)
    return path.read_bytes()


@pytest.mark.parametrize("fault", HOSTILE_FACTS)
def test_hostile_facts_are_refused(fault: str, good: bytes, tmp_path: Path) -> None:
    change, told = HOSTILE_FACTS[fault]
    (tmp_path / "bad.sfumato").write_bytes(with_facts(good, change))
    with pytest.raises(ReleaseError, match=told):
        sf.load(tmp_path / "bad.sfumato")


@pytest.mark.parametrize("fault", HOSTILE_ARRAYS)
def test_hostile_arrays_are_refused(fault: str, good: bytes, tmp_path: Path) -> None:
    change, told = HOSTILE_ARRAYS[fault]
    (tmp_path / "bad.sfumato").write_bytes(with_arrays(good, change))
    with pytest.raises(ReleaseError, match=told):
        sf.load(tmp_path / "bad.sfumato")


def test_every_cell_is_listed() -> None:
    assert len(frame(3)) == cells(3).shape[1] == 72
