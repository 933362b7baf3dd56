"""Release files: damaged zips, and sound zips of a document and arrays that are not.

The first byte of a case says which: 0, the rest is the file; 1, the rest is the length of `release.json` in three
bytes, that document, and `arrays.safetensors`, which are packed into a sound zip; so that atheris reaches what a
checksum would hide from it. With 2 the zip has odd entries beside them.
"""

from __future__ import annotations

import copy
import io
import json
import struct
import warnings
import zipfile
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from safetensors.numpy import load, save

import sfumato as sf
from fuzz.harness import FaultFound, Target, check_line, edited, scratch
from fuzz.schemas import change, leaves, words
from sfumato.models import GeneratorModel
from sfumato.models.generator import Progress
from sfumato.models.generator_training import untrained

JSON, ARRAYS = "release.json", "arrays.safetensors"
RAW, PACKED, ODD_ENTRIES = b"\0", b"\1", b"\2"
ODD_NAMES = ["../x", "/etc/x", "release.json", "arrays.safetensors", "a/../release.json", "x" * 300, "\\", "ü", "d/"]
SCHEMA: dict[str, Any] = {
    "label": "y",
    "unit": {"column": "who", "rows": 1},
    "columns": {
        "x": {"type": "number", "min": 0, "max": 9, "step": 1},
        "c": {"type": "category", "values": ["a", "b", "c"], "missing": True},
        "d": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 4},
        "y": {"type": "category", "values": ["no", "yes"]},
    },
}
PLAIN_SCHEMA = {
    "columns": {"u": {"type": "number", "min": -1, "max": 1}, "v": {"type": "number", "min": 0, "max": 1e6}}
}
GROUP_SCHEMA = {
    "label": "y",
    "columns": {"y": {"type": "category", "values": ["no", "yes"]}},
    "groups": {"g": {"columns": "x{1..3}", "min": 0, "max": 9, "step": 1}},
}
SLICED = {"mechanism": sf.Slicing(form="rows", slices=1, training=None), "adjacency": "replace-one"}


def run(data: bytes) -> None:
    """Load a release; where it loads, everything that can be done with it can be done."""
    path = scratch("releases") / "case.sfumato"
    path.write_bytes(_file(data))
    release = sf.load(path)
    check_line(repr(release), "repr")
    check_line(str(release.guarantee), "the guarantee")
    rows = release.sample(5, seed=0)
    if list(rows) != list(release.schema.columns) or len(rows) != 5:
        raise FaultFound("a sample is not of the release's schema")
    made = isinstance(release.model, GeneratorModel)  # which neither classifies nor has a density
    if release.schema.label is not None and not made:
        chances = release.predict_proba(rows).to_numpy()
        if not np.allclose(chances.sum(axis=1), 1.0):
            raise FaultFound("class probabilities do not add up to one")
    if not release.schema.groups and not made and np.isnan(release.log_density(rows)).any():
        raise FaultFound("a log-density is not a number")
    release.save(path)
    if sf.load(path).guarantee != release.guarantee:
        raise FaultFound("a release does not survive being written")


def _file(data: bytes) -> bytes:
    if data[:1] not in (PACKED, ODD_ENTRIES):
        return data[1:]
    size = int.from_bytes(data[1:4], "little")
    entries = [(JSON, data[4 : 4 + size]), (ARRAYS, data[4 + size :])]
    if data[:1] == ODD_ENTRIES:
        entries.append((ODD_NAMES[size % len(ODD_NAMES)], b"x"))
    return pack(entries)


