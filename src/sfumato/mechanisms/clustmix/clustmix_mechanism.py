"""The options of mechanism "clustmix", and its two methods. Planning and running are imported when they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from sfumato.config import ROUND, UNRECORDED, option
from sfumato.errors import ArgumentError
from sfumato.mechanisms.base import Plan, Public
from sfumato.mechanisms.checks import check_components, check_one_of, check_share
from sfumato.mechanisms.tuning import ADAPT, GROUPS, MIXTURE, GroupTuning, HistogramTuning, LabelTuning, NoiseTuning

if TYPE_CHECKING:
    from sfumato.mechanisms.asker import Asker
    from sfumato.models.mixture_model import MixtureModel

MOST_SIGMA = 10.0
CELLS = "docs/proofs/clustmix.md, section 6: rows held out of Adult's train split"
ADAPTS = ("auto", "labels", "points", "both")


@dataclass(frozen=True)
class CellTuning:
    """How cells are found in one kind of columns, and what their rounds get of what the encoding leaves."""

    sigma_max: float = option(0.1, help="Noise on a point.", unit="standard deviations of a column", source=CELLS)
    most: int = option(64, help="Cells of a class, where sigma_max decides.", source=CELLS)
    rounds: int = option(2, help="Rounds in which cells are found.", unit="rounds", source=ROUND)
    share: float = option(0.15, help="Of each of these rounds.", unit="of what the encoding leaves", source=ROUND)
    point_share: float = option(0.35, help="Of the points.", unit="of what the encoding leaves", source=ROUND)
    shape_share: float = option(0.35, help="Of the shapes.", unit="of what the encoding leaves", source=ROUND)
    point_shares: tuple[float, float, float] = option(
        (0.05, 0.85, 0.1), help="Of the points' query: counts, sums, squared norms.", unit="share", source=ROUND
    )
    tightest: float = option(
        0.3, help="What cells are taken to leave of a class's spread at the least.", unit="share", source=ROUND
    )
    scales: tuple[float, float] = option(
        (0.5, 2.0), help="How far a cell's spread may differ from its class's.", unit="times", source=ROUND
    )
    noise: NoiseTuning = option(NoiseTuning(), help="How noisy answers are read.", source=MIXTURE)
    starts: int = option(2000, help="Rows drawn to spread the starts over.", unit="rows", source=ROUND)


@dataclass(frozen=True)
class PointTuning:
    """How points are moved: kernel inducing points on random features of a neural tangent kernel."""

    share: float = option(0.1, help="Part of the budget for the features.", unit="of mu^2", source=ROUND)
    bias: float = option(1.0, help="Of the network, as one more input.", source=ROUND)
    radius: float = option(
        1.45, help="Of the features: just above sqrt(2) times the bias, the norm of an ordinary row.", source=ROUND
    )
    shares: tuple[float, float] = option(
        (0.5, 0.5), help="Of the query: second moment, sums.", unit="share", source=ROUND
    )
    ridge: float = option(3.0, help="Of the regression.", unit="mean of the kernel", source=CELLS)
    noisiest: float = option(
        50.0, help="How many features pay: the rows over the edge of the noise.", unit="rows", source=CELLS
    )
    fewest_features: int = option(40, help="Features at the least.", source=ROUND)
    most_features: int = option(400, help="Features at the most.", source=ROUND)
    steps: int = option(300, help="Steps at the most.", unit="steps", source=CELLS)
    rate: float = option(0.02, help="Rate of the steps.", unit="of Adam", source=UNRECORDED)
    block: int = option(500, help="Points that are moved together.", unit="points", source=UNRECORDED)
    patience: int = option(20, help="Steps without progress, after which it ends.", unit="steps", source=UNRECORDED)
    progress: float = option(
        1e-4, help="Less than this in so many steps is none.", unit="of the loss", source=UNRECORDED
    )
    blur: float = option(
        0.25, help="Over which a gate's derivative is smoothed.", unit="sd of what it reads", source=UNRECORDED
    )
    seed: int = option(0, help="Of the features and of moving, which are free choices.", source="any will do")
    fallback_ridge: float = option(
        0.1, help="Of the regression that is fallen back on.", unit="edge of the noise", source=ROUND
    )


@dataclass(frozen=True)
class ClustmixTuning:
    """What was tuned of clustmix; none of it touches privacy."""

    columns: CellTuning = option(CellTuning(), help="Cells of ordinary columns.", source=CELLS)
    grouped: CellTuning = option(
        CellTuning(sigma_max=1.0, most=10, share=0.12, point_share=0.34, shape_share=0.42),
        help="Cells of columns in groups.",
        source=GROUPS,
    )
    points: PointTuning = option(PointTuning(), help="How points are moved.", source=CELLS)
    histograms: HistogramTuning = option(HistogramTuning(), help="What is assumed of columns.", source=MIXTURE)
    labels: LabelTuning = option(LabelTuning(), help="How labels are adapted.", source=ADAPT)
    groups: GroupTuning = option(GroupTuning(), help="How columns in groups are asked for.", source=GROUPS)

    def cells(self, encoding: str) -> CellTuning:
        """How cells are found in an encoding."""
        return self.grouped if encoding == "projected" else self.columns


@dataclass(frozen=True)
class Clustmix:
    """Many small cells of each class, for whoever wants rows to train classifiers on.

    Args:
        sigma_max: Noise that the mean of a cell may carry, which says how small a cell may be; in units where a
            column's variance is about 1. By default 0.1, and 1 for columns in groups.
        components: Cells that a class begins with; those that turn out too small are merged. By default as many as
            `sigma_max` allows.
        adapt: "labels" spends a part of the budget on how the label follows the columns, "points" moves the points by
            kernel inducing points (it needs the extra `train`), "both" does both, and "auto" adapts labels where that
            can be and noise leaves enough of the rarest class. None adapts nothing.
        alpha: What is adapted is held so much to what it was: the share of labels that stay the model's own, and alpha
            of the paper's equation (6). By default 0.25.
        tuning: What was tuned once, for all tables.

    Raises:
        ArgumentError: An option is none that there is.

    Example:
        >>> import sfumato as sf
        >>> columns = {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}
        >>> plan = sf.plan({"columns": columns}, epsilon=1, delta=1e-6, mechanism=sf.Clustmix(components=8))
        >>> [round.title for round in plan.rounds]
        ['histograms', 'cells 1', 'cells 2', 'points', 'shapes']
    """

    sigma_max: float | None = option(
        None,
        help="Noise that a point may carry, which says how small a cell may be (0.1; 1 for columns in groups).",
        unit="standard deviations of a column",
        source=CELLS,
    )
    components: int | Literal["auto"] | None = option(
        None, help="Cells that a class begins with; as many as sigma_max allows by default."
    )
    adapt: Literal["auto", "labels", "points", "both"] | None = option(
        "auto", help="What is adapted to the private labels: labels, points, both, or labels where they can be (auto)."
    )
    alpha: float | None = option(
        None, help="How much adapted labels and points are held to what they were (0.25).", source=ADAPT
    )
    tuning: ClustmixTuning = option(ClustmixTuning(), help="What was tuned once, for all tables.")

    name: ClassVar[str] = "clustmix"

    def __post_init__(self) -> None:
        sigma = self.sigma_max
        if sigma is not None and (
            isinstance(sigma, bool) or not isinstance(sigma, (int, float)) or not 0.0 < sigma <= MOST_SIGMA
        ):
            raise ArgumentError(f"sigma_max must be a number above 0 and at most {MOST_SIGMA:g}, not {sigma!r}")
        check_components(self.components)
        check_one_of("adapt", self.adapt, ADAPTS, or_none=True)
        check_share("alpha", self.alpha)
        if not isinstance(self.tuning, ClustmixTuning):
            raise ArgumentError(f"tuning must be a ClustmixTuning, not {self.tuning!r}")

    @property
    def held(self) -> float:
        """How much what is adapted is held to what it was."""
        return self.tuning.labels.alpha if self.alpha is None else float(self.alpha)

    def plan(self, public: Public) -> Plan:
        """What a fit would ask, from public facts alone.

        Args:
            public: The layout of the schema, the budget and the adjacency.

        Returns:
            The rounds with their shares. What many small cells are worth is not forecast.

        Raises:
            ArgumentError: Options and schema do not go together.
        """
        from sfumato.mechanisms.clustmix.clustmix_rounds import plan_clustmix

        return plan_clustmix(self, public)

    def run(self, curator: Asker, plan: Plan) -> MixtureModel:
        """Ask every round through the curator, and build the model from the answers.

        Args:
            curator: The only door to the rows.
            plan: One that this mechanism made.

        Returns:
            The model.
        """
        from sfumato.mechanisms.clustmix.clustmix_run import run_clustmix

        return run_clustmix(self, curator, plan)
