"""A model of one's own: registered from outside, saved, loaded and sampled; and kinds that cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from tests.release.files import refused, with_arrays, with_facts

import sfumato as sf
from sfumato.arrays import ArraySpec
from sfumato.errors import ArgumentError
from sfumato.models import CodedRows, GeneratorModel, MixtureModel, Trainable, base, find_model, register_model
from sfumato.schema.layout import Layout

SCHEMA = {"columns": {"x": {"type": "number", "min": 0, "max": 9, "step": 1}}}


@dataclass(frozen=True, eq=False)
class Histogram:
    """A model of one column: how often each bin comes."""

    layout: Layout
    shares: Any
    kind: ClassVar[str] = "tests.histogram"
    row_spends: ClassVar[tuple[str, ...]] = ()
    encoding = "bins"
    class_weights = np.ones(1)

    def check_given(self, names: Any) -> None:
        raise ArgumentError("given: a histogram holds nothing")

    def condition(self, given: Any) -> Any:
        raise AssertionError("nothing can be given")

    def draw(self, n: int, rng: np.random.Generator, condition: Any = None) -> Any:
        codes = rng.choice(len(self.shares), size=n, p=self.shares)
        return [self.layout.bins[0].decode(codes, rng.random(n))], np.zeros(n, dtype=np.int64)

    def log_joint(self, rows: CodedRows) -> Any:
        return np.log(self.shares)[rows.codes[0]][:, None]

    def log_posterior(self, rows: CodedRows) -> Any:
        return np.zeros((len(rows.codes[0]), 1))

    def to_arrays(self) -> Any:
        return {"bins": len(self.shares)}, {"shares": self.shares}

    @classmethod
    def shapes(cls, layout: Layout, facts: Mapping[str, Any], insist: Any) -> Any:
        insist(facts == {"bins": layout.sizes[0]}, "its bins do not fit its schema")
        return {"shares": ArraySpec((layout.sizes[0],))}

    @classmethod
    def from_arrays(cls, layout: Layout, facts: Any, arrays: Any, insist: Any) -> Histogram:
        insist((arrays["shares"] >= 0).all() and abs(arrays["shares"].sum() - 1) < 1e-9, "shares are not probabilities")
        return cls(layout, arrays["shares"])

    def check_guarantee(self, guarantee: Any, unit_rows: int, insist: Any) -> None:
        insist(guarantee.adjacency == "add-remove", "a histogram is of add-remove")


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_KINDS", dict(base._KINDS))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    fitted = sf.fit(pd.DataFrame({"x": [1, 2, 3]}), SCHEMA, epsilon=1, delta=1e-6)
    model = Histogram(fitted.layout, (np.arange(10.0) + 1.0) / 55.0)
    replace(fitted, mechanism="ours", model=model).save(tmp_path / "r.sfumato")
    return tmp_path / "r.sfumato"


def test_the_kinds_of_the_library() -> None:
    assert find_model("mixture") is MixtureModel
    assert find_model("generator") is GeneratorModel
    assert find_model("tests.histogram") is None
    assert issubclass(GeneratorModel, Trainable)
    assert not issubclass(MixtureModel, Trainable)


@pytest.mark.usefixtures("kinds")
def test_a_model_from_outside_is_saved_loaded_sampled_and_scored(saved: Path) -> None:
    register_model(Histogram)
    release = sf.load(saved)
    assert isinstance(release.model, Histogram)
    rows = release.sample(2000, seed=0)
    np.testing.assert_allclose(np.bincount(rows["x"], minlength=10) / 2000, (np.arange(10) + 1) / 55, atol=0.04)
    np.testing.assert_allclose(release.log_density(rows), np.log((rows["x"] + 1) / 55))
    assert repr(release).startswith("Release(ours, tests.histogram of 1 columns in bins, 3 answers, (1, 1e-06)-diff")
    with pytest.raises(ArgumentError, match="a histogram holds nothing"):
        release.sample(1, given={"x": 3})
    with pytest.raises(ArgumentError, match="nothing to train"):
        release.train()


@pytest.mark.usefixtures("kinds")
def test_its_files_are_checked_like_any_other(saved: Path, tmp_path: Path) -> None:
    register_model(Histogram)
    good = saved.read_bytes()
    assert "its bins do not fit its schema" in refused(with_facts(good, lambda f: f.update(bins=9)), tmp_path)
    assert "does not fit the schema" in refused(with_arrays(good, lambda a: a.update(shares=np.ones(9) / 9)), tmp_path)
    assert "no number" in refused(with_arrays(good, lambda a: a["shares"].fill(np.nan)), tmp_path)
    assert "not probabilities" in refused(with_arrays(good, lambda a: a["shares"].fill(1.0)), tmp_path)


def test_a_kind_that_nobody_imported_is_refused(saved: Path, tmp_path: Path) -> None:
    line = refused(saved.read_bytes(), tmp_path)
    assert line.endswith("its model is of kind 'tests.histogram', which nothing that is imported knows")


@pytest.mark.usefixtures("kinds")
def test_a_kind_belongs_to_one_class() -> None:
    register_model(Histogram)
    register_model(Histogram)  # a module that is imported twice is no conflict

    class Other(Histogram):
        kind = "mixture"

    with pytest.raises(
        ArgumentError, match=r"^there is another model of kind 'mixture': sfumato\.models\.mixture_mode"
    ):
        register_model(Other)
    for name in ("", "Upper", "two words", "a\nb", "x" * 65):
        with pytest.raises(ArgumentError, match=r"^the kind of a model is a short name in lower case, not "):
            register_model(type("Odd", (Histogram,), {"kind": name}))
