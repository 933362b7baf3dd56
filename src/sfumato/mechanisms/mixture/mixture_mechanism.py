"""The options of mechanism "mixture", and its two methods. Planning and running are imported when they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sfumato.config import ROUND, UNRECORDED, option
from sfumato.errors import ArgumentError
from sfumato.mechanisms.base import Plan, Public
from sfumato.mechanisms.checks import check_components, check_one_of, check_share
from sfumato.mechanisms.pairs.pair_tuning import PAIRS, PairTuning
from sfumato.mechanisms.shared_layout import shared_layout
from sfumato.mechanisms.tuning import ADAPT, MIXTURE, GroupTuning, HistogramTuning, LabelTuning, NoiseTuning

if TYPE_CHECKING:
    from sfumato.mechanisms.asker import Asker
    from sfumato.models.column_label import ColumnLabelModel
    from sfumato.models.mixture_model import MixtureModel
    from sfumato.models.tilted_model import TiltedModel

COMPONENTS = "docs/proofs/mixture.md, section 7: Adult's and Census-Income's train splits"
AFFINE = "docs/proofs/mixture.md, section 6: synthetic mixtures of other seeds than those reported"


@dataclass(frozen=True)
class MixtureTuning:
    """What was tuned of the mixture: shares of the budget and numbers of rounds, which touch utility alone."""

    pilot_share: float = option(
        1.0 / 3.0, help="Part of the moments' budget for the first look.", unit="share", source=ROUND
    )
    gain: float = option(
        0.003,
        help="What twice as many components are taken to be worth, for every column but one.",
        unit="nats a row",
        source=COMPONENTS,
    )
    most_components: int = option(16, help="Components of a class, where their number is chosen.", source=COMPONENTS)
    lloyd_rounds: int = option(3, help="Rounds in which cells are found.", unit="rounds", source=COMPONENTS)
    lloyd_share: float = option(
        0.2, help="Part of what the histograms leave for those rounds.", unit="share", source=COMPONENTS
    )
    start_scale: float = option(0.7, help="How far out cells begin.", unit="sd of a column", source=ROUND)
    tightest: float = option(
        0.2, help="What cells are taken to leave of a class's spread at the least.", unit="share", source=ROUND
    )
    noise: NoiseTuning = option(NoiseTuning(), help="How noisy answers are read.", source=MIXTURE)
    constant_column: float = option(
        0.02, help="A column below this is as good as constant.", unit="variance of its scores", source=UNRECORDED
    )
    farthest_mean: float = option(
        1.0,
        help="How far moments may move a class from where histograms put it.",
        unit="latent units",
        source=UNRECORDED,
    )
    looks: int = option(6, help="In data units: looks at the moments.", unit="rounds", source=AFFINE)
    cluster_histogram_share: float = option(
        0.1, help="In data units: what clusters leave to histograms.", unit="of mu^2", source=COMPONENTS
    )
    summary_share: float = option(
        0.3, help="In data units: for the small cells that clusters are found in.", unit="of mu^2", source=COMPONENTS
    )
    summary_cells: int = option(6, help="In data units: small cells for each cluster.", source=COMPONENTS)
    summary_drawn: int = option(
        4000,
        help="In data units: points of noisy histograms that the small cells are laid by.",
        unit="rows a class",
        source=UNRECORDED,
    )
    summary_doubt: float = option(
        0.25,
        help="In data units: how well the small cells tell a cluster's mean.",
        unit="of the cluster's variance",
        source=UNRECORDED,
    )
    histograms: HistogramTuning = option(HistogramTuning(), help="What is assumed of columns.", source=MIXTURE)
    labels: LabelTuning = option(LabelTuning(), help="How labels are adapted.", source=ADAPT)
    pairs: PairTuning = option(PairTuning(), help="How pair tables are bought.", source=PAIRS)
    groups: GroupTuning = option(GroupTuning(), help="How columns in groups are asked for.", source="docs/proofs")


@dataclass(frozen=True)
class Mixture:
    """Gaussians in latent space, for whoever wants the distribution: it samples, scores, conditions and classifies.

    Args:
        components: Gaussians a class (clusters, where there is no label), or "auto" for as many as noisy answers say
            will pay. By default "auto" in scores, and one in data units and for columns in groups.
        pairs: "auto" spends two fifths of the budget on tables of pairs of columns, chosen by noisy answers, and moves
            the mixture to what they say, as little as possible; it needs encoding "scores". None leaves the mixture as
            it is.
        adapt: "labels" spends a fifth of the budget on how the label follows the columns, for those who will train
            classifiers on synthetic rows; "auto" does so where it can be and noise leaves enough of the rarest
            class. By default nothing is adapted.
        alpha: Share of the labels that stay the mixture's own where labels are adapted; 0.25 by default.
        encoding: "scores" makes every column about standard normal by its noisy histogram; "affine" only centres and
            scales, for numbers that are to be released as a Gaussian mixture in their own units. Columns in groups
            have an encoding of their own, and need "scores" here.
        layout: Bins and tables that are settled: a `SharedLayout`, the path of one, or a release that serves as one.
            Releases on one layout can be merged (`sf.merge`), and nothing is spent on choosing bins and tables.
        label: "classes" asks for every class of the label apart; "column" takes the label for a column like all others,
            whose tables tell how it goes with them; "auto" does so where the classes have too few rows for the budget.
        tuning: What was tuned once, for all tables.

    Raises:
        ArgumentError: An option is none that there is.

    Example:
        >>> import sfumato as sf
        >>> sf.Mixture(components=4).components
        4
        >>> schema = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
        >>> sf.plan(schema, epsilon=1, delta=1e-6, mechanism=sf.Mixture(encoding="affine")).round("moments", 1).title
        'moments 1'
    """

    components: int | Literal["auto"] | None = option(
        None, help="Gaussians a class, or auto for as many as pay (the default in scores; in data units it is one)."
    )
    pairs: Literal["auto"] | None = option(
        "auto", help="Buy tables of pairs of columns, and follow them: auto where it can be (the default), or none."
    )
    adapt: Literal["labels", "auto"] | None = option(
        None, help="Spend a fifth of the budget on how the label follows the columns: labels, or auto where it pays."
    )
    alpha: float | None = option(
        None, help="Share of the labels that stay the mixture's own where labels are adapted (0.25).", source=ADAPT
    )
    encoding: Literal["scores", "affine"] = option(
        "scores", help="scores, or affine for a Gaussian mixture in the units of the data."
    )
    layout: str | Any | None = option(
        None, help="Bins and tables that are settled, so that releases can be merged: a file of `sfumato layout`."
    )
    label: Literal["auto", "classes", "column"] = option(
        "auto", help="Model every class apart (classes), or the label as a column like all others (column): auto."
    )
    tuning: MixtureTuning = option(MixtureTuning(), help="What was tuned once, for all tables.")

    name: ClassVar[str] = "mixture"

    def __post_init__(self) -> None:
        check_one_of("encoding", self.encoding, ("scores", "affine"))
        check_components(self.components)
        check_one_of("pairs", self.pairs, ("auto",), or_none=True)
        check_one_of("label", self.label, ("auto", "classes", "column"))
        check_one_of("adapt", self.adapt, ("labels", "auto"), or_none=True)
        check_share("alpha", self.alpha)
        if not isinstance(self.tuning, MixtureTuning):
            raise ArgumentError(f"tuning must be a MixtureTuning, not {self.tuning!r}")
        if self.layout is not None and (self.encoding != "scores" or self.adapt is not None):
            raise ArgumentError("layout goes with encoding 'scores' and labels that are not adapted; leave it out")
        shared = shared_layout(self.layout)
        if shared is not None and self.label != "auto" and (self.label == "column") != shared.label_column:
            raise ArgumentError(f"layout: it has settled how the label is asked for, not by label={self.label!r}")
        object.__setattr__(self, "layout", shared)

    def plan(self, public: Public) -> Plan:
        """What a fit would ask, from public facts alone.

        Args:
            public: The layout of the schema, the budget and the adjacency.

        Returns:
            The rounds with their shares, and the loss to expect.

        Raises:
            ArgumentError: Options and schema do not go together.
        """
        from sfumato.mechanisms.mixture.mixture_rounds import plan_mixture

        return plan_mixture(self, public)

    def run(self, curator: Asker, plan: Plan) -> MixtureModel | TiltedModel | ColumnLabelModel:
        """Ask every round through the curator, and build the model from the answers.

        Args:
            curator: The only door to the rows.
            plan: One that this mechanism made.

        Returns:
            The model.
        """
        from sfumato.mechanisms.mixture.mixture_run import run_mixture

        return run_mixture(self, curator, plan)
