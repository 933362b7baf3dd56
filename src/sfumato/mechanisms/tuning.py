"""What was tuned and is shared by several mechanisms: every number with its unit and where it comes from.

None of it touches privacy, and none was chosen on a test split. Mechanisms have a `tuning` of their own that holds
these; whoever has public data of the same kind may choose better.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.config import ROUND, option
from sfumato.encoding.cleaning import Cleaning

MIXTURE = "docs/proofs/mixture.md, section 4: an 80/20 split of UCI Adult's train split"
ADAPT = "docs/proofs/adapt.md, section 5: an 80/20 split of UCI Adult's train split"
GROUPS = "docs/proofs/clustmix.md, section 6: 50,000 of MNIST's train rows, 10,000 held out"


@dataclass(frozen=True)
class HistogramTuning:
    """What is assumed of columns before any data is seen, to divide the budget by."""

    log_slope: float = option(
        10.0, help="How much a column's log-density changes over its range.", unit="nats", source=MIXTURE
    )
    hidden_cells: float = option(
        4.0, help="What cells below the noise floor add to the cost of histograms.", unit="times", source=MIXTURE
    )
    cleaning: Cleaning = option(Cleaning(), help="How noise is taken out of histograms.", source=ROUND)


@dataclass(frozen=True)
class NoiseTuning:
    """How noisy answers are read: where noise ends and what the rows say begins."""

    margin: float = option(
        1.5,
        help="What is beyond this counts as signal in shrinkage.",
        unit="expected energy of the noise",
        source=MIXTURE,
    )
    eigenvalue_floor: float = option(
        0.05,
        help="Of a released shape: noisy distributions of columns support no sharper one.",
        unit="where a column's variance is 1",
        source=MIXTURE,
    )
    fewest_rows: float = option(
        3.0, help="What a class or a cell holds at the least.", unit="sd of its count", source=ROUND
    )


@dataclass(frozen=True)
class LabelTuning:
    """How labels are adapted, for columns outside groups: a logistic model of the label, by noisy gradients."""

    share: float = option(0.2, help="Part of the budget for the labels.", unit="of mu^2", source=ADAPT)
    rounds: int = option(4, help="Noisy gradients that are asked for.", unit="rounds", source=ADAPT)
    alpha: float = option(0.25, help="Share of labels that stay the model's own.", unit="share", source=ADAPT)
    drawn: int = option(20_000, help="Rows of the model that the regression begins with.", unit="rows", source=ROUND)
    unclipped: float = option(0.95, help="Drawn rows that are not clipped.", unit="share", source=ROUND)
    ridge: float = option(1.0, help="Ridge of the regression on drawn rows.", unit="rows", source=ROUND)
    newton_steps: int = option(20, help="Newton steps on drawn rows, which are free.", unit="steps", source=ROUND)
    longest_step: float = option(1.0, help="What a step may move logits, root mean square.", unit="nats", source=ADAPT)
    noisiest: float = option(
        0.3,
        help="Noise on a logit above which adapt='auto' leaves labels as they are.",
        unit="nats, root mean square",
        source="docs/proofs/adapt.md, section 5: Adult and credit default over epsilon",
    )
    least_curvature: float = option(
        0.1, help="A measured curvature below is not believed.", unit="of what was expected", source=ROUND
    )


@dataclass(frozen=True)
class GroupTuning:
    """How columns in groups, such as pixels, are asked for: where classes lie, their main directions, the way back."""

    wide: int = option(128, help="Coordinates above which a projection counts as wide.", unit="", source=GROUPS)
    shares: tuple[float, float, float, float] = option(
        (0.075, 0.19, 0.66, 0.075), help="Of centres, shape, shapes and columns.", unit="of mu^2", source=GROUPS
    )
    wide_shares: tuple[float, float, float, float] = option(
        (0.07, 0.66, 0.14, 0.13), help="The same for a wide projection.", unit="of mu^2", source=GROUPS
    )
    label_share: float = option(0.47, help="Part of the budget for adapted labels.", unit="of mu^2", source=GROUPS)
    label_rounds: int = option(24, help="Noisy gradients that are asked for.", unit="rounds", source=GROUPS)
    wide_label_share: float = option(0.25, help="The same for a wide projection.", unit="of mu^2", source=GROUPS)
    wide_label_rounds: int = option(20, help="The same for a wide projection.", unit="rounds", source=GROUPS)
    centre_shares: tuple[float, float, float] = option(
        (0.1, 0.6, 0.3), help="Of the centres' query: counts, sums, squared norms.", unit="share", source=ROUND
    )
    mean_shares: tuple[float, float] = option(
        (0.15, 0.85), help="Where centres are asked again: counts, sums.", unit="share", source=ROUND
    )
    shape_shares: tuple[float, float] = option(
        (0.6, 0.4), help="Of the shape's query: second moment, sums of classes.", unit="share", source=ROUND
    )
    column_shares: tuple[float, float] = option(
        (0.05, 0.95), help="Of the columns' query: counts, sums.", unit="share", source=ROUND
    )
    clip: float = option(1.5, help="A row is clipped beyond this.", unit="mean squared norms", source=ROUND)
    noise_edge: float = option(
        1.5, help="A direction below this is taken for noise.", unit="edge of the noise's spectrum", source=GROUPS
    )
    fewest_directions: int = option(6, help="Main directions at the least.", unit="", source=GROUPS)
    most_directions: int = option(48, help="Main directions at the most.", unit="", source=GROUPS)
    class_widths: tuple[float, float] = option(
        (0.4, 2.0), help="How far a class's spread may differ from that of all.", unit="times", source=ROUND
    )
    noisiest_shape: float = option(
        1.6,
        help="Noise on the shape of a class above which its mean is asked again instead, and no labels are adapted.",
        unit="largest eigenvalue of noise, in that of rows",
        source=ROUND,
    )
    steepest: float = option(8.0, help="Narrow directions are stretched no further.", unit="times", source=ROUND)
    noise: NoiseTuning = option(NoiseTuning(), help="How noisy answers are read.", source=MIXTURE)
    snap: float = option(
        2.0, help="A bound this near to a noisy mean is taken for it.", unit="sd of the mean", source=ROUND
    )
    most_snap: float = option(
        0.02, help="A bound further than this from a noisy mean is not.", unit="of the range", source=ROUND
    )
    label_coordinates: int = option(64, help="Coordinates that a label model sees.", unit="", source=GROUPS)
    label_signal: float = option(
        4.0, help="Variance that such a coordinate needs.", unit="noise of an entry", source=GROUPS
    )
    label_drawn: int = option(20_000, help="Rows of the model that it begins with.", unit="rows", source=ROUND)
    free_steps: int = option(100, help="Steps on those rows, which are free.", unit="steps", source=ROUND)
    free_rate: float = option(60.0, help="Rate of those steps.", unit="1 / squared norm", source=ROUND)
    rate: float = option(400.0, help="Rate of the noisy steps.", unit="1 / squared norm", source=GROUPS)
    momentum: float = option(0.9, help="Momentum of both.", unit="share", source=ROUND)
    residual_cap: float = option(0.2, help="Residuals are clipped to this norm.", unit="probability", source=GROUPS)
    label_unclipped: float = option(
        0.05, help="Drawn rows whose features are within the radius.", unit="share", source=GROUPS
    )
    sharpen: float = option(
        6.0,
        help="What slopes are multiplied by, because clipped residuals leave them flat.",
        unit="times",
        source=GROUPS,
    )
