"""The name that was perhaps meant where one is not there."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

ALIKE = 0.7  # of the letters, as difflib counts them
LONGEST_TYPED = 64  # letters of a name for which another is suggested


def meant(name: str, names: Iterable[str]) -> str | None:
    """The name most like one that was typed, in whatever case.

    Args:
        name: As it was typed.
        names: Those that there are.

    Returns:
        One of them; None where none is alike.

    Example:
        >>> meant("agee", ["Age", "sex"]), meant("town", ["Age", "sex"])
        ('Age', None)
    """
    by_lower = {each.lower(): each for each in names if len(each) <= LONGEST_TYPED}
    found = get_close_matches(name.lower(), by_lower, n=1, cutoff=ALIKE) if len(name) <= LONGEST_TYPED else []
    return by_lower[found[0]] if found else None
