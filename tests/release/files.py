"""Release files taken apart, changed and put together again; and releases with a part of their model replaced."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from safetensors.numpy import load, save

import sfumato as sf
from sfumato.errors import ReleaseError
from sfumato.release.file import contents

JSON, ARRAYS = "release.json", "arrays.safetensors"
Document = dict[str, Any]
Arrays = dict[str, Any]


def with_model(release: sf.Release, **parts: Any) -> sf.Release:
    """The release with other parts in its model."""
    return replace(release, model=replace(release.model, **parts))  # type: ignore[type-var]


def same(one: sf.Release, other: sf.Release) -> bool:
    """Whether two releases hold the same numbers, bit for bit."""
    a, b = contents(one)[1], contents(other)[1]
    return a.keys() == b.keys() and all(np.array_equal(a[n], b[n]) and a[n].dtype == b[n].dtype for n in a)


def entries(good: bytes) -> list[tuple[str, bytes]]:
    """What a file has inside."""
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def unpack(good: bytes) -> tuple[Document, Arrays]:
    """The document and the arrays of a file."""
    inside = dict(entries(good))
    return json.loads(inside[JSON]), {name: array.copy() for name, array in load(inside[ARRAYS]).items()}


def pack(inside: list[tuple[str, bytes]] | list[tuple[str, bytes | str]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these entries."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in inside:
            archive.writestr(name, content)
    return stream.getvalue()


def altered(good: bytes, change: Callable[[Document, Arrays], Any]) -> bytes:
    """A file whose document and arrays were changed."""
    document, arrays = copy.deepcopy(unpack(good))
    change(document, arrays)
    packed = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    return pack([(JSON, json.dumps(document)), (ARRAYS, packed)])


def with_document(good: bytes, change: Callable[[Document], Any]) -> bytes:
    """A file that says something else."""
    return altered(good, lambda document, arrays: change(document))


def with_facts(good: bytes, change: Callable[[Document], Any]) -> bytes:
    """A file that says something else of its model."""
    return altered(good, lambda document, arrays: change(document["model"]["facts"]))


def with_arrays(good: bytes, change: Callable[[Arrays], Any]) -> bytes:
    """A file with other arrays."""
    return altered(good, lambda document, arrays: change(arrays))


def with_json(good: bytes, text: bytes | str) -> bytes:
    """A file whose document is any text."""
    return pack([(JSON, text), (ARRAYS, dict(entries(good))[ARRAYS])])


def refused(content: bytes, folder: Path) -> str:
    """The one line that refuses a file; nothing is written, and no more is unpacked than such a file may hold."""
    path = folder / "bad.sfumato"
    path.write_bytes(content)
    before = sorted(folder.iterdir())
    unpacked = 0
    real = zipfile.ZipExtFile.read

    def read(self: zipfile.ZipExtFile, n: int | None = -1) -> bytes:
        nonlocal unpacked
        found = real(self, n)
        unpacked += len(found)
        return found

    with mock.patch.object(zipfile.ZipExtFile, "read", read), pytest.raises(ReleaseError) as caught:
        sf.load(path)
    assert unpacked <= (4 << 20) + 100 * len(content)
    assert sorted(folder.iterdir()) == before
    line = str(caught.value)
    assert "\n" not in line
    assert str(path) in line
    return line
