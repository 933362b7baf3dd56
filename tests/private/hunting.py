"""How Hypothesis is set to hunting for neighbours that break a bound."""

from collections.abc import Callable
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st


def look_for(cases: st.SearchStrategy[Any], holds: Callable[[Any], None], examples: int) -> None:
    """Try that many cases, the same ones each time; the first for which `holds` fails is raised as it is."""
    set_up = settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    set_up(given(cases)(holds))()
