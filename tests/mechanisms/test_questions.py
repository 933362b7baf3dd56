"""Real numbers become whole ones on the private side's grids, and flat answers come back in the asker's units."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from tests.private.queries.helpers import ONE

from sfumato.errors import ArgumentError
from sfumato.guarantee import NoisyAnswer
from sfumato.mechanisms.questions import (
    cells_at,
    describe,
    feature_image,
    feature_matrices,
    feature_moments,
    latent_space,
    quantise,
    row_question,
    score_image,
    squared_radius,
    unpack,
    wave_image,
    wave_radians,
)
from sfumato.private.queries.base import LATENT_BITS, LATENT_LIMIT
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.tables import Distances, Tables
from sfumato.private.queries.viewed import Viewed
from sfumato.release.unread import find_unread
from sfumato.schema.view import View

SCORES = score_image([[np.array([-1.0, 1.0]), np.array([0.5, -0.5, 0.0])]] * 2)


def test_quantised_values_stay_inside_the_limits() -> None:
    wild = np.array([1e9, -1e9, np.inf, -np.inf, 15.99999, 0.3])
    assert quantise(wild, LATENT_BITS, LATENT_LIMIT).tolist() == [
        *(LATENT_LIMIT, -LATENT_LIMIT) * 2,
        LATENT_LIMIT,
        round(0.3 * ONE),
    ]
    with pytest.raises(ArgumentError, match="numbers"):
        quantise(np.array([0.0, math.nan]), LATENT_BITS, LATENT_LIMIT)


def test_a_squared_radius_is_rounded_down_and_at_least_one() -> None:
    assert squared_radius(2.0) == 4 * ONE**2
    assert squared_radius(1.5 / ONE) == 2
    assert squared_radius(1e-30) == 1


def test_tables_end_in_nothing_for_a_missing_bin() -> None:
    assert SCORES.tables[1][0].tolist() == [-ONE, ONE, 0]
    assert SCORES.tables[1][1].tolist() == [ONE // 2, -ONE // 2, 0, 0]


def test_radii_are_squared_in_the_unit_of_the_image() -> None:
    assert latent_space(SCORES, [2.0, 0.5]).radii == (4 * ONE**2, ONE**2 // 4)


def test_cells_lie_on_the_grid() -> None:
    cells = cells_at(SCORES, [np.array([[0.25, -1.0]]), np.array([[0.0, 99.0]])])
    assert [centres.tolist() for centres in cells.centres] == [[[ONE // 4, -ONE]], [[0, LATENT_LIMIT]]]


def test_a_row_s_class_has_its_height_on_the_grid() -> None:
    vectors = row_question(SCORES, 2, 2.0, 0.5)
    assert (vectors.height, vectors.radius) == (ONE // 2, 4 * ONE**2)


def test_features_are_told_as_they_are_applied() -> None:
    asked = np.array([[0.5, -1.0, 0.25], [1.0, 0.0, 2.0]])
    gates, values = feature_matrices(feature_image(SCORES, asked, -asked, 0.5), 0.5)
    np.testing.assert_allclose(gates, asked, atol=2.0**-10)
    np.testing.assert_array_equal(values, -gates)
    with pytest.raises(ArgumentError, match="bias must be positive"):
        feature_image(SCORES, asked, asked, 0.0)


def test_frequencies_are_told_as_they_are_asked() -> None:
    asked = np.array([[1.0, -0.3], [2.5, 0.0]])
    np.testing.assert_allclose(wave_radians(wave_image(SCORES, asked)), asked, atol=1e-3)
    for odd in (math.nan, math.inf, 1e300):
        with pytest.raises(ArgumentError, match="frequencies must be numbers"):
            wave_image(SCORES, np.full((1, 2), odd))


def test_a_flat_answer_about_histograms_comes_apart_by_column() -> None:
    first, second = unpack(Histograms((2, 3), 2, (0.5, 0.5)), np.arange(14.0))
    assert first.tolist() == [[0, 1, 2], [7, 8, 9]]
    assert second.tolist() == [[3, 4, 5, 6], [10, 11, 12, 13]]


TABLES = Tables((np.array([0, 1, 1, 2]), np.arange(3)), 2, ((0, 1), (2, 0)), (0.25, 0.75))


def test_a_flat_answer_about_tables_comes_apart_by_table() -> None:
    first, second = unpack(TABLES, np.arange(15.0))
    assert first.tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert second.tolist() == [[9, 10, 11], [12, 13, 14]]
    first, second = unpack(TABLES, TABLES.weights)
    assert np.allclose(first, 0.5)
    assert np.allclose(second, np.sqrt(0.75))


def test_distances_are_told_in_rows() -> None:
    query = Distances(TABLES, np.zeros(15, np.int64))
    assert unpack(query, np.array([256.0, 64.0])).tolist() == [1.0, 0.25]


def test_tables_and_distances_are_described_for_whoever_reads_a_file() -> None:
    plain = {
        "kind": "tables",
        "classes": 2,
        "tables": [[0, 1], [2, 0]],
        "levels": [[0, 1, 1, 2], [0, 1, 2]],
        "nowhere": "last",
    }
    distances = Distances(TABLES, np.zeros(15, np.int64))
    assert describe(TABLES) == plain
    assert describe(distances) == plain | {"kind": "distances", "unit": 1 / 256}
    view = View((4, 1), (9, 3), (np.array([0, 5, 7]), np.arange(2)))
    for query in (TABLES, distances):
        seen = describe(query) | {"columns": [4, 1], "starts": [[0, 5, 7], [0, 1]]}
        assert describe(Viewed(view, query)) == seen
        told = NoisyAnswer("asked", np.zeros(query.weights.size), np.ones(query.weights.size), seen)
        assert json.loads(json.dumps(told.what)) == seen
        assert find_unread([told], [f"x{i}" for i in range(5)]) == ()  # what fits no bin is put together with bins


def test_a_flat_answer_about_groups_comes_apart_by_group() -> None:
    query = GroupSums(latent_space(SCORES, [2.0, 2.0]), (0.2, 0.3, 0.5), "outer")
    one = [3.0, ONE, 2 * ONE, *(each * ONE**2 for each in (1, 2, 3))]
    counts, sums, outer = unpack(query, np.array([*one, *(2 * each for each in one)], dtype=float))
    assert counts.tolist() == [3, 6]
    assert sums.tolist() == [[1, 2], [2, 4]]
    assert outer.tolist() == [[[1, 2], [2, 3]], [[2, 4], [4, 6]]]


def test_a_flat_answer_about_features_is_a_gram_matrix_and_sums_by_class() -> None:
    query = feature_moments(SCORES, 2.0, 2, (0.4, 0.6))
    flat = np.array([*(each * ONE**2 for each in (1, 2, 3)), *(each * ONE for each in (4, 5, 6, 7))], dtype=float)
    gram, cross = unpack(query, flat)
    assert gram.tolist() == [[1, 2], [2, 3]]
    assert cross.tolist() == [[4, 5], [6, 7]]


def test_questions_are_described() -> None:
    plain = {"kind": "histograms", "classes": 2, "bins": [2, 3], "nowhere": "first"}
    histograms = Histograms((2, 3), 2, (0.5, 0.5))
    assert describe(histograms) == plain
    view = View((4, 1), (9, 3), (np.array([0, 5]), np.arange(3)))
    assert describe(Viewed(view, histograms)) == plain | {"columns": [4, 1], "starts": [[0, 5], [0, 1, 2]]}
    moments = feature_moments(SCORES, 2.0, 2, (0.4, 0.6))
    assert describe(Viewed(view, moments)) == describe(moments)
    assert describe(GroupSums(latent_space(SCORES, [2.0, 2.0]), (0.3, 0.7))) == {
        "kind": "group sums",
        "of": "classes",
        "groups": 2,
        "dimensions": 2,
        "second": "none",
    }
    assert describe(feature_moments(SCORES, 2.0, 2, (0.4, 0.6)))["features"] == 2
