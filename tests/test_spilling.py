"""Arrays come back as they were put aside, from memory or from a file that nobody else can open."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.errors import TableError
from sfumato.spilling import Spill, joined


def batch(seed: int) -> list[Any]:
    """Arrays of other shapes and types each time, one without rows, one that is no block of memory."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(-1, 100, (5, seed + 1)).astype(np.int16)
    return [codes, rng.integers(0, 9, seed + 1), np.zeros((0, seed + 1), np.int32), codes[::2]]


def same(found: list[Any], expected: list[Any]) -> bool:
    pairs = list(zip(found, expected, strict=True))
    return all(one.dtype == other.dtype and np.array_equal(one, other) for one, other in pairs)


@pytest.mark.parametrize("room", [0, 500, 1 << 20])
def test_arrays_come_back_as_they_were_in_any_order_on_any_thread(room: int) -> None:
    spill = Spill(room)
    kept = [spill.put(batch(seed)) for seed in range(40)]
    assert spill.size == sum(array.nbytes for seed in range(40) for array in batch(seed))
    order = np.random.default_rng(0).permutation(40).tolist() * 5
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda place: kept[place](), order))
    assert all(same(arrays, batch(seed)) for arrays, seed in zip(found, order, strict=True))


def test_more_may_be_put_aside_after_some_came_back() -> None:
    spill = Spill(0)
    first = spill.put(batch(3))
    assert same(first(), batch(3))
    second = spill.put(batch(4))
    assert same(first(), batch(3))
    assert same(second(), batch(4))


def test_the_file_has_no_name_and_one_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spill = Spill(0)
    kept = spill.put([np.arange(1000)])
    assert list(tmp_path.iterdir()) == []
    status = os.fstat(spill._file.fileno())
    assert (status.st_nlink, stat.S_IMODE(status.st_mode) & 0o077) == (0, 0)
    assert same(kept(), [np.arange(1000)])


def test_nothing_is_written_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.TemporaryFile", lambda: pytest.fail("a file was made"))
    Spill(1 << 20).put(batch(5))


def test_a_full_folder_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def seek(self, *place: int) -> int:
            return 0

        def write(self, data: Any) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", Full)
    with pytest.raises(TableError, match=r"^temporary files have no room .* set TMPDIR") as caught:
        Spill(0).put(batch(5))
    assert caught.value.__cause__ is None


def test_parts_are_joined_along_their_rows() -> None:
    found = joined([batch(1), batch(2)])
    assert [array.shape[-1] for array in found] == [2 + 3] * 4
    assert np.array_equal(found[0][:, :2], batch(1)[0])
