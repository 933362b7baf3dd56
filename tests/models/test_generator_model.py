"""Releases of generators: what can be sampled, trained again for free, kept in a file, interrupted and taken up."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.configs import asked
from tests.models.test_mixture_groups import SMALL, images
from tests.release.files import same, with_model

import sfumato as sf
from sfumato import api
from sfumato.errors import ArgumentError, MissingExtraError
from sfumato.models import GeneratorModel, generator_model
from sfumato.models.generator import Generator, OwnGenerator

pytestmark = pytest.mark.slow  # JAX compiles

SCHEMA: dict[str, Any] = {
    "label": "y",
    "columns": {
        "x": {"type": "number", "min": -4, "max": 4, "bins": 16},
        "age": {"type": "number", "min": 0, "max": 99, "step": 1},
        "y": {"type": "category", "values": ["no", "yes"]},
        "c": {"type": "category", "values": ["a", "b", "c"], "missing": True},
        "day": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 4},
    },
}
SETTINGS = sf.Training(steps=100, rows=128, width=8, depth=1, rate=0.01)
ROWS: dict[str, Any] = {"form": "rows", "adjacency": "replace-one"}


def people(n: int = 800) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = rng.random(n) < 0.4
    x = rng.normal(y, 1.0)
    return pd.DataFrame(
        {
            "x": x,
            "age": np.clip(np.rint(40 + 15 * x + rng.normal(0, 8, n)), 0, 99),
            "y": np.where(y, "yes", "no"),
            "c": np.where(x > 0.5, "a", rng.choice(np.array(["b", "c", None], dtype=object), n)),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D"),
        }
    )


def fit(table: pd.DataFrame | None = None, schema: dict[str, Any] = SCHEMA, **more: Any) -> sf.Release:
    options: dict[str, Any] = {"epsilon": 4, "delta": 1e-6, "mechanism": "slicing", "insecure_seed": 1, "workers": 1}
    made = sf.fit(people() if table is None else table, schema, **asked(**(options | {"training": None} | more)))
    assert isinstance(made.model, GeneratorModel)
    return made


@pytest.fixture(scope="module")
def bought() -> sf.Release:
    """Before any training."""
    return fit()


@pytest.fixture(scope="module")
def trained(bought: sf.Release) -> sf.Release:
    pytest.importorskip("jax")
    return bought.train(SETTINGS)


@pytest.fixture(scope="module")
def pictures() -> sf.Release:
    return fit(images(), SMALL)


def weights(release: sf.Release) -> dict[str, Any]:
    assert isinstance(release.model.generator, Generator)
    return dict(release.model.generator.weights)


def stop(at: int) -> Callable[[int, int, float], None]:
    """An `on_step` that interrupts."""

    def heard(step: int, steps: int, loss: float) -> None:
        if step >= at:
            raise KeyboardInterrupt

    return heard


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training that only moves the weights a little: what comes before and after it is the same for every network."""
    rng = np.random.default_rng(0)

    def train_on(bought: Any, encoder: Any, generator: Generator, progress: Any, on_block: Any) -> Any:
        drawn = {name: w + rng.normal(0, 0.1, w.shape).astype(np.float32) for name, w in generator.weights.items()}
        return replace(generator, weights=drawn), replace(progress, finished=True, step=1, loss=1.0)

    monkeypatch.setattr(generator_model, "train_on", train_on)


# --- sampling


def test_a_sample_has_the_columns_and_types_of_the_schema(trained: sf.Release) -> None:
    rows = trained.sample(300, seed=0)
    assert list(rows) == list(SCHEMA["columns"])
    assert rows["age"].dtype == np.int64
    assert rows["x"].dtype == np.float64
    assert rows["x"].between(-4, 4).all()
    assert rows["age"].between(0, 99).all()
    assert set(rows["c"].dropna()) == {"a", "b", "c"}
    assert rows["c"].isna().any()
    assert rows["day"].between("2020-01-01", "2020-12-31").all()
    (batch,) = trained.sample_batches(300, seed=0)
    assert batch.to_pandas()["age"].equals(rows["age"])


def test_a_seed_repeats_a_sample(trained: sf.Release) -> None:
    rows = trained.sample(50, seed=3)
    assert rows.equals(trained.sample(50, seed=3))
    assert not rows.equals(trained.sample(50, seed=4))
    assert not trained.sample(50).equals(trained.sample(50))


