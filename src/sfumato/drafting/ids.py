"""Columns that name people or records: of no use in a release, but one of them may say whose privacy is meant."""

from __future__ import annotations

import re

import numpy as np

from sfumato.drafting.looks import Look

FEW_ROWS = 50  # in fewer, that all cells differ means little
MANY_PEOPLE = 100  # different values of a column that names people
ROWS_KEPT = 0.9  # of all rows: what the proposed number of rows of a unit keeps
MOST_UNIT_ROWS = 100

_PERSON = re.compile(
    r"patient|person|people|subject|participant|respondent|customer|client|user|member|employee|student|citizen"
    r"|^pid$|mrn|ssn|house_?hold|account",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"(^|_|-|\s)(id|nbr|number|no|nr|num|key|uuid|guid|uid|mrn|ssn|hash)s?$|[a-z](Id|ID|Nr|No|Key)$", re.I
)


def names_records(name: str, look: Look) -> bool:
    """Whether every cell of a column differs, as an id does: not a measurement, whose values differ by chance."""
    if look.filled < FEW_ROWS or not look.tally.all_differ:
        return False
    if look.reading is None:
        return True
    if look.reading.kind != "number" or not _is_whole(look):
        return False
    # So many different whole numbers in so short a range: they were counted through.
    dense = look.filled >= (look.highs[-1] - look.lows[0]) / 2
    return bool(dense or may_name_people(name))


def may_name_people(name: str) -> bool:
    """Whether a column is called like the id of a person."""
    return bool(_KEY.search(name) or _PERSON.search(name))


def names_people(name: str, look: Look) -> bool:
    """Whether a column looks like the id of a person with several rows."""
    if not may_name_people(name):
        return False
    if look.tally.distinct < MANY_PEOPLE or look.tally.all_differ:
        return False
    is_code = look.reading is None or (look.reading.kind == "number" and _is_whole(look))
    # A count or a code that is far from different in most rows names no one.
    return is_code and look.filled <= MOST_UNIT_ROWS * look.tally.distinct


def best_unit(names: list[str]) -> str | None:
    """Which of the columns that look like ids of people to propose."""
    return min(names, key=lambda name: not _PERSON.search(name), default=None)


def rows_of_unit(look: Look) -> int:
    """How many rows of a unit to count: the fewest that keep most rows of the table."""
    counts = np.array(list(look.tally.sampled.values()))
    for rows in range(1, MOST_UNIT_ROWS):
        if np.minimum(counts, rows).sum() >= ROWS_KEPT * counts.sum():
            return rows
    return MOST_UNIT_ROWS


def _is_whole(look: Look) -> bool:
    return bool(look.off[look.steps.tolist().index(1.0)] == 0)
