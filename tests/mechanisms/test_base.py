"""What a mechanism is: rounds found by name, names found in the registry, and a fourth one from outside."""

from __future__ import annotations

import inspect
import json
from dataclasses import FrozenInstanceError, fields, is_dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from tests.calls import caller
from tests.mechanisms import toy

import sfumato as sf
from sfumato import mechanisms
from sfumato.errors import ArgumentError
from sfumato.mechanisms import Mechanism, find, kind, names, register

SCHEMA: dict[str, Any] = {
    "label": "y",
    "columns": {
        "x": {"type": "number", "min": 0, "max": 9, "step": 1},
        "c": {"type": "category", "values": ["a", "b"]},
        "y": {"type": "category", "values": ["no", "yes"]},
    },
}
OWN = ("mixture", "clustmix", "slicing")


def people(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 10, n)
    return pd.DataFrame(
        {"x": x, "c": np.where(x > 4, "a", "b"), "y": np.where(x + rng.integers(0, 3, n) > 5, "yes", "no")}
    )


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanisms, "_registered", dict(mechanisms._registered))


@pytest.fixture
def installed(registry: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a package with the toy were installed."""
    found = EntryPoint("independent", "tests.mechanisms.toy:Independent", mechanisms.ENTRY_POINTS)
    monkeypatch.setattr(mechanisms, "entry_points", lambda group: [found] if group == mechanisms.ENTRY_POINTS else [])


# --- rounds


def test_rounds_are_found_by_name_and_number() -> None:
    plan = sf.plan(SCHEMA, epsilon=1, delta=1e-6, mechanism=sf.Clustmix(adapt="labels"))
    assert plan.round("cells", 2).title == "cells 2"
    assert plan.round("points").title == "points"
    assert [each.number for each in plan.repeats("labels")] == [1, 2, 3, 4]
    assert plan.has("labels")
    assert not plan.has("label")
    assert plan.repeats("label") == ()
    assert plan.budget("points") == plan.round("points").share * plan.mu**2
    assert plan.budget("points", 1e-9) == 1e-9
    for name, number in (("cells", None), ("cells", 3), ("points", 1), ("cells 1", None)):
        with pytest.raises(KeyError):
            plan.round(name, number)


def test_a_plan_is_run_by_the_mechanism_that_made_it() -> None:
    plan = sf.plan(SCHEMA, epsilon=1, delta=1e-6, mechanism="clustmix")
    for other in (sf.Mixture(), sf.Slicing()):
        with pytest.raises(ArgumentError, match="this plan was made by mechanism 'clustmix', which alone can run it"):
            other.run(None, plan)  # type: ignore[arg-type]


def test_a_plan_is_short_to_look_at() -> None:
    assert len(repr(sf.plan(SCHEMA, epsilon=1, delta=1e-6))) < 200


# --- configs


def configs(kind: Any) -> list[Any]:
    """A config and those inside of it."""
    inside = [each.default for each in fields(kind) if is_dataclass(each.default)]
    return [kind, *(found for each in inside for found in configs(type(each)))]


@pytest.mark.parametrize("name", OWN)
def test_every_option_says_what_it_is_for(name: str) -> None:
    for config in configs(kind(name)):
        assert is_dataclass(config)
        assert config.__dataclass_params__.frozen  # type: ignore[attr-defined]
        for each in fields(config):
            assert each.metadata["help"].endswith((".", ")")), (config, each.name)


@pytest.mark.parametrize("name", OWN)
def test_what_was_tuned_says_where_it_comes_from(name: str) -> None:
    for config in configs(type(find(name).tuning)):  # type: ignore[attr-defined]
        if config is not sf.Training:
            assert all(each.metadata["source"] for each in fields(config)), config


def test_configs_are_frozen_and_compare_by_value() -> None:
    one = sf.Mixture(components=2)
    assert one == sf.Mixture(components=2) != sf.Mixture()
    assert hash(one) == hash(sf.Mixture(components=2))
    with pytest.raises(FrozenInstanceError):
        one.components = 3  # type: ignore[misc]


def test_fit_and_plan_have_few_parameters_that_every_mechanism_knows() -> None:
    assert len(inspect.signature(sf.fit).parameters) <= 14
    told = set(inspect.signature(sf.fit).parameters) - {"mechanism"}
    assert not told & {each.name for name in OWN for each in fields(kind(name))}  # type: ignore[arg-type]
    assert set(inspect.signature(sf.plan).parameters) <= set(inspect.signature(sf.fit).parameters)


# --- the registry


def test_strings_are_short_for_defaults() -> None:
    assert names()[:3] == OWN
    assert [find(name) for name in OWN] == [sf.Mixture(), sf.Clustmix(), sf.Slicing()]
    config = sf.Mixture(components=3)
    assert find(config) is config
    assert all(isinstance(find(name), Mechanism) for name in OWN)
    left, right = (sf.plan(SCHEMA, epsilon=1, delta=1e-6, mechanism=each) for each in ("mixture", sf.Mixture()))
    assert left == right


@pytest.mark.parametrize("wrong", ["magic", "", sf.Mixture, 3, None, object()], ids=lambda wrong: type(wrong).__name__)
def test_what_is_no_mechanism_is_refused_with_those_that_are(wrong: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        sf.plan(SCHEMA, epsilon=1, delta=1e-6, mechanism=wrong)
    assert all(repr(name) in str(caught.value) for name in OWN)
    assert "\n" not in str(caught.value)


def test_a_name_belongs_to_one_class(registry: None) -> None:
    assert register(toy.Independent) is toy.Independent
    assert register(toy.Independent) is toy.Independent, "twice is once"
    with pytest.raises(ArgumentError, match="there is a mechanism 'mixture' already"):
        register(type("Mixture", (toy.Independent,), {"name": "mixture"}))


def test_an_entry_point_that_leads_nowhere_gets_one_line(registry: None, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = EntryPoint("lost", "no_such_package:Lost", mechanisms.ENTRY_POINTS)
    monkeypatch.setattr(mechanisms, "entry_points", lambda group: [lost])
    assert "lost" in names()
    with pytest.raises(ArgumentError, match="mechanism 'lost' of no_such_package:Lost cannot be loaded"):
        find("lost")


# --- a fourth mechanism


def test_the_toy_is_small() -> None:
    assert len(Path(toy.__file__).read_text(encoding="utf-8").splitlines()) <= 60


def test_a_mechanism_from_outside_is_fitted_saved_loaded_and_sampled(installed: None, tmp_path: Path) -> None:
    assert names() == (*OWN, "independent")
    release = sf.fit(people(), SCHEMA, epsilon=2, delta=1e-6, mechanism="independent", insecure_seed=1)
    assert release.mechanism == "independent"
    assert [spend.name for spend in release.guarantee.spends] == ["histograms"]
    release.save(tmp_path / "r.sfumato")
    again = sf.load(tmp_path / "r.sfumato")
    assert again.sample(50, seed=0).equals(release.sample(50, seed=0))
    drawn = again.sample(4000, seed=1)
    assert drawn["x"].mean() == pytest.approx(people()["x"].mean(), abs=0.5)
    assert again.predict_proba(people().head(3)).shape == (3, 2)


def test_a_mechanism_from_outside_has_its_options_on_the_command_line(
    installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sfumato = caller(monkeypatch, capsys)
    people().to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(SCHEMA))
    asked = ["--epsilon", 2, "--delta", 1e-6, "--mechanism", "independent", "--first", 0.8]
    planned = sfumato("plan", tmp_path / "s.yaml", *asked, "--json")
    assert planned.code == 0, planned.err
    assert json.loads(planned.out)[0]["rounds"][0]["name"] == "histograms"
    out = tmp_path / "r.sfumato"
    made = sfumato("fit", tmp_path / "data.csv", "--schema", tmp_path / "s.yaml", *asked, "-o", out)
    assert made.code == 0, made.err
    drawn = sfumato("sample", out, "-n", 20, "-o", tmp_path / "rows.csv")
    assert drawn.code == 0, drawn.err
    assert len(pd.read_csv(tmp_path / "rows.csv")) == 20
    refused = sfumato("plan", tmp_path / "s.yaml", *asked[:-1], 2)
    assert (refused.code, "first must lie between 0 and 1" in refused.err) == (2, True)
