"""Numbers as a report writes them: no more digits than they have."""

from __future__ import annotations

import math
import re

from sfumato.asking.estimate import TOO_NOISY, Estimate

FIVE_DIGITS = 10_000
NO_NUMBER = "–"  # in the place of a number that there is not


def number_text(value: float) -> str:
    """A number with its thousands apart, but for one of four digits: it may be a year.

    >>> number_text(1234567.0), number_text(1978.0), number_text(-0.25), number_text(12.5), number_text(math.nan)
    ('1,234,567', '1978', '-0.25', '12.5', '–')
    """
    if not math.isfinite(value):
        return NO_NUMBER
    if float(value).is_integer():
        return _apart(value, 0)
    text = _apart(value, max(0, 5 - math.floor(math.log10(abs(value)))))
    return text.rstrip("0").rstrip(".") if "." in text else text


def _apart(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}" if abs(value) >= FIVE_DIGITS else f"{value:.{digits}f}"


def percent_text(share: float) -> str:
    """A share in percent, with one digit more where it is small.

    >>> percent_text(0.3333), percent_text(0.0041), percent_text(-0.1), percent_text(1.0)
    ('33.3', '0.41', '0.0', '100.0')
    """
    if not math.isfinite(share):
        return NO_NUMBER
    clipped = 100.0 * min(max(share, 0.0), 1.0)
    return f"{clipped:.2f}" if 0.0 < clipped < 0.95 else f"{clipped:.1f}"


def interval_text(interval: tuple[float, float] | None) -> str:
    """An interval of shares in percent.

    >>> interval_text((-0.01, 0.052)), interval_text(None)
    ('0.0 to 5.2', '–')
    """
    return NO_NUMBER if interval is None else f"{percent_text(interval[0])} to {percent_text(interval[1])}"


def estimate_text(found: Estimate) -> str:
    """An estimate, unless it is too noisy, and its interval, kept to what is possible.

    >>> estimate_text(Estimate(1234.4, 5.1, (-1.0, 2468.0), 0.95, "table", (), "", "rows", (0.0, math.inf)))
    '1234 (0 to 2468)'
    """
    if found.interval is None:
        return _kept(found, found.estimate)
    low, high = (_kept(found, end) for end in found.interval)
    return f"{TOO_NOISY if found.is_too_noisy else _kept(found, found.estimate)} ({low} to {high})"


def powers(text: str) -> str:
    """Text in which small numbers are written as powers of ten.

    >>> powers("plus 1e-06, or 2.5e-12")
    'plus 10⁻⁶, or 2.5 · 10⁻¹²'
    """
    return re.sub(r"\b(\d(?:\.\d+)?)e-0*(\d+)\b", _power_of_ten, text)


def _power_of_ten(found: re.Match[str]) -> str:
    power = found[2].translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10⁻{power}" if found[1] == "1" else f"{found[1]} · 10⁻{power}"


def _kept(found: Estimate, value: float) -> str:
    """A number with the digits that its error leaves it, and thousands apart."""
    if math.isnan(value):
        return NO_NUMBER
    low, high = found.possible
    kept = min(max(value, low), high)
    if found.se is None or not found.se > 0.0:
        return number_text(kept)
    return _apart(kept, min(max(-math.floor(math.log10(found.se)), 0), 9))
