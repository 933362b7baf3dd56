"""Release files of every format version are read by today's code, and mean what they meant.

Beside each file of tests/golden lie its first rows (.csv) and what it said when it was made (.json).
`SFUMATO_WRITE_GOLDEN=1 pytest tests/release/test_golden.py` makes the files of the present format version that are not there
yet, and writes the rows and records of all anew; a release file that is there is never written again.
"""

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.release.file import VERSION, guarantee_data
from sfumato.release.generator import GeneratorRelease
from sfumato.release.generator_file import document

FOLDER = Path(__file__).parent / "golden"
MOST_BYTES = 50_000
ROWS = 5
SEED = 0

SCORES: dict[str, Any] = {
    "label": "ill",
    "columns": {
        "age": {"type": "number", "min": 0, "max": 100, "step": 1},
        "dose": {"type": "number", "min": 0, "max": 2, "step": 0.25},
        "height": {"type": "number", "min": 1.2, "max": 2.2, "bins": 64},
        "gain": {"type": "number", "min": 0, "max": 100_000, "scale": "log", "atoms": [0], "bins": 64},
        "town": {"type": "category", "values": ["Ulm", "Bonn", "Köln"], "missing": True},
        "grade": {"type": "category", "values": [1, 2, 3]},
        "seen": {"type": "date", "min": "2020-01-01", "max": "2023-12-31", "bins": 64, "missing": True},
        "visits": {"type": "number", "min": 0, "max": 20, "step": 1, "missing": True},
        "ill": {"type": "category", "values": ["no", "yes"]},
    },
}
AFFINE: dict[str, Any] = {
    "label": "kind",
    "columns": {
        "x": {"type": "number", "min": -10, "max": 10},
        "y": {"type": "number", "min": 0, "max": 1},
        "count": {"type": "number", "min": 0, "max": 50, "step": 1},
        "kind": {"type": "category", "values": ["a", "b", "c"]},
    },
}
PROJECTED: dict[str, Any] = {
    "label": "kind",
    "columns": {"kind": {"type": "category", "values": ["bar", "beam"]}},
    "groups": {"pixels": {"columns": "px_{1..12}", "min": 0, "max": 15, "step": 1, "shape": [3, 4]}},
}
SCHEMAS = {"scores": SCORES, "affine": AFFINE, "projected": PROJECTED}
TRAINING = sf.Training(steps=50, rows=100, width=4, depth=1)
# Every kind of file: its name begins with its format version. A file of one component a class still says 1.
KINDS: dict[str, dict[str, Any]] = {
    "v1-scores": {"encoding": "scores", "components": 1},
    "v1-affine": {"encoding": "affine", "components": 1},
    "v2-components": {"encoding": "scores", "components": 3},
    "v3-adapt": {"encoding": "scores", "components": 1, "adapt": True},
    "v4-clustmix": {"encoding": "scores", "components": 3, "mechanism": "clustmix", "sigma_max": 2.0},
    "v4-groups": {"encoding": "projected", "components": 1, "adapt": True},
    "v5-slicing": {"encoding": "scores", "mechanism": "slicing", "training": TRAINING},
}
# Rows with missing cells, and with one that has no place in the schema.
FIXED: dict[str, list[dict[str, Any]]] = {
    "scores": [
        {
            "age": 40,
            "dose": 0.5,
            "height": 1.75,
            "gain": 0,
            "town": None,
            "grade": 2,
            "seen": "2021-05-06",
            "visits": None,
            "ill": "yes",
        },
        {
            "age": 41,
            "dose": 1.25,
            "height": 1.6,
            "gain": 5000,
            "town": "Köln",
            "grade": 9,
            "seen": None,
            "visits": 4,
            "ill": "no",
        },
    ],
    "projected": [
        {f"px_{i}": i for i in range(1, 13)} | {"kind": "bar"},
        {f"px_{i}": None if i == 3 else 14 - i for i in range(1, 13)} | {"kind": "beam"},
    ],
    "affine": [{"x": 1.5, "y": 0.4, "count": 12, "kind": "b"}, {"x": -3, "y": 0.6, "count": None, "kind": "c"}],
}


def table(encoding: str, rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    if encoding == "affine":
        kind = rng.integers(0, 3, rows)
        return pd.DataFrame(
            {
                "x": rng.normal(3.0 * kind - 3, 1.5),
                "y": rng.beta(2 + kind, 3),
                "count": rng.poisson(10 + 5 * kind),
                "kind": np.array(["a", "b", "c"])[kind],
            }
        )
    if encoding == "projected":
        beam = rng.random(500) < 0.5
        lit = np.where(np.tile([1, 0, 0, 0], 3), ~beam[:, None], beam[:, None]) * 9.0
        pixels = np.clip(np.rint(lit + rng.normal(3, 2, (500, 12))), 0, 15).astype(int)
        frame = pd.DataFrame(pixels, columns=[f"px_{i}" for i in range(1, 13)])
        return frame.assign(kind=np.where(beam, "beam", "bar"))
    ill = rng.random(rows) < 0.3
    age = np.clip(rng.normal(40 + 25 * ill, 12), 0, 100).round()
    seen = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1461, rows), unit="D"))
    return pd.DataFrame(
        {
            "age": age,
            "dose": rng.integers(0, 9, rows) / 4,
            "height": rng.normal(1.7, 0.1, rows) - 0.001 * age,
            "gain": np.where(rng.random(rows) < 0.7, 0.0, np.exp(rng.normal(7, 1.5, rows))),
            "town": rng.choice(np.array(["Ulm", "Bonn", "Köln", None], dtype=object), rows),
            "grade": rng.integers(1, 4, rows),
            "seen": seen.mask(rng.random(rows) < 0.3),
            "visits": pd.Series(rng.poisson(3 + 4 * ill)).astype("Int64").mask(rng.random(rows) < 0.2),
            "ill": np.where(ill, "yes", "no"),
        }
    )