def test_no_rows_are_a_table_too(trained: sf.Release, pictures: sf.Release) -> None:
    assert trained.sample(0).shape == (0, 5)
    assert trained.sample(0, given={"y": "yes"}).shape == (0, 5)
    assert pictures.sample(0).shape == (0, 37)


@pytest.mark.parametrize("kind", ["bought", "trained"])
def test_columns_are_distributed_as_the_histograms_told(kind: str, request: pytest.FixtureRequest) -> None:
    """Whatever the generator made of them. In 20,000 rows the total variation of 16 bins is 0.014 by chance, and that
    of a table of 8192 places 0.02."""
    release: sf.Release = request.getfixturevalue(kind)
    rows = release.sample(20_000, seed=0)
    for k, label in enumerate(["no", "yes"]):
        mine = rows[rows["y"] == label]
        assert len(mine) / len(rows) == pytest.approx(release.class_weights[k], abs=0.02)
        found = np.histogram(mine["x"], bins=16, range=(-4, 4))[0] / len(mine)
        assert 0.5 * np.abs(found - release.model.encoder.columns[0].masses[k]).sum() < 0.05  # type: ignore[union-attr]
        found = np.array([(mine["c"] == value).mean() for value in "abc"])
        told = release.model.encoder.columns[2].masses[k][:3]  # type: ignore[union-attr]
        assert 0.5 * np.abs(found - told).sum() < 0.05


def test_columns_go_together_once_trained(bought: sf.Release, trained: sf.Release) -> None:
    """x and age are correlated by 0.86 in a class. Over seeds 1 to 5 of the noise trained rows have 0.80 to 0.85."""
    before, after = (
        r.sample(4000, seed=0, given={"y": "no"})[["x", "age"]].corr().iloc[0, 1] for r in (bought, trained)
    )
    assert abs(before) < 0.1
    assert after > 0.7


def test_a_given_label_is_kept(trained: sf.Release, pictures: sf.Release) -> None:
    rows = trained.sample(200, seed=0, given={"y": "yes"})
    assert (rows["y"] == "yes").all()
    assert (pictures.sample(20, seed=0, given={"kind": "beam"})["kind"] == "beam").all()


def test_nothing_else_can_be_given(trained: sf.Release, pictures: sf.Release) -> None:
    with pytest.raises(ArgumentError, match=r"^given: a generator can fix the label only, not 'age'; keep rows by wh"):
        trained.sample(3, given={"age": 40})
    with pytest.raises(ArgumentError, match=r"^given: a generator can fix the label only, not 'x'"):
        trained.sample(3, given={"y": "yes", "x": 0.0})
    with pytest.raises(ArgumentError, match=r"^given: 'zip' is not a column of the release$"):
        trained.sample(3, given={"zip": 1})
    with pytest.raises(ArgumentError, match=r"^given: y can never be 'maybe'$"):
        trained.sample(3, given={"y": "maybe"})
    with pytest.raises(ArgumentError, match=r"^given: a generator can fix the label only, not 'px_3'"):
        pictures.sample(3, given={"px_3": 100})


def test_rows_are_kept_by_where(trained: sf.Release, pictures: sf.Release) -> None:
    rows = trained.sample(50, seed=0, given={"y": "yes"}, where="age > 45")
    assert len(rows) == 50
    assert (rows["age"] > 45).all()
    assert (rows["y"] == "yes").all()
    assert (pictures.sample(5, seed=0, where="px_7 > 60")["px_7"] > 60).all()


def test_a_number_may_be_the_label() -> None:
    schema = {
        "label": "age",
        "columns": SCHEMA["columns"] | {"age": {"type": "number", "min": 0, "max": 99, "bins": 3}},
    }
    rows = fit(schema=schema).sample(40, seed=0, given={"age": 40})
    assert (rows["age"] == 40).all()


def test_it_neither_classifies_nor_has_a_density(trained: sf.Release) -> None:
    with pytest.raises(ArgumentError, match=r"^a generator does not classify: train a classifier on rows sampled from"):
        trained.predict_proba(people(3))
    with pytest.raises(ArgumentError, match=r"^a generator has no density that anyone could evaluate; a mixture has$"):
        trained.log_density(people(3))


