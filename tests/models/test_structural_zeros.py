"""Rules as zeros of tables, against all values of small columns."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.encoding.scores import ColumnScores, Scores
from sfumato.models import GaussianMixture, MixtureModel, Tilt, TiltedModel
from sfumato.models.structural_zeros import LIMITS, refined, rule_parts, rule_tables
from sfumato.schema.layout import IntArray, Layout
from sfumato.schema.rules import broken
from sfumato.schema.schema import Schema

AGE: dict[str, Any] = {"type": "number", "min": 0, "max": 29, "step": 1}
COLUMNS: dict[str, Any] = {
    "age": AGE,
    "income": {"type": "number", "min": 0, "max": 9, "step": 1, "missing": True},
    "drug": {"type": "category", "values": ["No", "Up", "Down"]},
    "kind": {"type": "category", "values": ["No", "Up", "Odd"], "missing": True},
    "ill": {"type": "boolean"},
}
RULES = [
    "if age < 15 then income is missing",
    "if ill then drug != 'No'",
    "if drug == 'Up' then kind in ['Up', 'Odd']",
    "drug != kind or drug == 'Up'",
    "if 3 < age <= 7.5 and drug == 'Down' then ill",
    "age not in [4, 9] or kind is not missing",
    "not (age >= 20 and income == 3)",
]


def of(columns: dict[str, Any], *rules: str, label: str | None = None) -> tuple[Schema, Layout]:
    schema = Schema.of({"columns": columns, "constraints": list(rules)} | ({"label": label} if label else {}))
    return schema, Layout.of(schema)


def one_level_a_bin(layout: Layout) -> tuple[IntArray, ...]:
    return tuple(np.arange(size) for size in layout.sizes)


def every_row(layout: Layout) -> tuple[pd.DataFrame, IntArray]:
    """Every combination of bins, each of which is one value."""
    bins = [*layout.bins, *([] if layout.label_bins is None else [layout.label_bins])]
    codes = np.array(list(itertools.product(*(range(b.size) for b in bins)))).T
    names = [*layout.names, *([] if layout.label is None else [layout.label])]
    half = np.full(codes.shape[1], 0.5)
    return pd.DataFrame({n: b.decode(c, half) for n, b, c in zip(names, bins, codes, strict=True)}), codes


def forbidden(layout: Layout, tilt: Tilt, codes: IntArray) -> Any:
    labels = codes[-1] if layout.label is not None else np.zeros(codes.shape[1], np.int64)
    features = codes[: len(layout.names)]
    return tilt.log_weights(tilt.levels_of(list(features), labels)) == -np.inf


@pytest.mark.every(3)
@pytest.mark.parametrize("label", [None, "ill", "drug"])
@pytest.mark.parametrize("rules", [*([rule] for rule in RULES), RULES], ids=str)
def test_zeros_are_the_rows_that_break_a_rule(rules: list[str], label: str | None) -> None:
    schema, layout = of(COLUMNS, *rules, label=label)
    rows, codes = every_row(layout)
    expected = np.logical_or.reduce(list(broken(schema, rows).values()))
    assert expected.any()
    parts = rule_parts(layout, schema.modelling)
    for levels in (one_level_a_bin(layout), refined([np.zeros(size, int) for size in layout.sizes], parts)):
        tables, weights = rule_tables(layout, schema.modelling, levels)
        tilt = Tilt(levels, layout.classes, tables, weights)
        np.testing.assert_array_equal(forbidden(layout, tilt, codes), expected)


def test_parts_are_few() -> None:
    schema, layout = of(COLUMNS, RULES[0])
    age, income, *others = rule_parts(layout, schema.modelling)
    assert age.tolist() == [0] * 15 + [1] * 15
    assert income.tolist() == [0] * 10 + [1]
    assert all((part == 0).all() for part in others)


def test_a_level_across_a_constant_is_no_zero() -> None:
    schema, layout = of(COLUMNS, RULES[0])
    levels = tuple(np.arange(size) // 10 for size in layout.sizes)
    tables, weights = rule_tables(layout, schema.modelling, levels)
    assert tables == ((0, 1),)
    assert (weights.reshape(3, 2) == -np.inf).tolist() == [[True, False], [False, False], [False, False]]


@pytest.mark.parametrize(
    ("rule", "open_bins"),
    [("not (x > 4.5 and x < 5.2)", [4, 5]), ("not (x > 2 and x < 8)", [2, 7]), ("x != 5", list(range(10)))],
)
def test_a_bin_that_a_rule_cuts_in_two_stays_open(rule: str, open_bins: list[int]) -> None:
    columns = {"x": {"type": "number", "min": 0, "max": 10, "bins": 10}, "c": COLUMNS["drug"]}
    schema, layout = of(columns, rule)
    levels = one_level_a_bin(layout)
    tables, weights = rule_tables(layout, schema.modelling, levels)
    zero = np.zeros(10, dtype=bool) if not tables else weights == -np.inf
    inside = np.array([not zero[i] for i in open_bins])
    assert inside.all()
    if "2" in rule and "8" in rule:
        assert zero[3:7].all()


def test_steps_that_miss_the_constants_are_seen() -> None:
    """A bin of 0, 2, 4, 6 where only 4 keeps the rule: no constant lies on the grid."""
    columns = {"x": {"type": "number", "min": 0, "max": 30, "step": 2, "bins": 4}, "c": COLUMNS["drug"]}
    schema, layout = of(columns, "if c == 'Up' then 3.1 < x < 5.3")
    tables, weights = rule_tables(layout, schema.modelling, one_level_a_bin(layout))
    assert tables == ((0, 1),)
    zero = weights.reshape(4, 3) == -np.inf
    assert zero[:, 1].tolist() == [False, True, True, True]
    assert not zero[:, [0, 2]].any()


@pytest.mark.parametrize(
    "rule", ["age + income < 20", "age * 2 > 5", "if ill then age <= income + 4", "total == age + income"]
)
def test_rules_that_calculate_are_left_to_drawing_again(rule: str) -> None:
    columns = COLUMNS | {"total": AGE | {"max": 99, "missing": True}}
    schema, layout = of(columns, rule)
    tables, weights = rule_tables(layout, schema.modelling, one_level_a_bin(layout))
    assert tables == ()
    assert len(weights) == 0
    assert all((part == 0).all() for part in rule_parts(layout, schema.modelling))


def test_rules_of_too_many_cells_are_left_to_drawing_again() -> None:
    many = [str(i) for i in range(2 + int(LIMITS.cells**0.5))]
    town = {"type": "category", "values": many}
    schema, layout = of({"a": town, "b": town}, "a != b")
    assert rule_tables(layout, schema.modelling, one_level_a_bin(layout))[0] == ()


def test_dates_and_categories_of_a_label() -> None:
    day = {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 366}
    rule = "if drug == 'Up' then came >= '2020-03-01'"
    schema, layout = of({"came": day, "drug": COLUMNS["drug"]}, rule, label="drug")
    (part,) = rule_parts(layout, schema.modelling)
    assert part.tolist() == [0] * 60 + [1] * 306
    ((table,), weights) = rule_tables(layout, schema.modelling, (part,))
    assert table == (0, 1)
    assert (weights.reshape(2, 3) == -np.inf).tolist() == [[False, True, False], [False, False, False]]


def test_rows_with_zeros_break_no_rule() -> None:
    schema, layout = of(COLUMNS, *RULES)
    encoder = Scores(tuple(ColumnScores(np.arange(size), np.full((1, size), 1 / size)) for size in layout.sizes))
    correlations = 0.3 + 0.7 * np.eye(5)
    base = MixtureModel(layout, encoder, GaussianMixture(np.ones(1), np.zeros((1, 5)), correlations[None]))
    levels = refined([np.zeros(size, int) for size in layout.sizes], rule_parts(layout, schema.modelling))
    tilt = Tilt(levels, 1, *rule_tables(layout, schema.modelling, levels))
    model = TiltedModel.of(base, tilt, 5000, np.random.default_rng(0))
    assert np.exp(model.log_total) < 0.5
    columns, _ = model.draw(20_000, np.random.default_rng(1))
    frame = pd.DataFrame(dict(zip(layout.names, columns, strict=True)))
    assert not any(mask.any() for mask in broken(schema, frame).values())


@pytest.mark.slow
def test_a_release_with_rules_draws_no_row_again() -> None:
    rng = np.random.default_rng(0)
    n = 3000
    table = pd.DataFrame({
        "age": rng.integers(0, 30, n), "income": rng.integers(0, 10, n), "drug": rng.choice(["No", "Up", "Down"], n),
        "kind": rng.choice(np.array(["No", "Up", "Odd", None], object), n), "ill": rng.random(n) < 0.5,
    })  # fmt: skip
    schema = Schema.of({"columns": COLUMNS, "constraints": RULES})
    release = sf.fit(table, schema, epsilon=4, delta=1e-6, insecure_seed=1)
    assert release.keeping.log_share == 0.0
    rows = release.sample(20_000, seed=0)
    assert not any(mask.any() for mask in broken(schema, rows).values())
    assert np.isfinite(release.log_density(rows.head(50))).all()
