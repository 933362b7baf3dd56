"""The release file: a zip of `release.json` and `arrays.safetensors`, every field checked on load.

It holds noisy answers and public facts and nothing else: no number of rows (but where rows are released one by one,
and it is public), no path, no time of day. No pickle, no code: a model is named by its kind, and rebuilt from numbers.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from sfumato import __version__
from sfumato.arrays import ArraySpec, Insist, NamedArrays, Specs
from sfumato.errors import ArgumentError, ReleaseError, SchemaError
from sfumato.files import replacing
from sfumato.guarantee import LONGEST_NAME, NoisyAnswer
from sfumato.models import Model, find_model
from sfumato.release.guarantee import GuaranteeData, guarantee_data, read_guarantee
from sfumato.release.release import Release
from sfumato.schema.columns import Column, Listed
from sfumato.schema.layout import DEFAULT_BINS, IntArray, Layout, OrderedBins
from sfumato.schema.schema import Schema
from sfumato.text import one_line

FORMAT = "sfumato-release"
VERSION = 8
READABLE = (6, 7, 8)  # 6 has the bins of its schema; to 7 no column follows another
JSON_NAME = "release.json"
ARRAYS_NAME = "arrays.safetensors"
ANSWERS = "answers."  # begins the names of arrays that are no model's


@dataclass(frozen=True)
class Limits:
    """What a file may hold at the most, so that a hostile one costs neither memory nor time."""

    json_bytes: int = 1 << 26
    small_json_bytes: int = 1 << 20  # in any file, however small
    json_inflation: int = 100  # what anyone would call their columns and categories does not pack so tightly
    json_lists: int = 1 << 20  # brackets and braces: memory for each is many times its length
    header_bytes: int = 1 << 20  # of the arrays
    inflation: int = 1000  # deflate packs no tighter, so a file has no room for more numbers than this allows
    bytes_a_number: int = 4  # at the least
    answers: int = 10_000
    answer_numbers: int = 1 << 32


LIMITS = Limits()

_Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
_Size = Annotated[int, Field(strict=True, ge=0, le=LIMITS.answer_numbers)]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: _Name
    values: _Size
    sd: _Size
    what: dict[str, Any]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: _Name
    facts: dict[str, Any]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid")
    format: Literal["sfumato-release"]
    version: Literal[6, 7, 8]
    library: str
    mechanism: _Name
    model: _Model
    guarantee: GuaranteeData
    answers: Annotated[tuple[_Answer, ...], FailFast()] = Field(max_length=LIMITS.answers)
    bins: dict[str, Annotated[tuple[_Size, ...], FailFast()]] = {}
    data_schema: dict[str, Any] = Field(alias="schema")


def write(release: Release, path: str | Path) -> None:
    """Write a release under a temporary name, then rename it.

    Args:
        release: The release.
        path: Where to; what is there is replaced.

    Raises:
        OutputError: It cannot be written there.
    """
    document, arrays = contents(release)
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_entry(JSON_NAME), json.dumps(document, indent=1, ensure_ascii=False))
        archive.writestr(_entry(ARRAYS_NAME), save_arrays(dict(arrays)))


def contents(release: Release) -> tuple[dict[str, Any], NamedArrays]:
    """All that a release file holds: its document, and its arrays by name."""
    facts, arrays = release.model.to_arrays()
    for i, answer in enumerate(release.answers):
        arrays |= {f"{ANSWERS}{i}.values": answer.values, f"{ANSWERS}{i}.sd": answer.sd}
    document = {
        "format": FORMAT,
        "version": VERSION,
        "library": __version__,
        "mechanism": release.mechanism,
        "model": {"kind": release.model.kind, "facts": facts},
        "guarantee": guarantee_data(release.guarantee),
        "answers": [
            {"name": answer.name, "values": answer.values.size, "sd": answer.sd.size, "what": dict(answer.what)}
            for answer in release.answers
        ],
        "bins": {name: starts.tolist() for name, starts in chosen_starts(release.layout, release.schema).items()},
        "schema": release.schema.dump(),
    }
    return document, {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def read(path: str | Path) -> Release:
    """Read a release file, trusting nothing in it.

    Every field is checked for its form, and all of them for going together; guarantees for arithmetic (see
    `release/guarantee.py`). None of this shows that a guarantee is true: a file that was edited with care can still
    claim a false one.

    Args:
        path: The file.

    Returns:
        The release.

    Raises:
        ReleaseError: If the file is damaged, foreign, of another version, or inconsistent.
    """
    if not os.path.isfile(path):  # unlike Path's own, it says no to a name that no file can have
        raise ReleaseError(f"{path} is a folder" if os.path.isdir(path) else f"{path} does not exist")
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, path)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise ReleaseError(f"{path}: {JSON_NAME} is not valid at {one_line(where)}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ReleaseError(f"{path} is not a release file, or is damaged") from error


def _read(archive: zipfile.ZipFile, path: str | Path) -> Release:
    def insist(holds: Any, what: str) -> None:
        if not holds:
            raise ReleaseError(f"{path}: {what}")

    document, schema = _document(archive, path)
    _check_room(sum(map(_most_bins, schema.modelling.modelled.values())), 8, path)
    layout = _layout(document, schema, insist)
    kind = _kind(document.model.kind, insist)
    guarantee = read_guarantee(document.guarantee, schema, kind.row_spends, insist)
    specs = kind.shapes(layout, document.model.facts, insist)
    insist(not any(name.startswith(ANSWERS) for name in specs), "its model's arrays are named like answers")
    arrays = _load(archive, specs | _answer_shapes(document.answers, insist), path)
    model = kind.from_arrays(layout, document.model.facts, {name: arrays[name] for name in specs}, insist)
    model.check_guarantee(guarantee, 1 if schema.unit is None else schema.unit.rows, insist)
    insist(document.mechanism.isprintable(), "the name of its mechanism cannot be printed")
    return Release(schema, guarantee, document.mechanism, model, _answers(document.answers, arrays, insist))


def chosen_starts(layout: Layout, schema: Schema) -> dict[str, IntArray]:
    """Where the bins of columns begin that are not the schema's own, but were chosen by noisy answers."""
    pairs = zip(layout.names, layout.bins, Layout.of(schema).bins, strict=True)
    ordered = ((name, mine.starts, own) for name, mine, own in pairs if isinstance(mine, OrderedBins))
    return {
        name: starts
        for name, starts, own in ordered
        if isinstance(own, OrderedBins) and not np.array_equal(starts, own.starts)
    }