def test_jax_makes_the_same_rows(trained: sf.Release) -> None:
    """To single precision: a row may fall on the other side of a threshold now and then."""
    one, two = trained.sample(400, seed=0), trained.using("jax").sample(400, seed=0)
    assert (one["age"] == two["age"]).mean() > 0.99
    np.testing.assert_allclose(one["x"], two["x"], atol=1e-3)
    with pytest.raises(ArgumentError, match=r"^networks of sfumato's own are sampled with 'numpy' or 'jax'; other mod"):
        trained.using("torch")


def test_sampling_needs_no_jax(trained: sf.Release, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expected = trained.sample(20, seed=0)
    trained.save(tmp_path / "r.sfumato")
    for name in ("jax", "jax.numpy", "equinox", "optax"):
        monkeypatch.setitem(sys.modules, name, None)
    assert sf.load(tmp_path / "r.sfumato").sample(20, seed=0).equals(expected)
    with pytest.raises(MissingExtraError, match=r"^sampling with JAX needs an extra: pip install sfumato\[train\]$"):
        trained.using("jax").sample(3)


@pytest.mark.parametrize("lacking", ["jax", "equinox", "optax"])
def test_training_without_the_extra_is_refused_before_anything_is_spent(
    lacking: str, bought: sf.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, lacking, None)
    spent: list[Any] = []
    line = r"^training a generator needs an extra: pip install sfumato\[train\]$"
    with pytest.raises(MissingExtraError, match=line):
        fit(training=sf.Training(), progress=spent.append)
    assert spent == []
    with pytest.raises(MissingExtraError, match=line):
        bought.train(SETTINGS)
    assert fit(progress=spent.append).model.progress.number == 0
    assert sum(isinstance(event, sf.Spending) for event in spent) == 2


def test_weights_of_any_size_make_rows(bought: sf.Release, tmp_path: Path) -> None:
    """As large as a file may hold, in as many layers: numbers overflow, and rows are still of the schema."""
    assert isinstance(bought.model.generator, Generator)
    deep = replace(bought.model.generator.architecture, depth=16, width=4)
    huge = {name: np.full(shape, 1e6, dtype=np.float32) for name, shape in deep.shapes().items()}
    with_model(bought, generator=Generator(deep, huge)).save(tmp_path / "r.sfumato")
    rows = sf.load(tmp_path / "r.sfumato").sample(50, seed=0)
    assert rows["x"].between(-4, 4).all()
    assert rows["age"].between(0, 99).all()


# --- training


def test_what_is_not_trained_is_a_gaussian_of_each_class(bought: sf.Release) -> None:
    assert not bought.model.is_trained
    assert bought.model.progress.number == 0
    assert len(bought.sample(10)) == 10


def test_training_costs_nothing_however_often(bought: sf.Release) -> None:
    pytest.importorskip("jax")
    release = bought
    for number in range(1, 6):
        release = release.train(replace(SETTINGS, steps=50, seed=number))
        assert release.model.progress.number == number
        assert release.model.is_trained
        assert release.guarantee == bought.guarantee
        assert release.model.bought is bought.model.bought
    assert not np.array_equal(weights(release)["skip"], weights(bought)["skip"])


def test_the_ledger_holds_one_entry_however_often_it_is_trained(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    ledger = sf.Ledger(tmp_path / "l.db")
    ledger.open("people", 5, 1e-5)
    made = fit(
        insecure_seed=None,
        ledger=ledger,
        dataset="people",
    )
    made = made.train(replace(SETTINGS, steps=50), checkpoint=tmp_path / "r")
    for _ in range(2):
        made = made.train(replace(SETTINGS, steps=50))
    (account,) = ledger.accounts()
    (entry,) = account.entries
    assert entry.mechanism == "slicing"
    assert entry.id == made.guarantee.entry
    assert made.guarantee.secure
    assert made.model.progress.number == 3
    read = sf.load(tmp_path / "r")
    assert isinstance(read.model, GeneratorModel)
    assert read.guarantee == made.guarantee
    assert read.model.progress.number == 1


def test_the_same_settings_find_the_same_generator(bought: sf.Release, trained: sf.Release) -> None:
    assert same(bought.train(SETTINGS), trained)
    assert not same(bought.train(replace(SETTINGS, seed=1)), trained)


def test_a_warm_start_goes_on_from_the_weights(trained: sf.Release) -> None:
    short = replace(SETTINGS, steps=50, rate=1e-6)
    warm, cold = trained.train(short, warm=True), trained.train(short)
    assert warm.model.progress.number == cold.model.progress.number == 2
    apart = [np.abs(weights(each)["skip"] - weights(trained)["skip"]).max() for each in (warm, cold)]
    assert apart[0] < 1e-3 < apart[1]
    with pytest.raises(ArgumentError, match=r"^a warm start needs the architecture, width and depth that the release"):
        trained.train(replace(SETTINGS, width=9), warm=True)


@pytest.mark.usefixtures("untouched")
def test_another_architecture(trained: sf.Release, tmp_path: Path) -> None:
    other = trained.train(replace(SETTINGS, width=5, depth=3))
    assert weights(other)["matrix.0"].shape == (2, 4, 5)
    assert weights(other)["matrix.3"].shape == (2, 5, 4)
    other.save(tmp_path / "r")
    assert sf.load(tmp_path / "r").sample(9, seed=0).equals(other.sample(9, seed=0))


@pytest.mark.usefixtures("untouched")
def test_convolutions_of_images(pictures: sf.Release, bought: sf.Release, tmp_path: Path) -> None:
    made = pictures.train(sf.Training(steps=50, width=8, depth=1, architecture="conv", channels=2))
    assert weights(made)["kernel.0"].shape == (3, 3, 1, 2)
    made.save(tmp_path / "r")
    read = sf.load(tmp_path / "r")
    assert isinstance(read.model, GeneratorModel)
    assert same(read, made)
    assert read.sample(9, seed=0).equals(made.sample(9, seed=0))
    assert not read.sample(9, seed=0).equals(pictures.sample(9, seed=0))
    with pytest.raises(ArgumentError, match=r"^architecture 'conv' is for images: it needs one group with a shape"):
        bought.train(replace(SETTINGS, architecture="conv"))


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"training": sf.Training(architecture="conv")}, "architecture 'conv' is for images: it needs one group with a "),
    ({"training": sf.Training(steps=0)}, "steps must be a whole number from 1 to 10000000, not 0"),
    ({"training": sf.Training(rate=float("nan"))}, "rate must be a number above 0 and at most 1, not nan"),
    (
        {"training": sf.Training(divergence="tv")},
        "divergence must be one of 'kl', 'reverse-kl', 'js', 'chi2', not 'tv'",
    ),
    ({"training": sf.Training(architecture="rnn")}, "architecture must be one of 'mlp', 'conv', not 'rnn'"),
    ({"training": {"steps": 5}}, "training must be settings (sf.Training) or None, not {'steps': 5}"),
    ({"training": False}, "training must be settings (sf.Training) or None, not False"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=lambda each: str(each)[:50])
