"""A fit's way is known by its rounds and steps: it never goes back, and is never over before the fit is."""

from __future__ import annotations

from sfumato.cli.course import SETTLING, Course
from sfumato.progress import Event, Planned, Reading, Spending, Step

ROUNDS = ("histograms", "moments", "tables 1", "tables 2")


def way(*events: Event) -> list[float]:
    course, found = Course(), []
    for event in events:
        course.hear(event)
        found.append(course.fraction)
    return found


def test_rounds_and_steps_lead_on_and_never_back() -> None:
    found = way(
        Planned(ROUNDS),
        Spending("histograms"),
        Reading(10),
        Reading(100),
        Spending("moments"),
        Spending("tables 1"),
        Step(1, 4, 0.5),
        Step(2, 4, 0.5),
        Spending("tables 2"),
        Step(1, 4, 0.5),
        Step(1, 11, 0.5),
        Step(11, 11, 0.5),
    )
    assert found == sorted(found)
    assert found[0] == 0.0
    assert 0.8 < found[-1] < 1.0


def test_a_round_that_takes_longer_is_more_of_the_way() -> None:
    asked = way(Planned(ROUNDS), *map(Spending, ROUNDS))[1:]
    moments, tables = asked[2] - asked[1], asked[3] - asked[2]
    assert tables > 5 * moments
    assert asked[-1] < 1 - SETTLING / 100


def test_without_a_plan_nothing_is_known() -> None:
    assert way(Spending("histograms"), Reading(50), Step(1, 2, 0.5)) == [0.0, 0.0, 0.0]
    assert way(Planned(()), Spending("rows", projections=3))[-1] == 0.0
