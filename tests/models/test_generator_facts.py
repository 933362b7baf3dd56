"""Files of generators that are not what they claim to be get one line, and nothing else happens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.configs import asked
from tests.release.files import Document, refused, unpack, with_arrays, with_document, with_model

import sfumato as sf
from sfumato.models import GeneratorModel
from sfumato.models.generator import OwnGenerator, Progress
from sfumato.training.settings import Training

SCHEMA: dict[str, Any] = {
    "label": "y",
    "columns": {
        "x": {"type": "number", "min": 0, "max": 9, "step": 1},
        "c": {"type": "category", "values": ["a", "b", "c"], "missing": True},
        "y": {"type": "category", "values": ["no", "yes"]},
    },
}
GROUP = {
    "label": "y",
    "columns": {"y": {"type": "category", "values": ["no", "yes"]}},
    "groups": {"g": {"columns": "x{1..4}", "min": 0, "max": 9, "step": 1, "shape": [2, 2]}},
}
ROWS: dict[str, Any] = {"form": "rows", "adjacency": "replace-one"}
KINDS = ("central", "rows", "slices", "groups", "half", "own")


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(0, 10, 300), "c": rng.choice(list("abc"), 300), "y": "no"})
    frame.loc[::3, "y"] = "yes"
    return frame.assign(**{f"x{i}": rng.integers(0, 10, 300) for i in range(1, 5)})


def fit(schema: dict[str, Any] = SCHEMA, **more: Any) -> sf.Release:
    made = sf.fit(table(), schema, epsilon=1, delta=1e-6, **asked(mechanism="slicing", training=None, **more))
    assert isinstance(made.model, GeneratorModel)
    return made


def halfway(made: sf.Release) -> sf.Release:
    """A training that was interrupted, without one."""
    net: Any = made.model.generator
    zeros = tuple(np.zeros_like(w) for w in net.weights.values())
    return with_model(made, progress=Progress(1, Training(), 50, 2.5, False, (zeros, zeros)))


def owned(made: sf.Release) -> sf.Release:
    leaves = np.ones((4, 2), dtype=np.float32), np.ones(2, dtype=np.float32)
    return with_model(made, generator=OwnGenerator(leaves, 2, 2), progress=Progress(1, Training(), 50, 2.5, True))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    path = tmp_path_factory.mktemp("good") / "r.sfumato"
    made = {"central": fit(), "rows": fit(**ROWS), "slices": fit(slices=1, **ROWS), "groups": fit(GROUP)}
    made |= {"half": halfway(made["central"]), "own": owned(made["central"])}
    found = {}
    for kind in KINDS:
        made[kind].save(path)
        found[kind] = path.read_bytes()
    return found


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", KINDS)
def test_the_good_files_are_good(kind: str, good: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "r.sfumato"
    path.write_bytes(with_arrays(good[kind], lambda arrays: None))
    read = sf.load(path)
    assert isinstance(read.model, GeneratorModel)
    assert (read.model.progress.memory is not None) == (kind == "half")
    assert unpack(good[kind])[0]["model"]["kind"] == "generator"
    if kind != "own":
        assert len(read.sample(5)) == 5


def generator(**change: Any) -> Callable[[Document], Any]:
    return lambda d: d["model"]["facts"].update(change)


def inside(part: str, **change: Any) -> Callable[[Document], Any]:
    return lambda d: d["model"]["facts"][part].update(change)


HUGE = 10**12
DOCUMENTS: dict[str, tuple[str, Callable[[Document], Any]]] = {
    "no facts": ("central", lambda d: d["model"].pop("facts")),
    "facts that are none": ("central", lambda d: d["model"].update(facts=3)),
    "the kind of a mixture": ("central", lambda d: d["model"].update(kind="mixture")),
    "components": ("central", generator(components=[1, 1])),
    "alpha": ("central", generator(alpha=0.25)),
    "another encoding": ("central", generator(encoding="affine")),
    "the encoding of groups": ("central", generator(encoding="projected")),
    "groups in scores": ("groups", generator(encoding="scores")),
    "an extra key": ("central", generator(rows=500)),
    "an extra key of what was bought": ("central", inside("bought", rows=500)),
    "an extra key of its training": ("central", inside("training", rows_read=500)),
    "another form": ("central", inside("bought", form="rows")),
    "a form that is none": ("central", inside("bought", form="sums")),
    "no form": ("central", lambda d: d["model"]["facts"]["bought"].pop("form")),
    "no waves": ("central", inside("bought", waves=0)),
    "fewer waves than there are": ("central", inside("bought", waves=399)),
    "more waves than a file can hold": ("central", inside("bought", waves=1 << 20)),
    "waves without end": ("central", inside("bought", waves=HUGE)),
    "waves of other coordinates": ("central", inside("bought", coordinates=3)),
    "waves in text": ("central", inside("bought", waves="400")),
    "more coordinates than a file can hold": ("groups", inside("bought", coordinates=1 << 20)),
    "fewer rows": ("rows", inside("bought", rows=299)),
    "more rows than a file can hold": ("rows", inside("bought", rows=1 << 40)),
    "negative rows": ("rows", inside("bought", rows=-1)),
    "rows of other coordinates": ("rows", inside("bought", coordinates=7)),
    "rows without a class": ("rows", inside("bought", height=0.0)),
    "rows with projections": ("rows", inside("bought", projections=2)),
    "projections that are no whole slices": ("slices", inside("bought", slice_dim=3)),
    "slices of no dimension": ("slices", inside("bought", slice_dim=0)),
    "no projections": ("slices", inside("bought", projections=None)),
    "other projections": ("slices", inside("bought", projections=4)),
    "no noise": ("rows", inside("bought", sd=0.0)),
    "noise that is no number": ("rows", inside("bought", sd=float("nan"))),
    "infinite noise": ("rows", inside("bought", sd=float("inf"))),
    "no radius": ("rows", inside("bought", radius=0.0)),
    "a negative height": ("rows", inside("bought", height=-2.0)),
    "another network": ("central", inside("network", kind="rnn")),
    "no kind of network": ("central", lambda d: d["model"]["facts"]["network"].pop("kind")),
    "a network of no width": ("central", inside("network", width=0)),
    "a wider network": ("central", inside("network", width=65)),
    "a network wider than a file can hold": ("central", inside("network", width=4096)),
    "a network without end": ("central", inside("network", width=HUGE)),
    "a deeper network": ("central", inside("network", depth=3)),
    "a network of channels": ("central", inside("network", channels=8)),
    "convolutions without channels": ("groups", inside("network", kind="conv")),
    "convolutions without kernels": ("groups", inside("network", kind="conv", channels=2)),
    "convolutions of no image": ("central", inside("network", kind="conv", channels=2)),
    "a module of other arrays": ("own", inside("network", leaves=[[4, 2], [3]])),
    "a module of more arrays": ("own", inside("network", leaves=[[4, 2], [2], [1]])),
    "a module of no arrays": ("own", inside("network", leaves=[])),
    "a module without end": ("own", inside("network", leaves=[[HUGE, HUGE], [2]])),
    "a module of an endless nothing": ("own", inside("network", leaves=[[0, HUGE, 10**30], [2]])),
    "a module of negative size": ("own", inside("network", leaves=[[-4, 2], [2]])),
    "a module of many arrays": ("own", inside("network", leaves=[[1]] * 20_000)),
    "a module that is a network": ("own", inside("network", kind="mlp")),
    "a network that is a module": ("central", inside("network", kind="own")),
    "no steps": ("central", inside("training", steps=0)),
    "steps in text": ("central", inside("training", steps="600")),
    "a rate that is no number": ("central", inside("training", rate=float("nan"))),
    "a rate of 2": ("central", inside("training", rate=2.0)),
    "another divergence": ("central", inside("training", divergence="r-log-r")),
    "a seed below 0": ("central", inside("training", seed=-1)),
    "a seed without end": ("central", inside("training", seed=2**31)),
    "a loss that is infinite": ("half", inside("training", loss=float("inf"))),
    "more steps than it has": ("half", inside("training", step=601)),
    "over and to go on with": ("half", inside("training", finished=True)),
    "to go on with, without a memory": ("central", inside("training", resumable=True, number=1)),
    "a memory, and nothing to go on with": ("half", inside("training", resumable=False)),
    "half, and not a first training": ("half", inside("training", number=0)),
    "over, and not a first training": ("central", inside("training", finished=True)),
    "a first training that is neither": ("central", inside("training", number=1)),
    "a negative number": ("central", inside("training", number=-1)),
    "steps of no training": ("central", inside("training", step=10)),
    "a loss of no training": ("central", inside("training", loss=1.0)),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_does_not_fit(name: str, good: dict[str, bytes], tmp_path: Path) -> None:
    kind, change = DOCUMENTS[name]
    refused(with_document(good[kind], change), tmp_path)


def sliced(**change: Any) -> Callable[[Document], Any]:
    return lambda d: d["guarantee"]["slices"][0].update(
        {k: f(d["guarantee"]["slices"][0][k]) for k, f in change.items()}
    )


def spent(name: str, **change: Any) -> Callable[[Document], Any]:
    def edit(d: Document) -> None:
        for spend in d["guarantee"]["spends"]:
            if spend["name"] == name:
                spend.update({key: how(spend[key]) for key, how in change.items()})

    return edit


def without_spend(name: str) -> Callable[[Document], Any]:
    def edit(d: Document) -> None:
        d["guarantee"]["spends"] = [spend for spend in d["guarantee"]["spends"] if spend["name"] != name]

    return edit


PROMISES: dict[str, tuple[str, Callable[[Document], Any]]] = {
    "slices left out": ("slices", lambda d: d["guarantee"].pop("slices")),
    "slices that a row moves less": ("slices", sliced(distance=lambda x: x / 100)),
    "slices of more coordinates": ("slices", sliced(dim=lambda x: 2**20)),
    "slices with more noise": ("slices", sliced(sigma=lambda x: x * 1e4)),
    "fewer projections": ("slices", sliced(projections=lambda x: 1)),
    "a matrix that was not rounded": ("slices", sliced(rounding=lambda x: 0.0)),
    "slices of noisy rows": ("slices", inside("bought", sd=1e-3)),
    "noisy rows that nothing was spent on": ("rows", without_spend("rows")),
    "noisy rows that a row moves less": ("rows", spent("rows", sensitivity=lambda x: x / 100, mu=lambda x: x / 100)),
    "noisy rows with more noise": ("rows", spent("rows", sigma=lambda x: x * 100, mu=lambda x: x / 100)),
    "noisy rows, one added": ("rows", lambda d: d["guarantee"].update(adjacency="add-remove")),
    "noisy rows, a label changed": ("rows", lambda d: d["guarantee"].update(adjacency="label")),
    "waves that nothing was spent on": ("central", without_spend("waves")),
}


@pytest.mark.parametrize("name", PROMISES)
def test_a_guarantee_that_does_not_cover_what_the_file_holds(name: str, good: dict[str, bytes], tmp_path: Path) -> None:
    kind, change = PROMISES[name]
    refused(with_document(good[kind], change), tmp_path)


def test_noisy_rows_of_units_with_many_rows_can_be_read_again(tmp_path: Path) -> None:
    """A unit of m rows moves noisy rows by 2 r sqrt(m), which is less than the m sqrt(2) of sums."""
    schema = {"columns": {"x": SCHEMA["columns"]["x"]}, "unit": {"column": "who", "rows": 20}}
    rows = table().assign(who=np.arange(300) % 40)
    made = sf.fit(rows, schema, epsilon=1, delta=1e-6, **asked(mechanism="slicing", training=None, **ROWS))
    made.save(tmp_path / "r.sfumato")
    assert sf.load(tmp_path / "r.sfumato").guarantee == made.guarantee


def fill(name: str, value: float) -> Callable[[dict[str, Any]], Any]:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name].ravel()[-1:] = value

    return change


ARRAYS: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "a weight that is no number": ("central", fill("net.matrix.0", np.nan)),
    "an infinite weight": ("central", fill("net.bias.1", np.inf)),
    "a weight that is too large": ("central", fill("net.skip", -2e6)),
    "a leaf that is no number": ("own", fill("net.0", np.nan)),
    "a wave that is no number": ("central", fill("waves", np.nan)),
    "an infinite wave": ("central", fill("waves", np.inf)),
    "a frequency that is no number": ("central", fill("frequencies", np.nan)),
    "waves without noise": ("central", fill("waves_sd", 0.0)),
    "waves of negative noise": ("central", fill("waves_sd", -1.0)),
    "a class without rows": ("central", fill("counts", 0.0)),
    "a class of no number of rows": ("rows", fill("counts", np.nan)),
    "a row that is no number": ("rows", fill("rows", np.nan)),
    "a direction that is no number": ("slices", fill("directions", np.nan)),
    "a space that is no number": ("groups", fill("space.matrix", np.nan)),
    "an infinite skip": ("groups", fill("start.skip", np.inf)),
    "a memory that is no number": ("half", fill("first.skip", np.nan)),
    "a square below zero": ("half", fill("second.skip", -1.0)),
    "an infinite square": ("half", fill("second.skip", np.inf)),
    "an order that is none": ("central", fill("order.0", 0)),
    "a bin below zero": ("central", fill("masses.0", -1.0)),
    "no array of a bin": ("central", lambda a: a.pop("masses.1")),
    "a start that is too large": ("central", fill("start.skip", 2e6)),
    "no start": ("central", lambda a: a.pop("start.shift")),
    "no weights": ("central", lambda a: a.pop("net.skip")),
    "no counts": ("central", lambda a: a.pop("counts")),
    "an array more": ("central", lambda a: a.update(more=np.zeros(3))),
    "arrays of a mixture": ("central", lambda a: a.update(weights=np.ones(2) / 2)),
    "a memory that was not told": ("central", lambda a: a.update({"first.skip": a["net.skip"]})),
    "no space": ("groups", lambda a: a.pop("space.centres")),
    "weights in double precision": ("central", lambda a: a.update({"net.skip": a["net.skip"].astype(np.float64)})),
    "waves in single precision": ("central", lambda a: a.update(waves=a["waves"].astype(np.float32))),
    "rows in double precision": ("rows", lambda a: a.update(rows=a["rows"].astype(np.float64))),
    "weights of another shape": ("central", lambda a: a.update({"net.bias.0": a["net.bias.0"].T})),
    "flat waves": ("central", lambda a: a.update(waves=a["waves"].ravel())),
    "fewer waves": ("central", lambda a: a.update(waves=a["waves"][:, :-1])),
    "fewer rows": ("rows", lambda a: a.update(rows=a["rows"][:-1])),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_do_not_fit(name: str, good: dict[str, bytes], tmp_path: Path) -> None:
    kind, change = ARRAYS[name]
    refused(with_arrays(good[kind], change), tmp_path)


def test_a_generator_in_a_file_of_a_mixture(good: dict[str, bytes], tmp_path: Path) -> None:
    sf.fit(table(), SCHEMA, epsilon=1, delta=1e-6, mechanism=sf.Mixture(components=1)).save(tmp_path / "m")
    mixture, told = (tmp_path / "m").read_bytes(), unpack(good["central"])[0]["model"]
    refused(with_document(mixture, lambda d: d.update(model=told)), tmp_path)
    refused(with_document(mixture, lambda d: d["model"].update(facts=told["facts"])), tmp_path)


@pytest.mark.slow
def test_a_resumed_training_of_no_steps_left_can_be_saved(good: dict[str, bytes], tmp_path: Path) -> None:
    """A file may say that all steps are done and tell no loss; what comes of going on can be read again."""
    pytest.importorskip("jax")
    path = tmp_path / "r.sfumato"
    path.write_bytes(with_document(good["half"], inside("training", step=600, loss=None)))
    half = sf.load(path)
    assert isinstance(half.model, GeneratorModel)
    half.train(resume=True).save(path)
    done = sf.load(path)
    assert isinstance(done.model, GeneratorModel)
    assert done.model.is_trained
    assert done.model.progress.loss is None
