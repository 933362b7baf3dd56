"""What is promised, to whom, and for what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.guarantee import Guarantee, Joint, Part, Person
from sfumato.private.accounting import Adjacency, Spend
from sfumato.private.slicing.law import Slices
from sfumato.release.release import Release
from sfumato.reporting.numbering import Numbering
from sfumato.reporting.promise_sections import (
    _values,
    guarantee_section,
    model_words,
    released_section,
    short_guarantee,
    spent_section,
    whose,
)
from sfumato.reporting.seen_release import SeenRelease
from sfumato.schema.columns import Category


def changed(seen: SeenRelease, **changes: object) -> SeenRelease:
    guarantee = replace(seen.release.guarantee, **changes)  # type: ignore[arg-type]
    return SeenRelease(replace(seen.release, guarantee=guarantee))


def test_the_guarantee_in_words_symbols_and_gains(seen: SeenRelease) -> None:
    told = guarantee_section(Numbering(), seen)
    assert "whether or not any one row was in the table" in told
    assert "ε = 1 and δ = 10⁻⁶" in told
    assert "μ = 0.2367" in told
    for gain in ("9.4", "1.8 %", "3.1 %", "26 %", "76 %"):  # as docs/planning.md has them
        assert gain in told
    assert "covers this release only" in told


def test_a_release_made_with_a_seed_promises_nothing(release: Release) -> None:
    told = guarantee_section(Numbering(), SeenRelease(release))
    assert "no guarantee" in told
    assert "ε =" not in told
    assert short_guarantee(release.guarantee).startswith("NONE")


def test_only_what_has_a_guarantee_is_called_fit_to_publish(seen: SeenRelease, release: Release) -> None:
    kept = released_section(Numbering(), seen, "Stays", None)
    assert "may be published with it" in kept
    assert "nothing about any one person" in kept
    seeded = released_section(Numbering(), SeenRelease(release), "Stays", None)
    assert "which protects nobody" in seeded
    assert "published with it" not in seeded
    assert "any one person" not in seeded


def test_noisy_rows_have_no_gaussian_law(seen: SeenRelease) -> None:
    told = guarantee_section(Numbering(), changed(seen, slices=(Slices(20, 8, 1.0, 4.0, 0.0, 100),)))
    assert "not that of one Gaussian" in told
    assert "μ = " not in told


@pytest.mark.parametrize(
    ("adjacency", "unit", "told"),
    [
        (Adjacency.ADD_REMOVE, "row", "one row of the table"),
        (Adjacency.REPLACE_ONE, "patient", "all rows of one patient"),
        (Adjacency.LABEL, "row", "the label of one row"),
    ],
)
def test_whose_privacy_is_meant(seen: SeenRelease, adjacency: Adjacency, unit: str, told: str) -> None:
    made = changed(seen, adjacency=adjacency, unit=unit)
    assert whose(made.release.guarantee) == told
    assert "In words" in guarantee_section(Numbering(), made)


def test_what_a_merged_release_promises(seen: SeenRelease) -> None:
    one = seen.release.guarantee
    parts = tuple(Part("0" * 31 + str(i), one, i) for i in range(2))
    joint = Joint(parts, Person(1.0, 1e-6, 0.2367), Person(1.5, 1e-6, 0.33))
    merged = changed(seen, joint=joint, epsilon=1.5, mu=0.33).release.guarantee
    assert short_guarantee(merged) == "ε = 1, δ = 10⁻⁶ for whoever is in one part of it"
    assert "2 groups of different people" in guarantee_section(Numbering(), changed(seen, joint=joint))
    assert "What the release was merged from" in spent_section(Numbering(), merged)


def test_what_was_spent_adds_up() -> None:
    spends = (Spend("histograms", 1.0, 5.0, 0.2), Spend("tables 3", 1.0, 5.0, 0.2), Spend("odd & new", 2.0, 6.0, 0.1))
    told = spent_section(Numbering(), Guarantee(1.0, 1e-6, 0.3, Adjacency.ADD_REMOVE, "row", True, spends))
    assert told.count("44.4 %") == 2
    assert "11.1 %" in told
    assert "the chosen tables of columns" in told
    assert "odd &amp; new" in told


def test_what_was_released(seen: SeenRelease, seen_compact: SeenRelease) -> None:
    told = released_section(Numbering(), seen, "Stays", "Hospital")
    assert "95 % interval" in told
    assert "0 to 99, in steps of 1" in told
    assert "2020-01-01 to 2021-12-31" in told
    assert "<img" not in told
    assert "fit for " in told
    assert "take more rows" not in told  # that is no longer the reader's to choose
    assert "fit for " not in released_section(Numbering(), seen_compact, "Stays", None)
    assert "not told by this release" in released_section(Numbering(), seen_compact, "Stays", None)
    assert "mixture of Gaussians" in model_words(seen.release.model)


@pytest.mark.parametrize(
    ("levels", "told"), [("abcd", "d</bdi>"), ("abcde", "e</bdi>"), ("abcdef", "d</bdi> and 2 more")]
)
def test_one_more_value_is_named(levels: str, told: str) -> None:
    assert _values(Category(values=tuple(levels))).endswith(f"<bdi>{told}")
