"""The strict mixture, after Liu, Scaglione and Peisert (2025): what is asked, by encoding.

Gaussian queries through the curator; the rest is post-processing. Formal guarantee: the composition of all is mu-GDP;
docs/proofs/mixture.md has the one paragraph that it takes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sfumato.encoding.affine import Affine, Places, locate
from sfumato.encoding.marginals import clean
from sfumato.encoding.projected import Projected
from sfumato.encoding.scores import Scores
from sfumato.mechanisms.adapting import adapts_labels
from sfumato.mechanisms.asker import Asker, Seen
from sfumato.mechanisms.base import Plan
from sfumato.mechanisms.budget import Reserved
from sfumato.mechanisms.cell_shapes import ask_shapes, one_cell_each
from sfumato.mechanisms.encodings.column_looks import ask_columns
from sfumato.mechanisms.encodings.group_encoding import GroupEncoding
from sfumato.mechanisms.encodings.score_encoding import ScoreEncoding
from sfumato.mechanisms.mixture.affine_clusters import fit_clusters
from sfumato.mechanisms.mixture.affine_looks import follow
from sfumato.mechanisms.mixture.beliefs import FEWEST, Beliefs
from sfumato.mechanisms.mixture.mixture_rounds import MixtureDetails
from sfumato.mechanisms.mixture.one_gaussian import fit_one_gaussian
from sfumato.mechanisms.mixture.score_components import fit_components
from sfumato.mechanisms.pairs.pair_rounds import DISTANCES, TABLES, tilt_by_tables
from sfumato.mechanisms.pairs.public_tables import tilt_by_layout
from sfumato.mechanisms.shared_layout import shared_layout
from sfumato.models.column_label import ColumnLabelModel
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.models.labellers import Labeller, QuadraticLabeller
from sfumato.models.mixture_model import MixtureModel
from sfumato.models.tilted_model import TiltedModel
from sfumato.schema.layout import Layout

if TYPE_CHECKING:
    from sfumato.mechanisms.mixture.mixture_mechanism import Mixture

Fitted = tuple[Layout, Scores | Affine | Projected, GaussianMixture, Labeller | QuadraticLabeller | None]


def run_mixture(mechanism: Mixture, curator: Asker, plan: Plan) -> MixtureModel | TiltedModel | ColumnLabelModel:
    """Ask all queries and build the model from their answers."""
    if plan.encoding == "scores":
        fitted = fit_scores(mechanism, curator, plan)
        return ColumnLabelModel.of(fitted) if plan.part(MixtureDetails).column_label else fitted
    fit = {"affine": fit_affine, "projected": fit_groups}[plan.encoding]
    return MixtureModel(*fit(mechanism, curator, plan))


def fit_scores(mechanism: Mixture, curator: Asker, plan: Plan) -> MixtureModel | TiltedModel:
    """One Gaussian per class in the space of normal scores, or several; then labels, and then tables of pairs, with
    what was kept for each.
    """
    tuning, components = mechanism.tuning, plan.part(MixtureDetails).components
    for_tables = Reserved(curator, plan.kept(DISTANCES, TABLES))
    kept = plan.kept("labels")
    learned = ScoreEncoding(tuning.histograms, tuning.labels).learn(Reserved(for_tables, kept), plan)
    layout, adapted = learned.layout, adapts_labels(mechanism.adapt, learned, plan)
    reserved = Reserved(for_tables, kept if adapted else 0.0)
    fit = fit_one_gaussian if components == 1 else partial(fit_components, components=components)
    scores, mixture = fit(Seen(reserved, layout), plan.on(layout), learned, tuning=tuning)
    labeller = None
    if adapted:
        alpha = tuning.labels.alpha if mechanism.alpha is None else mechanism.alpha
        labeller = learned.labels(Seen(for_tables, layout), plan, scores, mixture, alpha)
    model = MixtureModel(layout, scores, mixture, labeller)
    if not plan.has(TABLES):
        return model
    seen, marginals = Seen(curator, layout), learned.marginals
    shared = shared_layout(mechanism.layout)
    if shared is not None:
        return tilt_by_layout(seen, plan, model, marginals, tuning.pairs, shared)
    return tilt_by_tables(seen, plan, model, marginals, tuning.pairs)


def fit_groups(mechanism: Mixture, curator: Asker, plan: Plan) -> Fitted:
    """Columns in groups: one Gaussian a class, in the main directions that all classes share.

    Where noise would hide the shapes of classes, what was kept for shapes and for labels tells their means instead.
    """
    learned = GroupEncoding(mechanism.tuning.groups).learn(curator, plan)
    adapted = adapts_labels(mechanism.adapt, learned, plan)
    reserved = Reserved(curator, plan.kept("labels") if adapted else 0.0)
    pays = learned.shapes_pay(plan)
    if not pays:
        learned = learned.nearer(curator, reserved.remaining - plan.kept("columns"))
    found = one_cell_each(learned.image, learned.counts, learned.spreads)
    noise = mechanism.tuning.groups.noise
    shapes = ask_shapes(curator, found, plan.budget("shapes"), noise) if pays else learned.alike
    mixture = learned.mixture(found, shapes)
    encoder = learned.encoder(reserved, plan, mixture)
    labels = learned.labels(curator, plan, encoder, mixture, 0.0) if adapted else None
    return plan.layout, encoder, mixture, labels


def fit_affine(mechanism: Mixture, curator: Asker, plan: Plan) -> Fitted:
    """One Gaussian per class in data units: look where each class is believed to be, and believe what is seen."""
    components, layout = plan.part(MixtureDetails).components, plan.layout
    cleaning = mechanism.tuning.histograms.cleaning
    counted = ask_columns(curator, plan, cleaning)
    if components != 1:
        marginals = clean(counted, layout.bins, cleaning)
        return layout, Affine(), fit_clusters(curator, plan, marginals, components, mechanism.tuning), None
    places = locate([each.cells for each in counted], np.array([each.sd for each in counted]), layout.bins)
    beliefs = follow(curator, plan.repeats("moments"), first_beliefs(places), layout)
    counts = np.maximum(beliefs.counts, FEWEST)
    return layout, Affine(), GaussianMixture(counts / counts.sum(), beliefs.means, beliefs.covariances), None


def first_beliefs(places: Places) -> Beliefs:
    """What histograms say of the classes; they are silent on correlations."""
    classes, dim = places.centres.shape
    unit = np.eye(dim)
    return Beliefs(
        places.counts,
        places.count_variances,
        places.centres,
        places.centre_variances[:, :, None] * unit,
        places.squared_scales[:, :, None] * unit,
        unit / np.sqrt(places.squared_scales)[:, :, None],
        np.full(classes, 2.0 / (dim + 1)),
    )
