"""What every model of a release can do, and the table of their kinds.

A model is a frozen object of noisy answers and public facts: it draws rows, and some models score and classify rows
that were coded for them. It never opens a table. A file names its model by its kind, and holds numbers and no code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
import pandas as pd

from sfumato.arrays import Insist, NamedArrays, Specs
from sfumato.errors import ArgumentError
from sfumato.guarantee import Guarantee
from sfumato.schema.layout import FloatArray, IntArray, Layout


@dataclass(frozen=True)
class Rejection:
    """How rows are drawn of which only some are kept."""

    draws_a_row: int = 1000  # it gives up after drawing so many rows for each one wanted
    fewest: int = 1000  # drawn at a time
    most: int = 1 << 16

    def size(self, wanted: int, rate: float) -> int:
        """How many to draw at a time for so many more, where this share was kept so far."""
        return int(np.clip(wanted / rate * 1.2, self.fewest, self.most))


REJECTION = Rejection()


@dataclass(frozen=True)
class CodedRows:
    """New rows for a model to judge, coded by whoever read them.

    Attributes:
        codes: For each feature the bin of every row, below 0 where a cell has no place; () where columns are in groups.
        values: For each feature the value of every row; None for categories.
    """

    codes: tuple[IntArray, ...]
    values: tuple[FloatArray | None, ...]


@dataclass(frozen=True)
class GivenCell:
    """What a column is held at.

    Attributes:
        code: The bin.
        value: The value inside it where the column is ordered; None otherwise.
    """

    code: int
    value: float | None


class Model(Protocol):
    """A distribution of rows that a release publishes.

    Attributes:
        kind: The name of this kind of model in a file.
        row_spends: The rounds that bought noisy rows, whose cost `check_guarantee` judges by its own measure.
    """

    kind: ClassVar[str]
    row_spends: ClassVar[tuple[str, ...]]

    @property
    def layout(self) -> Layout:
        """The public bins of the schema."""

    @property
    def encoding(self) -> str:
        """How columns become numbers."""

    @property
    def class_weights(self) -> FloatArray:
        """How often each class comes."""

    def check_given(self, names: Iterable[str]) -> None:
        """Refuse columns that cannot be held at a value.

        Args:
            names: The columns.

        Raises:
            ArgumentError: One of them cannot.
        """

    def condition(self, given: Mapping[str, GivenCell]) -> Any:
        """What `draw` needs to hold columns at values.

        Args:
            given: By column, what it is held at.

        Returns:
            An object that means nothing to anyone else.
        """

    def draw(self, n: int, rng: np.random.Generator, condition: Any = None) -> tuple[list[pd.Series[Any]], IntArray]:
        """Draw synthetic rows.

        Args:
            n: How many.
            rng: Where random numbers come from.
            condition: What `condition` returned; None to hold no column.

        Returns:
            Feature columns in the schema's types, and the class of each row.
        """

    def log_joint(self, rows: CodedRows) -> FloatArray:
        """The log density log p(x, class).

        Args:
            rows: New rows.

        Returns:
            An array (rows, classes).

        Raises:
            ArgumentError: The model has no density.
        """

    def log_posterior(self, rows: CodedRows) -> FloatArray:
        """The log probabilities log p(class | x).

        Args:
            rows: New rows.

        Returns:
            An array (rows, classes).

        Raises:
            ArgumentError: The model does not classify.
        """

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """The model for a file.

        Returns:
            Facts of plain JSON values, and arrays by name.
        """

    @classmethod
    def shapes(cls, layout: Layout, facts: Mapping[str, Any], insist: Insist) -> Specs:
        """Which arrays belong to the facts of a file, and of what size; checks the facts.

        Args:
            layout: The public bins of the schema.
            facts: Those of `to_arrays`, from a file that nobody vouches for.
            insist: Refuses the file unless its first argument holds.

        Returns:
            The arrays by name.
        """

    @classmethod
    def from_arrays(cls, layout: Layout, facts: Mapping[str, Any], arrays: NamedArrays, insist: Insist) -> Model:
        """The model of a file, every number checked.

        Args:
            layout: The public bins of the schema.
            facts: Those of `to_arrays`, which `shapes` has checked.
            arrays: Those of `to_arrays`, of the shapes that they should have.
            insist: Refuses the file unless its first argument holds.

        Returns:
            The model.
        """

    def check_guarantee(self, guarantee: Guarantee, unit_rows: int, insist: Insist) -> None:
        """Refuse a guarantee that does not cover what the model holds.

        Args:
            guarantee: The guarantee of the file.
            unit_rows: How many rows of a unit count; 1 where the unit is a row.
            insist: Refuses the file unless its first argument holds.
        """


@runtime_checkable
class Trainable(Protocol):
    """A model that may be trained further on the noisy answers that it holds."""

    def train(
        self,
        training: Any = None,
        *,
        module: Any = None,
        warm: bool = False,
        resume: bool = False,
        keep: Callable[[Any], None] | None = None,
        on_step: Callable[[int, int, float], None] = lambda step, steps, loss: None,
    ) -> Model:
        """The model trained.

        Args:
            training: The settings; None for the defaults.
            module: A network of the user's own.
            warm: Begin with the weights of this model.
            resume: Go on with a training that was interrupted.
            keep: Is handed the model on the way, to be kept.
            on_step: Hears the step, how many there are at most, and the loss.

        Returns:
            The trained model.

        Raises:
            ArgumentError: The arguments do not go together.
        """


_KINDS: dict[str, type[Model]] = {}
AnyModel = TypeVar("AnyModel", bound=Model)


def register_model(model: type[AnyModel]) -> type[AnyModel]:
    """Let files name a kind of model. A class decorator; packages outside may use it for models of their own.

    Args:
        model: A class with the methods of `Model`; its `kind` is what files will say.

    Returns:
        The class itself.

    Raises:
        ArgumentError: If its kind is not a short lower-case name, or another class has it.
    """
    if re.fullmatch("[a-z][a-z0-9_.-]{0,63}", model.kind) is None:
        raise ArgumentError(f"the kind of a model is a short name in lower case, not {model.kind!r}")
    known = _KINDS.setdefault(model.kind, model)
    if known is not model and (known.__module__, known.__qualname__) != (model.__module__, model.__qualname__):
        raise ArgumentError(f"there is another model of kind {model.kind!r}: {known.__module__}.{known.__qualname__}")
    _KINDS[model.kind] = model
    return model


def find_model(kind: str) -> type[Model] | None:
    """The class of a kind of model.

    Args:
        kind: The name of the kind in a file.

    Returns:
        The class; None where there is none of that name.
    """
    return _KINDS.get(kind)
