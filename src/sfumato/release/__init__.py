"""Releases: a model with its guarantee, drawn from, scored with, written and read.

Public: `Release`; `read` and `write`, its file format.
"""

from sfumato.release.file import read, write
from sfumato.release.release import Release

__all__ = ["Release", "read", "write"]
