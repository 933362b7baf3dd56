"""Where rows are added up, as a caller says it: public, and no more than a wish."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.cores import core_count
from sfumato.errors import ArgumentError


@dataclass(frozen=True)
class Local:
    """This process, on as many threads as said. Totals are exact integers: the same for any number of them.

    Args:
        workers: Threads that add up batches of rows; by default as many as there are cores.

    Raises:
        ArgumentError: `workers` is no whole number above 0.

    Example:
        >>> import sfumato as sf
        >>> sf.Local(workers=2)
        Local(workers=2)
    """

    workers: int | None = None

    def __post_init__(self) -> None:
        if self.workers is None:
            return
        if isinstance(self.workers, bool) or not isinstance(self.workers, int) or self.workers < 1:
            raise ArgumentError(f"workers must be a whole number above 0, not {self.workers!r}")

    @property
    def threads(self) -> int:
        """How many threads that is here."""
        return self.workers or core_count()
