"""A release file that is not what it claims to be gets one line, and nothing else happens."""

import json
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import some
from tests.release.files import (
    ARRAYS,
    JSON,
    Document,
    entries,
    pack,
    refused,
    unpack,
    with_arrays,
    with_document,
    with_facts,
    with_json,
)

import sfumato as sf
from sfumato import accounting
from sfumato.errors import OutputError, ReleaseError
from sfumato.guarantee import NoisyAnswer
from sfumato.mechanisms.questions import describe
from sfumato.private.queries.tables import Distances, Tables
from sfumato.private.slicing.law import Slices
from sfumato.release import file as release_file

SCHEMA = {
    "label": "y",
    "columns": {
        "x": {"type": "number", "min": 0, "max": 9, "step": 1},
        "c": {"type": "category", "values": ["a", "b", "c"], "missing": True},
        "y": {"type": "category", "values": ["no", "yes"]},
    },
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(0, 10, 500), "c": rng.choice(list("abc"), 500), "y": "no"})
    frame.loc[::3, "y"] = "yes"
    path = tmp_path_factory.mktemp("release") / "good.sfumato"
    sf.fit(frame, SCHEMA, epsilon=1, delta=1e-6, mechanism=sf.Mixture(1, None)).save(path)
    return path.read_bytes()


def test_the_good_file_is_good(good: bytes, tmp_path: Path) -> None:
    (tmp_path / "r.sfumato").write_bytes(pack([(n, c) for n, c in entries(good)]))
    assert len(sf.load(tmp_path / "r.sfumato").sample(5)) == 5
    assert sf.load(str(tmp_path / "r.sfumato")).guarantee.secure


# --- not a release at all


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="does not exist"):
        sf.load(tmp_path / "none.sfumato")
    with pytest.raises(ReleaseError, match="is a folder"):
        sf.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK", b"hello\n", b"\x00" * 1000, b"PK\x05\x06" + b"\x00" * 18])
def test_not_a_zip(content: bytes, tmp_path: Path) -> None:
    told = refused(content, tmp_path)
    assert "not a release file" in told
    assert "BadZipFile" not in told


