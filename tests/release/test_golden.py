"""Release files that were kept are read by today's code, and mean what they meant: one of each kind of model.

In `golden` is a folder for each version of the format. Beside each file lie its first rows (.csv) and what it said when
it was made (.json). `SFUMATO_WRITE_GOLDEN=1 pytest tests/release/test_golden.py` makes the files of today's version
that are not there yet, with their rows and records; what is there is never written again.
"""

import io
import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.release.kinds import FIXED, KINDS, SINCE, TRAINING, made_of

import sfumato as sf
from sfumato.guarantee import NoisyAnswer
from sfumato.models import GeneratorModel, MixtureModel, TiltedModel
from sfumato.release.file import READABLE, VERSION
from sfumato.release.guarantee import guarantee_data
from sfumato.schema.grid import Marks

FOLDER = Path(__file__).parent / "golden"
MOST_BYTES = 100_000
ROWS = 5
SEED = 0

ANSWERS = (
    NoisyAnswer("histograms", np.linspace(-3.0, 400.5, 12), 2.5, {"columns": ["x", "y"], "classes": 3}),
    NoisyAnswer("moments", [1.5, -2.0, 1e-300], [0.5, 0.25, 1e9]),
)


def record(release: sf.Release) -> dict[str, Any]:
    """What a release says that must not change."""
    rows = pd.DataFrame(FIXED[release.encoding])
    said: dict[str, Any] = {
        "mechanism": release.mechanism,
        "kind": release.model.kind,
        "facts": release.model.to_arrays()[0],
        "guarantee": guarantee_data(release.guarantee),
        "schema": release.schema.dump(),
        "answers": [[a.name, a.values.tolist(), a.sd.tolist(), dict(a.what)] for a in release.answers],
        "class_weights": release.class_weights.tolist(),
    }
    if isinstance(release.model, GeneratorModel):
        return said
    if not release.schema.groups:  # of which there is no density
        said["log_density"] = release.log_density(rows).tolist()
        said["log_density_without_label"] = release.log_density(rows.drop(columns=release.schema.label)).tolist()
    return said | {"predict_proba": release.predict_proba(rows).to_numpy().tolist()}


def write_golden() -> None:
    (FOLDER / str(VERSION)).mkdir(exist_ok=True, parents=True)
    for name in KINDS:
        path = FOLDER / str(VERSION) / f"{name}.sfumato"
        if path.exists():
            continue
        made = made_of(name)
        replace(made, answers=ANSWERS if name == "affine" else made.answers).save(path)
        release = sf.load(path)
        release.sample(ROWS, seed=SEED).to_csv(path.with_suffix(".csv"), index=False)
        said = json.dumps(record(release), indent=1, ensure_ascii=False)
        path.with_suffix(".json").write_text(said + "\n", encoding="utf-8")


if os.environ.get("SFUMATO_WRITE_GOLDEN") and "PYTEST_XDIST_WORKER" not in os.environ:
    write_golden()

GOLDEN = sorted(FOLDER.glob("*/*.sfumato"))
each = pytest.mark.parametrize("path", GOLDEN, ids=[f"{path.parent.name}-{path.stem}" for path in GOLDEN])


def test_there_is_a_file_of_each_kind() -> None:
    kept = {(int(path.parent.name), path.stem) for path in GOLDEN}
    assert kept == {(v, kind) for v in READABLE for kind in KINDS if v >= SINCE.get(kind, 0)}
    assert {sf.load(path).model.kind for path in GOLDEN} == {"mixture", "tilted", "generator"}


@each
def test_it_has_its_version_and_what_it_was_made_of(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("release.json"))["version"] == int(path.parent.name)
    model = sf.load(path).model
    if isinstance(model, GeneratorModel):
        assert model.is_trained
        assert model.progress.settings == TRAINING
        return
    if isinstance(model, TiltedModel):
        model = model.base
    assert isinstance(model, MixtureModel)
    expected = KINDS[path.stem]["components"]
    assert np.bincount(model.mixture.component_class).tolist() == [expected] * model.layout.classes


@pytest.mark.parametrize("version", READABLE)
def test_the_answers_are_as_they_were_given(version: int) -> None:
    release = sf.load(FOLDER / str(version) / "affine.sfumato")
    for kept, given in zip(release.answers, ANSWERS, strict=True):
        assert (kept.name, kept.what) == (given.name, given.what)
        np.testing.assert_array_equal(kept.values, given.values)
        np.testing.assert_array_equal(kept.sd, given.sd)


@each
def test_it_loads_and_says_what_it_said(path: Path) -> None:
    said = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    now = record(sf.load(path))
    assert now.keys() == said.keys()
    numbers = {"log_density", "log_density_without_label", "predict_proba", "class_weights"} & now.keys()
    for key in now.keys() - numbers:
        assert now[key] == said[key]
    assert now["guarantee"]["secure"] is (path.stem == "merged")
    assert numbers
    for key in numbers:
        np.testing.assert_allclose(now[key], said[key], rtol=1e-6, atol=1e-6)
        assert np.isfinite(now[key]).all()


SINGLE_PRECISION = (GeneratorModel, TiltedModel)  # networks, and rows moved by steps: processors round them differently


@each
def test_its_rows_are_the_same(path: Path) -> None:
    release = sf.load(path)
    made = release.sample(ROWS, seed=SEED)
    near = 1e-4 if isinstance(release.model, SINGLE_PRECISION) else 1e-9
    old = int(path.parent.name) < 7
    kept = pd.read_csv(path.with_suffix(".csv"), dtype=str, keep_default_na=False)
    assert list(made) == list(kept)
    assert len(made) == len(kept) == ROWS
    for name in kept:
        if made[name].dtype == float:
            moved = edges_moved(release.layout.bins[release.layout.names.index(name)]) if old else 0.0
            np.testing.assert_allclose(made[name], kept[name].astype(float), rtol=near, atol=moved)
        else:
            assert texts(made[name]) == kept[name].tolist()


def edges_moved(bins: Any) -> float:
    """How far version 7 moved the edges of bins of a column without a step, to the nearest mark: half a grid step."""
    return bins.grid.unit / 2.0 if isinstance(bins.grid, Marks) else 0.0


def texts(cells: "pd.Series[Any]") -> list[str]:
    """Cells as a CSV file has them."""
    return pd.read_csv(io.StringIO(cells.to_csv(index=False)), dtype=str, keep_default_na=False).iloc[:, 0].tolist()


@pytest.mark.every(4)
@each
def test_it_can_be_written_and_read_again(path: Path, tmp_path: Path) -> None:
    release = sf.load(path)
    release.save(tmp_path / "again.sfumato")
    assert record(sf.load(tmp_path / "again.sfumato")) == record(release)


@each
def test_it_is_small(path: Path) -> None:
    assert path.stat().st_size < MOST_BYTES
