"""The picture of an audit: how often attacks err, against what the claim allows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from sfumato.audit.bounds import error_rates
from sfumato.audit.game import Claim
from sfumato.files import replacing
from sfumato.schema.layout import FloatArray

if TYPE_CHECKING:
    from sfumato.audit.run import Verdict

POINTS = 500


def draw(verdict: Verdict, path: str | Path) -> None:
    """Empirical trade-off curves (false negatives over false positives) and the curve below which none may lie."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7.5, 7), layout="constrained")
    rates = np.linspace(0.0, 1.0, POINTS)
    allowed = trade_off(verdict.claimed, rates)
    axis.fill_between(rates, allowed, color="#f3d9cf", label="no attack may come here, by the claim")
    axis.plot(rates, allowed, color="#c2542d", lw=2)
    axis.plot(rates, 1.0 - rates, color="#9aa7b5", lw=1, ls=":", label="guessing")
    for i, finding in enumerate(verdict.findings):
        both = np.concatenate([finding.without, finding.with_row])
        thresholds = np.unique(np.quantile(both, np.linspace(0, 1, POINTS)))
        ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
        label = f"{finding.pair}: {finding.attack} (mu >= {finding.bound.mu:.2f})"
        axis.plot(*error_rates(finding.without, finding.with_row, ends), lw=1.4, color=f"C{i}", label=label)
    axis.set(xlabel="false positives: the row is not there, the attack says it is", xlim=(0, 1), ylim=(0, 1))
    axis.set_ylabel("false negatives")
    axis.set_title(verdict.headline(), fontsize=10, loc="left")
    figure.legend(loc="outside lower left", fontsize=7, frameon=False)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=130, format="png")
    plt.close(figure)


def trade_off(claim: Claim, false_positive: FloatArray) -> FloatArray:
    """The least false negatives that a claim allows: Dong, Roth and Su (2019), definitions 2.6 and 2.3."""
    if claim.mu is not None:
        return np.asarray(ndtr(ndtri(1.0 - false_positive) - claim.mu))
    room = 1.0 - claim.delta
    straight = np.maximum(room - np.exp(claim.epsilon) * false_positive, 0.0)
    return np.maximum(straight, np.exp(-claim.epsilon) * (room - false_positive).clip(min=0.0))
