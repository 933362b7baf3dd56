"""What was tuned of pair tables: shares of the budget and sizes, which touch utility alone."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.config import ROUND, option

PAIRS = "docs/proofs/pair-tables.md, section 5: UCI Adult's train split"


@dataclass(frozen=True)
class PairTuning:
    """How tables are chosen, bought and followed."""

    share: float = option(0.4, help="Part of the budget for tables and their choice.", unit="of mu^2", source=PAIRS)
    share_beside_labels: float = option(0.3, help="The same where labels are adapted.", unit="of mu^2", source=PAIRS)
    label_share: float = option(
        0.3, help="Part of what tables leave for labels, where they are adapted.", unit="share", source=PAIRS
    )
    drowning_label: float = option(
        0.15,
        help="Noise on histograms by class, to be expected, above which the label is a column like all others.",
        unit="nats a column",
        source=PAIRS,
    )
    distance_share: float = option(0.1, help="Part of that for choosing them.", unit="share", source=PAIRS)
    rounds: int = option(3, help="How often tables are chosen and bought.", unit="rounds", source=PAIRS)
    label_round: int = option(
        3,
        help="The first round whose tables may have the label; the first of all where noise is small.",
        unit="round",
        source=PAIRS,
    )
    levels: int = option(16, help="Levels of a column at the most.", source=PAIRS)
    frequent: float = option(
        8.0,
        help="A category of more rows has a level of its own in any case.",
        unit="sd of a cell of a typical table",
        source="docs/proofs/pair-tables.md, section 7: a split of Census's train rows",
    )
    most_frequent: int = option(64, help="Levels of a column with such categories at the most.", source=ROUND)
    joint_rows: float = option(
        8.0, help="Rows that a cell of a table of many columns has on average, at the least.", unit="rows", source=ROUND
    )
    joint_columns: int = option(12, help="Columns of such a table at the most.", unit="columns", source=ROUND)
    candidate_sd: float = option(
        0.1, help="Noise on a distance at the most: beyond it fewer tables are looked at.", unit="of rows", source=ROUND
    )
    most_tables: int = option(400, help="Tables of a round at the most.", unit="tables", source=ROUND)
    again: float = option(
        0.7, help="A table is bought again where its noise would be below this.", unit="of its noise", source=ROUND
    )
    pools: tuple[int, int] = option(
        (30_000, 150_000), help="Rows of the model that tables are counted in, from so many to so many.", source=PAIRS
    )
    typical_cell: float = option(1 / 64, help="A cell that their number is chosen by.", unit="of rows", source=ROUND)
    typical_tables: int = option(20, help="Tables of a round that it is chosen by.", unit="tables", source=ROUND)
    pool_cells: int = option(1_500_000, help="Numbers that these rows have at the most.", unit="numbers", source=ROUND)
    steps: int = option(25, help="Steps of each solution of the dual.", unit="steps", source=PAIRS)
    effective: float = option(0.5, help="Effective share of rows below which a step is cut short.", source=ROUND)
    settled: float = option(0.9, help="Effective share of rows above which a round is done.", source=ROUND)
    refreshes: int = option(4, help="How often rows follow in a round, at the most.", unit="times", source=PAIRS)
    sweeps: int = option(2, help="How often each column of a row is moved then.", unit="sweeps", source=PAIRS)
    settlings: int = option(10, help="How often rows are drawn anew in the end.", unit="times", source=PAIRS)
    doubts: tuple[float, float, float] = option(
        (0.03, 1 / 8, 2.0),
        help="What is doubted of cells that few of these rows are in: least, per time too few rows, most.",
        unit="of the variance of their count",
        source=PAIRS,
    )
    weights_a_row: tuple[float, float] = option(
        (0.06, 0.15),
        help="Weights that are fitted for each of these rows at the most: while tables are bought, and in the end.",
        unit="weights",
        source=PAIRS + ", and credit default's",
    )
    trusted: float = option(
        3.0, help="Rows of the pool for each row that the mixture is trusted like, at the least.", source=PAIRS
    )
    under_ceiling: float = option(
        0.9999,
        help="Rows whose weights stay as they are; those of the others are cut to the largest of these.",
        source=ROUND,
    )
    column_noise: float = option(
        2.0,
        help="How far a column of a sample may be from its histogram.",
        unit="sd of its noise",
        source="docs/proofs/pair-tables.md, section 6: splits of the train rows of Adult, Census, credit and frauds",
    )
    following: float = option(
        0.2,
        help="A column is drawn given another one that leaves no more than this of it open, by entropy and by noise.",
        unit="share",
        source="docs/proofs/pair-tables.md, section 7: splits of the train rows of Adult, Census and ACS",
    )
