"""A mechanism as another package would write it: histograms, and columns that are independent in every class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.config import option
from sfumato.encoding.marginals import Counted, clean
from sfumato.encoding.scores import Scores
from sfumato.errors import ArgumentError
from sfumato.mechanisms import Plan, Public
from sfumato.mechanisms.asker import Asker, Seen
from sfumato.mechanisms.budget import Share, as_rounds
from sfumato.mechanisms.questions import unpack
from sfumato.models import GaussianMixture, MixtureModel
from sfumato.private.queries.histograms import Histograms


@dataclass(frozen=True)
class Independent:
    """Every column on its own.

    Args:
        first: Share of the histograms' budget that the first column gets; the others divide the rest.
    """

    first: float = option(0.5, help="Share of the budget that the first column gets.", unit="share")

    name: ClassVar[str] = "independent"

    def __post_init__(self) -> None:
        if not 0.0 < self.first < 1.0:
            raise ArgumentError(f"first must lie between 0 and 1, not {self.first!r}")

    def plan(self, public: Public) -> Plan:
        """One round."""
        others = len(public.layout.names) - 1
        columns = (self.first, *((1.0 - self.first) / others for _ in range(others)))
        rounds = as_rounds([Share("histograms", 1.0, "every column's distribution")], public.mu)
        return Plan(self.name, "scores", public, public.mu, rounds, columns)

    def run(self, curator: Asker, plan: Plan) -> MixtureModel:
        """Ask it, and draw every column by itself."""
        layout = plan.layout
        query = Histograms(layout.sizes, layout.classes, plan.part(tuple))
        answer = Seen(curator, layout).total("histograms", query, plan.budget("histograms", curator.remaining))
        columns = zip(unpack(query, answer.values), unpack(query, answer.sd), strict=True)
        marginals = clean([Counted.of(noisy, sd[0, 0]) for noisy, sd in columns], layout.bins)
        dim = len(layout.names)
        mixture = GaussianMixture(
            marginals.weights, np.zeros((layout.classes, dim)), np.stack([np.eye(dim)] * layout.classes)
        )
        return MixtureModel(layout, Scores.of(marginals, layout.bins), mixture)