def test_what_cannot_be_trained_is_refused_before_anything_is_spent(options: dict[str, Any], message: str) -> None:
    pytest.importorskip("jax")
    spent: list[Any] = []
    with pytest.raises(sf.errors.SfumatoError) as caught:
        fit(**({"progress": spent.append} | options))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert spent == []


def test_fewer_than_two_rows_cannot_be_trained_on() -> None:
    pytest.importorskip("jax")
    lonely = fit(people().head(1), **ROWS)
    assert len(lonely.sample(5)) == 5
    with pytest.raises(ArgumentError, match=r"^there are too few noisy rows to train on: two are the least$"):
        lonely.train(SETTINGS)


def test_a_training_that_diverges_says_so(bought: sf.Release) -> None:
    pytest.importorskip("jax")
    broken = with_model(bought, bought=replace(bought.model.bought, sd=bought.model.bought.sd * 1e-30))  # type: ignore[union-attr]
    with pytest.raises(ArgumentError, match=r"^training diverged at step 50; lower the rate$"):
        broken.train(replace(SETTINGS, steps=50))


@pytest.mark.slow
def test_training_on_noisy_rows(tmp_path: Path) -> None:
    """With so large an epsilon that a row's noise is half of a column's spread, on slices by fresh frames: x and age,
    correlated by 0.86 in a class, have 0.76 to 0.80 over seeds 1 to 3 of the noise."""
    pytest.importorskip("jax")
    made = fit(epsilon=200, training=replace(SETTINGS, divergence="js"), **ROWS)
    assert made.model.progress.loss is not None
    assert 0 <= made.model.progress.loss < 0.05
    assert made.sample(4000, seed=0, given={"y": "no"})[["x", "age"]].corr().iloc[0, 1] > 0.5
    made.save(tmp_path / "r")
    read = sf.load(tmp_path / "r")
    assert isinstance(read.model, GeneratorModel)
    assert same(read, made)
    assert str(read.model.bought) == "800 noisy rows"
    assert read.sample(9, seed=0).equals(made.sample(9, seed=0))


