"""How a budget is divided before any row is seen: the closed form that minimises expected KL divergence.

A release whose parts i have noise of standard deviation proportional to 1 / mu_i loses, near the truth,
an expected KL divergence sum of c_i / mu_i^2. Under sum of mu_i^2 = mu^2 that is least at
mu_i^2 = mu^2 sqrt(c_i) / sum of sqrt(c_j), where it is (sum of sqrt(c_i))^2 / mu^2.
docs/proofs/mixture.md derives the costs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.errors import ArgumentError
from sfumato.mechanisms.forecast import LOOKS, best_forecast, broken_stick
from sfumato.mechanisms.shares import split
from sfumato.mechanisms.slices import SliceOptions, SlicePlan, plan_slices
from sfumato.private.accounting import Adjacency
from sfumato.schema.layout import FloatArray, Layout
from sfumato.schema.projections import Projection

DEFAULT_ROWS = 10_000  # a public guess, where the user makes none
MOST_ROWS = 1 << 60
LOG_SLOPE = 10.0  # how much a column's log-density is taken to change over its range
HIDDEN_CELLS = 4.0  # how many times the second-order cost of a histogram its hidden cells add up to
PILOT_SHARE = 1.0 / 3.0  # of the moments' budget, for the round that finds their shape
GAIN = 0.003  # nats a row, for every column but one, that twice as many components are taken to be worth
MOST_COMPONENTS = 16  # of a class, where the number is chosen
MOST_ASKED = 1000  # components of a class that anyone may ask for
SMALLEST_SPREAD = 1e-9  # of a class whose columns are all constant: there is nothing to tell apart
LLOYD_ROUNDS = 3  # in which cells are found
LLOYD_SHARE = 0.2  # of what the histograms leave
HISTOGRAM_SHARE = 0.1  # where clusters are sought: histograms then only say where to look
SUMMARY_SHARE = 0.3  # for the many small cells that clusters are found in
SUMMARY_CELLS = 6  # of them for every cluster sought
LABEL_SHARE = 0.2  # where labels are adapted
LABEL_ROUNDS = 4
CELL_ROUNDS = 2  # in which the cells of clustmix are found
ALPHA = 0.25  # what is adapted is held so much to where it was: the labels that stay the model's own, alpha of (6)
SIGMA_MAX = 0.1  # noise on a point of clustmix, in units where a column's variance is about 1
MOST_CELLS = 64  # of a class in clustmix, where the number follows from SIGMA_MAX
FEATURE_SHARE = 0.1  # where points are adapted
GROUP_CELLS = 10  # of a class in clustmix of columns in groups
GROUP_SIGMA_MAX = 1.0
WIDE = 128  # coordinates of a projection: more need most of the budget to find their main directions
MOST_SIGMA = 10.0
ADAPTS = ("auto", "labels", "points", "both")
MOST_LABEL_WEIGHTS = 2000  # of a label model: its Hessian has the square of that
NO_OPTIONS = SliceOptions()
SLICED_GROUPS: dict[str, tuple[tuple[str, ...], tuple[float, ...]]] = {
    "central": (("centres", "shape", "columns"), (0.08, 0.2, 0.075)),
    "rows": (("centres", "columns"), (0.15, 0.05)),
}  # for columns in groups
SLICED_HISTOGRAMS = {"central": 0.7, "rows": 0.3}  # of slicing, for the encoding


@dataclass(frozen=True)
class MomentCosts:
    """Expected KL at mu = 1 from the noise on class counts, means and covariances."""

    count: float
    mean: float
    covariance: float

    @property
    def shares(self) -> tuple[float, float, float]:
        """How the three divide one budget."""
        count, mean, covariance = split([self.count, self.mean, self.covariance])
        return float(count), float(mean), float(covariance)


@dataclass(frozen=True)
class Round:
    """One question: its name, its part of the squared budget, and what it is for."""

    name: str
    share: float
    mu: float
    purpose: str


@dataclass(frozen=True)
class Plan:
    """What a fit will ask, and the loss to expect: a public function of its arguments."""

    epsilon: float
    delta: float
    mu: float
    adjacency: Adjacency
    rows: int
    classes: int
    columns: int
    cells: int
    encoding: str
    rounds: tuple[Round, ...]
    column_shares: tuple[float, ...]
    moment_shares: tuple[float, float, float]
    cell_sd: float
    expected_kl: dict[str, float]
    components: int | None  # a class; None: as many as the noisy counts say will pay
    reach: float  # how many times the noise's variance is what it would be for one row added or removed
    sigma_max: float = SIGMA_MAX  # the noise that a point of clustmix may carry
    most_cells: int = MOST_CELLS  # of a class in clustmix
    alpha: float = ALPHA  # how much adapted labels and points are held to what they were
    slicing: SlicePlan | None = None  # of mechanism slicing alone

    @property
    def asks_rows(self) -> bool:
        """Whether every row is asked for, and not only sums over rows."""
        return self.slicing is not None and self.slicing.form == "rows"

    @property
    def slice_dim(self) -> int:
        """Of slicing."""
        assert self.slicing is not None
        return self.slicing.slice_dim

    def share(self, name: str) -> float:
        """A round's part of the squared budget; 0 where there is no such round."""
        return sum(each.share for each in self.rounds if each.name == name)

    def budget(self, name: str, remaining: float) -> float:
        """A round's squared mu, but no more than is left: sums of shares carry roundings."""
        return min(self.share(name) * self.mu**2, remaining)

    @property
    def histogram_share(self) -> float:
        return self.rounds[0].share

    @property
    def label_rounds(self) -> tuple[Round, ...]:
        """The rounds that adapt the labels; none where they are left as the mixture has them."""
        return tuple(each for each in self.rounds if each.name.startswith("labels"))