def _layout(document: _Document, schema: Schema, insist: Insist) -> Layout:
    """The schema's columns, with the bins that the file names."""
    own = Layout.of(schema)
    insist(set(document.bins) <= set(own.names), "it has bins for a column that is not there")
    starts = [np.array(document.bins[name], np.int64) if name in document.bins else None for name in own.names]
    for bins, chosen in zip(own.bins, starts, strict=True):
        if chosen is not None:
            insist(isinstance(bins, OrderedBins) and bins.follows_mass, "it has bins for a column that needs none")
            rising = len(chosen) > 0 and chosen[0] == 0 and (np.diff(chosen) > 0).all()
            insist(rising and chosen[-1] < bins.cells - bins.column.missing, "its bins do not fit the column's grid")
    return own.refined(starts)


def _kind(name: str, insist: Insist) -> type[Model]:
    kind = find_model(name)
    insist(kind is not None, f"its model is of kind {one_line(name)!r}, which nothing that is imported knows")
    assert kind is not None
    return kind


def _answer_shapes(told: tuple[_Answer, ...], insist: Insist) -> Specs:
    insist(sum(answer.values for answer in told) <= LIMITS.answer_numbers, "its answers have too many numbers")
    insist(all(answer.sd in (1, answer.values) for answer in told), "the noise of an answer does not fit it")
    found: Specs = {}
    for i, answer in enumerate(told):
        found |= {f"{ANSWERS}{i}.values": ArraySpec((answer.values,)), f"{ANSWERS}{i}.sd": ArraySpec((answer.sd,))}
    return found


