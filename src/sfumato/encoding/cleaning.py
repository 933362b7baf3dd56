"""How noise is taken out of histograms: what was chosen of it. It stands alone, so that configs can hold it cheaply."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.config import ROUND, UNRECORDED, option


@dataclass(frozen=True)
class Cleaning:
    """Where noise ends and a difference begins, between neighbouring bins and between classes."""

    smooth_below: float = option(
        2.0,
        help="A difference of neighbouring bins below this is taken for noise.",
        unit="sd",
        source="docs/proofs/mixture.md, 4",
    )
    pool_within: float = option(
        2.0,
        help="A class no further than this from all classes takes their distribution.",
        unit="sd of its squared distance",
        source=UNRECORDED,
    )
    refine_level: float = option(
        0.01,
        help="A bin is looked into if noise alone would make any of a look's bins look so full this rarely.",
        unit="probability",
        source=ROUND,
    )
    refine_share: float = option(
        1.0 / 64.0,
        help="And if it holds more of the column's rows than this: the rest is as well spread over it.",
        unit="share",
        source=ROUND,
    )
    merge_level: float = option(
        0.01,
        help="Neighbouring bins stay apart if noise alone would set any two of a look so far apart this rarely.",
        unit="probability",
        source=ROUND,
    )
