"""Numbers as people write them: 0,5 and 0.5 are both a half."""

from __future__ import annotations

import math
import re

from sfumato.errors import ArgumentError

_DECIMAL = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_THOUSANDS = re.compile(r"[1-9]\d{0,2}([,.]\d{3})+", re.ASCII)
_BLANKS = re.compile(r"(?<=\d)['’\s](?=\d{3}(\D|$))")


def number(what: str, text: str) -> float:
    """A number with a decimal point or a decimal comma.

    >>> number("epsilon", "0,5"), number("epsilon", "0.5"), number("delta", "1e-6")
    (0.5, 0.5, 1e-06)

    Raises:
        ArgumentError: It is none, or one of two.
    """
    plain = _plain(text)
    if _THOUSANDS.fullmatch(plain) and "," in plain:
        raise ArgumentError(f"{what}: {text.strip()} may be a thousand or a decimal fraction; leave the comma out")
    if not _DECIMAL.fullmatch(plain) or not math.isfinite(value := float(plain.replace(",", "."))):
        raise ArgumentError(f"{what} must be a number, such as 0.5 or 0,5, not {text.strip()!r}")
    return value


def whole(what: str, text: str) -> int:
    """A whole number, its thousands apart or not.

    >>> whole("rows", "30 000"), whole("rows", "30,000"), whole("rows", "30.000"), whole("rows", "7")
    (30000, 30000, 30000, 7)

    Raises:
        ArgumentError: It is none.
    """
    plain = _plain(text)
    digits = re.sub("[,.]", "", plain) if _THOUSANDS.fullmatch(plain) else plain
    if not re.fullmatch(r"\d{1,15}", digits, re.ASCII):
        raise ArgumentError(f"{what} must be a whole number, such as 30000, not {text.strip()!r}")
    return int(digits)


def written(value: float) -> str:
    """A number as a command takes it.

    >>> written(1.0), written(0.5), written(1e-6)
    ('1', '0.5', '1e-06')
    """
    return f"{value:.15g}"


def _plain(text: str) -> str:
    return _BLANKS.sub("", text.strip().replace("−", "-"))
