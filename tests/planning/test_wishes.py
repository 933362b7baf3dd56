"""Wishes: solved for epsilon, and back; and what cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.test_widths import SCHEMA

import sfumato as sf
from sfumato.errors import ArgumentError

TERMS: dict[str, Any] = {"delta": 1e-6, "rows": 5000}


def solved(**wishes: Any) -> sf.EpsilonRange:
    return sf.epsilon_for(SCHEMA, sf.Wishes(**wishes), **TERMS)


def at(epsilon: float) -> sf.Outlook:
    return sf.outlook(sf.plan(SCHEMA, epsilon=epsilon, **TERMS))


def test_a_limit_on_the_risk_allows_just_so_much() -> None:
    found = solved(max_advantage=0.1)
    assert (found.needed, found.epsilon) == (None, found.allowed)
    assert at(found.epsilon).risk.advantage <= 0.1 < at(1.01 * found.epsilon).risk.advantage
    rates = solved(tpr_at=(0.01, 0.05))
    assert at(rates.epsilon).risk.true_positives(0.01) <= 0.05 < at(1.01 * rates.epsilon).risk.true_positives(0.01)


def test_a_wanted_accuracy_needs_just_so_much() -> None:
    found = solved(count_within=50)
    assert (found.allowed, found.epsilon) == (None, found.needed)
    assert at(found.epsilon).widths.count <= 50 < at(0.99 * found.epsilon).widths.count
    mean = solved(mean={"age": 0.5})
    assert at(mean.epsilon).widths.mean("age") <= 0.5 < at(0.99 * mean.epsilon).widths.mean("age")


def test_of_several_wishes_the_hardest_counts() -> None:
    both = solved(count_within=50, mean={"age": 0.5}, max_advantage=0.9, tpr_at=(0.01, 0.05))
    assert both.needed == max(solved(count_within=50).epsilon, solved(mean={"age": 0.5}).epsilon)
    assert both.allowed == min(solved(max_advantage=0.9).epsilon, solved(tpr_at=(0.01, 0.05)).epsilon)
    assert both.epsilon == both.needed
    assert str(both) == (
        f"{both.needed_for} needs epsilon {both.needed:g} at least, "
        f"{both.allowed_by} allows epsilon {both.allowed:g} at most"
    )


def test_wishes_that_exclude_each_other_are_told_with_both_epsilons() -> None:
    low, high = solved(max_advantage=0.05).epsilon, solved(count_within=30).epsilon
    assert low < high
    with pytest.raises(ArgumentError) as refusal:
        solved(max_advantage=0.05, count_within=30)
    assert str(refusal.value) == (
        f"the wishes exclude each other: a count within 30 needs epsilon {high:g} at least, an advantage of at most "
        f"0.05 allows epsilon {low:g} at most; allow more risk, or ask for less accuracy"
    )


def test_a_guess_at_the_mean_is_taken() -> None:
    alone = {"columns": {"age": {"type": "number", "min": 0, "max": 99, "step": 1}}}
    middle, low = (
        sf.epsilon_for(alone, sf.Wishes(mean={"age": 0.5}, guesses=guesses), **TERMS).epsilon
        for guesses in ({}, {"age": 0.0})
    )
    assert middle < low


@pytest.mark.parametrize(
    ("wishes", "match"),
    [
        ({"mean": {"weight": 4.9}}, r"^no epsilon gives a mean of 'weight' within 4.9: at epsilon 100 it is 5.*bins"),
        ({"max_advantage": 1e-9}, "^no epsilon gives an advantage of at most 1e-09: at epsilon 0.001 it is "),
        ({"mean": {"sex": 1}}, "'sex' is a category: only numbers have a mean"),
        ({"mean": {"nobody": 1}}, "the schema has no column 'nobody'"),
        ({"max_advantage": 1.0}, "the attacker's advantage must lie between 0 and 1, not 1.0"),
        ({"tpr_at": (0.05, 0.01)}, "whoever guesses has 0.05 true positives at 0.05 false alarms"),
        ({"tpr_at": (0.0, 0.01)}, "the share of false alarms must lie between 0 and 1"),
        ({"count_within": 0}, "the half-width of a count must be a number above 0, not 0"),
        ({"count_within": float("inf")}, "the half-width of a count must be a number above 0"),
        ({"mean": {"age": -1}}, "the half-width of the mean of 'age' must be a number above 0"),
        ({}, "there is no wish"),
    ],
)
def test_what_cannot_be_wished_for(wishes: dict[str, Any], match: str) -> None:
    with pytest.raises(ArgumentError, match=match) as refusal:
        solved(**wishes)
    assert "\n" not in str(refusal.value)


def test_the_smallest_epsilon_is_found_though_widths_jump() -> None:
    """Where there is enough to spend, columns are asked by class, and counts are noisier than just below."""
    many = SCHEMA | {"columns": SCHEMA["columns"] | {"ill": {"type": "category", "values": list("abcdefgh")}}}
    terms = TERMS | {"rows": 2000}
    epsilons = [0.5 * 1.05**i for i in range(30)]
    counts = [sf.outlook(sf.plan(many, epsilon=e, **terms)).widths.count for e in epsilons]
    jump = next(i for i in range(1, len(counts)) if counts[i] > counts[i - 1])
    wanted = counts[jump - 5]
    assert counts[jump] > wanted
    found = sf.epsilon_for(many, sf.Wishes(count_within=wanted), **terms)
    assert found.epsilon <= 1.01 * epsilons[jump - 5]
    assert sf.outlook(sf.plan(many, epsilon=found.epsilon, **terms)).widths.count <= wanted


def test_a_wish_that_costs_nothing_takes_the_ends() -> None:
    assert solved(count_within=1e12).epsilon == 0.001
    assert solved(max_advantage=1 - 1e-12).epsilon == 100.0


def test_columns_in_groups_have_no_widths_to_wish_for() -> None:
    groups = {"columns": {}, "groups": {"image": {"columns": "px_*", "shape": [4, 4], "min": 0, "max": 16, "step": 1}}}
    for wishes in (sf.Wishes(count_within=10), sf.Wishes(mean={"px_0": 1.0})):
        with pytest.raises(ArgumentError, match="columns in groups"):
            sf.epsilon_for(groups, wishes, **TERMS)
    assert sf.epsilon_for(groups, sf.Wishes(max_advantage=0.1), **TERMS).epsilon > 1
