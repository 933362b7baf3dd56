"""What the guarantee of a release means for one unit of the table, in a sentence that is true of its adjacency."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.text import one_line, rounded_up

if TYPE_CHECKING:
    from sfumato.guarantee import Guarantee


def promise(guarantee: Guarantee, *, shows_rows: bool) -> str:
    """What whoever reads the file can learn about one unit; `shows_rows` where every row is in it, with noise."""
    joint = guarantee.joint
    if joint is not None and joint.own is not None and joint.groups > 1:
        own = replace(guarantee, epsilon=joint.own.epsilon, delta=joint.own.delta, mu=joint.own.mu, joint=None)
        return f"For whoever is in the rows of one group of people only: {promise(own, shows_rows=shows_rows)}"
    if not guarantee.secure:
        return "Nothing is promised: whoever has the seed can take the noise away."
    return (
        f"Whoever reads this file learns almost the same {_neighbours(guarantee, shows_rows)}: no conclusion has more "
        f"than exp({rounded_up(guarantee.epsilon)}) times the probability that it would have otherwise, "
        f"plus {rounded_up(guarantee.delta)}."
    )


def _neighbours(guarantee: Guarantee, shows_rows: bool) -> str:
    """The two tables that cannot be told apart, and what is public beside."""
    unit = one_line(guarantee.unit)
    one, was = ("any one row", "was") if unit == "row" else (f"the rows of any one {unit}", "were")
    if guarantee.adjacency == "label":
        return f"whatever the label of {one} was (only labels are protected: everything else counts as public)"
    if guarantee.adjacency == "replace-one":
        shown = "every row is in it, with noise, and " if shows_rows else ""
        many = "rows" if unit == "row" else f"different {unit}"
        return f"whatever {one} said ({shown}how many {many} there are is public)"
    return f"whether or not {one} {was} in the table"
