"""Comparing a release with real rows. Private: whatever it prints was computed from real rows without noise.

Public: `auc`, of a classifier trained on synthetic rows; `total_variation`, of marginals; `draw_marginals`.
"""

from sfumato.evaluation.marginals_plot import draw_marginals
from sfumato.evaluation.usefulness import auc, total_variation

__all__ = ["auc", "draw_marginals", "total_variation"]
