"""`sf.merge`: releases of different people, or of the same people, as one.

It is post-processing: no row is near. The releases' noisy answers are put together (`common_answers`), and the
mechanism is run once more with these for answers: marginals from the histograms, then the tilt from the tables. Between
them stands the mixture q, which no answer tells of: each release asked for the moments of its own scores. So q is one
Gaussian a class, fitted to rows drawn from the releases' own mixtures, as many of each as its answers say: of all
Gaussians the one that is closest to the mixture of those mixtures, in KL. docs/proofs/merging.md.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.encoding.scores import Scores
from sfumato.errors import ArgumentError
from sfumato.guarantee import MOST_MERGED, Guarantee
from sfumato.mechanisms import Mixture, Plan, Public
from sfumato.mechanisms.asker import Seen
from sfumato.mechanisms.encodings.score_encoding import LearnedScores, ScoreEncoding
from sfumato.mechanisms.mixture.mixture_mechanism import MixtureTuning
from sfumato.mechanisms.pairs.pair_rounds import TABLES
from sfumato.mechanisms.pairs.public_tables import tilt_by_layout
from sfumato.mechanisms.shrinkage import nearest_correlation
from sfumato.merging.common_answers import Common, Summed, Told, added, averaged, check_same_table, common, told_by
from sfumato.merging.joint_guarantee import joint_guarantee
from sfumato.models.column_label import ColumnLabelModel, model_asked
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.models.mixture_model import MixtureModel
from sfumato.models.tilted_model import TiltedModel
from sfumato.release.release import Release
from sfumato.schema.column_labels import unlabelled
from sfumato.schema.layout import FloatArray, IntArray, Layout, OrderedBins
from sfumato.schema.schema import Schema

DRAWN_ROWS = 40_000  # of each class, from all releases together: a correlation is then known to 0.005


def merge(releases: Sequence[Release], *, same_people: bool = False) -> Release:
    """Put releases of one schema together, as one that knows what they all know. It costs nothing: no row is read.

    Releases of different people add up, and each person keeps the guarantee of their own release. Whoever is in several
    of them pays in each: the guarantee has both numbers, because nobody can see from releases who is in them.

    Args:
        releases: Two or more, of mechanism "mixture" in scores, of one schema and adjacency, with their noisy answers:
            best on one layout (`sf.Mixture(layout=...)`).
        same_people: The releases are of the same table: their answers are averaged by precision, and the guarantees
            compose. That holds only if what was spent on none of them was chosen by seeing another.

    Returns:
        A release like any other.

    Raises:
        ArgumentError: The releases do not go together, or one is there twice; the line says which.

    Example:
        >>> import numpy as np, pandas as pd, sfumato as sf
        >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
        >>> sites = [pd.DataFrame({"age": np.arange(500) % (40 + 20 * site)}) for site in (0, 1)]
        >>> both = sf.merge([sf.fit(site, schema, epsilon=1, delta=1e-6) for site in sites])
        >>> len(both.sample(3, seed=0)), both.guarantee.joint.own.epsilon
        (3, 1.0)
    """
    return merged(releases, same_people=same_people)


def merged(
    releases: Sequence[Release],
    *,
    same_people: bool = False,
    rule: str | None = None,
    tuning: MixtureTuning | None = None,
) -> Release:
    """Releases merged; with what tells their people apart, in words, and with another tuning of the model."""
    _check(releases)
    first, layout = releases[0], _own_layout(releases[0])
    several = [read_told(each, f"release {i}") for i, each in enumerate(releases, start=1)]
    guarantee = joint_guarantee(releases, same_people, rule)
    if same_people:
        check_same_table(several, layout, whole=first.schema.unit is None)
    known = common(several, first.schema, layout, averaged if same_people else added)
    shares = np.stack([told.class_counts for told in several])
    if same_people:  # of whom each release has all: by how well it knows them
        shares = np.array([_spent(each.guarantee) for each in releases])[:, None] * np.ones(layout.classes)
    asker = Summed(known)
    mechanism = Mixture(layout=known.shared, tuning=tuning or MixtureTuning())
    plan = mechanism.plan(_public(guarantee, first.schema))
    model = _model(releases, mechanism, plan, known, asker, shares)
    own = ColumnLabelModel.of(model) if known.shared.label_column else model
    return Release(first.schema, guarantee, first.mechanism, own, asker.answers)


def _model(
    releases: Sequence[Release],
    mechanism: Mixture,
    plan: Plan,
    known: Common,
    asker: Summed,
    shares: FloatArray,
) -> MixtureModel | TiltedModel:
    """The mechanism run once more, with what is known for answers."""
    tuning = mechanism.tuning
    learned = ScoreEncoding(tuning.histograms, tuning.labels, follows_mass=False).learn(asker, plan)
    mixture = joint_mixture([_base(each) for each in releases], shares, learned, tuning)
    model = MixtureModel(learned.layout, learned.scores, mixture)
    if not plan.has(TABLES):
        return model
    return tilt_by_layout(Seen(asker, learned.layout), plan, model, learned.marginals, tuning.pairs, known.shared)


def joint_mixture(
    models: Sequence[MixtureModel], shares: FloatArray, learned: LearnedScores, tuning: MixtureTuning
) -> GaussianMixture:
    """One Gaussian a class: the correlations of rows drawn from all models, in the scores of all together.

    Args:
        models: Mixtures in scores.
        shares: (models, classes), how many rows of each class to draw of each model, up to a factor.
        learned: The common marginals and their scores.
        tuning: What counts as constant, and the smallest eigenvalue of a correlation.

    Returns:
        The mixture, in the latent space of the common scores.
    """
    rng = np.random.default_rng(0)  # free choices: the same for all releases
    scores = learned.scores
    correlations = []
    for k in range(shares.shape[1]):
        numbers = np.ceil(DRAWN_ROWS * shares[:, k] / shares[:, k].sum()).astype(int)
        drawn = [_drawn(model, k, n, rng, learned.layout) for model, n in zip(models, numbers, strict=True)]
        codes = np.concatenate(drawn, axis=1)
        latent = np.stack([column.scores[k][code] for column, code in zip(scores.columns, codes, strict=True)])
        covariance = np.cov(latent).reshape(len(latent), -1)
        variances = scores.variances()[k]  # as the marginals have them
        live = np.minimum(np.diagonal(covariance), variances) > tuning.constant_column  # others go with none
        scale = np.sqrt(np.where(live, variances, 0.0) / np.where(live, np.diagonal(covariance), 1.0))
        apart = scores.latent_correlation(covariance * np.outer(scale, scale), k)
        apart = np.where(np.outer(live, live) | np.eye(len(live), dtype=bool), apart, 0.0)
        correlations.append(nearest_correlation(apart, tuning.noise.eigenvalue_floor))
    weights = learned.marginals.weights
    return GaussianMixture(weights, np.zeros((len(weights), len(scores.columns))), np.stack(correlations))


def _drawn(model: MixtureModel, k: int, n: int, rng: np.random.Generator, layout: Layout) -> IntArray:
    """(features, n): rows of a class of a mixture in the bins of a layout."""
    mixture, encoder = model.mixture, model.encoder
    assert isinstance(encoder, Scores)
    members = mixture.members(k)
    weights = mixture.weights[members]
    latent = mixture.sample(rng.choice(members, size=n, p=weights / weights.sum()), rng)
    found = np.empty((len(layout.bins), n), dtype=np.int64)
    for c, (mine, own) in enumerate(zip(model.layout.bins, layout.bins, strict=True)):
        codes, position = encoder.columns[c].bins_at(latent[:, c], k)
        if isinstance(mine, OrderedBins):
            widths = np.diff(mine.cell_starts, append=mine.cells)
            cells = mine.cell_starts[codes] + np.floor(position * widths[codes]).astype(np.int64)
            codes = np.searchsorted(own.cell_starts, cells, "right") - 1
        found[c] = codes
    return found


# --- what goes together


def _check(releases: Any) -> None:
    """Refuse what cannot be merged, in one line that says why."""
    if not isinstance(releases, Sequence) or not all(isinstance(each, Release) for each in releases):
        raise ArgumentError("merge takes a list of releases: sf.merge([a, b]); sf.load reads one from its file")
    if not 2 <= len(releases) <= MOST_MERGED:
        raise ArgumentError(f"merge takes two releases or more, up to {MOST_MERGED}, not {len(releases)}")
    first = releases[0]
    for i, each in enumerate(releases, start=1):
        check_kind(each, f"release {i}")
    for i, each in enumerate(releases[1:], start=2):
        apart = _schemas_apart(first, each)
        if apart:
            raise ArgumentError(f"releases 1 and {i} differ in {apart}; only releases of one schema can be merged")
        if each.guarantee.adjacency != first.guarantee.adjacency:
            adjacencies = f"{first.guarantee.adjacency} and {each.guarantee.adjacency}"
            raise ArgumentError(f"releases 1 and {i} have adjacency {adjacencies}; only one adjacency can be merged")
        if each.asked.label != first.asked.label:
            raise ArgumentError(
                f"of releases 1 and {i} one has its label as a column like all others; fit both with "
                "sf.Mixture(label='classes'), or both with label='column'"
            )


def read_told(release: Release, who: str) -> Told:
    """What the answers of a release say of the columns as questions saw them; refused where they say nothing."""
    return told_by(release.answers, _own_layout(release), who)


def check_kind(release: Release, who: str) -> None:
    """Refuse a release that has no counts to add up, or a model that does not follow from them."""
    model = model_asked(release.model)
    if release.mechanism != "mixture" or not isinstance(model, (MixtureModel, TiltedModel)):
        raise ArgumentError(f"{who} is of mechanism {release.mechanism!r}; only those of 'mixture' can be merged")
    if release.encoding != "scores":
        raise ArgumentError(f"{who} is in encoding {release.encoding!r}; only those in 'scores' can be merged")
    if model.labeller is not None:
        raise ArgumentError(f"{who} has adapted labels, which cannot be merged; fit it with adapt=None")


def _schemas_apart(one: Release, other: Release) -> str:
    """What two schemas differ in, in a few words; nothing where they are the same."""
    first, second = one.schema.dump(), other.schema.dump()
    columns, others = first.get("columns", {}), second.get("columns", {})
    if first == second:  # whatever the order of their columns, by which answers name them
        return "" if list(columns) == list(others) else "the order of columns"
    for name in (*columns, *others):
        if columns.get(name) != others.get(name):
            return f"the schema of column {name!r}"
    return "the schema"


def _own_layout(release: Release) -> Layout:
    """The schema's own bins, the label among the columns where the release has it there."""
    own = Layout.of(release.schema)
    return own if release.asked.label == own.label else unlabelled(own)


def _base(release: Release) -> MixtureModel:
    asked = model_asked(release.model)
    model = asked.base if isinstance(asked, TiltedModel) else asked
    assert isinstance(model, MixtureModel)
    return model


def _public(guarantee: Guarantee, schema: Schema) -> Public:
    """Public facts to plan with: the noise that one fit would have had to have what is known."""
    assert guarantee.joint is not None
    spent: defaultdict[int, float] = defaultdict(float)
    for part in guarantee.joint.parts:
        spent[part.people] += _spent(part.guarantee)
    return Public(
        layout=Layout.of(schema),
        epsilon=guarantee.epsilon or 1.0,
        delta=guarantee.delta or 1e-6,
        delta_left=guarantee.delta or 1e-6,
        mu=1.0 / math.sqrt(math.fsum(1.0 / each for each in spent.values())),
        adjacency=guarantee.adjacency,
        unit_rows=None if schema.unit is None else schema.unit.rows,
        modelling=None if schema.modelling.is_plain else schema.modelling,
    )


def _spent(guarantee: Guarantee) -> float:
    """mu^2 of all that a release asked."""
    return math.fsum(spend.mu**2 for spend in guarantee.spends)