def make_plan(
    layout: Layout,
    *,
    epsilon: float,
    delta: float,
    mu: float,
    adjacency: Adjacency,
    rows: int | None,
    unit_rows: int = 1,
    encoding: str = "scores",
    components: int | str | None = None,
    adapt: bool | str | None = None,
    mechanism: str = "mixture",
    sigma_max: float | None = None,
    alpha: float | None = None,
    slices: SliceOptions = NO_OPTIONS,
    delta_left: float | None = None,
) -> Plan:
    """Divide the budget between histograms and moments from public facts alone.

    `components` a class, or "auto" for as many as pay by noisy answers. Without a word, scores choose and data units
    have one. `adapt` sets a part aside for the labels, or the points of clustmix. `slices` is what is said of slicing,
    and `delta_left` the delta that its noise is for, where units take a part of it.
    """
    slices.check(mechanism)
    guess = DEFAULT_ROWS if rows is None else rows
    if isinstance(guess, bool) or not isinstance(guess, int) or not 1 <= guess <= MOST_ROWS:
        raise ArgumentError(f"rows must be a whole number above 0, a public guess at the number of rows, not {rows!r}")
    # A replacement or a changed label moves a query by about sqrt(2), a unit by its rows. (A few queries move further;
    # the curator charges each by its own bound, and only the forecast is off.)
    reach = (1.0 if adjacency is Adjacency.ADD_REMOVE else 2.0) * unit_rows**2
    adapted = what_adapts(adapt, layout, encoding, mechanism)
    number = _number(components, encoding, mechanism)
    aside = Adapting.of(adapted, encoding, layout)
    kept = 1.0 - aside.features - aside.labels
    division = _DIVIDE[encoding](layout, guess, mu * math.sqrt(kept), reach)
    if encoding == "scores" and mechanism == "mixture" and number is None:
        rest = (1.0 - division.shares[0]) * (1.0 - LLOYD_SHARE) * kept * mu**2 / reach
        columns = len(layout.names)
        number = 1 if best_number(guess / layout.classes, columns, columns, rest) == 1 else None
    sliced: SlicePlan | None = None
    if mechanism == "slicing":
        division = _into_slices(division, encoding, slices.form or "central")
        far = Projection.of(layout.groups).radius if layout.groups else radius(len(layout.names))
        beside = mu * math.sqrt(1.0 - division.shares[-1])
        left = delta if delta_left is None else delta_left
        sliced = plan_slices(slices, layout, far, epsilon, left, beside, None if unit_rows == 1 else unit_rows)
        if sliced.slices:  # which the budget holds beside its mu
            division, mu = _without_last(division), beside
    elif mechanism == "clustmix":
        division = _into_points(division, encoding)
    elif number != 1 and encoding != "projected":
        division = _into_cells(division) if encoding == "scores" else _into_clusters(division)
    division = _with_adapted(division, aside)
    return Plan(
        epsilon=epsilon,
        delta=delta,
        mu=mu,
        adjacency=adjacency,
        rows=guess,
        classes=layout.classes,
        columns=len(layout.names),
        cells=layout.classes * sum(layout.sizes),
        encoding=encoding,
        rounds=division.rounds(mu),
        column_shares=tuple(float(s) for s in division.column_shares),
        moment_shares=division.moment_shares,
        cell_sd=math.sqrt(reach / division.shares[0] / float(division.column_shares.max())) / mu,
        expected_kl=division.expected_kl,
        components=number,
        reach=reach,
        sigma_max=_sigma_max(sigma_max, mechanism, encoding),
        most_cells=GROUP_CELLS if encoding == "projected" else MOST_CELLS,
        alpha=_alpha(alpha, adapted, encoding),
        slicing=sliced,
    )


