"""The folder that the studio was started in: nothing outside of it is opened."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import ArgumentError

MOST_FILES = 500  # files of a folder, of each kind
SCHEMAS = (".yaml", ".yml", ".json")
LEDGERS = (".db",)
RELEASES = (".sfumato",)


class Outside(ArgumentError):
    """A path that does not lie below the folder."""


@dataclass(frozen=True)
class Folder:
    """A folder, and the paths below it as they are written in commands: relative to it.

    Attributes:
        root: The folder, without symbolic links.
    """

    root: Path

    @classmethod
    def of(cls, path: str | Path) -> Folder:
        """The folder at a path.

        Raises:
            ArgumentError: There is none.
        """
        if not os.path.isdir(path):
            raise ArgumentError(f"there is no folder {path}")
        return cls(Path(os.path.realpath(path)))

    def path(self, name: str) -> Path:
        """Where a name leads, with symbolic links followed.

        Raises:
            Outside: It leads out of the folder, or is no name that a file can have.
        """
        try:
            found = Path(os.path.realpath(self.root / name))
        except ValueError:
            raise Outside("no file can have such a name") from None
        if "://" in name or ".." in Path(name).parts or not found.is_relative_to(self.root):
            raise Outside(f"the studio opens files below {self.root} only")
        return found

    def whole(self, name: str) -> Path:
        """Where a name leads, and all that is in it where it is a folder: one of Parquet files is read whole.

        Raises:
            Outside: It leads out of the folder, or some file in it does.
        """
        path = self.path(name)
        for inner in path.rglob("*") if path.is_dir() else ():
            self.path(str(inner.relative_to(self.root)))
        return path

    def existing(self, name: str) -> str:
        """The name of a file or folder that is there, as a command takes it.

        Raises:
            Outside: It leads out of the folder, or some file in it does.
            ArgumentError: There is none.
        """
        if not self.whole(name).exists():
            raise ArgumentError(f"there is no file {name!r} below {self.root}")
        return self.word(self.root / name)

    def new(self, name: str, suffixes: tuple[str, ...]) -> str:
        """The name of a file that is not there yet, as a command takes it.

        Raises:
            Outside: It leads out of the folder.
            ArgumentError: It is there already, or does not end as it should.
        """
        path = self.path(name)
        if not name.strip() or not path.name.endswith(suffixes):
            raise ArgumentError(f"the name of the file must end in {' or '.join(suffixes)}, not {name!r}")
        if os.path.lexists(self.root / name):
            raise ArgumentError(f"{name} is there already; give another name")
        return self.word(self.root / name)

    @contextmanager
    def alone(self) -> Iterator[int]:
        """The right to fit in this folder, of which there is one: for all studios, and after this one has ended.

        Yields:
            What stands for it: a command that inherits it keeps it until it ends, however it ends.

        Raises:
            ArgumentError: A fit is at work.
        """
        held = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
            raise ArgumentError("a fit of another studio is at work in this folder; wait until it has ended") from None
        except OSError:
            pass  # a file system without locks; a release is not written over there either
        try:
            yield held
        finally:
            os.close(held)

    def free(self, stem: str, suffix: str) -> str:
        """A name that no file has: NAME.yaml, NAME-2.yaml and so on."""
        number, name = 1, f"{stem}{suffix}"
        while os.path.lexists(self.root / name):
            number += 1
            name = f"{stem}-{number}{suffix}"
        return self.word(self.root / name)

    def word(self, path: Path) -> str:
        """A path as a command takes it: relative, and never mistaken for an option."""
        name = os.path.relpath(path, self.root)
        return f"./{name}" if name.startswith("-") else name

    def folders(self, name: str = ".") -> list[str]:
        """The folders in a folder that can be read, hidden ones left out."""
        found = [each for each in self._inside(name) if each.is_dir() and os.access(each, os.R_OK | os.X_OK)]
        return [self.word(each) for each in found][:MOST_FILES]

    def files(self, suffixes: tuple[str, ...], name: str = ".") -> list[str]:
        """The files in a folder whose names end so, hidden ones left out."""
        ends = tuple(suffixes)
        found = [each for each in self._inside(name) if each.is_file() and each.name.lower().endswith(ends)]
        return [self.word(each) for each in found][:MOST_FILES]

    def tables(self, name: str = ".") -> list[str]:
        """The files in a folder that may be tables; a `.db` may be a ledger too."""
        from sfumato.tables.open import FILE_SUFFIXES

        return self.files(FILE_SUFFIXES, name)

    def _inside(self, name: str) -> Iterator[Path]:
        """What a folder holds, by name, without what leads out of the root."""
        place = self.path(name)
        try:
            names = sorted(os.listdir(place), key=str.lower)
        except OSError:
            raise ArgumentError(f"the folder {name!r} cannot be read") from None
        for each in names:
            if not each.startswith(".") and Path(os.path.realpath(place / each)).is_relative_to(self.root):
                yield place / each
