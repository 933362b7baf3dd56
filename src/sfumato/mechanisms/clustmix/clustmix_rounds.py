"""How clustmix divides its budget before any row is seen: cells are found, then their points, then their shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.mechanisms.adapting import Adapting, refuse_alpha, what_adapts
from sfumato.mechanisms.base import Plan, Public
from sfumato.mechanisms.budget import Share, as_rounds, repeated
from sfumato.mechanisms.encodings import Encoding
from sfumato.mechanisms.encodings.group_encoding import GroupEncoding
from sfumato.mechanisms.encodings.score_encoding import HistogramOpening, ScoreEncoding, cell_sd

if TYPE_CHECKING:
    from sfumato.mechanisms.clustmix.clustmix_mechanism import Clustmix


@dataclass(frozen=True)
class ClustmixDetails:
    """What a run needs to know beside its rounds: cells a class begins with (None: as many as `sigma_max` allows), and
    how columns divide the histograms' budget, where there are histograms.
    """

    components: int | None
    sigma_max: float
    histograms: HistogramOpening | None = None


def encoding_of(mechanism: Clustmix, public: Public) -> Encoding:
    """The encoding of the schema: that of a projection, where columns are in groups."""
    tuning = mechanism.tuning
    if public.layout.groups:
        return GroupEncoding(tuning.groups)
    return ScoreEncoding(tuning.histograms, tuning.labels)


def plan_clustmix(mechanism: Clustmix, public: Public) -> Plan:
    """The encoding's rounds around those of the cells, then what is adapted."""
    encoding = encoding_of(mechanism, public)
    tuning = mechanism.tuning.cells(encoding.name)
    adapted = what_adapts(mechanism.adapt, public, encoding.name)
    refuse_alpha(mechanism.alpha, adapted, encoding.name)
    aside = Adapting.of(adapted, encoding, public, mechanism.tuning.points.share)
    opening = encoding.rounds(public, aside.kept)
    rest = opening.inside
    cells = f"round {{i}} of {tuning.rounds} of cutting each class into cells"
    inside = (
        *repeated("cells", tuning.rounds, rest * tuning.share, cells),
        Share(
            "points",
            rest * tuning.point_share,
            "how many rows each cell holds, where their mean is, how far they spread",
        ),
        Share("shapes", rest * tuning.shape_share, "the shape that the cells of a class share"),
    )
    shares = aside.after((*opening.first, *inside), opening.last)
    histograms = opening if isinstance(opening, HistogramOpening) else None
    number = mechanism.components if isinstance(mechanism.components, int) else None
    sigma_max = tuning.sigma_max if mechanism.sigma_max is None else float(mechanism.sigma_max)
    notes: dict[str, str | int | float] = {"cells a class begins with": "auto" if number is None else number}
    if histograms is not None:
        notes["noise on a histogram cell (rows)"] = cell_sd(public, public.mu, shares, histograms)
    details = ClustmixDetails(number, sigma_max, histograms)
    rounds = as_rounds(shares, public.mu)
    return Plan(mechanism.name, encoding.name, public, public.mu, rounds, details, notes=notes)