def pack(entries: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    """A zip of these entries; the same name may come twice."""
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", method) as archive:
        warnings.simplefilter("ignore")
        for name, content in entries:
            archive.writestr(name, content)
    return stream.getvalue()


def case_of(document: bytes, arrays: bytes, kind: bytes = PACKED) -> bytes:
    """A case of a document and arrays."""
    return kind + len(document).to_bytes(3, "little") + document + arrays


@cache
def good_releases() -> tuple[bytes, ...]:
    """Good release files: with a label and a unit, without them, in data units, of clustmix, of a group with labels of
    its own, of generators, with several components a class."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(0, 10, 300), "c": rng.choice(list("abc"), 300), "y": "no"})
    frame["d"], frame["who"] = "2020-05-05", range(300)
    frame.loc[::3, "y"] = "yes"
    plain = pd.DataFrame({"u": rng.normal(0, 0.3, 300), "v": rng.random(300) * 1e6})
    images = pd.DataFrame(rng.integers(0, 10, (300, 3)), columns=["x1", "x2", "x3"]).assign(y=frame["y"])
    fits: list[tuple[Any, ...]] = [
        (frame, SCHEMA, {}),
        (plain, PLAIN_SCHEMA, {}),
        (plain, PLAIN_SCHEMA, {"mechanism": sf.Mixture(encoding="affine")}),
        (frame, SCHEMA, {"mechanism": "clustmix"}),
        (images, GROUP_SCHEMA, {"mechanism": "clustmix"}),
        (frame, SCHEMA, {"mechanism": sf.Slicing(training=None)}),
        (images, GROUP_SCHEMA, SLICED),
    ]
    path = scratch("releases") / "good.sfumato"
    found = []
    for table, schema, options in fits:
        made = sf.fit(table, schema, epsilon=1, delta=1e-6, **options)
        (_halfway(made) if isinstance(made.model, GeneratorModel) else made).save(path)
        found.append(path.read_bytes())
    return (*found, _doubled(found[0]))


def _halfway(made: sf.Release) -> sf.Release:
    """A generator with a small network, as if its training had been interrupted."""
    settings = sf.Training(width=2, depth=1)
    net = untrained(made.model.bought, made.model.encoder, settings, None)
    memory = tuple(np.zeros_like(weights) for weights in net.weights.values())
    progress = Progress(1, settings, 50, 2.0, False, (memory, memory))
    return replace(made, model=replace(made.model, generator=net, progress=progress))


def _doubled(content: bytes) -> bytes:
    """A release with each component of its mixture in two halves, apart."""
    document, arrays = unpack(content)
    facts = document["model"]["facts"]
    facts |= {"components": [2] * len(arrays["weights"]), "covariances": 2 * len(arrays["weights"]), "matched": True}
    for name in ("weights", "means", "covariances", "scales"):
        arrays[name] = np.repeat(arrays[name], 2, axis=0)
    arrays["weights"] /= 2
    arrays["means"][::2] += 0.5
    return pack([(JSON, json.dumps(document).encode()), (ARRAYS, save(arrays))])


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The document and the arrays of a good release file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return json.loads(archive.read(JSON)), {k: v.copy() for k, v in load(archive.read(ARRAYS)).items()}


@cache
def _parts() -> tuple[tuple[dict[str, Any], dict[str, Any]], ...]:
    return tuple(unpack(content) for content in good_releases())


def seeds() -> list[bytes]:
    packed = [case_of(json.dumps(document).encode(), save(arrays)) for document, arrays in _parts()]
    return packed + [RAW + content for content in good_releases()] + [ODD_ENTRIES + packed[0][1:]]


ODD_VALUES = [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1e-300, 1e300, 1e6, 5e-324, 0.5, 2.0, 1e-18, 1e-9]
KINDS = [np.float32, np.float16, np.int64, np.int32, np.uint8, np.bool_, np.float64]


def _change_arrays(draw: Any, arrays: dict[str, Any]) -> None:
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from(sorted(arrays)))
        array = arrays[name]
        kind = draw(st.integers(0, 7))
        if kind <= 2 and array.size:
            place = draw(st.integers(0, array.size - 1))
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                array.reshape(-1)[place] = np.array(draw(st.sampled_from(ODD_VALUES))).astype(array.dtype)
        elif kind == 3:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                arrays[name] = (array * draw(st.sampled_from(ODD_VALUES))).astype(draw(st.sampled_from(KINDS)))
        elif kind == 4:
            arrays[name] = array.reshape(-1) if draw(st.booleans()) else array[None]
        elif kind == 5:
            arrays[name] = np.flip(array)
        elif kind == 6:
            del arrays[name]
            return
        else:
            arrays[draw(words.filter(lambda word: word.isprintable()))] = np.zeros(draw(st.integers(0, 3)))


def _change_header(draw: Any, content: bytes) -> bytes:
    """Arrays whose header says something else than what follows it."""
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + size])
    entry = header[draw(st.sampled_from(sorted(header)))]
    key = draw(st.sampled_from(["dtype", "shape", "data_offsets"]))
    shapes = st.lists(st.sampled_from([0, 1, 2, 3, 2**31, 2**62, 2**64 - 1, -1]), max_size=4)
    entry[key] = draw(st.sampled_from(["F8_E5M2", "BF16", "U64", "C64", "?"]) if key == "dtype" else shapes | leaves)
    text = json.dumps(header).encode()
    return struct.pack("<Q", draw(st.sampled_from([len(text)] * 5 + [2**63, 0, 2]))) + text + content[8 + size :]


@st.composite
def cases(draw: Any) -> bytes:
    """A good release with something changed in the document, the arrays, their header or the bytes of the zip."""
    place = draw(st.integers(0, len(_parts()) - 1))
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return RAW + edited(draw, good_releases()[place])
    document, arrays = copy.deepcopy(_parts()[place])
    if kind <= 4:
        for _ in range(draw(st.integers(1, 2))):
            change(draw, document)
    if kind in (4, 5, 6, 7):
        _change_arrays(draw, arrays)
    text, content = json.dumps(document).encode("utf-8", "surrogatepass"), save(arrays)
    if kind == 8:
        content = _change_header(draw, content)
    if kind == 9:
        text, content = edited(draw, text), edited(draw, content)
    return case_of(text, content, draw(st.sampled_from([PACKED] * 9 + [ODD_ENTRIES])))


WORDS = """
format version library mechanism encoding guarantee schema epsilon delta mu adjacency unit secure spends name entry
sensitivity sigma null true false add-remove replace-one label scores affine NaN Infinity -1 1e308 0 1 2 [ ] { } : , "
clustmix projected components alpha directions scales radius groups model kind facts matched answers answers.0.values
slicing generator bought form central rows waves coordinates projections slice_dim sd height network kind mlp conv own
width depth channels leaves training steps rate divergence seed number step loss finished resumable counts net.skip
F64 I64 F32 BF16 shape dtype data_offsets weights means covariances order.0 masses.0 __metadata__
"""
TARGET = Target("releases", run, seeds, cases, longest=1 << 14, words=tuple(WORDS.split()))