def _alpha(alpha: float | None, adapted: tuple[str, ...], encoding: str) -> float:
    if alpha is None:
        return ALPHA
    if not adapted or encoding == "projected":
        raise ArgumentError("alpha is for what is adapted of columns outside groups; say adapt='labels' or 'points'")
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float)) or not 0.0 <= alpha < 1.0:
        raise ArgumentError(f"alpha must be a number from 0 to below 1, not {alpha!r}")
    return float(alpha)


def _sigma_max(sigma_max: float | None, mechanism: str, encoding: str) -> float:
    if sigma_max is None:
        return GROUP_SIGMA_MAX if encoding == "projected" else SIGMA_MAX
    if mechanism != "clustmix":
        raise ArgumentError("sigma_max is for mechanism 'clustmix'")
    if isinstance(sigma_max, bool) or not isinstance(sigma_max, (int, float)) or not 0.0 < sigma_max <= MOST_SIGMA:
        raise ArgumentError(f"sigma_max must be a number above 0 and at most {MOST_SIGMA:g}, not {sigma_max!r}")
    return float(sigma_max)


def _number(components: int | str | None, encoding: str, mechanism: str) -> int | None:
    """How many components a class has; None where noisy answers are to say."""
    if components is not None and mechanism == "slicing":
        raise ArgumentError("components are for mechanisms 'mixture' and 'clustmix'; a generator has none")
    chosen = encoding == "scores" or mechanism == "clustmix"
    if components == "auto" and encoding == "projected" and mechanism == "mixture":
        return 1
    if components == "auto" or (components is None and chosen):
        return None
    if components is None:
        return 1
    if isinstance(components, bool) or not isinstance(components, int) or not 1 <= components <= MOST_ASKED:
        raise ArgumentError(f"components must be a whole number from 1 to {MOST_ASKED}, or 'auto', not {components!r}")
    if encoding == "projected" and mechanism == "mixture" and components != 1:
        raise ArgumentError("a mixture of columns in groups has one Gaussian a class; mechanism 'clustmix' has more")
    return components


