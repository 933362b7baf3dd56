"""The trade-off that a plan promises: expected KL over epsilon, drawn before any data is touched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sfumato.errors import ArgumentError
from sfumato.files import replacing
from sfumato.mechanisms.base import Plan


def sweep(plans: Sequence[Plan], points: int = 25, wider: float = 4.0) -> list[float]:
    """Epsilons around those asked for, evenly in the logarithm: from `wider` times below the least to as far above the
    largest.
    """
    asked = [each.epsilon for each in plans]
    return [float(e) for e in np.geomspace(min(asked) / wider, max(asked) * wider, points)]


def draw_plans(curve: Sequence[Plan], asked: Sequence[Plan], path: str | Path) -> None:
    """Expected KL, in all and part by part; dots mark the epsilons asked for."""
    if not curve[0].expected_kl:
        raise ArgumentError("the loss of clustmix and of columns in groups is not forecast: there is nothing to plot")
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7.5, 5), layout="constrained")
    epsilons = [each.epsilon for each in curve]
    for part in curve[0].expected_kl:
        axis.plot(epsilons, [each.expected_kl[part] for each in curve], lw=1, label=part)
    axis.plot(epsilons, [sum(each.expected_kl.values()) for each in curve], lw=2.2, color="black", label="total")
    for each in asked:
        total = sum(each.expected_kl.values())
        axis.plot(each.epsilon, total, "o", color="#c2542d")
        axis.annotate(f"{total:.2g}", (each.epsilon, total), xytext=(6, 6), textcoords="offset points")
    axis.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="expected KL, nats a row")
    first = curve[0]
    guess = f"{first.rows:,} rows guessed, delta {first.delta:g}, {first.adjacency}, {first.encoding}"
    axis.set_title(f"What privacy costs, before any data is touched\n{guess}", fontsize=10, loc="left")
    ticks = [
        e for e in np.unique([each.epsilon for each in asked] + list(2.0 ** np.arange(-20, 21))) if e >= epsilons[0]
    ]
    axis.set_xticks(ticks, [f"{e:g}" for e in ticks])
    axis.set_xticks([], minor=True)
    axis.set_xlim(epsilons[0], epsilons[-1])
    axis.grid(which="both", lw=0.3)
    axis.legend(frameon=False)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=130, format="png")
    plt.close(figure)