def record(release: sf.Release) -> dict[str, Any]:
    """What a release says that must not change."""
    rows = pd.DataFrame(FIXED[release.encoding])
    said: dict[str, Any] = {
        "mechanism": release.mechanism,
        "encoding": release.encoding,
        "guarantee": guarantee_data(release.guarantee),
        "schema": release.schema.dump(),
    }
    if isinstance(release, GeneratorRelease):
        return said | {"generator": document(release), "class_weights": release.class_weights.tolist()}
    if not release.schema.groups:  # of which there is no density
        said["log_density"] = release.log_density(rows).tolist()
        said["log_density_without_label"] = release.log_density(rows.drop(columns=release.schema.label)).tolist()
    return said | {"predict_proba": release.predict_proba(rows).to_numpy().tolist()}


def write_golden() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, options in KINDS.items():
        path = FOLDER / f"{name}.sfumato"
        if not path.exists():
            data, schema = table(options["encoding"]), SCHEMAS[options["encoding"]]
            given = {key: value for key, value in options.items() if value != "projected"}  # which a schema implies
            sf.fit(data, schema, epsilon=2, delta=1e-6, insecure_seed=1, **given).save(path)
    for path in FOLDER.glob("*.sfumato"):
        release = sf.load(path)
        release.sample(ROWS, seed=SEED).to_csv(path.with_suffix(".csv"), index=False)
        said = json.dumps(record(release), indent=1, ensure_ascii=False)
        path.with_suffix(".json").write_text(said + "\n", encoding="utf-8")


if os.environ.get("SFUMATO_WRITE_GOLDEN") and "PYTEST_XDIST_WORKER" not in os.environ:
    write_golden()

GOLDEN = sorted(FOLDER.glob("*.sfumato"))
each = pytest.mark.parametrize("path", GOLDEN, ids=[path.stem for path in GOLDEN])


def test_there_is_a_file_of_each_version_and_encoding() -> None:
    names = {path.stem for path in GOLDEN}
    assert names >= set(KINDS)
    assert {name.split("-")[0] for name in KINDS} == {f"v{version}" for version in range(1, VERSION + 1)}


@each
def test_its_name_says_its_version_and_it_has_its_components(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        said = json.loads(archive.read("release.json"))
    assert path.stem.startswith(f"v{said['version']}-")
    release = sf.load(path)
    if isinstance(release, GeneratorRelease):
        assert release.is_trained
        assert release.progress.settings == TRAINING
        return
    expected = KINDS[path.stem]["components"]
    assert np.bincount(release.mixture.component_class).tolist() == [expected] * release.layout.classes


@each
def test_it_loads_and_says_what_it_said(path: Path) -> None:
    said = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    now = record(sf.load(path))
    assert now.keys() == said.keys()
    numbers = {"log_density", "log_density_without_label", "predict_proba", "class_weights"} & now.keys()
    for key in now.keys() - numbers:
        assert now[key] == said[key]
    assert now["guarantee"]["secure"] is False
    assert numbers
    for key in numbers:
        np.testing.assert_allclose(now[key], said[key], rtol=1e-6, atol=1e-6)
        assert np.isfinite(now[key]).all()


@each
def test_its_rows_are_the_same(path: Path) -> None:
    release = sf.load(path)
    made = release.sample(ROWS, seed=SEED)
    near = 1e-4 if isinstance(release, GeneratorRelease) else 1e-9  # networks are in single precision
    kept = pd.read_csv(path.with_suffix(".csv"), dtype=str, keep_default_na=False)
    assert list(made) == list(kept)
    assert len(made) == len(kept) == ROWS
    for name in kept:
        if made[name].dtype == float:
            np.testing.assert_allclose(made[name], kept[name].astype(float), rtol=near)
        else:
            assert texts(made[name]) == kept[name].tolist()


def texts(cells: "pd.Series[Any]") -> list[str]:
    """Cells as a CSV file has them."""
    return pd.read_csv(io.StringIO(cells.to_csv(index=False)), dtype=str, keep_default_na=False).iloc[:, 0].tolist()


@each
def test_it_can_be_written_and_read_again(path: Path, tmp_path: Path) -> None:
    release = sf.load(path)
    release.save(tmp_path / "again.sfumato")
    assert record(sf.load(tmp_path / "again.sfumato")) == record(release)


@each
def test_it_is_small(path: Path) -> None:
    assert path.stat().st_size < MOST_BYTES