def what_adapts(adapt: bool | str | None, layout: Layout, encoding: str, mechanism: str) -> tuple[str, ...]:
    """What is to be adapted, of "points" and "labels". Without a word nothing in a mixture, whose task is the
    distribution; in clustmix, whose task is to train on, labels wherever they can be: "auto"."""
    if adapt is None:
        adapt = "auto" if mechanism == "clustmix" else False
    if adapt and mechanism == "slicing":
        raise ArgumentError("adapt is for mechanisms 'mixture' and 'clustmix'")
    if not (isinstance(adapt, bool) or adapt in ADAPTS):
        raise ArgumentError(f"adapt must be True, False or one of {', '.join(map(repr, ADAPTS))}, not {adapt!r}")
    asked = {"points": ("points",), "both": ("points", "labels")}.get(str(adapt), ("labels",) if adapt else ())
    weights = (1 if layout.classes == 2 else layout.classes) * (1 + len(layout.names))
    can = {
        "encoding 'scores'": encoding != "affine",
        "a label of at least two classes": layout.classes > 1,
        f"at most {MOST_LABEL_WEIGHTS} weights, classes times columns": encoding == "projected"
        or weights <= MOST_LABEL_WEIGHTS,
        "mechanism 'clustmix' and no groups to move points": "points" not in asked
        or (mechanism == "clustmix" and encoding == "scores"),
    }
    for needed, holds in can.items():
        if adapt != "auto" and asked and not holds:
            raise ArgumentError(f"adapt needs {needed}")
    return asked if all(can.values()) else ()


@dataclass(frozen=True)
class Adapting:
    """The parts of the budget that are set aside to adapt: for features, and for labels, in how many rounds."""

    features: float
    labels: float
    rounds: int

    @classmethod
    def of(cls, adapted: tuple[str, ...], encoding: str, layout: Layout) -> Adapting:
        share, rounds = LABEL_SHARE, LABEL_ROUNDS
        if encoding == "projected":  # gradients of many features, which need many rounds
            share, rounds = (0.25, 20) if _is_wide(layout) else (0.47, 24)
        labels = "labels" in adapted
        return cls(FEATURE_SHARE * ("points" in adapted), share * labels, rounds * labels)


def _is_wide(layout: Layout) -> bool:
    return sum(group.directions for group in layout.groups) > WIDE


@dataclass(frozen=True)
class _Division:
    """How an encoding divides its budget: between rounds, between columns, and between the moments."""

    names: tuple[str, ...]
    purposes: tuple[str, ...]
    shares: tuple[float, ...]
    column_shares: FloatArray
    moment_shares: tuple[float, float, float]
    expected_kl: dict[str, float]

    def rounds(self, mu: float) -> tuple[Round, ...]:
        parts = zip(self.names, self.shares, self.purposes, strict=True)
        return tuple(Round(name, share, mu * math.sqrt(share), purpose) for name, share, purpose in parts)


def _divide_scores(layout: Layout, rows: int, mu: float, reach: float) -> _Division:
    classes, columns = layout.classes, len(layout.names)
    resolutions = effective_bins(layout.sizes, rows / classes, mu / math.sqrt(2.0))
    histogram = marginal_cost(resolutions, rows / classes, mu / math.sqrt(2.0))
    moments = moment_costs(np.full(classes, rows / classes), columns, radius(columns))
    parts = [histogram, moments.count, moments.mean, moments.covariance]
    shares = split(parts)
    names = ["marginals", "class weights", "means", "covariances"]
    rest = 1.0 - float(shares[0])
    return _Division(
        names=("histograms", "moments", "moments again"),
        purposes=(
            "class counts, every column's distribution, the latent scale",
            "how the columns go together, a first look",
            "the same, in the shape that the first look found",
        ),
        shares=(float(shares[0]), rest * PILOT_SHARE, rest * (1.0 - PILOT_SHARE)),
        column_shares=split(resolutions**2),
        moment_shares=moments.shares,
        expected_kl={n: float(reach * c / (s * mu**2)) for n, c, s in zip(names, parts, shares, strict=True)},
    )


def _into_cells(one: _Division) -> _Division:
    """The rounds where classes have several components: cells are found, then looked into."""
    rest = 1.0 - one.shares[0]
    rounds = range(1, LLOYD_ROUNDS + 1)
    return replace(
        one,
        names=(one.names[0], *(f"cells {i}" for i in rounds), "moments"),
        purposes=(
            one.purposes[0],
            *(f"round {i} of {LLOYD_ROUNDS} of cutting each class into cells" for i in rounds),
            "how the columns go together in every cell",
        ),
        shares=(one.shares[0], *(rest * LLOYD_SHARE / LLOYD_ROUNDS for _ in rounds), rest * (1.0 - LLOYD_SHARE)),
    )


