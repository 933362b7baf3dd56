"""Arrays put aside for later: in memory while there is room, then in a temporary file.

The file has no name and belongs to its owner alone, so that nobody else opens it and it is gone with the process.
Arrays are rows along their last axis.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from threading import Lock
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from sfumato.errors import TableError

Array: TypeAlias = np.ndarray[Any, Any]
Arrays: TypeAlias = list[Array]


class Spill:
    """Arrays put aside, of which so many bytes stay in memory.

    Args:
        room: How many.

    Attributes:
        size: How many bytes have been put aside, in all.
    """

    def __init__(self, room: int) -> None:
        self.size = 0
        self._room = room
        self._lock = Lock()  # the file has one place at which it is read and written

    @cached_property
    def _file(self) -> BinaryIO:
        return tempfile.TemporaryFile()  # it is closed when nobody can ask for its arrays any more

    def put(self, arrays: Sequence[Array]) -> Callable[[], Arrays]:
        """Put arrays aside.

        Args:
            arrays: The arrays.

        Returns:
            What gives them back, on any thread.

        Raises:
            TableError: The folder for temporary files is full.
        """
        self.size += sum(array.nbytes for array in arrays)
        if self.size <= self._room:
            return lambda: list(arrays)
        try:
            with self._lock:
                start = self._file.seek(0, os.SEEK_END)
                for array in arrays:
                    self._file.write(np.ascontiguousarray(array).data)
        except OSError:
            raise TableError("temporary files have no room for the table; set TMPDIR to another folder") from None
        return partial(self._get, start, [(array.shape, array.dtype) for array in arrays])

    def _get(self, start: int, shapes: list[tuple[tuple[int, ...], np.dtype[Any]]]) -> Arrays:
        found = [np.empty(shape, dtype) for shape, dtype in shapes]
        with self._lock:
            self._file.seek(start)
            for array in found:
                if self._file.readinto(array.data) != array.nbytes:  # type: ignore[attr-defined]
                    raise TableError("what was put into a temporary file is not all there")
        return found


def joined(parts: Sequence[Sequence[Array]]) -> Arrays:
    """Rows after rows, array by array.

    >>> joined([[np.array([1]), np.array([[2]])], [np.array([3]), np.array([[4]])]])
    [array([1, 3]), array([[2, 4]])]
    """
    return [np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)]
