"""How the mixture divides its budget before any row is seen: shares that minimise expected KL divergence."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.encoding.affine import check_affine
from sfumato.errors import ArgumentError
from sfumato.mechanisms.adapting import Adapting, refuse_alpha, what_adapts
from sfumato.mechanisms.base import Plan, Public
from sfumato.mechanisms.budget import Share, as_rounds, moment_costs, radius, repeated, scaled
from sfumato.mechanisms.encodings.group_encoding import GroupEncoding, group_round
from sfumato.mechanisms.encodings.score_encoding import HistogramOpening, ScoreEncoding, cell_sd
from sfumato.mechanisms.mixture.affine_forecast import best_forecast, broken_stick
from sfumato.mechanisms.pairs.pair_rounds import TABLES, can_pair, pair_notes, pair_shares
from sfumato.mechanisms.pairs.public_tables import given_share
from sfumato.mechanisms.shared_layout import SharedLayout, shared_layout
from sfumato.private.accounting import Adjacency
from sfumato.schema.column_labels import can_unlabel, unlabelled

if TYPE_CHECKING:
    from sfumato.mechanisms.mixture.mixture_mechanism import Mixture, MixtureTuning

NO_SPREAD = 1e-9  # of a class whose columns are all constant: there is nothing to tell apart


@dataclass(frozen=True)
class MixtureDetails:
    """What a run needs to know beside its rounds: components a class (None: as many as noisy counts say will pay),
    how columns divide the histograms' budget, whether the label is a column like all others, and the layout whose
    tables are asked for, where one has settled them.
    """

    components: int | None
    histograms: HistogramOpening | None = None
    column_label: bool = False
    settled: SharedLayout | None = None


def plan_mixture(mechanism: Mixture, public: Public) -> Plan:
    """Divide the budget, by encoding."""
    if public.layout.groups:
        return _plan_groups(mechanism, public)
    if mechanism.encoding == "affine":
        return _plan_affine(mechanism, public)
    planned, shared = _plan_scores(mechanism, public), shared_layout(mechanism.layout)
    column = _is_column(mechanism, planned) if shared is None else shared.label_column  # all sites ask the same
    if not column:
        return planned
    if shared is None:
        planned = _plan_scores(mechanism, replace(public, layout=unlabelled(public.layout)))
    return replace(planned, details=replace(planned.part(MixtureDetails), column_label=True))


def _is_column(mechanism: Mixture, planned: Plan) -> bool:
    """Whether the label is a column like all others: noise on histograms by class would cost more than they tell."""
    layout, free = planned.layout, mechanism.components is None and mechanism.adapt != "labels"
    able = can_unlabel(layout) and planned.adjacency is Adjacency.ADD_REMOVE and planned.has(TABLES) and free
    if mechanism.label == "column" and not able:
        raise ArgumentError(
            "label='column' needs a category as label, add-remove adjacency, pairs='auto', and neither components "
            "nor adapt='labels'"
        )
    cost = planned.expected_kl["marginals"] / len(layout.names)
    drowns = able and cost > mechanism.tuning.pairs.drowning_label
    return mechanism.label == "column" or (mechanism.label == "auto" and drowns)


def _plan_scores(mechanism: Mixture, public: Public) -> Plan:
    """Histograms, then one Gaussian a class by two looks, or cells and their moments."""
    tuning = mechanism.tuning
    shared = shared_layout(mechanism.layout)
    public = public if shared is None else shared.applied(public)
    encoding = ScoreEncoding(tuning.histograms, tuning.labels, follows_mass=shared is None)
    adapted = what_adapts(mechanism.adapt, public, "scores")
    refuse_alpha(mechanism.alpha, adapted, "scores")
    paired = 0.0
    if mechanism.pairs is not None and can_pair(public.layout) and (shared is None or shared.tables):
        paired = tuning.pairs.share_beside_labels if adapted else tuning.pairs.share
        labels = replace(tuning.labels, share=tuning.pairs.label_share)
        encoding = replace(encoding, label_model=labels)
    aside = Adapting.of(adapted, encoding, public)
    kept = aside.kept * (1.0 - paired)
    opening = encoding.rounds(public, kept)
    number = mechanism.components if isinstance(mechanism.components, int) else None
    if number is None and paired and mechanism.components is None:
        number = 1  # tables say what more Gaussians would
    if number is None:
        rest = opening.inside * (1.0 - tuning.lloyd_share) * kept * public.mu**2 / public.noise_factor
        columns = len(public.layout.names)
        pays = best_number(public.guess / public.layout.classes, columns, columns, rest, tuning)
        number = 1 if pays == 1 else None
    if number == 1:
        pilot = tuning.pilot_share
        inside: tuple[Share, ...] = (
            Share("moments", opening.inside * pilot, "how the columns go together, a first look"),
            Share("moments again", opening.inside * (1.0 - pilot), "the same, in the shape that the first look found"),
        )
    else:
        inside = _cells(opening.inside, tuning)
    shares = scaled(aside.after((*opening.first, *inside)), 1.0 - paired)
    if paired:
        shares = (*shares, *(pair_shares(paired, tuning.pairs) if shared is None else given_share(paired)))
    notes = _notes(number, cell_sd(public, public.mu, shares, opening), opening)
    if paired and shared is None:
        notes |= pair_notes(public, paired, tuning.pairs)
    elif paired and shared is not None:
        notes |= {"of the budget, tables of pairs": f"{paired:.0%}", "tables of the layout": len(shared.tables)}
    details = MixtureDetails(number, opening, settled=shared if paired else None)
    rounds = as_rounds(shares, public.mu)
    return Plan(mechanism.name, "scores", public, public.mu, rounds, details, opening.expected_kl, notes)


def _cells(rest: float, tuning: MixtureTuning) -> tuple[Share, ...]:
    """The rounds where classes have several components: cells are found, then looked into."""
    count = tuning.lloyd_rounds
    purpose = f"round {{i}} of {count} of cutting each class into cells"
    return (
        *repeated("cells", count, rest * tuning.lloyd_share / count, purpose),
        Share("moments", rest * (1.0 - tuning.lloyd_share), "how the columns go together in every cell"),
    )


def _plan_affine(mechanism: Mixture, public: Public) -> Plan:
    """In data units: histograms say where to look, then looks at the moments of classes, or of clusters."""
    layout, tuning = public.layout, mechanism.tuning
    check_affine(layout.bins, layout.names)
    refuse_alpha(mechanism.alpha, what_adapts(mechanism.adapt, public, "affine"), "affine")
    number = None if mechanism.components == "auto" else mechanism.components or 1
    counts = public.guess * broken_stick(layout.classes)
    found = best_forecast(counts, layout.sizes, public.mu / math.sqrt(public.noise_factor), tuning.looks)
    even = (1.0 / len(layout.names),) * len(layout.names)
    where = "where each class lies in every column, and how wide"
    opening = HistogramOpening(found.histogram_share, even, found.moment_shares, found.expected_kl, where)
    if number == 1:
        purpose = f"look {{i}} of {tuning.looks} at its moments, around where it was last seen"
        between: tuple[Share, ...] = ()
    else:
        purpose = f"look {{i}} of {tuning.looks} at the clusters' moments"
        opening = replace(opening, share=tuning.cluster_histogram_share, purpose="where rows lie in every column")
        cells = "how many rows there are in many small cells, to find clusters in"
        between = (Share("summary", tuning.summary_share, cells),)
    rest = 1.0 - opening.share - sum(each.share for each in between)
    looks = repeated("moments", tuning.looks, rest / tuning.looks, purpose)
    shares = (*opening.first, *between, *looks)
    notes = _notes(number, cell_sd(public, public.mu, shares, opening), opening)
    details = MixtureDetails(number, opening)
    rounds = as_rounds(shares, public.mu)
    return Plan(mechanism.name, "affine", public, public.mu, rounds, details, opening.expected_kl, notes, values=True)


def _plan_groups(mechanism: Mixture, public: Public) -> Plan:
    """Columns in groups: one Gaussian a class, in the main directions that all classes share."""
    if mechanism.encoding == "affine":
        raise ArgumentError("columns in groups have an encoding of their own; leave encoding='affine' out")
    if mechanism.layout is not None:
        raise ArgumentError("layout: columns in groups have no bins to share")
    if mechanism.components not in (None, "auto", 1):
        raise ArgumentError("a mixture of columns in groups has one Gaussian a class; mechanism 'clustmix' has more")
    encoding = GroupEncoding(mechanism.tuning.groups)
    adapted = what_adapts(mechanism.adapt, public, "projected")
    refuse_alpha(mechanism.alpha, adapted, "projected")
    opening = encoding.rounds(public)
    aside = Adapting.of(adapted, encoding, public)
    shares = aside.after((*opening.first, group_round("shapes", opening.inside), *opening.last))
    rounds = as_rounds(shares, public.mu)
    notes = {"Gaussians a class": 1}
    return Plan(mechanism.name, encoding.name, public, public.mu, rounds, MixtureDetails(1), notes=notes)


def _notes(number: int | None, sd: float, opening: HistogramOpening) -> dict[str, str | int | float]:
    counts, means, covariances = opening.moment_shares
    return {
        "Gaussians a class": "auto" if number is None else number,
        "noise on a histogram cell (rows)": sd,
        "of each look at the moments, counts / means / covariances": f"{counts:.0%} / {means:.0%} / {covariances:.0%}",
    }


def best_number(count: float, dim: int, spread: float, mu_squared: float, tuning: MixtureTuning) -> int:
    """How many components of a class pay.

    Each of M has count / M rows, so that the noise on covariances costs M^2 times what it costs one; against a gain of
    g log2(M), the best M is sqrt(g / (2 ln 2 cost)). One column alone gains nothing: its marginal is known.
    """
    if spread < NO_SPREAD:
        return 1
    cost = moment_costs(np.array([max(count, 1.0)]), dim, radius(spread)).covariance / mu_squared
    best = math.sqrt(tuning.gain * (dim - 1) / (2.0 * math.log(2.0) * cost))
    return int(np.clip(round(best), 1, tuning.most_components))