# --- files, and trainings that are interrupted


@pytest.mark.parametrize("kind", ["bought", "trained", "pictures"])
def test_a_file_gives_back_what_was_put_in(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    release: sf.Release = request.getfixturevalue(kind)
    release.save(tmp_path / "r.sfumato")
    read = sf.load(tmp_path / "r.sfumato")
    assert isinstance(read.model, GeneratorModel)
    assert same(read, release)
    assert read.guarantee == release.guarantee
    assert read.model.progress == release.model.progress
    assert read.sample(30, seed=0).equals(release.sample(30, seed=0))
    read.save(tmp_path / "again.sfumato")
    assert (tmp_path / "again.sfumato").read_bytes() == (tmp_path / "r.sfumato").read_bytes()


def test_large_tables_and_small_budgets_come_back(bought: sf.Release, tmp_path: Path) -> None:
    """Counts of a hundred million rows, and noise of as many."""
    waves: Any = bought.model.bought
    for changed in (replace(waves, counts=waves.counts * 1e6), replace(waves, means=waves.means * 1e8)):
        with_model(bought, bought=changed).save(tmp_path / "r")
        assert sf.load(tmp_path / "r").sample(3).shape == (3, 5)


def test_an_interrupted_training_is_taken_up_where_it_was(
    bought: sf.Release, trained: sf.Release, tmp_path: Path
) -> None:
    path = tmp_path / "r.sfumato"
    heard: list[tuple[int, int]] = []
    with pytest.raises(KeyboardInterrupt):
        bought.train(SETTINGS, checkpoint=path, on_step=stop(50))
    half = sf.load(path)
    assert isinstance(half.model, GeneratorModel)
    assert not half.model.is_trained
    assert (half.model.progress.number, half.model.progress.step, half.model.progress.settings) == (1, 50, SETTINGS)
    assert half.model.progress.memory is not None
    assert len(half.sample(5)) == 5
    half.save(tmp_path / "copy")
    copy = sf.load(tmp_path / "copy")
    assert isinstance(copy.model, GeneratorModel)
    assert same(copy, half), "also Adam's memory"
    done = copy.train(resume=True, checkpoint=path, on_step=lambda step, steps, loss: heard.append((step, steps)))
    assert heard == [(100, 100)]
    assert same(done, trained)
    assert done.model.progress == trained.model.progress
    read = sf.load(path)
    assert isinstance(read.model, GeneratorModel)
    assert same(read, trained)


def test_an_interrupt_after_the_last_block_can_be_taken_up_too(
    bought: sf.Release, trained: sf.Release, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        bought.train(SETTINGS, checkpoint=tmp_path / "r", on_step=stop(100))
    half = sf.load(tmp_path / "r")
    assert isinstance(half.model, GeneratorModel)
    done = half.train(resume=True)
    assert same(done, trained)
    assert done.model.progress == trained.model.progress


def test_an_interrupt_where_training_would_have_ended(bought: sf.Release, tmp_path: Path) -> None:
    """With so much noise the answers are met after the first block, and going on would learn it."""
    pytest.importorskip("jax")
    noisy = with_model(bought, bought=replace(bought.model.bought, sd=bought.model.bought.sd * 100))  # type: ignore[union-attr]
    whole = noisy.train(SETTINGS)
    assert whole.model.is_trained
    assert whole.model.progress.step == 50
    with pytest.raises(KeyboardInterrupt):
        noisy.train(SETTINGS, checkpoint=tmp_path / "r", on_step=stop(50))
    half = sf.load(tmp_path / "r")
    assert isinstance(half.model, GeneratorModel)
    done = half.train(resume=True)
    assert same(done, whole)
    assert done.model.progress == whole.model.progress


def test_an_interrupt_of_the_last_save_leaves_the_last_block(
    bought: sf.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("jax")
    save = sf.Release.save

    def saving(self: sf.Release, path: Path) -> None:
        if self.model.is_trained:
            raise KeyboardInterrupt
        save(self, path)

    monkeypatch.setattr(sf.Release, "save", saving)
    with pytest.raises(KeyboardInterrupt):
        bought.train(SETTINGS, checkpoint=tmp_path / "r")
    half = sf.load(tmp_path / "r")
    assert isinstance(half.model, GeneratorModel)
    assert half.model.progress.step == 100
    assert half.model.progress.memory is not None


def test_an_interrupt_without_a_file_gives_back_what_there_is(
    bought: sf.Release, trained: sf.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.warns(
        UserWarning, match=r"^interrupted: the release is trained in part; train\(resume=True\) goes on$"
    ):
        half = bought.train(SETTINGS, on_step=stop(50))
    assert half.model.progress.step == 50
    assert same(half.train(resume=True), trained)

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(generator_model, "train_on", interrupted)
    with pytest.raises(KeyboardInterrupt):  # there is nothing to go on with
        bought.train(SETTINGS)


def test_adam_may_remember_large_squares(bought: sf.Release, tmp_path: Path) -> None:
    """A large table has little noise, and a chi-square far above one has steep slopes."""
    pytest.importorskip("jax")
    steep = with_model(bought, bought=replace(bought.model.bought, sd=bought.model.bought.sd / 300))  # type: ignore[union-attr]
    with pytest.raises(KeyboardInterrupt):
        steep.train(SETTINGS, checkpoint=tmp_path / "r", on_step=stop(50))
    half = sf.load(tmp_path / "r")
    assert isinstance(half.model, GeneratorModel)
    assert half.model.progress.memory is not None
    assert max(float(part.max()) for part in half.model.progress.memory[1]) > 1e6


def test_an_interrupt_before_the_first_block_leaves_the_file(
    trained: sf.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An untrained network must not take the place of a trained one."""

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    trained.save(tmp_path / "r")
    before = (tmp_path / "r").read_bytes()
    monkeypatch.setattr(generator_model, "train_on", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trained.train(SETTINGS, checkpoint=tmp_path / "r")
    assert (tmp_path / "r").read_bytes() == before


def test_checkpoints_are_kept_on_the_way(bought: sf.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed, and not interrupted, leaves the last of them."""
    pytest.importorskip("jax")
    monkeypatch.setattr(generator_model, "SAVE_SECONDS", 0.0)

    def killed(step: int, steps: int, loss: float) -> None:
        if step == 100:
            raise SystemExit

    with pytest.raises(SystemExit):
        bought.train(SETTINGS, checkpoint=tmp_path / "r", on_step=killed)
    half = sf.load(tmp_path / "r")
    assert isinstance(half.model, GeneratorModel)
    assert half.model.progress.step == 50


def test_what_cannot_be_resumed(bought: sf.Release, trained: sf.Release, tmp_path: Path) -> None:
    for release in (bought, trained):
        with pytest.raises(
            ArgumentError, match=r"^there is no interrupted training to go on with; train anew, or warm$"
        ):
            release.train(resume=True)
    with pytest.raises(KeyboardInterrupt):
        bought.train(SETTINGS, checkpoint=tmp_path / "r", on_step=stop(50))
    half = sf.load(tmp_path / "r")
    assert isinstance(half.model, GeneratorModel)
    for more in ({"training": SETTINGS}, {"warm": True}, {"module": 3}):
        with pytest.raises(ArgumentError, match=r"^a training that is resumed keeps its settings: give nothing else$"):
            half.train(resume=True, **more)  # type: ignore[arg-type]


# --- modules of one's own


@cache
def own_kind() -> Any:
    eqx = pytest.importorskip("equinox")
    jnp = pytest.importorskip("jax.numpy")

    class Own(eqx.Module):  # type: ignore[misc, name-defined]
        matrix: Any
        offset: Any

        def __call__(self, noise: Any, one_hot: Any) -> Any:
            return jnp.concatenate([noise, one_hot]) @ self.matrix + self.offset

    return Own


def own_module(dim: int = 4, classes: int = 2, out: int = 4, seed: int = 0) -> Any:
    kind, jnp = own_kind(), pytest.importorskip("jax.numpy")
    matrix = np.random.default_rng(seed).normal(0, 0.4, (dim + classes, out))
    return kind(jnp.asarray(matrix, dtype=jnp.float32), jnp.zeros(out))


@pytest.fixture(scope="module")
def owned(bought: sf.Release) -> sf.Release:
    return bought.train(replace(SETTINGS, steps=50), module=own_module())


@pytest.mark.slow
def test_a_module_of_ones_own_is_trained(bought: sf.Release, owned: sf.Release) -> None:
    assert isinstance(owned.model.generator, OwnGenerator)
    assert owned.model.progress.number == 1
    assert owned.guarantee == bought.guarantee
    rows = owned.sample(100, seed=0)
    assert rows.equals(owned.sample(100, seed=0))
    assert owned.sample(0).shape == (0, 5)
    begun = own_module().matrix
    assert not np.allclose(owned.model.generator.module.matrix, begun)
    again = owned.train(replace(SETTINGS, steps=50, rate=1e-6), warm=True)
    assert isinstance(again.model.generator, OwnGenerator)
    np.testing.assert_allclose(again.model.generator.module.matrix, owned.model.generator.module.matrix, atol=1e-3)
    with pytest.raises(ArgumentError, match=r"^networks of sfumato's own are sampled with 'numpy' or 'jax'; other mod"):
        owned.using("jax")


def test_its_file_holds_its_numbers_and_not_its_code(owned: sf.Release, tmp_path: Path) -> None:
    owned.save(tmp_path / "r")
    bare = sf.load(tmp_path / "r")
    assert isinstance(bare.model, GeneratorModel)
    line = r"^this release was trained with a module of its author's own: load it with module=\.\.\.$"
    with pytest.raises(ArgumentError, match=line):
        bare.sample(3)
    with pytest.raises(ArgumentError, match=line):
        bare.train(warm=True)
    assert bare.train(replace(SETTINGS, steps=50)).model.progress.number == 2, (
        "a network of sfumato's own can be trained on it"
    )
    whole = sf.load(tmp_path / "r", module=own_module(seed=9))
    assert whole.sample(30, seed=0).equals(owned.sample(30, seed=0))
    with pytest.raises(
        ArgumentError, match=r"^the module does not have the arrays that this release was trained with$"
    ):
        sf.load(tmp_path / "r", module=own_module(out=5))


def test_an_interrupted_one_is_taken_up(bought: sf.Release, owned: sf.Release, tmp_path: Path) -> None:
    settings = replace(SETTINGS, steps=50)
    with pytest.raises(KeyboardInterrupt):
        bought.train(settings, module=own_module(), checkpoint=tmp_path / "r", on_step=stop(50))
    with pytest.raises(ArgumentError, match=r"^this release was trained with a module of its author's own"):
        sf.load(tmp_path / "r").train(resume=True)  # type: ignore[attr-defined]
    half = sf.load(tmp_path / "r", module=own_module(seed=3))
    assert isinstance(half.model, GeneratorModel)
    assert same(half.train(resume=True), owned)


def test_modules_that_cannot_be_one(bought: sf.Release, trained: sf.Release, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"^the module must make 4 numbers a row, not an array of shape \(3,\)$"):
        bought.train(module=own_module(out=3))
    with pytest.raises(
        ArgumentError, match=r"^the module must make a row from 4 normals and a one-hot class of 2: mod"
    ):
        bought.train(module=own_module(dim=9))
    with pytest.raises(ArgumentError, match=r"^a module of your own brings its own weights: give it, or warm=True$"):
        bought.train(module=own_module(), warm=True)
    trained.save(tmp_path / "r")
    with pytest.raises(
        ArgumentError, match=r"^module is for releases that were trained with a module of their author's"
    ):
        sf.load(tmp_path / "r", module=own_module())


def test_nothing_but_numbers_comes_of_it(bought: sf.Release) -> None:
    jnp = pytest.importorskip("jax.numpy")
    broken = OwnGenerator((), 2, 4, lambda noise, one_hot: jnp.full(4, jnp.nan))
    rows = with_model(bought, generator=broken).sample(20, seed=0)
    assert rows["x"].between(-4, 4).all()


def test_a_job_leaves_the_release_untrained() -> None:
    job = api.prepare(people(), SCHEMA, epsilon=1, delta=1e-6, mechanism="slicing", insecure_seed=1)
    made = job.release(job.curator())
    assert isinstance(made.model, GeneratorModel)
    assert not made.model.is_trained
    assert made.encoding == "scores"
    assert "Release(slicing, generator of 5 columns in scores, 2 answers, NOT PRIVATE" in repr(made)
