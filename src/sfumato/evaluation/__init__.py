"""Comparing a release with real rows. Private: whatever it prints was computed from real rows without noise.

Public: `compare`, all measures at once; `typed`, which reads rows for a measure; `draw_marginals`. Each measure has a
module of its own: judges, tables of one to three columns, range queries, pairs of columns, the few, rules.
"""

from sfumato.evaluation.comparison import compare, log_likelihood
from sfumato.evaluation.marginals_plot import draw_marginals
from sfumato.evaluation.typed_rows import TypedRows, typed

__all__ = ["TypedRows", "compare", "draw_marginals", "log_likelihood", "typed"]
