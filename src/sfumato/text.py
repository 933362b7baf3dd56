"""Text: by which a category in a schema and a cell in a table are compared, and for messages."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

WHITESPACE = " \t\n\r\v\f"
AS_STORED = (
    "\v"  # behind the text of what was no text: blank to every reader, but no declared format speaks of such a cell
)
LONGEST_SHOWN = 500  # letters of foreign text in a message

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
    r"""Foreign text for a message: on one line, cut short, and with nothing in it that a terminal obeys.

    >>> one_line("not\n  valid "), one_line("\x1b[31mred")
    ('not valid', '\\x1b[31mred')
    """
    line = " ".join(text[: 2 * LONGEST_SHOWN].split())
    if not line.isprintable():
        line = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in line)
    return line if len(line) <= LONGEST_SHOWN else f"{line[:LONGEST_SHOWN]}..."


def percent(share: float) -> str:
    """A share as it is told: never 0 where there is some, nor 100 where some is wanting.

    >>> percent(0.2), percent(0.0123), percent(0.00001), percent(0.99999), percent(0)
    ('20 %', '1.2 %', '<0.1 %', '>99.9 %', '0 %')
    """
    if 0.0 < share < 0.001:
        return "<0.1 %"
    if 0.999 < share < 1.0:
        return ">99.9 %"
    return f"{round(100.0 * share, 1):g} %"


def rounded_up(value: float | None, digits: int = 3) -> str:
    """A cost or a promise in few digits, rounded to the side on which it still holds.

    >>> rounded_up(1.0000049), rounded_up(1.0), rounded_up(3.0712e-5)
    ('1.01', '1', '3.08e-05')
    """
    return _rounded(value, digits, ROUND_CEILING)


def rounded_down(value: float | None, digits: int = 3) -> str:
    """What is left, in few digits.

    >>> rounded_down(0.99999), rounded_down(1.0), rounded_down(0.0)
    ('0.999', '1', '0')
    """
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float | None, digits: int, rounding: str) -> str:
    return f"{float(Context(prec=digits, rounding=rounding).create_decimal(Decimal(repr(value)))):.{digits}g}"
