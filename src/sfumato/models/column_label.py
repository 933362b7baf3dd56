"""A model in which the label is a column like all others: what is asked by class drowns where classes have few rows.

The base model has the label as its last column, and one class. Seen from outside there are classes: drawn rows have
theirs, and log p(x, class) is the base's log density of the row with each label in turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict
from scipy.special import logsumexp

from sfumato.arrays import Insist, NamedArrays, Specs
from sfumato.guarantee import Guarantee
from sfumato.models.base import CodedRows, GivenCell, Model, register_model
from sfumato.models.mixture_model import MixtureModel
from sfumato.models.tilted_model import TiltedModel
from sfumato.private.accounting import Adjacency
from sfumato.schema.column_labels import can_unlabel, labelled, unlabelled
from sfumato.schema.layout import FloatArray, IntArray, Layout

WEIGHED_ROWS = 20_000  # drawn with a fixed seed, to tell how often each class comes


class _Facts(BaseModel):
    """What a file says of such a model."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["mixture", "tilted"]
    base: dict[str, Any]

    @property
    def model(self) -> type[MixtureModel] | type[TiltedModel]:
        """The class of the base."""
        return TiltedModel if self.kind == TiltedModel.kind else MixtureModel


@register_model
@dataclass(frozen=True, eq=False)
class ColumnLabelModel:
    """A model of all columns, the last of which is the label.

    Attributes:
        base: That model, of one class.
        layout: The columns but the label, and the label.
    """

    base: MixtureModel | TiltedModel
    layout: Layout

    kind: ClassVar[str] = "column-label"
    row_spends: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def of(cls, base: MixtureModel | TiltedModel) -> ColumnLabelModel:
        """The model whose label is the last column of another.

        Args:
            base: The other one, which has no label of its own.

        Returns:
            The model.
        """
        return cls(base, labelled(base.layout))

    @property
    def encoding(self) -> str:
        """How columns become numbers."""
        return self.base.encoding

    @cached_property
    def class_weights(self) -> FloatArray:
        """How often each class comes, from rows drawn with a fixed seed."""
        _, labels = self.draw(WEIGHED_ROWS, np.random.default_rng(0))
        return np.asarray(np.bincount(labels, minlength=self.layout.classes) / WEIGHED_ROWS)

    def check_given(self, names: Iterable[str]) -> None:
        """Refuse what the base refuses."""
        self.base.check_given(names)

    def condition(self, given: Mapping[str, GivenCell]) -> Any:
        """What the base makes of given cells; the label is one of its columns."""
        return self.base.condition(given)

    def draw(self, n: int, rng: np.random.Generator, condition: Any = None) -> tuple[list[pd.Series[Any]], IntArray]:
        """Draw n rows, and tell their labels from the other columns."""
        *columns, labels = self.base.draw(n, rng, condition)[0]
        bins = self.layout.label_bins
        assert bins is not None
        classes = np.arange(bins.size)
        known = pd.Index(bins.decode(classes, np.full(bins.size, 0.5)).astype(object))
        found = known.get_indexer(pd.Index(labels.astype(object)))
        return columns, np.where(found < 0, bins.missing, found)

    def log_joint(self, rows: CodedRows) -> FloatArray:
        """The log density log p(x, class), (rows, classes): the base's, of the row with each label."""
        count, values = len(rows.codes[0]), (*rows.values, None)
        labels = (np.full(count, k) for k in range(self.layout.classes))
        joint = [self.base.log_joint(CodedRows((*rows.codes, label), values))[:, 0] for label in labels]
        return np.stack(joint, axis=1)

    def log_posterior(self, rows: CodedRows) -> FloatArray:
        """The log probabilities log p(class | x), (rows, classes); as often as they come where a row cannot be."""
        joint = self.log_joint(rows)
        possible = (joint > -np.inf).any(axis=1, keepdims=True)
        joint = np.where(possible, joint, np.log(np.maximum(self.class_weights, np.finfo(float).tiny)))
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """All that a file keeps: the base."""
        facts, arrays = self.base.to_arrays()
        return {"kind": self.base.kind, "base": facts}, arrays

    @classmethod
    def shapes(cls, layout: Layout, facts: Mapping[str, Any], insist: Insist) -> Specs:
        """The base's arrays."""
        told = _Facts.model_validate(facts)
        insist(can_unlabel(layout), "its label cannot be a column like all others")
        return told.model.shapes(unlabelled(layout), told.base, insist)

    @classmethod
    def from_arrays(
        cls, layout: Layout, facts: Mapping[str, Any], arrays: NamedArrays, insist: Insist
    ) -> ColumnLabelModel:
        """The model of a file: every number checked by the base."""
        told = _Facts.model_validate(facts)
        return cls(told.model.from_arrays(unlabelled(layout), told.base, arrays, insist), layout)

    def check_guarantee(self, guarantee: Guarantee, unit_rows: int, insist: Insist) -> None:
        """No other neighbours than a row more or less: others are told apart by class."""
        insist(
            guarantee.adjacency is Adjacency.ADD_REMOVE, "its label is a column, in another adjacency than add-remove"
        )
        self.base.check_guarantee(guarantee, unit_rows, insist)


def model_asked(model: Model) -> Model:
    """The model of the columns that questions saw.

    Args:
        model: Of a release.

    Returns:
        Its base where the label is one of these columns, and the model itself otherwise.
    """
    return model.base if isinstance(model, ColumnLabelModel) else model


def with_asked(model: Model, asked: MixtureModel | TiltedModel) -> Model:
    """A model like another, with other columns as questions saw them.

    Args:
        model: The other one, of a release.
        asked: What takes the place of `model_asked(model)`.

    Returns:
        The model.
    """
    return replace(model, base=asked) if isinstance(model, ColumnLabelModel) else asked
