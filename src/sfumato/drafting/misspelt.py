"""Values that look like slips beside a common one. Private where it was found by counting rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from sfumato.text import one_line

RARER = 20  # times, that a slip is rarer than what was meant
SHORTEST, LONGEST = 4, 80  # letters: shorter texts are codes, longer ones are no categories

_DIGIT = re.compile(r"\d")


def misspelt(counts: Mapping[str, int]) -> dict[str, str]:
    """What each rare text may have been meant to be: a common one that a letter more, less, other or moved makes of it.

    Texts whose digits differ are codes, not slips.

    Args:
        counts: How often each text comes.

    Returns:
        The common text by the rare one, the commonest where several are alike.

    Example:
        >>> misspelt({"Cardiology": 900, "Surgery": 500, "Cardiolgy": 3, "surgery": 1, "Surgery 2": 1})
        {'Cardiolgy': 'Cardiology', 'surgery': 'Surgery'}
    """
    common: dict[str, str] = {}
    found: dict[str, str] = {}
    for text in sorted(counts, key=lambda each: (-counts[each], each)):
        if not SHORTEST <= len(text) <= LONGEST:
            continue
        variants = _variants(text)
        near = {common[each] for each in variants if each in common}
        meant = [each for each in near if counts[each] >= RARER * counts[text] and _digits(each) == _digits(text)]
        if meant:
            found[text] = min(meant, key=lambda each: (-counts[each], each))
        else:
            for each in variants:
                common.setdefault(each, text)
    return found


def slips(counts: Mapping[str, int]) -> dict[str, str]:
    """The same in words, by the rare text.

    Args:
        counts: How often each text comes.

    Returns:
        A question for each slip.
    """
    told = {text: f"{one_line(text)!r} ({counts[text]:,})" for text in counts}
    return {
        rare: f"{told[rare]} beside {told[common]}: a slip? mend it in the table, or leave it out of the list"
        for rare, common in misspelt(counts).items()
    }


def alike(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Texts of a list that are a slip apart and begin alike, as East and West do not.

    Nothing is counted, so which of the two is meant is not told.

    Args:
        texts: Such as the values of a category.

    Returns:
        Pairs, the second of which stands later in the list.

    Example:
        >>> alike(["East", "Noth", "North", "Ward 1", "Ward 2", "West"])
        [('Noth', 'North')]
    """
    first: dict[str, str] = {}
    found: list[tuple[str, str]] = []
    for text in texts:
        if SHORTEST <= len(text) <= LONGEST:
            variants = sorted(_variants(text))
            near = {first[each]: None for each in variants if each in first}
            found += [(other, text) for other in near if _shape(other) == _shape(text)][:1]
            for each in variants:
                first.setdefault(each, text)
    return found


def _variants(text: str) -> set[str]:
    """A text in small letters, and all that it is without one letter: two that are a slip apart have one in common."""
    small = text.casefold()
    return {small, *(small[:place] + small[place + 1 :] for place in range(len(small)))}


def _shape(text: str) -> tuple[str, list[str]]:
    return text[:1].casefold(), _digits(text)


def _digits(text: str) -> list[str]:
    return _DIGIT.findall(text)
