"""All measures of synthetic rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sfumato.errors import SfumatoError
from sfumato.evaluation.broken_rules import broken_share
from sfumato.evaluation.coverage import rare_values, small_groups
from sfumato.evaluation.judges import any_column, judge_label, told_apart
from sfumato.evaluation.pair_similarity import contingency_similarity, correlation_similarity
from sfumato.evaluation.range_queries import range_query_error
from sfumato.evaluation.table_distances import table_distance
from sfumato.evaluation.typed_rows import TypedRows, typed
from sfumato.schema.schema import Schema

if TYPE_CHECKING:
    from sfumato.release.release import Release


def compare(
    synthetic: pd.DataFrame, train: pd.DataFrame, test: pd.DataFrame | None, schema: Schema, rules: Sequence[str] = ()
) -> dict[str, float]:
    """Every measure of synthetic rows that is defined for them.

    Args:
        synthetic: Rows of a release.
        train: The real rows that it was made of.
        test: Other real rows, for the judges; None where there are none.
        schema: Of all of them.
        rules: What is known of columns together besides the schema's own rules.

    Returns:
        The figures by name: see the module of each.
    """
    ours, real = typed(synthetic, schema), typed(train, schema)
    judged = {} if test is None else judgements(ours, real, typed(test, schema))
    figures = judged | likeness(ours, real) | {"broken_rules": broken_share(synthetic, schema, rules)}
    return {name: value for name, value in figures.items() if not np.isnan(value)}


def judgements(synthetic: TypedRows, real: TypedRows, test: TypedRows) -> dict[str, float]:
    """What classifiers learn from synthetic rows, tested on real ones."""
    by_label = {} if real.schema.label is None else judge_label(synthetic, test)
    return by_label | {"any_column": any_column(synthetic, test, real)}


def likeness(synthetic: TypedRows, real: TypedRows, *, tell_apart: bool = True) -> dict[str, float]:
    """How like the real rows synthetic ones are; `tell_apart` needs LightGBM."""
    ways = [way for way in (1, 2, 3) if len(real.names) >= way]
    return {
        **{f"tv{way}": table_distance(real, synthetic, way) for way in ways},
        **({"told_apart": told_apart(real, synthetic)} if tell_apart else {}),
        "range_queries": range_query_error(real, synthetic),
        "correlation": correlation_similarity(real, synthetic),
        "contingency": contingency_similarity(real, synthetic),
        **rare_values(real, synthetic),
        **small_groups(real, synthetic),
    }


def log_likelihood(release: Release, rows: pd.DataFrame) -> float:
    """The mean log density of rows that a release was not made of.

    Args:
        release: A release.
        rows: Real rows.

    Returns:
        In nats a row; NaN where the release has no density.
    """
    try:
        return float(np.mean(release.log_density(rows)))
    except SfumatoError:
        return float("nan")