def _with_adapted(one: _Division, aside: Adapting) -> _Division:
    """The rounds of a model, and those that adapt its points and labels."""
    features, labels, count = aside.features, aside.labels, aside.rounds
    steps = range(1, count + 1)
    moved = features > 0.0
    return replace(
        one,
        names=(*one.names, *(["features"] * moved), *(f"labels {i}" for i in steps)),
        purposes=(
            *one.purposes,
            *(["what a kernel regression on the rows would have to know"] * moved),
            *(f"one of {count} steps towards how labels follow columns" for _ in steps),
        ),
        shares=(
            *(s * (1.0 - features - labels) for s in one.shares),
            *([features] * moved),
            *(labels / count for _ in steps),
        ),
    )


def _into_points(one: _Division, encoding: str) -> _Division:
    """The rounds of clustmix: cells are found, then their points, then the shape that they share."""
    before = one.names.index("shapes") if encoding == "projected" else 1
    after = before + 1 if encoding == "projected" else len(one.names)
    rounds = range(1, CELL_ROUNDS + 1)
    rest = sum(one.shares[before:after])
    cells, points, shapes = (0.12, 0.34, 0.42) if encoding == "projected" else (0.15, 0.35, 0.35)
    parts = (*(cells for _ in rounds), points, shapes)
    return replace(
        one,
        names=(*one.names[:before], *(f"cells {i}" for i in rounds), "points", "shapes", *one.names[after:]),
        purposes=(
            *one.purposes[:before],
            *(f"round {i} of {CELL_ROUNDS} of cutting each class into cells" for i in rounds),
            "how many rows each cell holds, where their mean is, how far they spread",
            "the shape that the cells of a class share",
            *one.purposes[after:],
        ),
        shares=(*one.shares[:before], *(rest * part for part in parts), *one.shares[after:]),
        expected_kl={},  # what many small cells are worth is not forecast
    )


def _into_slices(one: _Division, encoding: str, form: str) -> _Division:
    """The rounds of slicing: what the encoding needs, then what generators are trained on."""
    kept: tuple[str, ...] = one.names[:1]
    shares: tuple[float, ...] = (SLICED_HISTOGRAMS[form],)
    if encoding == "projected":
        kept, shares = SLICED_GROUPS[form]
    last = {
        "central": ("waves", "class sums of cosines and sines along random slices: what generators are trained on"),
        "rows": ("rows", "every row with noise of its own: what generators are trained on"),
    }[form]
    return replace(
        one,
        names=(*kept, last[0]),
        purposes=(*(one.purposes[one.names.index(name)] for name in kept), last[1]),
        shares=(*shares, 1.0 - sum(shares)),
        expected_kl={},  # what a network makes of it is not forecast
    )


def _without_last(one: _Division) -> _Division:
    """The rounds but for the last one, as shares of what they have together."""
    rest = sum(one.shares[:-1])
    return replace(
        one, names=one.names[:-1], purposes=one.purposes[:-1], shares=tuple(s / rest for s in one.shares[:-1])
    )


def _divide_groups(layout: Layout, rows: int, mu: float, reach: float) -> _Division:
    """Columns in groups: constant shares, which docs/proofs/clustmix.md accounts for."""
    return _Division(
        names=("centres", "shape", "shapes", "columns"),
        purposes=(
            "where each class lies, and how far rows spread",
            "the second moment of all rows together, for the main directions",
            "the shape of each class in these directions",
            "every column's mean and variance, for the way back",
        ),
        shares=(0.07, 0.66, 0.14, 0.13) if _is_wide(layout) else (0.075, 0.19, 0.66, 0.075),
        column_shares=np.full(len(layout.names), 1.0 / len(layout.names)),
        moment_shares=(0.1, 0.1, 0.8),
        expected_kl={},
    )


def _into_clusters(one: _Division) -> _Division:
    """The rounds where classes in data units have several components: histograms only say where to look."""
    looks = range(1, LOOKS + 1)
    rest = 1.0 - HISTOGRAM_SHARE - SUMMARY_SHARE
    return replace(
        one,
        names=("histograms", "summary", *(f"moments {i}" for i in looks)),
        purposes=(
            "where rows lie in every column",
            "how many rows there are in many small cells, to find clusters in",
            *(f"look {i} of {LOOKS} at the clusters' moments" for i in looks),
        ),
        shares=(HISTOGRAM_SHARE, SUMMARY_SHARE, *(rest / LOOKS for _ in looks)),
    )


