"""The options of mechanism "slicing", and its two methods. Planning and running are imported when they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from sfumato.config import ROUND, option
from sfumato.errors import ArgumentError
from sfumato.mechanisms.base import Plan, Public
from sfumato.mechanisms.checks import check_one_of, check_whole
from sfumato.mechanisms.tuning import GROUPS, MIXTURE, GroupTuning, HistogramTuning
from sfumato.training.settings import ADULT, Training

if TYPE_CHECKING:
    from sfumato.mechanisms.asker import Asker
    from sfumato.models.generator_model import GeneratorModel

MOST_SLICES = 1 << 20
MOST_SLICE_DIM = 16
MNIST = "docs/proofs/slicing.md, section 9: a 50,000/10,000 split of MNIST's train digits"


@dataclass(frozen=True)
class WaveTuning:
    """The frequencies of the central form."""

    count_share: float = option(0.02, help="Of the waves' query, for counts.", unit="share", source=ROUND)
    span: int = option(16, help="Columns that one slice looks at, at most.", unit="columns", source=ADULT)
    scales: tuple[float, ...] = option(
        (0.5, 1.0), help="Of frequencies.", unit="where a coordinate's variance is 1", source=ADULT
    )
    plane_scales: tuple[float, ...] = option(
        (0.7, 1.0), help="Of frequencies in planes, for columns in groups.", unit="as above", source=MNIST
    )
    fewest: int = option(400, help="Waves at the least, and for ordinary columns.", unit="waves", source=ADULT)
    most: int = option(3000, help="Waves at the most.", unit="waves", source=ROUND)
    a_plane: float = option(2.5, help="Waves for every plane of two coordinates.", unit="waves", source=MNIST)
    seed: int = option(0, help="Of the frequencies, which are public.", source="any will do")


@dataclass(frozen=True)
class SlicingTuning:
    """What was tuned of slicing; none of it touches privacy."""

    histograms_before_waves: float = option(
        0.7, help="Of the histograms, in form central.", unit="of mu^2", source=ADULT
    )
    histograms_before_rows: float = option(0.3, help="Of the histograms, in form rows.", unit="of mu^2", source=ROUND)
    groups_before_waves: tuple[float, float, float] = option(
        (0.08, 0.2, 0.075), help="Of centres, shape and columns, in form central.", unit="of mu^2", source=ROUND
    )
    groups_before_rows: tuple[float, float] = option(
        (0.15, 0.05), help="Of centres and columns, in form rows.", unit="of mu^2", source=ROUND
    )
    class_height: float = option(
        2.0, help="Of the class in a row's vector.", unit="where a coordinate's variance is 1", source=ROUND
    )
    flattest: float = option(
        0.02, help="Variance of a main direction that training begins with.", unit="variance", source=ROUND
    )
    waves: WaveTuning = option(WaveTuning(), help="The frequencies of form central.", source=ADULT)
    histograms: HistogramTuning = option(HistogramTuning(), help="What is assumed of columns.", source=MIXTURE)
    groups: GroupTuning = option(GroupTuning(), help="How columns in groups are asked for.", source=GROUPS)


@dataclass(frozen=True)
class Slicing:
    """Noisy slices of the table, bought once; generators are trained on them for free, as often as one likes.

    Args:
        form: "central" asks for class sums along random slices; "rows" for noisy projections of every row, which makes
            the number of rows public and needs adjacency "replace-one".
        slices: For form "rows", how many slices of every row. By default as many as there is room for: from as many
            projections as coordinates on, rows themselves get the noise, which tells more.
        slice_dim: Dimensions of a slice.
        calibration: For form "rows", noise by the "exact" law or by "theorem1" of the paper, which is larger.
        training: How a generator is trained once everything is bought. None leaves it to `release.train(...)`.
        tuning: What was tuned once, for all tables.

    Raises:
        ArgumentError: An option is none that there is, or belongs to the other form.

    Example:
        >>> import sfumato as sf
        >>> columns = {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}
        >>> plan = sf.plan({"columns": columns}, epsilon=1, delta=1e-6, mechanism=sf.Slicing(training=None))
        >>> [round.title for round in plan.rounds]
        ['histograms', 'waves']
    """

    form: Literal["central", "rows"] = option(
        "central", help="central, class sums along random slices, or rows, each with noise of its own."
    )
    slices: int | None = option(None, help="Slices of every row, for form rows; as many as there is room for.")
    slice_dim: int = option(2, help="Dimensions of a slice.", source=ROUND)
    calibration: Literal["exact", "theorem1"] = option(
        "exact",
        help="Noise of form rows: by the exact law, or by theorem1 of the paper.",
        source="docs/proofs/slicing.md",
    )
    training: Training | None = option(
        Training(), help="How a generator is trained once everything is bought; none leaves it for later."
    )
    tuning: SlicingTuning = option(SlicingTuning(), help="What was tuned once, for all tables.")

    name: ClassVar[str] = "slicing"

    def __post_init__(self) -> None:
        check_one_of("form", self.form, ("central", "rows"))
        check_one_of("calibration", self.calibration, ("exact", "theorem1"))
        check_whole("slice_dim", self.slice_dim, MOST_SLICE_DIM)
        if self.slices is not None:
            check_whole("slices", self.slices, MOST_SLICES)
        if self.form != "rows" and (self.slices is not None or self.calibration != "exact"):
            what = "calibration" if self.slices is None else "slices"
            raise ArgumentError(f"{what} is for form 'rows'")
        if self.training is not None and not isinstance(self.training, Training):
            raise ArgumentError(f"training must be settings (sf.Training) or None, not {self.training!r}")
        problem = None if self.training is None else self.training.problem()
        if problem is not None:
            raise ArgumentError(problem)
        if not isinstance(self.tuning, SlicingTuning):
            raise ArgumentError(f"tuning must be a SlicingTuning, not {self.tuning!r}")

    def plan(self, public: Public) -> Plan:
        """What a fit would ask, from public facts alone.

        Args:
            public: The layout of the schema, the budget and the adjacency.

        Returns:
            The rounds with their shares, and the slices that are set aside. The loss is not forecast.

        Raises:
            ArgumentError: Options and schema, or adjacency, do not go together.
        """
        from sfumato.mechanisms.slicing.slicing_rounds import plan_slicing

        return plan_slicing(self, public)

    def run(self, curator: Asker, plan: Plan) -> GeneratorModel:
        """Ask every round through the curator, and keep what generators are trained on.

        Args:
            curator: The only door to the rows.
            plan: One that this mechanism made.

        Returns:
            The model, not trained yet.
        """
        from sfumato.mechanisms.slicing.slicing_run import run_slicing

        return run_slicing(self, curator, plan)
