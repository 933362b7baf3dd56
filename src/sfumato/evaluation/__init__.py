"""Comparing a release with real rows. Private: whatever it prints was computed from real rows without noise.

Public: `evaluate`, one release beside real rows; `compare`, all measures of some rows at once; `typed`, which reads
rows for a measure; `draw_marginals`. Each measure has a module of its own: judges, tables of one to three columns,
range queries, pairs of columns, the few, rules, closest rows.
"""

from sfumato.evaluation.comparison import compare, log_likelihood
from sfumato.evaluation.evaluating import evaluate
from sfumato.evaluation.marginals_plot import draw_marginals
from sfumato.evaluation.release_evaluation import Evaluation
from sfumato.evaluation.typed_rows import TypedRows, typed

__all__ = ["Evaluation", "TypedRows", "compare", "draw_marginals", "evaluate", "log_likelihood", "typed"]