def test_truncated_anywhere(good: bytes, tmp_path: Path) -> None:
    for end in range(0, len(good), max(1, len(good) // 60)):
        refused(good[:end], tmp_path)


@pytest.mark.parametrize(
    "names",
    [
        ["word/document.xml"],
        [JSON],
        [ARRAYS],
        [JSON, ARRAYS, "extra"],
        [JSON, ARRAYS, "../x"],
        ["../release.json", ARRAYS],
        [JSON, "/etc/arrays.safetensors"],
        [JSON, "folder/"],
    ],
)
def test_foreign_zips(names: list[str], good: bytes, tmp_path: Path) -> None:
    inside = dict(entries(good))
    content = pack([(name, inside.get(name, b"x")) for name in names])
    assert "should hold release.json and arrays.safetensors" in refused(content, tmp_path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("twice", [JSON, ARRAYS])
def test_an_entry_twice(twice: str, good: bytes, tmp_path: Path) -> None:
    refused(pack([*entries(good), (twice, b"{}")]), tmp_path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_packings(method: int, good: bytes, tmp_path: Path) -> None:
    assert "packed in a way" in refused(pack(entries(good), method), tmp_path)


def test_an_encrypted_entry(good: bytes, tmp_path: Path) -> None:
    content = bytearray(good)
    at = content.index(b"PK\x01\x02")
    content[at + 8] |= 1
    refused(bytes(content), tmp_path)


# --- bombs


def test_a_bomb_that_says_so(good: bytes, tmp_path: Path) -> None:
    document, _ = entries(good)
    assert "larger than" in refused(pack([document, (ARRAYS, b"\0" * (1 << 25))]), tmp_path)
    assert "larger than" in refused(with_json(good, b" " * ((1 << 26) + 1)), tmp_path)


@pytest.mark.parametrize("name", [JSON, ARRAYS])
def test_a_bomb_that_lies_about_its_size(name: str, good: bytes, tmp_path: Path) -> None:
    """Both headers claim 1000 bytes; the content is 2^25."""
    inside = dict(entries(good)) | {name: b" " * (1 << 25)}
    content = pack(list(inside.items())).replace(struct.pack("<I", 1 << 25), struct.pack("<I", 1000))
    refused(content, tmp_path)


def test_a_bomb_that_declares_the_whole_disk(good: bytes, tmp_path: Path) -> None:
    content = bytearray(good)
    at = content.index(b"PK\x01\x02", content.index(b"PK\x01\x02") + 1)
    content[at + 24 : at + 28] = b"\xfe\xff\xff\xff"
    assert "larger than" in refused(bytes(content), tmp_path)


@pytest.mark.parametrize("text", ["[" * 10**6, '{"a":' * 10**5 + "1" + "}" * 10**5])
def test_nested_json(text: str, good: bytes, tmp_path: Path) -> None:
    assert "nested too deeply" in refused(with_json(good, text), tmp_path)


def test_nested_json_inside_the_schema(good: bytes, tmp_path: Path) -> None:
    def nest(document: Document) -> None:
        deep: Any = 1
        for _ in range(300):
            deep = {"a": [deep]}
        document["schema"]["columns"]["x"] = deep

    refused(with_document(good, nest), tmp_path)


def test_a_schema_of_more_bins_than_the_file_can_hold(good: bytes, tmp_path: Path) -> None:
    """2,000 columns of 65,536 bins fit in a few kilobytes of JSON and would take a gigabyte of memory."""

    def widen(document: Document) -> None:
        wide = {"type": "number", "min": 0, "max": 1, "bins": 65536}
        document["schema"]["columns"].update({f"w{i}": wide for i in range(2000)})

    assert "too small" in refused(with_document(good, widen), tmp_path)


@pytest.mark.slow
def test_wide_schemas_that_are_real_stay_readable(tmp_path: Path) -> None:
    columns = {
        "wide": {"type": "number", "min": 0, "max": 1, "bins": 65536},
        "switch": {"type": "number", "min": 0, "max": 1, "step": 1, "bins": 65536},
        "day": {"type": "date", "min": "2020-01-01", "max": "2020-01-02", "bins": 65536},
    }
    for names in (["switch"], ["day"], ["wide"], ["switch", "day", "wide"]):
        made = sf.fit(
            pd.DataFrame({name: [] for name in columns}),
            {"columns": {name: columns[name] for name in names}},
            epsilon=1,
            delta=1e-6,
        )
        made.save(tmp_path / "r.sfumato")
        assert list(sf.load(tmp_path / "r.sfumato").sample(3)) == names


# --- a document that does not fit


def test_a_newer_version_says_upgrade(good: bytes, tmp_path: Path) -> None:
    newer = release_file.VERSION + 1
    line = refused(with_document(good, lambda d: d.update(version=newer)), tmp_path)
    assert f"version {newer}" in line
    assert "upgrade" in line


@pytest.mark.parametrize("version", [-1, 0, 1, 2, 3, 4, 5])
def test_an_older_version_is_refused_in_one_line(version: int, good: bytes, tmp_path: Path) -> None:
    line = refused(with_document(good, lambda d: d.update(version=version)), tmp_path)
    assert line.endswith(f"has format version {version}, of before the first release: fit again")


def test_a_guarantee_with_slices_comes_back(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1, 2], "c": ["a", "b"], "y": ["no", "yes"]})
    made = sf.fit(frame, SCHEMA, epsilon=1, delta=1e-6, adjacency="replace-one", mechanism=sf.Mixture(1, None))
    slices = Slices(**SLICES)
    path = tmp_path / "r.sfumato"
    epsilon = accounting.epsilon_of(made.guarantee.mu, 1e-6, slices=[slices])
    made = replace(made, guarantee=replace(made.guarantee, epsilon=epsilon, slices=(slices,)))
    made.save(path)
    assert sf.load(path).guarantee == made.guarantee
    assert "noisy projections of every row beside queries that are 0.23671-GDP" in str(made.guarantee)
    replace(made, guarantee=replace(made.guarantee, epsilon=0.99 * epsilon)).save(path)
    with pytest.raises(ReleaseError, match="mu is more than its epsilon and delta"):
        sf.load(path)


SLICES: dict[str, Any] = {
    "dim": 20,
    "projections": 5,
    "distance": 2.0,
    "sigma": 30.0,
    "rounding": 1e-6,
    "rows": 1,
}
DOCUMENTS: dict[str, Callable[[Document], Any]] = {
    "another format": lambda d: d.update(format="zip"),
    "no format": lambda d: d.pop("format"),
    "no version": lambda d: d.pop("version"),
    "version as a fraction": lambda d: d.update(version=6.5),
    "version as text": lambda d: d.update(version="6"),
    "a mechanism without a name": lambda d: d.update(mechanism=""),
    "a mechanism on two lines": lambda d: d.update(mechanism="mix\nture"),
    "a mechanism with a long name": lambda d: d.update(mechanism="m" * 1000),
    "a mechanism that is a number": lambda d: d.update(mechanism=3),
    "no model": lambda d: d.pop("model"),
    "a model of no kind": lambda d: d["model"].pop("kind"),
    "a model of an unknown kind": lambda d: d["model"].update(kind="magic"),
    "a kind that moves the cursor": lambda d: d["model"].update(kind="\x1b[2J"),
    "the model of another kind": lambda d: d["model"].update(kind="generator"),
    "a model without facts": lambda d: d["model"].update(facts={}),
    "a fact too many": lambda d: d["model"]["facts"].update(rows=500),
    "an unknown encoding": lambda d: d["model"]["facts"].update(encoding="magic"),
    "another encoding": lambda d: d["model"]["facts"].update(encoding="projected"),
    "a matched encoder that is no truth": lambda d: d["model"]["facts"].update(matched="no"),
    "fewer covariances": lambda d: d["model"]["facts"].update(covariances=1),
    "covariances without end": lambda d: d["model"]["facts"].update(covariances=10**30),
    "no answers": lambda d: d.pop("answers"),
    "answers that nobody gave": lambda d: d.update(answers=[{"name": "x", "values": 3, "sd": 1, "what": {}}]),
    "extra key": lambda d: d.update(rows=500),
    "extra key with a line break": lambda d: d.update({"a\nb": 1}),
    "extra guarantee key": lambda d: d["guarantee"].update(rows=500),
    "extra spend key": lambda d: d["guarantee"]["spends"][0].update(rows=500),
    "unknown adjacency": lambda d: d["guarantee"].update(adjacency="cousin"),
    "no guarantee": lambda d: d.pop("guarantee"),
    "epsilon 0": lambda d: d["guarantee"].update(epsilon=0),
    "epsilon infinite": lambda d: d["guarantee"].update(epsilon=float("inf")),
    "epsilon nan": lambda d: d["guarantee"].update(epsilon=float("nan")),
    "delta 1": lambda d: d["guarantee"].update(delta=1),
    "secure without epsilon": lambda d: d["guarantee"].update(epsilon=None),
    "secure without delta": lambda d: d["guarantee"].update(delta=None),
    "secure without mu": lambda d: d["guarantee"].update(mu=None),
    "seeded with epsilon": lambda d: d["guarantee"].update(secure=False),
    "an entry that is no id": lambda d: d["guarantee"].update(entry="0" * 31),
    "an entry with a line break": lambda d: d["guarantee"].update(entry="0" * 32 + "\n"),
    "an entry that is a number": lambda d: d["guarantee"].update(entry=7),
    "a smaller epsilon than its mu": lambda d: d["guarantee"].update(epsilon=0.01),
    "a smaller delta than its mu": lambda d: d["guarantee"].update(delta=1e-30),
    "a larger unit than its schema's": lambda d: d["guarantee"].update(unit="patient"),
    "words in the unit": lambda d: d["guarantee"].update(unit="row\nNOT"),
    "no spends": lambda d: d["guarantee"].update(spends=[]),
    "a spend larger than mu": lambda d: d["guarantee"]["spends"][0].update(mu=50.0),
    "a spend smaller than its noise": lambda d: d["guarantee"]["spends"][0].update(mu=1e-6),
    "a spend of little sensitivity": lambda d: d["guarantee"]["spends"][0].update(sensitivity=0.001),
    "another adjacency than was charged": lambda d: d["guarantee"].update(adjacency="replace-one"),
    "a draft": lambda d: d["schema"].update(unconfirmed=["columns.age.min"]),
    "negative sigma": lambda d: d["guarantee"]["spends"][0].update(sigma=-1),
    "spends a number": lambda d: d["guarantee"].update(spends=3),
    "slices in add-remove": lambda d: d["guarantee"].update(slices=[SLICES], delta=0.5),
    "slices without noise": lambda d: d["guarantee"].update(slices=[SLICES | {"sigma": 0.0}]),
    "slices of half a column": lambda d: d["guarantee"].update(slices=[SLICES | {"dim": 2.5}]),
    "slices without end": lambda d: d["guarantee"].update(slices=[SLICES] * 9),
    "slices of another kind": lambda d: d["guarantee"].update(slices=[SLICES | {"units": 3}]),
    "schema a list": lambda d: d.update(schema=[1]),
    "schema empty": lambda d: d.update(schema={}),
    "schema with a bad column": lambda d: d["schema"]["columns"].update(x={"type": "number", "min": 3, "max": 2}),
    "schema with a line break": lambda d: d["schema"]["columns"].update({"a\nb": {"type": "x"}}),
    "schema with another column": lambda d: d["schema"]["columns"].update(z={"type": "category", "values": [1]}),
    "schema with fewer bins": lambda d: d["schema"]["columns"]["x"].update(max=8),
    "schema without a label": lambda d: d["schema"].pop("label"),
    "schema with a huge number": lambda d: d["schema"]["columns"]["x"].update(max=10**400),
}


@pytest.mark.parametrize("change", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_documents_that_do_not_fit(change: Callable[[Document], Any], good: bytes, tmp_path: Path) -> None:
    refused(with_document(good, change), tmp_path)


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", "3", '"release"', "{", b"\xff\xfe{\x00}\x00", b"\x80", '{"version": ' + "9" * 5000 + "}", "NaN"],
)
def test_documents_that_are_no_json_object(text: bytes | str, good: bytes, tmp_path: Path) -> None:
    refused(with_json(good, text), tmp_path)


# --- arrays that do not fit


def _set(name: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda arrays: arrays.update({name: value(arrays[name])})


def _poke(name: str, value: float, place: Any = 0) -> Callable[[dict[str, Any]], Any]:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name].reshape(-1)[place] = value

    return change


ARRAY_FAULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "one missing": lambda a: a.pop("means"),
    "one too many": lambda a: a.update(rows=np.array([500])),
    "weights too long": _set("weights", lambda w: np.append(w, 0.0)),
    "means turned": _set("means", lambda m: m.reshape(-1)),
    "means in float32": _set("means", lambda m: m.astype(np.float32)),
    "order in float": _set("order.0", lambda o: o.astype(np.float64)),
    "order in int32": _set("order.0", lambda o: o.astype(np.int32)),
    "weights nan": _poke("weights", np.nan),
    "means infinite": _poke("means", np.inf),
    "means huge": _poke("means", 1e300),
    "covariance nan": _poke("covariances", np.nan),
    "covariance huge": _set("covariances", lambda c: np.full_like(c, 1e308)),
    "masses nan": _poke("masses.0", np.nan),
    "masses huge": _set("masses.0", lambda m: np.full_like(m, 1e308)),
    "weights negative": _set("weights", lambda w: np.array([1.5, -0.5])),
    "weights zero": _set("weights", lambda w: np.array([1.0, 0.0])),
    "weights above one": _set("weights", lambda w: w * 2),
    "masses zero": _poke("masses.1", 0.0),
    "masses above one": _set("masses.1", lambda m: m * 2),
    "covariance not symmetric": _poke("covariances", 0.9, 1),
    "covariance indefinite": _set("covariances", lambda c: np.stack([[[1, 2], [2, 1.0]]] * 2)),
    "covariance singular": _set("covariances", lambda c: np.ones_like(c)),
    "covariance vanishing": _set("covariances", lambda c: c * 1e-300),
    "covariance negative": _set("covariances", lambda c: -c),
    "order with a repeat": _set("order.0", np.ones_like),
    "order out of range": _poke("order.1", 99),
    "order negative": _poke("order.1", -1),
    "order least": _poke("order.1", -(2**63)),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("change", ARRAY_FAULTS.values(), ids=ARRAY_FAULTS.keys())
def test_arrays_that_do_not_fit(change: Callable[[dict[str, Any]], Any], good: bytes, tmp_path: Path) -> None:
    refused(with_arrays(good, change), tmp_path)


# --- several components a class


@pytest.fixture(scope="module")
def several(good: bytes, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("several") / "good.sfumato"
    path.write_bytes(good)
    sf.fit(sf.load(path).sample(500, seed=0), SCHEMA, epsilon=1, delta=1e-6, mechanism=sf.Mixture(2, None)).save(path)
    return path.read_bytes()


def test_the_file_of_several_is_good(several: bytes, tmp_path: Path) -> None:
    document, arrays = unpack(several)
    assert (document["model"]["facts"]["components"], arrays["weights"].shape) == ([2, 2], (4,))
    (tmp_path / "r.sfumato").write_bytes(with_facts(several, lambda d: d.update(components=[1, 3])))
    assert sf.load(tmp_path / "r.sfumato").model.mixture.component_class.tolist() == [0, 1, 1, 1]


COMPONENTS: dict[str, Any] = {
    "too few classes": [4],
    "too many classes": [2, 1, 1],
    "none": [],
    "nothing": None,
    "zero": [0, 4],
    "below zero": [5, -1],
    "more than the arrays have": [2, 3],
    "fewer than the arrays have": [2, 1],
    "huge": [2, 10**9],
    "huge on every side": [10**9, 10**9],
    "beyond any word": [2, 10**400],
    "at the limit": [2, 10_000],
    "as text": ["2", "2"],
    "words": ["two", "two"],
    "fractions": [2.5, 1.5],
    "whole fractions": [2.0, 2.0],
    "truths": [True, True],
    "not a number": [float("nan"), 2],
    "endless": [float("inf"), 2],
    "a list of lists": [[2], [2]],
    "one for all": 2,
    "a text": "22",
    "by class": {"no": 2, "yes": 2},
    "a long list": [1] * 100_000,
}


@pytest.mark.parametrize("components", COMPONENTS.values(), ids=COMPONENTS.keys())
def test_components_that_do_not_fit(components: Any, several: bytes, tmp_path: Path) -> None:
    refused(with_facts(several, lambda d: d.update(components=components)), tmp_path)


SEVERAL_FAULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "weights of one component a class": _set("weights", lambda w: w[:2] / w[:2].sum()),
    "a mean too few": _set("means", lambda m: m[:3]),
    "a covariance too many": _set("covariances", lambda c: np.concatenate([c, c[:1]])),
    "masses for every component": _set("masses.0", lambda m: np.repeat(m, 2, axis=0)),
    "a component without weight": _poke("weights", 0.0, 3),
    "weights above one": _set("weights", lambda w: w * 2),
    "a covariance indefinite": _set("covariances", lambda c: np.concatenate([c[:3], -c[3:]])),
    "a mean infinite": _poke("means", -np.inf, 7),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("change", SEVERAL_FAULTS.values(), ids=SEVERAL_FAULTS.keys())
def test_arrays_of_several_that_do_not_fit(
    change: Callable[[dict[str, Any]], Any], several: bytes, tmp_path: Path
) -> None:
    refused(with_arrays(several, change), tmp_path)


# --- labels of their own


@pytest.fixture(scope="module")
def adapted(good: bytes, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("adapted") / "good.sfumato"
    path.write_bytes(good)
    rows = sf.load(path).sample(500, seed=0)
    sf.fit(rows, SCHEMA, epsilon=1, delta=1e-6, mechanism=sf.Mixture(1, None, "labels"), adjacency="label").save(path)
    return path.read_bytes()


def test_the_file_of_adapted_labels_is_good(adapted: bytes, tmp_path: Path) -> None:
    document, arrays = unpack(adapted)
    assert 0 <= document["model"]["facts"]["alpha"] < 1
    shapes = {name: array.shape for name, array in arrays.items() if name.startswith(("intercepts", "evidence"))}
    assert shapes == {"intercepts": (1,), "evidence.0": (1, 10), "evidence.1": (1, 4)}
    (tmp_path / "r.sfumato").write_bytes(with_facts(adapted, lambda d: d.update(alpha=0.5)))
    assert sf.load(tmp_path / "r.sfumato").model.labeller.alpha == 0.5


ALPHAS: dict[str, Any] = {
    "none": None,
    "one": 1.0,
    "below zero": -0.1,
    "as text": "0.5",
    "a truth": False,
    "not a number": float("nan"),
    "endless": float("inf"),
    "a list": [0.5],
}


@pytest.mark.parametrize("alpha", ALPHAS.values(), ids=ALPHAS.keys())
def test_alphas_that_do_not_fit(alpha: Any, adapted: bytes, tmp_path: Path) -> None:
    refused(with_facts(adapted, lambda d: d.update(alpha=alpha)), tmp_path)


def test_adapted_labels_without_a_label(adapted: bytes, tmp_path: Path) -> None:
    def drop(document: Document) -> None:
        del document["schema"]["label"], document["schema"]["columns"]["y"]
        document["guarantee"]["adjacency"] = "add-remove"
        document["model"]["facts"].update(components=[1], covariances=1)

    assert "labels of their own do not fit" in refused(with_document(adapted, drop), tmp_path)


def test_adapted_labels_of_another_encoding(adapted: bytes, tmp_path: Path) -> None:
    def other(document: Document) -> None:
        document["model"]["facts"]["encoding"] = "affine"
        del document["schema"]["columns"]["c"]

    assert "labels of their own do not fit" in refused(with_document(adapted, other), tmp_path)


ADAPTED_FAULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no intercepts": lambda a: a.pop("intercepts"),
    "an intercept too many": _set("intercepts", lambda b: np.repeat(b, 2)),
    "an intercept endless": _poke("intercepts", np.inf, 0),
    "an intercept too large": _poke("intercepts", 17.0, 0),
    "a column without evidence": lambda a: a.pop("evidence.1"),
    "evidence for a column that is not there": lambda a: a.update({"evidence.2": a["evidence.1"]}),
    "evidence for a bin too few": _set("evidence.0", lambda e: e[:, :-1]),
    "evidence for both classes": _set("evidence.0", lambda e: np.repeat(e, 2, axis=0)),
    "evidence that is no number": _poke("evidence.0", np.nan, 3),
    "evidence too large": _poke("evidence.1", -16.5, 0),
    "evidence in other numbers": _set("evidence.0", lambda e: e.astype(np.float32)),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("change", ADAPTED_FAULTS.values(), ids=ADAPTED_FAULTS.keys())
def test_arrays_of_adapted_labels_that_do_not_fit(
    change: Callable[[dict[str, Any]], Any], adapted: bytes, tmp_path: Path
) -> None:
    refused(with_arrays(adapted, change), tmp_path)


@pytest.mark.parametrize("kind", ["BF16", "F8_E4M3", "F8_E5M2", "I64", "U64", "BOOL", "F4", "nonsense"])
def test_number_formats_that_numpy_may_lack(kind: str, good: bytes, tmp_path: Path) -> None:
    document, arrays = entries(good)
    size = struct.unpack("<Q", arrays[1][:8])[0]
    header = json.loads(arrays[1][8 : 8 + size])
    low, high = header["weights"]["data_offsets"]
    width = {"BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "BOOL": 1}.get(kind, 8)
    header["weights"] |= {"dtype": kind, "shape": [(high - low) // width]}
    text = json.dumps(header).encode()
    refused(pack([document, (ARRAYS, struct.pack("<Q", len(text)) + text + arrays[1][8 + size :])]), tmp_path)


@pytest.mark.parametrize("content", [b"", b"\0" * 8, struct.pack("<Q", 2**63) + b"{}", b"\x02" + b"\0" * 7 + b"{}"])
def test_arrays_that_are_no_safetensors(content: bytes, good: bytes, tmp_path: Path) -> None:
    refused(pack([entries(good)[0], (ARRAYS, content)]), tmp_path)


# --- noisy answers


@pytest.fixture(scope="module")
def answered(good: bytes, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("answered") / "good.sfumato"
    path.write_bytes(good)
    answers = NoisyAnswer("histograms", np.arange(10.0), 2.0, {"bins": 10}), NoisyAnswer("moments", [1, 2], [3, 4])
    replace(sf.load(path), answers=answers).save(path)
    return path.read_bytes()


def test_the_file_with_answers_is_good(answered: bytes, tmp_path: Path) -> None:
    (tmp_path / "r.sfumato").write_bytes(with_arrays(answered, lambda arrays: None))
    assert [answer.name for answer in sf.load(tmp_path / "r.sfumato").answers] == ["histograms", "moments"]


def test_what_was_asked_of_tables_is_kept(good: bytes, tmp_path: Path) -> None:
    path, rng = tmp_path / "r.sfumato", np.random.default_rng(0)
    path.write_bytes(good)
    tables = Tables((np.arange(5), rng.integers(0, 3, 9)), 2, ((0, 1, 2), (0, 1)), (0.7, 0.3))
    asked = tables, Distances(tables, np.zeros(tables.size, np.int64))
    told = [NoisyAnswer("t", rng.normal(size=q.weights.size), 1.0 / q.weights, describe(q)) for q in asked]
    replace(sf.load(path), answers=tuple(told)).save(path)
    for one, other in zip(sf.load(path).answers, told, strict=True):
        assert dict(one.what) == dict(other.what)
        assert np.array_equal(one.values, other.values)
        assert np.array_equal(one.sd, other.sd)


def _answer(**change: Any) -> Callable[[Document], Any]:
    return lambda document: document["answers"][0].update(change)


ANSWER_DOCUMENTS: dict[str, Callable[[Document], Any]] = {
    "one less": lambda d: d["answers"].pop(),
    "one more": lambda d: d["answers"].append(d["answers"][0]),
    "not a list": lambda d: d.update(answers={"histograms": 3}),
    "more than any release has": lambda d: d.update(answers=d["answers"] * 10_000),
    "no name": _answer(name=""),
    "a name on two lines": _answer(name="a\nGuarantee: all"),
    "a name that is no text": _answer(name="\ud800"),
    "a long name": _answer(name="a" * 201),
    "a name that is a number": _answer(name=3),
    "fewer numbers": _answer(values=9),
    "more numbers than the file can hold": _answer(values=1 << 30),
    "more numbers than any file can hold": _answer(values=1 << 50),
    "fewer than none": _answer(values=-1),
    "numbers as text": _answer(values="10"),
    "half a number": _answer(values=9.5),
    "another noise": _answer(sd=2),
    "noise for each": _answer(sd=10),
    "no noise": _answer(sd=0),
    "an extra key": _answer(rows=500),
    "nothing asked": lambda d: d["answers"][0].pop("what"),
    "something else asked": _answer(what=3),
    "a question that is no number": _answer(what={"x": float("nan")}),
    "a question that is no text": _answer(what={"x": "\ud800"}),
}


@pytest.mark.parametrize("change", ANSWER_DOCUMENTS.values(), ids=ANSWER_DOCUMENTS.keys())
def test_answers_that_do_not_fit(change: Callable[[Document], Any], answered: bytes, tmp_path: Path) -> None:
    refused(with_document(answered, change), tmp_path)


ANSWER_FAULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no values": lambda a: a.pop("answers.0.values"),
    "no noise": lambda a: a.pop("answers.1.sd"),
    "values in float32": _set("answers.0.values", lambda v: v.astype(np.float32)),
    "values in two dimensions": _set("answers.0.values", lambda v: v[None]),
    "a value that is no number": _poke("answers.0.values", np.nan),
    "an infinite value": _poke("answers.0.values", np.inf),
    "noise that is no number": _poke("answers.1.sd", np.nan),
    "noise of zero": _poke("answers.0.sd", 0.0),
    "noise below zero": _poke("answers.1.sd", -1.0),
    "answers that nobody told of": lambda a: a.update({"answers.2.values": np.zeros(3)}),
}


@pytest.mark.parametrize("change", ANSWER_FAULTS.values(), ids=ANSWER_FAULTS.keys())
def test_arrays_of_answers_that_do_not_fit(
    change: Callable[[dict[str, Any]], Any], answered: bytes, tmp_path: Path
) -> None:
    refused(with_arrays(answered, change), tmp_path)


# --- damage of any kind


def attempt(path: Path) -> tuple[sf.Release | None, str]:
    """The release, or the line that refuses it; any other error is a fault."""
    try:
        return sf.load(path), ""
    except ReleaseError as error:
        return None, str(error)


@settings(max_examples=some(300), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    edits=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=6),
    cut=st.one_of(st.none(), st.integers(0, 10**6)),
)
def test_flipped_bytes_load_or_are_refused(
    good: bytes, tmp_path: Path, edits: list[tuple[int, int]], cut: int | None
) -> None:
    content = bytearray(good)
    for place, value in edits:
        content[place % len(content)] = value
    path = tmp_path / "damaged.sfumato"
    path.write_bytes(content[: None if cut is None else cut % len(content)])
    made, line = attempt(path)
    assert "\n" not in line
    assert made is None or len(made.sample(3, seed=0)) == 3


@settings(max_examples=some(150), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    edits=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4), which=st.booleans()
)
def test_flipped_bytes_under_a_right_checksum(
    good: bytes, tmp_path: Path, edits: list[tuple[int, int]], which: bool
) -> None:
    """The zip is sound; what is inside it is not."""
    parts = dict(entries(good))
    name = JSON if which else ARRAYS
    inside = bytearray(parts[name])
    for place, value in edits:
        inside[place % len(inside)] = value
    path = tmp_path / "damaged.sfumato"
    path.write_bytes(pack(list((parts | {name: bytes(inside)}).items())))
    made, line = attempt(path)
    assert "\n" not in line
    assert made is None or (str(made.guarantee) and len(made.sample(3, seed=0)) == 3)


# --- writing


def test_a_failed_save_leaves_the_old_file_and_nothing_else(
    good: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.sfumato"
    path.write_bytes(good)
    made = sf.load(path)

    def fail(*_: Any) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(release_file, "save_arrays", fail)
    with pytest.raises(OutputError, match="No space left"):
        made.save(path)
    with pytest.raises(OutputError):
        made.save(tmp_path / "new.sfumato")
    assert path.read_bytes() == good
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_save_leaves_the_old_file_and_nothing_else(
    good: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.sfumato"
    path.write_bytes(good)
    made = sf.load(path)

    def interrupt(*_: Any) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(release_file, "save_arrays", interrupt)
    with pytest.raises(KeyboardInterrupt):
        made.save(path)
    assert path.read_bytes() == good
    assert list(tmp_path.iterdir()) == [path]


def test_saving_where_one_cannot(good: bytes, tmp_path: Path) -> None:
    path = tmp_path / "r.sfumato"
    path.write_bytes(good)
    made = sf.load(path)
    with pytest.raises(OutputError, match="it is a folder"):
        made.save(tmp_path)
    with pytest.raises(OutputError, match="cannot write"):
        made.save(tmp_path / "nowhere" / "r.sfumato")
    assert list(tmp_path.iterdir()) == [path]


def test_saving_over_a_release_replaces_it(good: bytes, tmp_path: Path) -> None:
    path = tmp_path / "r.sfumato"
    path.write_bytes(b"old")
    other = tmp_path / "other.sfumato"
    other.write_bytes(good)
    sf.load(other).save(path)
    assert sf.load(path).guarantee == sf.load(other).guarantee
    assert path.stat().st_mode & 0o777 == other.stat().st_mode & 0o777
