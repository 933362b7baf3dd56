"""From wishes to epsilon: the largest that a limit on the risk allows, the smallest that a wanted accuracy needs.

Both are found by bisection over plans: more epsilon means more risk and, but for a few jumps, narrower intervals. They
are told in three digits, rounded to the side on which the wish still holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.api import plan
from sfumato.errors import ArgumentError
from sfumato.planning.risk import Risk, check_share
from sfumato.planning.widths import Widths
from sfumato.schema.schema import Schema
from sfumato.text import rounded_down, rounded_up

if TYPE_CHECKING:
    from sfumato.mechanisms import Mechanism, Plan

SMALLEST, LARGEST = 1e-3, 100.0  # epsilon that is looked for
STRIDE = 1.2  # from one epsilon that is tried to the next
BISECTIONS = 40  # of the bisection, over the logarithm
Planner = Callable[[float], "Plan"]


@dataclass(frozen=True)
class Wish:
    """That something of a plan is at most so much.

    Attributes:
        words: What is wished for.
        measure: What it is of a plan.
        most: How much it may be.
        reason: What else could be done where no epsilon is enough.
    """

    words: str
    measure: Callable[[Plan], float]
    most: float
    reason: str

    def holds(self, made: Plan) -> bool:
        """Whether a plan fulfils it.

        Args:
            made: The plan.

        Returns:
            True where it does.
        """
        return self.measure(made) <= self.most


@dataclass(frozen=True)
class Wishes:
    """What a release must not tell, and how accurate it must be.

    Args:
        max_advantage: The attacker's advantage at the most, 0.1 for example.
        tpr_at: A share of false alarms, and the share of true positives that an attacker may have there at the most.
        count_within: The half-width of the 95 % interval of the rows in one bin or category of any column.
        mean: That of means, by column, in their own units.
        guesses: Public guesses at means, by column, that half-widths are told for; the middle of the bins for others.

    Raises:
        ArgumentError: A wish is out of its range, or there is none.

    Example:
        >>> [wish.words for wish in Wishes(max_advantage=0.1, mean={"age": 0.5}).all]
        ['an advantage of at most 0.1', "a mean of 'age' within 0.5"]
    """

    max_advantage: float | None = None
    tpr_at: tuple[float, float] | None = None
    count_within: float | None = None
    mean: Mapping[str, float] = field(default_factory=dict)
    guesses: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.max_advantage is not None:
            check_share("the attacker's advantage", self.max_advantage)
        if self.tpr_at is not None:
            _check_rates(*self.tpr_at)
        if self.count_within is not None:
            _check_width("a count", self.count_within)
        for column, width in self.mean.items():
            _check_width(f"the mean of {column!r}", width)
        if not self.all:
            raise ArgumentError("there is no wish: say what the risk may be, or how accurate the release must be")

    @property
    def all(self) -> tuple[Wish, ...]:
        """All of them."""
        return (*self.limits, *self.needs)

    @property
    def limits(self) -> tuple[Wish, ...]:
        """Those that limit the risk, and so epsilon from above."""
        more = "allow more"
        found = []
        if self.max_advantage is not None:
            words = f"an advantage of at most {self.max_advantage:g}"
            found.append(Wish(words, lambda made: Risk.of(made).advantage, self.max_advantage, more))
        if self.tpr_at is not None:
            false, true = self.tpr_at
            words = f"at most {true:g} true positives at {false:g} false alarms"
            found.append(Wish(words, lambda made: Risk.of(made).true_positives(false), true, more))
        return tuple(found)

    @property
    def needs(self) -> tuple[Wish, ...]:
        """Those that ask for accuracy, and so limit epsilon from below."""
        found = []
        if self.count_within is not None:
            words = f"a count within {self.count_within:g}"
            found.append(Wish(words, lambda made: self._widths(made).count, self.count_within, "ask for less"))
        for column, width in self.mean.items():
            words = f"a mean of {column!r} within {width:g}"
            reason = "its bins alone may be wider: name finer ones, or a step; or more rows are needed"
            found.append(Wish(words, lambda made, name=column: self._widths(made).mean(name), width, reason))  # type: ignore[misc]
        return tuple(found)

    def _widths(self, made: Plan) -> Widths:
        return Widths(made, self.guesses)


@dataclass(frozen=True)
class EpsilonRange:
    """What wishes leave of epsilon.

    Attributes:
        needed: The smallest epsilon that is accurate enough; None where no accuracy was wished for.
        allowed: The largest epsilon that is safe enough; None where no risk was limited.
        needed_for: The wish that needs most, in words.
        allowed_by: The wish that allows least, in words.

    Example:
        >>> print(EpsilonRange(None, 1.06, allowed_by="an advantage of at most 0.1"))
        an advantage of at most 0.1 allows epsilon 1.06 at most
    """

    needed: float | None
    allowed: float | None
    needed_for: str = ""
    allowed_by: str = ""

    @property
    def epsilon(self) -> float:
        """The one to take: no more than is needed, or all that is allowed where nothing is needed."""
        found = self.allowed if self.needed is None else self.needed
        assert found is not None
        return found

    @property
    def is_empty(self) -> bool:
        """Whether more is needed than is allowed."""
        return self.needed is not None and self.allowed is not None and self.needed > self.allowed

    def __str__(self) -> str:
        parts = []
        if self.needed is not None:
            parts.append(f"{self.needed_for} needs epsilon {self.needed:g} at least")
        if self.allowed is not None:
            parts.append(f"{self.allowed_by} allows epsilon {self.allowed:g} at most")
        return ", ".join(parts)


def epsilon_for(
    schema: Schema | dict[str, Any] | str | Path,
    wishes: Wishes,
    *,
    delta: float,
    mechanism: str | Mechanism = "mixture",
    adjacency: str = "add-remove",
    rows: int | None = None,
) -> EpsilonRange:
    """Which epsilon wishes need and allow, without touching any data.

    Args:
        schema: What is publicly known about the columns, as for `sf.plan`.
        wishes: What the release must not tell, and how accurate it must be.
        delta: The probability that it tells more than epsilon.
        mechanism: As for `sf.plan`.
        adjacency: As for `sf.plan`.
        rows: A public guess at the number of rows; accuracies are told for so many.

    Returns:
        The smallest epsilon that is needed, and the largest that is allowed.

    Raises:
        ArgumentError: The wishes exclude each other, or no epsilon fulfils one of them.

    Example:
        >>> import sfumato as sf
        >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
        >>> found = sf.epsilon_for(schema, sf.Wishes(max_advantage=0.1, count_within=20), delta=1e-6, rows=5000)
        >>> found.needed < found.allowed
        True
    """
    known = Schema.load(schema) if isinstance(schema, str | Path) else Schema.of(schema)

    def planned(epsilon: float) -> Plan:
        return plan(known, epsilon=epsilon, delta=delta, mechanism=mechanism, adjacency=adjacency, rows=rows)

    allowed = min(((_largest(each, planned), each.words) for each in wishes.limits), default=(None, ""))
    needed = max(((_smallest(each, planned), each.words) for each in wishes.needs), default=(None, ""))
    found = EpsilonRange(needed[0], allowed[0], needed[1], allowed[1])
    if found.is_empty:
        raise ArgumentError(f"the wishes exclude each other: {found}; allow more risk, or ask for less accuracy")
    return found


def _largest(wish: Wish, planned: Planner) -> float:
    """The largest epsilon at which a limit is kept."""
    if wish.holds(planned(LARGEST)):
        return LARGEST
    if not wish.holds(planned(SMALLEST)):
        raise ArgumentError(_refusal(wish, planned, SMALLEST))
    return float(rounded_down(_turn(wish, planned, SMALLEST, LARGEST)))


def _smallest(wish: Wish, planned: Planner) -> float:
    """The smallest epsilon at which something is accurate enough.

    Widths do not always fall: with more to spend a plan may ask for more, such as columns by class. So epsilons are
    tried from below, and the first that is enough is followed down.
    """
    tried = [SMALLEST * STRIDE**i for i in range(round(math.log(LARGEST / SMALLEST) / math.log(STRIDE)))] + [LARGEST]
    enough = next((i for i, epsilon in enumerate(tried) if wish.holds(planned(epsilon))), None)
    if enough is None:
        raise ArgumentError(_refusal(wish, planned, LARGEST))
    if enough == 0:
        return SMALLEST
    found = _turn(wish, planned, tried[enough], tried[enough - 1])
    told = float(rounded_up(found))
    return told if wish.holds(planned(told)) else found


def _turn(wish: Wish, planned: Planner, holds: float, fails: float) -> float:
    """The last epsilon, on the way from one at which a wish holds to one at which it does not, where it holds."""
    for _ in range(BISECTIONS):
        middle = math.sqrt(holds * fails)
        holds, fails = (middle, fails) if wish.holds(planned(middle)) else (holds, middle)
    return holds


def _refusal(wish: Wish, planned: Planner, epsilon: float) -> str:
    reached = wish.measure(planned(epsilon))
    return f"no epsilon gives {wish.words}: at epsilon {epsilon:g} it is {reached:.3g}; {wish.reason}"


def _check_rates(false: float, true: float) -> None:
    check_share("the share of false alarms", false)
    check_share("the share of true positives", true)
    if true <= false:
        raise ArgumentError(
            f"whoever guesses has {false:g} true positives at {false:g} false alarms: allow more, not {true:g}"
        )


def _check_width(what: str, width: float) -> None:
    if isinstance(width, bool) or not isinstance(width, int | float) or not 0.0 < width < math.inf:
        raise ArgumentError(f"the half-width of {what} must be a number above 0, not {width!r}")
