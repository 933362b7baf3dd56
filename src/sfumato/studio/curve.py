"""The forecast over epsilon: what the best attacker gains, and how wide a count's interval is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.errors import ArgumentError

if TYPE_CHECKING:
    from sfumato.planning.outlook import Outlook
    from sfumato.schema.schema import Schema
    from sfumato.studio.work import Choice

CURVE_POINTS = 21  # of the curves
EPSILON_SPAN = 8.0  # the curves go from epsilon / EPSILON_SPAN to epsilon * EPSILON_SPAN
WIDTH, HEIGHT = 300.0, 150.0  # of the drawing


@dataclass(frozen=True)
class Curve:
    """Two curves over epsilon, and what a plan means at the one that is chosen.

    Attributes:
        epsilons: Where they are drawn, evenly on a logarithmic scale; the chosen one is the middle.
        advantages: The attacker's at each; fewer where beyond some epsilon there is no plan.
        counts: Half-widths of a count in the widest column; none where columns are not counted.
        outlook: At the chosen epsilon.
    """

    epsilons: tuple[float, ...]
    advantages: tuple[float, ...]
    counts: tuple[float, ...]
    outlook: Outlook

    @classmethod
    def of(cls, known: Schema, choice: Choice) -> Curve:
        """The forecast for a choice.

        Raises:
            ArgumentError: No plan can be made of it.
        """
        from sfumato.planning.outlook import outlook

        steps = [2.0 * i / (CURVE_POINTS - 1) - 1.0 for i in range(CURVE_POINTS)]
        epsilons = tuple(choice.epsilon * EPSILON_SPAN**step for step in steps)
        here = outlook(choice.plan(known))  # first: what is refused is the epsilon that was typed
        meant = list(_as_far_as_planned(known, choice, epsilons))
        counts = tuple(each.widths.count for each in meant) if here.widths.are_known else ()
        return cls(epsilons, tuple(each.risk.advantage for each in meant), counts, here)

    @property
    def marks(self) -> list[tuple[float, str]]:
        """Where epsilon is written under the drawing."""
        marked = (0, CURVE_POINTS // 2, CURVE_POINTS - 1)
        return [(WIDTH * i / (CURVE_POINTS - 1), f"{self.epsilons[i]:.2g}") for i in marked]

    @property
    def risk_line(self) -> str:
        """The attacker's advantage as points of a line, from 0 at the bottom to 1 at the top."""
        return _points(self.advantages)

    @property
    def count_line(self) -> str:
        """The half-widths as points of a line, on a logarithmic scale."""
        if not self.counts:
            return ""
        low, high = math.log(min(self.counts)), math.log(max(self.counts))
        return _points([(math.log(value) - low) / max(high - low, 1e-9) for value in self.counts])

    @property
    def count_ends(self) -> list[tuple[float, str]]:
        """The widest and the narrowest half-width, where they are written beside the drawing."""
        ends = ((0.0, max(self.counts)), (HEIGHT, min(self.counts))) if self.counts else ()
        return [(y, f"{value:,.0f}") for y, value in ends]

    @property
    def risk_now(self) -> float:
        """How high the advantage stands at the chosen epsilon, in the drawing."""
        return HEIGHT * (1.0 - self.advantages[CURVE_POINTS // 2])


def _as_far_as_planned(known: Schema, choice: Choice, epsilons: Sequence[float]) -> Iterator[Outlook]:
    """What each epsilon means, up to the first beyond the chosen one that is finer than noise can be drawn."""
    from sfumato.planning.outlook import outlook

    for epsilon in epsilons:
        try:
            yield outlook(choice.plan(known, epsilon))
        except ArgumentError:
            if epsilon <= choice.epsilon:
                raise
            return


def _points(heights: Sequence[float]) -> str:
    return " ".join(
        f"{WIDTH * i / (CURVE_POINTS - 1):.1f},{HEIGHT * (1.0 - each):.1f}" for i, each in enumerate(heights)
    )
