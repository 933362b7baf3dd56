"""What is measured of synthetic rows: how each figure is called, which way is better, and what it says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """One figure.

    Attributes:
        title: What it is called.
        more_is_better: Which way is better.
        digits: How many are shown behind the point.
        about: What it says, in a sentence.
    """

    title: str
    more_is_better: bool
    digits: int = 3
    about: str = ""


AUC = "area under the ROC curve on real test rows; 1 is best, 0.5 is guessing"
R2 = "share of the target's variance on real test rows that is explained; 1 is best, 0 is guessing the mean"
MAE = "mean absolute error on real test rows, in the unit of the target"

LEARNING = {
    "lightgbm": Measure("LightGBM", True, 3, f"Boosted trees: {AUC}."),
    "logistic": Measure("logistic", True, 3, f"Logistic regression: {AUC}."),
    "forest": Measure("forest", True, 3, f"Random forest: {AUC}."),
    "lightgbm_r2": Measure("LightGBM, R\u00b2", True, 3, f"Boosted trees: {R2}."),
    "linear_r2": Measure("linear, R\u00b2", True, 3, f"Linear regression with a small penalty: {R2}."),
    "forest_r2": Measure("forest, R\u00b2", True, 3, f"Random forest: {R2}."),
    "lightgbm_error": Measure("LightGBM, error", False, 3, f"Boosted trees: {MAE}."),
    "linear_error": Measure("linear, error", False, 3, f"Linear regression with a small penalty: {MAE}."),
    "forest_error": Measure("forest, error", False, 3, f"Random forest: {MAE}."),
    "any_column": Measure(
        "any column", True, 3, "Mean over columns as targets of LightGBM's AUC, numbers split at the real median."
    ),
}
TABLES = {
    "tv1": Measure("TV 1", False, 3, "Mean distance of single columns: half the sum of the differences of shares."),
    "tv2": Measure("TV 2", False, 3, "The same of tables of two columns."),
    "tv3": Measure("TV 3", False, 3, "The same of tables of three columns, 120 of them at most."),
    "told_apart": Measure(
        "told apart", False, 3, "AUC of LightGBM telling synthetic from real rows; 0.5 is best: it cannot."
    ),
    "range_queries": Measure(
        "range queries", False, 4, "Mean error of the share of rows in 1,000 random ranges of one to three columns."
    ),
    "correlation": Measure(
        "correlation", True, 3, "How like correlations of numbers are, as SDMetrics has it; 1 is best."
    ),
    "contingency": Measure(
        "contingency", True, 3, "How like tables of two categories are, as SDMetrics has it; 1 is best."
    ),
}
THE_FEW = {
    "rare_covered": Measure(
        "rare values there", True, 3, "Share of the rare values (below 1 % of rows) that come at all."
    ),
    "rare_error": Measure("error of rare values", False, 3, "Mean error of their shares, relative, 1 at most."),
    "group_error": Measure(
        "error of small groups",
        False,
        3,
        "Two categories that 0.2 to 2 % of rows share: mean relative error of the share.",
    ),
    "group_label_error": Measure(
        "label in small groups", False, 3, "Mean distance of the label inside of such groups."
    ),
}
OTHERS = {
    "broken_rules": Measure("broken rules", False, 4, "Share of rows that break a rule."),
    "log_likelihood": Measure(
        "log-likelihood", True, 2, "Mean log density of held-out rows that keep the rules, in nats."
    ),
    "log_likelihood_train": Measure(
        "log-likelihood, train", True, 2, "The same of train rows: much more than of held-out ones would be memory."
    ),
}
CLOSEST = {
    "nearer_train": Measure(
        "nearer to train rows",
        False,
        3,
        "Share of synthetic rows nearer to train than to test rows; 0.5 is no copying.",
    ),
    "closest": Measure("distance to closest", True, 3, "Median distance to the closest train row."),
    "copies": Measure("equal to a train row", False, 4, "Share of rows that equal a train row in every cell."),
}
MEASURE_SECTIONS = {
    "What models learn from the rows": LEARNING,
    "How like real rows they are": TABLES,
    "The few": THE_FEW,
    "Rules and likelihood": OTHERS,
    "Distance to the closest record": CLOSEST,
}
MEASURES = LEARNING | TABLES | THE_FEW | OTHERS | CLOSEST
