"""What would make the intervals of means narrower that are too wide to say much: forecasts of changed schemas.

Noise moves rows between bins, and so a mean by as much as bins lie apart: its interval grows with the bounds, while
those of counts do not. From a long tail the mean of few rows takes most, and a log scale has few bins there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError, SchemaError
from sfumato.planning.widths import WIDE_MEAN, Widths, amount
from sfumato.schema.schema import Schema
from sfumato.text import one_line, percent

if TYPE_CHECKING:
    from sfumato.mechanisms import Plan

MEANS_TOLD = 3  # one by one
BOTH = "both"  # told only where it is better than either


def what_helps(schema: Schema, widths: Widths, replan: Callable[[Schema], Plan]) -> list[str]:
    """What to do about means whose intervals will be wide.

    Args:
        schema: What was planned for.
        widths: The forecast.
        replan: Makes the same plan for another schema.

    Returns:
        A line, and one with figures for each of the first few columns; none where no mean is wide.
    """
    wide = [each for each in widths.columns if each.wide_mean] if widths.are_known else []
    if not wide:
        return []
    rest = f" and {len(wide) - MEANS_TOLD} more" if len(wide) > MEANS_TOLD else ""
    names = ", ".join(one_line(each.column) for each in wide[:MEANS_TOLD]) + rest
    told = (
        f"wide means ({names}): ± more than {percent(WIDE_MEAN)} of the way from the mean to its nearer bound. "
        "What helps: nearer bounds where hardly anyone is beyond them, scale: log, a coarser step, or asking for the "
        "median (quantile 0.5) instead"
    )
    figures = [_figures(schema, widths, each.column, replan) for each in wide[:MEANS_TOLD]]
    return [told, *filter(None, figures)]


def _figures(schema: Schema, widths: Widths, name: str, replan: Callable[[Schema], Plan]) -> str:
    """What the mean of one column would be known to under changes that are likely honest; '' where none helps."""
    now, best, told = widths.mean(name), math.inf, []
    for words, changes in _changes(schema.dump()["columns"].get(name, {})):
        width = _width(schema, widths.guesses, name, changes, replan)
        if width is not None and width < (min(now, best) if words == BOTH else now):
            best = min(best, width)
            told.append(f"± {amount(width)} with {words}")
    return f"  {one_line(name)}: ± {amount(now)}; {', '.join(told)}" if told else ""


def _changes(column: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Changes to a column of numbers, in words and as facts."""
    if column.get("type") != "number":  # one that groups or rules make
        return
    low, high = column["min"], column["max"]
    near = {"min": low / 2, "max": high / 2} if low < 0 else {"max": low + (high - low) / 2}
    bounds = f"{near.get('min', low):g}..{near['max']:g}"
    yield f"half the range ({bounds})", near
    if column.get("scale") != "log" and low >= 0:
        yield "scale: log", {"scale": "log"}
        yield BOTH, near | {"scale": "log"}


def _width(
    schema: Schema, guesses: Mapping[str, float], name: str, changes: dict[str, Any], replan: Callable[[Schema], Plan]
) -> float | None:
    """The forecast for a changed column; None where it cannot be changed so."""
    data = schema.dump()
    data["columns"][name] |= changes
    try:
        return Widths(replan(Schema.of(data)), guesses).mean(name)
    except (ArgumentError, SchemaError):  # bounds off the step's grid, or short of an atom, a rule or a guess
        return None
