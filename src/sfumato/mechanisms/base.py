"""What a mechanism is: a frozen config that plans from public facts alone, and runs through the curator.

`Public` is all that a plan may depend on, `Plan` what it says, `Mechanism` the two methods that a fourth one has to
write. This module imports nothing heavy, so that the command line can list options without numpy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, runtime_checkable

from sfumato.errors import ArgumentError
from sfumato.text import rounded_up

if TYPE_CHECKING:
    from sfumato.mechanisms.asker import Asker
    from sfumato.models.base import Model
    from sfumato.private.accounting import Adjacency
    from sfumato.private.slicing.law import Slices
    from sfumato.schema.layout import Layout
    from sfumato.schema.rules import Modelling
    from sfumato.training.settings import Training

DEFAULT_ROWS = 10_000  # a public guess, where the user makes none
LARGEST_GUESS = 1 << 60

Part = TypeVar("Part")


@dataclass(frozen=True)
class Public:
    """All that a plan may depend on.

    Attributes:
        layout: The schema's columns as bins, classes and groups.
        epsilon: As asked.
        delta: As asked.
        delta_left: What is left of delta once collisions of unit keys are allowed for.
        mu: The Gaussian DP parameter that (epsilon, delta_left) buys.
        adjacency: Which tables are neighbours.
        rows: A public guess at the number of rows, or None.
        unit_rows: How many rows of a unit count; None where the unit is a row.
        modelling: The rules between columns; None where there are none.
    """

    layout: Layout = field(repr=False, compare=False)  # its bins are arrays
    epsilon: float
    delta: float
    delta_left: float
    mu: float
    adjacency: Adjacency
    rows: int | None = None
    unit_rows: int | None = None
    modelling: Modelling | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        rows = self.guess
        if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= LARGEST_GUESS:
            raise ArgumentError(
                f"rows must be a whole number above 0, a public guess at the number of rows, not {self.rows!r}"
            )

    @property
    def guess(self) -> int:
        """The guess at the number of rows that plans are made with."""
        return DEFAULT_ROWS if self.rows is None else self.rows

    @property
    def noise_factor(self) -> float:
        """How many times the noise's variance is what it would be for one row added or removed.

        A replacement or a changed label moves a query by about sqrt(2), a unit by its rows. (A few queries move
        further; the curator charges each by its own bound, and only the forecast is off.)
        """
        return (1.0 if self.adjacency == "add-remove" else 2.0) * (self.unit_rows or 1) ** 2


@dataclass(frozen=True)
class Round:
    """One question of a plan.

    Attributes:
        name: The name, the same for all rounds that repeat.
        share: Its part of the squared budget.
        mu: What it will cost, in Gaussian DP.
        purpose: What it is for, in a few words.
        number: From 1 where the round repeats; None where it does not.
    """

    name: str
    share: float
    mu: float
    purpose: str
    number: int | None = None

    @property
    def title(self) -> str:
        """The name that is charged and shown: "cells 2" for the second round of cells."""
        return self.name if self.number is None else f"{self.name} {self.number}"


@dataclass(frozen=True, repr=False)
class Plan:
    """What a fit will ask and the loss to expect: a public function of public arguments.

    Attributes:
        mechanism: The name of the mechanism that made the plan, and that can run it.
        encoding: The name of the encoding that columns go through.
        public: All that the plan depends on.
        mu: The Gaussian DP parameter of all rounds together. (Slices that are set aside come on top of it.)
        rounds: Every question, in the order in which it is asked.
        details: What only the mechanism itself needs to know: a frozen dataclass of its own.
        expected_kl: The loss to expect of each part, in nats a row; empty where it is not forecast.
        notes: What else is worth showing, by name.
        slices: Noisy slices of every row that are set aside beside mu.
        values: Whether the source must keep values and not only their bins.
        training: How a generator is trained once everything is bought; None where nothing is.

    Example:
        >>> import sfumato as sf
        >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
        >>> plan = sf.plan(schema, epsilon=1, delta=1e-6, mechanism=sf.Mixture(components=1))
        >>> [round.title for round in plan.rounds]
        ['histograms', 'moments', 'moments again']
        >>> plan.round("histograms").share > 0.5
        True
    """

    mechanism: str
    encoding: str
    public: Public
    mu: float
    rounds: tuple[Round, ...]
    details: Any
    expected_kl: Mapping[str, float] = field(default_factory=dict)
    notes: Mapping[str, str | int | float] = field(default_factory=dict)
    slices: tuple[Slices, ...] = ()
    values: bool = False
    training: Training | None = None

    def __repr__(self) -> str:
        asked = ", ".join(f"{each.title} {each.share:.0%}" for each in self.rounds)
        cost = f"epsilon={self.epsilon:g}, delta={self.delta:g}, mu={rounded_up(self.mu, 5)}"
        return f"Plan({self.mechanism}, {cost}: {asked})"

    @property
    def layout(self) -> Layout:
        """The schema's columns as bins, classes and groups."""
        return self.public.layout

    @property
    def epsilon(self) -> float:
        """As asked."""
        return self.public.epsilon

    @property
    def delta(self) -> float:
        """As asked."""
        return self.public.delta

    @property
    def adjacency(self) -> Adjacency:
        """Which tables are neighbours."""
        return self.public.adjacency

    @property
    def rows(self) -> int:
        """The guess at the number of rows that the plan was made with."""
        return self.public.guess

    @property
    def classes(self) -> int:
        """How many classes the label has; 1 without a label."""
        return self.layout.classes

    @property
    def columns(self) -> int:
        """How many columns there are beside the label."""
        return len(self.layout.names)

    @property
    def cells(self) -> int:
        """How many cells the histograms of all columns and classes have."""
        return self.layout.classes * sum(self.layout.sizes)

    def has(self, name: str) -> bool:
        """Whether any round has this name.

        Args:
            name: Of the round, without a number.

        Returns:
            True if there is one, or several.
        """
        return any(each.name == name for each in self.rounds)

    def round(self, name: str, number: int | None = None) -> Round:
        """The round of this name, and of this number where it repeats.

        Args:
            name: Of the round.
            number: Which one, from 1, where it repeats.

        Returns:
            The round.

        Raises:
            KeyError: There is no such round.
        """
        for each in self.rounds:
            if (each.name, each.number) == (name, number):
                return each
        raise KeyError(name if number is None else f"{name} {number}")

    def repeats(self, name: str) -> tuple[Round, ...]:
        """All rounds of this name, in order.

        Args:
            name: Of the rounds, without a number.

        Returns:
            The rounds; none where the plan has none.
        """
        return tuple(each for each in self.rounds if each.name == name)

    def spend(self, each: Round) -> float:
        """The squared mu of a round.

        Args:
            each: A round of this plan.

        Returns:
            What the curator is asked to charge.
        """
        return each.share * self.mu**2

    def kept(self, *names: str) -> float:
        """The squared mu of all rounds of these names.

        Args:
            names: Of rounds, without a number.

        Returns:
            What is to be kept for them.
        """
        return sum(each.share for each in self.rounds if each.name in names) * self.mu**2

    def budget(self, name: str, at_most: float = math.inf) -> float:
        """The squared mu of the round of this name.

        Args:
            name: Of a round that does not repeat.
            at_most: What is left of the budget: sums of shares carry roundings.

        Returns:
            What the curator is asked to charge.

        Raises:
            KeyError: There is no such round.
        """
        return min(self.spend(self.round(name)), at_most)

    def on(self, layout: Layout) -> Plan:
        """The same plan for other bins of the same columns.

        Args:
            layout: With the bins that noisy answers led to.

        Returns:
            The plan.
        """
        return replace(self, public=replace(self.public, layout=layout))

    def part(self, kind: type[Part]) -> Part:
        """The details, which must be of the mechanism that asks.

        Args:
            kind: The class of its details.

        Returns:
            The details.

        Raises:
            ArgumentError: The plan was made by another mechanism.
        """
        if not isinstance(self.details, kind):
            raise ArgumentError(f"this plan was made by mechanism '{self.mechanism}', which alone can run it")
        return self.details


@runtime_checkable
class Mechanism(Protocol):
    """A frozen config whose fields are its options. It never holds a row: it asks the curator.

    A mechanism of one's own is a frozen dataclass with a `name`, these two methods, and one line that registers it
    (`sfumato.mechanisms.register`, or an entry point of the group `sfumato.mechanisms`).

    Attributes:
        name: By which it is found and shown.
    """

    name: ClassVar[str]

    def plan(self, public: Public) -> Plan:
        """Divide the budget between rounds, without touching any data.

        Args:
            public: All that the plan may depend on.

        Returns:
            The plan, which this mechanism can run.

        Raises:
            ArgumentError: Options and schema do not go together.
        """

    def run(self, curator: Asker, plan: Plan) -> Model:
        """Ask every round of the plan, and build a model from the noisy answers.

        Args:
            curator: Whoever answers questions: the curator, or something that talks to it.
            plan: A plan of this mechanism's own.

        Returns:
            The model.

        Raises:
            ArgumentError: The plan was made by another mechanism.
        """