def best_number(count: float, dim: int, spread: float, mu_squared: float) -> int:
    """How many components of a class pay. Each of M has count / M rows, so that the noise on covariances costs M^2
    times what it costs one; against a gain of g log2(M), the best M is sqrt(g / (2 ln 2 cost)). One column alone gains
    nothing: its marginal is known."""
    if spread < SMALLEST_SPREAD:
        return 1
    cost = moment_costs(np.array([max(count, 1.0)]), dim, radius(spread)).covariance / mu_squared
    best = math.sqrt(GAIN * (dim - 1) / (2.0 * math.log(2.0) * cost))
    return int(np.clip(round(best), 1, MOST_COMPONENTS))


def _divide_affine(layout: Layout, rows: int, mu: float, reach: float) -> _Division:
    found = best_forecast(rows * broken_stick(layout.classes), layout.sizes, mu / math.sqrt(reach))
    looks = range(1, LOOKS + 1)
    return _Division(
        names=("histograms", *(f"moments {i}" for i in looks)),
        purposes=(
            "where each class lies in every column, and how wide",
            *(f"look {i} of {LOOKS} at its moments, around where it was last seen" for i in looks),
        ),
        shares=(found.histogram_share, *((1.0 - found.histogram_share) / LOOKS for _ in looks)),
        column_shares=np.full(len(layout.names), 1.0 / len(layout.names)),
        moment_shares=found.moment_shares,
        expected_kl=found.expected_kl,
    )


def radius(dim: float) -> float:
    """Where to clip: two standard deviations above the mean of a chi-square with `dim` degrees of freedom."""
    return math.sqrt(dim + 2.0 * math.sqrt(2.0 * dim))


def effective_bins(sizes: Sequence[int], rows: float, mu: float) -> FloatArray:
    """How many bins of each column noise lets through.

    S equally full bins cost S^2 sigma^2 / (2 rows^2) in noise, and smoothing a log-slope c over them
    c^2 / (24 S^2) in bias: S^4 = c^2 rows^2 / (12 sigma^2), with sigma = sqrt(columns) / mu.
    """
    sigma = math.sqrt(len(sizes)) / mu
    finest = max(2.0, math.sqrt(LOG_SLOPE * rows / (sigma * math.sqrt(12.0))))
    return np.minimum(np.asarray(sizes, dtype=np.float64), finest)


def marginal_cost(resolutions: FloatArray, rows: float, mu: float) -> float:
    """Expected KL at mu = 1 of all columns' histograms in a class of so many rows.

    A cell of probability p costs sigma^2 / (2 rows^2 p). Over cell probabilities uniform on the simplex
    and above the noise floor sigma / rows, the mean of the sum of 1 / p is S^2 log(rows / (S sigma)).
    Cells below the floor, which no second-order formula sees, are allowed for by the factor HIDDEN_CELLS.
    """
    sigma = math.sqrt(len(resolutions)) / mu
    spread = np.log(np.maximum(rows / (resolutions * sigma), math.e))
    return float(HIDDEN_CELLS * 0.5 * (resolutions * np.sqrt(spread)).sum() ** 2 / rows**2)


def moment_costs(counts: FloatArray, dim: int, clip: float) -> MomentCosts:
    """Expected KL at mu = 1 of class counts, means and covariances, in whitened and centred units."""
    share = counts / counts.sum()
    per_class = float((share / counts**2).sum())
    return MomentCosts(
        count=0.5 * float((1.0 / share).sum() - len(share)) / counts.sum() ** 2 + 0.25 * dim * per_class,
        mean=0.5 * dim * clip**2 * per_class,
        covariance=0.25 * dim * (dim + 1) / 2.0 * clip**4 * per_class,
    )


_DIVIDE = {"scores": _divide_scores, "affine": _divide_affine, "projected": _divide_groups}