def _answers(told: tuple[_Answer, ...], arrays: NamedArrays, insist: Insist) -> tuple[NoisyAnswer, ...]:
    try:
        return tuple(
            NoisyAnswer(answer.name, arrays[f"{ANSWERS}{i}.values"], arrays[f"{ANSWERS}{i}.sd"], answer.what)
            for i, answer in enumerate(told)
        )
    except ArgumentError as error:
        insist(False, one_line(str(error)))
        raise


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # zip's zero: a release does not tell when it was made
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def _document(archive: zipfile.ZipFile, path: str | Path) -> tuple[_Document, Schema]:
    if sorted(archive.namelist()) != [ARRAYS_NAME, JSON_NAME]:
        raise ReleaseError(f"{path} is not a release file: it should hold {JSON_NAME} and {ARRAYS_NAME}")
    try:
        most = min(LIMITS.json_bytes, LIMITS.small_json_bytes + LIMITS.json_inflation * Path(path).stat().st_size)
        text = _bounded(archive, JSON_NAME, most, path)
        if text.count(b"[") + text.count(b"{") > LIMITS.json_lists:
            raise ReleaseError(f"{path}: {JSON_NAME} is larger than a release of its schema can be")
        data = json.loads(text)
    except RecursionError as error:
        raise ReleaseError(f"{path}: {JSON_NAME} is nested too deeply") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ReleaseError(f"{path} is not a release file: its format is not {FORMAT}")
    _check_version(data.get("version"), path)
    document = _Document.model_validate(data)
    try:
        return document, Schema.of(document.data_schema)
    except SchemaError as error:
        raise ReleaseError(f"{path}: the schema inside is not valid: {one_line(str(error))}") from error


def _check_version(version: Any, path: str | Path) -> None:
    if not isinstance(version, int) or isinstance(version, bool) or version in READABLE:
        return  # what is no number is refused with the rest of the document
    if version > VERSION:
        raise ReleaseError(f"{path} has format version {version}; this library reads version {VERSION}: upgrade it")
    raise ReleaseError(f"{path} has format version {version}, of before the first release: fit again")


def _check_room(numbers: float, size: int, path: str | Path) -> None:
    """Refuse what a file has no room for, before memory is taken for any of it."""
    if size * numbers > LIMITS.inflation * Path(path).stat().st_size:
        raise ReleaseError(f"{path} is too small to be a release of its schema")


def _most_bins(column: Column) -> float:
    if isinstance(column, Listed):
        return len(column.levels)
    wanted = column.bins or DEFAULT_BINS
    low, high, step, *_ = column.span
    return wanted if step is None else min(wanted, (high - low) / step + 1)


def _bounded(archive: zipfile.ZipFile, name: str, most: int, path: str | Path) -> bytes:
    """The content of an entry that says, and turns out, to be no larger than `most`."""
    if archive.getinfo(name).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ReleaseError(f"{path}: {name} is packed in a way that release files do not use")
    if archive.getinfo(name).file_size > most:
        raise ReleaseError(f"{path}: {name} is larger than a release of its schema can be")
    with archive.open(name) as entry:
        content = entry.read(most + 1)
    if len(content) > most:
        raise ReleaseError(f"{path}: {name} is larger than it says")
    return content


def _load(archive: zipfile.ZipFile, specs: Specs, path: str | Path) -> dict[str, Any]:
    numbers = sum(spec.size for spec in specs.values())
    _check_room(numbers, LIMITS.bytes_a_number, path)
    content = _bounded(archive, ARRAYS_NAME, LIMITS.header_bytes + 200 * len(specs) + 8 * numbers, path)
    try:
        arrays = load_arrays(content)
    except (SafetensorError, KeyError) as error:  # KeyError: a number format that numpy lacks
        raise ReleaseError(f"{path}: {ARRAYS_NAME} is damaged") from error
    if set(arrays) != set(specs):
        raise ReleaseError(f"{path}: {ARRAYS_NAME} does not hold the arrays of its schema")
    for name, spec in specs.items():
        if arrays[name].shape != spec.shape or arrays[name].dtype != spec.dtype:
            raise ReleaseError(f"{path}: array {name} does not fit the schema")
        if not np.isfinite(arrays[name]).all():
            raise ReleaseError(f"{path}: array {name} has a value that is no number")
    return arrays
