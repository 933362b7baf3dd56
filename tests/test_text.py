"""Text that is compared, text that is shown, and figures that are rounded to the side on which they hold."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.text import LONGEST_SHOWN, canonical, one_line, rounded_down, rounded_up


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\t a b \r\n", "a b"),
        ("\u00a0a", "\u00a0a"),  # no blank of ASCII
        ("10.", "10"),
        ("10.000", "10"),
        ("-0.0", "0"),
        ("-0", "0"),
        ("-7.0", "-7"),
        ("007", "007"),
        ("007.0", "007.0"),
        (".0", ".0"),
        ("+1.0", "+1.0"),
        ("1.0e3", "1.0e3"),
        ("True", "true"),
        ("FALSE", "false"),
        ("tRUE", "tRUE"),
        ("", ""),
    ],
)
def test_spellings_of_one_value(text: str, expected: str) -> None:
    assert canonical(text) == expected


@given(st.text(st.sampled_from(" \t-0123456789.TRUEtruefalsA")))
def test_what_is_canonical_stays_so(text: str) -> None:
    assert canonical(canonical(text)) == canonical(text)


@given(st.text(max_size=3 * LONGEST_SHOWN))
def test_foreign_text_becomes_one_short_line(text: str) -> None:
    line = one_line(text)
    assert line.isprintable()
    assert len(line) <= LONGEST_SHOWN + len("...")


def test_long_text_is_cut_with_a_sign() -> None:
    assert one_line("x" * LONGEST_SHOWN) == "x" * LONGEST_SHOWN
    assert one_line("x" * (LONGEST_SHOWN + 1)) == "x" * LONGEST_SHOWN + "..."


@given(st.floats(1e-12, 1e12), st.integers(1, 8))
def test_figures_are_rounded_to_the_side_on_which_they_hold(value: float, digits: int) -> None:
    low, high = Decimal(rounded_down(value, digits)), Decimal(rounded_up(value, digits))
    exact = Decimal(repr(value))
    assert low <= exact <= high
    assert high - low <= exact * Decimal(10) ** (1 - digits)
