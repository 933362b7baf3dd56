"""Text: by which a category in a schema and a cell in a table are compared, and for messages."""

from __future__ import annotations

import re

WHITESPACE = " \t\n\r\v\f"

_INTEGRAL = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0*")
_SPELLINGS = {"-0": "0", "True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}


def canonical(text: str) -> str:
    """Strip blanks, write whole numbers without a point and truth values in lower case.

    >>> [canonical(text) for text in (" Private ", "1.0", "-2.", "-0.0", "01.0", "TRUE", "1.5")]
    ['Private', '1', '-2', '0', '01.0', 'true', '1.5']
    """
    text = text.strip(WHITESPACE)
    integral = _INTEGRAL.fullmatch(text)
    if integral:
        text = integral[1]
    return _SPELLINGS.get(text, text)


def one_line(text: str) -> str:
    """Text without line breaks, for an error that has to fit on one line.

    >>> one_line("not\\n  valid ")
    'not valid'
    """
    return " ".join(text.split())
