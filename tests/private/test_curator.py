"""The one door: it charges before it looks, says so, and adds the noise that was paid for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2

from sfumato.errors import ArgumentError, BudgetError, TableError
from sfumato.insecure import insecure_bits
from sfumato.mechanisms.asker import encode
from sfumato.mechanisms.questions import latent_space, score_image
from sfumato.private import curator as curator_module
from sfumato.private.accounting import Adjacency, Budget, Spend
from sfumato.private.curator import Curator
from sfumato.private.noise import Bits, noisy, secure_bits
from sfumato.private.queries.base import LARGEST_RADIUS, ROW_CAP, Answer, Public, Query, in_limbs
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.wire import decode
from sfumato.private.slicing.rows import RowVectors, Whole

FALSE_ALARM = 1e-6
COORDINATES = 60_000

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def histograms(*sizes: int, shares: tuple[float, ...] | None = None) -> Histograms:
    """A question whose weights are the roots of its shares; the engines below do not look at rows."""
    return Histograms(sizes, 1, shares or (1.0 / len(sizes),) * len(sizes))


class Scene:
    """A curator whose every step is written down."""

    def __init__(
        self, mu: float = 1.0, total: int = 1000, fails: bool = False, seed: int = 1, asked: Query | None = None
    ) -> None:
        self.events: list[str] = []
        self.left_when_looking: list[float] = []
        self.announced: list[Spend] = []
        self.budget = Budget(mu)
        self.asked = asked or QUERY
        self._total, self._fails, self._stream = total, fails, insecure_bits(seed)

    @property
    def public(self) -> Public:
        """Of the one table that fits what is asked."""
        classes, sizes = getattr(self.asked, "classes", 2), getattr(self.asked, "sizes", (3,))
        return Public(sizes, classes)

    def curator(self, adjacency: Adjacency = Adjacency.ADD_REMOVE) -> Curator:
        return Curator(self, self.budget, adjacency, self.bits, self.announce)

    def total(self, query: Query) -> Ints:
        self.events.append("look")
        self.left_when_looking.append(self.budget.remaining)
        if self._fails:
            raise OSError("planted")
        return np.full(query.size, self._total, dtype=np.int64)

    def rows(self, vectors: RowVectors) -> Floats:
        self.events.append("look")
        return np.zeros((vectors.dim, 3))

    def bits(self, n: int, /) -> bytes:
        self.events.append("draw")
        return self._stream(n)

    def announce(self, spend: Spend) -> None:
        self.events.append("announce")
        self.announced.append(spend)


QUERY = histograms(3, 2, 2, shares=(0.64, 0.32, 0.04))
REQUEST = encode(QUERY)
SUMS = GroupSums(latent_space(score_image([[np.array([-9.0, 0.0, 9.0])]] * 2), [4.0, 4.0]), (0.1, 0.9))


def test_it_charges_then_announces_then_looks_then_draws() -> None:
    scene = Scene()
    answer = scene.curator().total("counts", REQUEST, 0.25)
    assert scene.events == ["announce", "look", "draw"]
    assert scene.left_when_looking == [0.75]
    assert scene.announced == list(scene.budget.spends)
    assert scene.announced[0].name == "counts"
    assert answer.values.shape == answer.sd.shape == (10,)
    assert scene.curator().answers == ()


def test_a_failure_while_looking_leaves_the_charge() -> None:
    scene = Scene(fails=True)
    with pytest.raises(TableError, match="could not be read"):
        scene.curator().total("counts", REQUEST, 0.25)
    assert scene.budget.remaining == 0.75
    assert len(scene.budget.spends) == 1
    assert scene.events == ["announce", "look"]


def test_a_failure_to_announce_means_no_look() -> None:
    scene = Scene()

    def refuse(spend: Spend) -> None:
        raise RuntimeError("the listener is gone")

    curator = Curator(scene, scene.budget, Adjacency.ADD_REMOVE, scene.bits, refuse)
    with pytest.raises(RuntimeError):
        curator.total("counts", REQUEST, 0.25)
    assert scene.events == []
    assert scene.budget.remaining == 0.75


@pytest.mark.parametrize(
    ("mu_squared", "error"),
    [
        (math.nextafter(1.0, 2.0), BudgetError),
        (math.inf, ArgumentError),
        (math.nan, ArgumentError),
        (0.0, ArgumentError),
        (-0.5, ArgumentError),
    ],
)
def test_a_refused_charge_reaches_neither_rows_nor_bits(mu_squared: float, error: type[Exception]) -> None:
    scene = Scene()
    with pytest.raises(error):
        scene.curator().total("counts", REQUEST, mu_squared)
    assert scene.events == []
    assert scene.budget.remaining == 1.0
    assert scene.budget.spends == ()


def test_what_is_left_can_be_spent_to_the_last_bit_and_no_further() -> None:
    scene = Scene(mu=0.7)
    curator = scene.curator()
    curator.total("first", REQUEST, curator.remaining / 3)
    curator.total("rest", REQUEST, curator.remaining)
    assert curator.remaining == 0.0
    with pytest.raises((BudgetError, ArgumentError)):
        curator.total("more", REQUEST, math.ulp(0.0))
    assert scene.events.count("look") == 2


RIGHT = {Adjacency.ADD_REMOVE: 1.0, Adjacency.LABEL: math.sqrt(2.0), Adjacency.REPLACE_ONE: 2.0 * math.sqrt(0.9)}


@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_noise_is_that_of_its_adjacency(adjacency: Adjacency) -> None:
    scene = Scene(asked=SUMS)
    answer = scene.curator(adjacency).total("sums", encode(SUMS), 0.25)
    assert scene.announced[0].sensitivity == pytest.approx(RIGHT[adjacency])
    assert answer.sd == pytest.approx(2.0 * RIGHT[adjacency] / SUMS.weights)


def test_a_total_beyond_an_int64_is_answered() -> None:
    """Of as many rows as there may be, each of them as far out as it may be."""

    class Full(Scene):
        def total(self, query: Query) -> Ints:
            return ROW_CAP * in_limbs(np.full(query.weights.shape, float(LARGEST_RADIUS)))

    answer = Full(asked=SUMS).curator().total("sums", encode(SUMS), 0.25)
    assert answer.values == pytest.approx(2.0**68, rel=1e-12)


@pytest.mark.parametrize("adjacency", Adjacency)
def test_a_unit_of_several_rows_costs_as_many_times(adjacency: Adjacency) -> None:
    # A changed label changes which rows of a unit count, so it costs as much as a replacement.
    scene = Scene(asked=SUMS)
    curator = Curator(scene, scene.budget, adjacency, scene.bits, scene.announce, unit_rows=3)
    answer = curator.total("sums", encode(SUMS), 0.25)
    expected = 3.0 * (1.0 if adjacency is Adjacency.ADD_REMOVE else RIGHT[Adjacency.REPLACE_ONE])
    assert scene.announced[0].sensitivity == pytest.approx(expected)
    assert answer.sd == pytest.approx(2.0 * expected / SUMS.weights)


@settings(deadline=None)
@given(st.floats(1e-3, 20.0), st.lists(st.tuples(st.floats(0.0, 1.5), st.booleans()), max_size=12))
def test_adaptive_asks_cannot_overspend(mu: float, asks: list[tuple[float, bool]]) -> None:
    scene = Scene(mu=mu, total=0)
    curator = scene.curator()
    for fraction, depends in asks:
        try:
            answer = curator.total("ask", REQUEST, fraction * curator.remaining)
        except (BudgetError, ArgumentError):
            continue
        if depends:  # the next ask is as large as the answer was
            try:
                curator.total("again", REQUEST, abs(float(answer.values[0])))
            except (BudgetError, ArgumentError):
                continue
    # The noise that was really added, not what the books say.
    spent = sum((Fraction(s.sensitivity) / Fraction(s.sigma)) ** 2 for s in scene.budget.spends)
    assert spent <= Fraction(mu) ** 2
    assert scene.events.count("look") == len(scene.budget.spends) == len(scene.announced)


# Questions that are none


@pytest.mark.parametrize(
    "asked",
    [
        QUERY,
        b"",
        bytearray(REQUEST),
        REQUEST[:-1],
        REQUEST + b"x",
        encode((QUERY, QUERY)),
        encode(SUMS.latent),
        encode(Whole(0.1)),
        encode(5),
        encode(histograms(3, 2)),  # of another table
        encode(SUMS),
    ],
    ids=["object", "empty", "bytearray", "short", "long", "two", "latent", "whole", "number", "other table", "sums"],
)
def test_what_is_no_question_of_this_table_costs_nothing_and_sees_nothing(asked: Any) -> None:
    scene = Scene()
    with pytest.raises(ArgumentError):
        scene.curator().total("counts", asked, 0.25)
    assert scene.events == []
    assert scene.budget.remaining == 1.0


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 101, 5, b"counts", None, type("Name", (str,), {})("counts")])
def test_a_question_needs_a_plain_name(name: Any) -> None:
    scene = Scene()
    with pytest.raises(ArgumentError, match="name"):
        scene.curator().total(name, REQUEST, 0.25)
    assert scene.events == []
    assert scene.budget.remaining == 1.0


@pytest.mark.parametrize("asked", [QUERY, (QUERY, Whole(0.1)), (Whole(0.1), Whole(0.1)), 5, (1, 2, 3)])
def test_what_is_no_question_for_rows_is_refused(asked: Any) -> None:
    scene = Scene()
    with pytest.raises(ArgumentError, match="of another kind"):
        scene.curator(Adjacency.REPLACE_ONE).rows("rows", encode(asked))
    assert scene.events == []
    assert scene.budget.remaining == 1.0


def test_every_answer_is_kept_by_its_name() -> None:
    curator = Scene().curator()
    first = curator.total("first", REQUEST, 0.25)
    second = curator.total("second", REQUEST, 0.25)
    assert [(name, answer) for name, _, answer in curator.answers] == [("first", first), ("second", second)]
    assert all(query == decode(REQUEST) for _, query, _ in curator.answers)


def test_answers_cannot_be_written_to() -> None:
    answer = Scene().curator().total("first", REQUEST, 0.25)
    for array in (answer.values, answer.sd):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


# The noise


SHARES = (0.0005, 0.1, 0.8995)
LEVELS = np.sqrt(SHARES)


def weighted() -> Histograms:
    """Three columns of as many bins, whose shares are far apart."""
    return histograms(*(COORDINATES // 3,) * 3, shares=SHARES)


def paid_for(query: Histograms, mu_squared: float) -> Floats:
    """The standard deviations by the definition, not by the curator's books: a row moves this table by one."""
    return 1.0 / math.sqrt(mu_squared) / query.weights


def check_spread(answer: Answer, total: int, sd: Floats) -> None:
    """Sums of squares against their chi-square law, for each weight."""
    assert answer.sd == pytest.approx(sd, rel=1e-11)
    for z in np.split((answer.values - total) / sd, len(LEVELS)):
        squares = float((z * z).sum())
        tail = FALSE_ALARM / (2 * len(LEVELS))
        assert chi2.ppf(tail, len(z)) < squares < chi2.isf(tail, len(z))


def check_independent(first: Floats, second: Floats) -> None:
    """Correlation within 5.3 standard errors: missed by chance once in ten million."""
    assert abs(np.corrcoef(first, second)[0, 1]) * math.sqrt(len(first)) < 5.3


@pytest.mark.every(2)
@pytest.mark.parametrize(("mu_squared", "total"), [(0.09, 1000), (4.0, -(2**40)), (1e-6, 0)])
def test_the_noise_has_the_spread_that_was_paid_for(mu_squared: float, total: int) -> None:
    query = weighted()
    answer = Scene(mu=3.0, total=total, seed=11, asked=query).curator().total("a", encode(query), mu_squared)
    check_spread(answer, total, paid_for(query, mu_squared))


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.5, 0.95, 1.05])
def test_another_spread_would_be_seen(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(totals: Ints, sigmas: Floats, bits: Bits) -> Floats:
        return noisy(totals, sigmas * factor, bits)

    monkeypatch.setattr(curator_module, "noisy", planted)
    query = weighted()
    answer = Scene(seed=11, asked=query).curator().total("a", encode(query), 0.09)
    with pytest.raises(AssertionError):
        check_spread(answer, 1000, paid_for(query, 0.09))


def test_noise_that_ignores_the_weights_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(totals: Ints, sigmas: Floats, bits: Bits) -> Floats:
        return noisy(totals, np.full_like(sigmas, sigmas.min()), bits)

    monkeypatch.setattr(curator_module, "noisy", planted)
    query = weighted()
    answer = Scene(seed=11, asked=query).curator().total("a", encode(query), 0.09)
    with pytest.raises(AssertionError):
        check_spread(answer, 1000, paid_for(query, 0.09))


def test_the_noise_of_two_asks_is_independent() -> None:
    query = histograms(20_000)
    curator = Scene(seed=12, asked=query).curator()
    first, second = (curator.total("a", encode(query), 0.3).values for _ in range(2))
    check_independent(first, second)
    check_independent(first[:-1], first[1:])


def test_noise_drawn_again_from_the_same_bits_would_be_seen() -> None:
    query = histograms(20_000)
    curator = Curator(Scene(asked=query), Budget(1.0), Adjacency.ADD_REMOVE, lambda n: insecure_bits(3)(n))
    first, second = (curator.total("a", encode(query), 0.3).values for _ in range(2))
    with pytest.raises(AssertionError):
        check_independent(first, second)


def asked_twice(bits: Bits) -> list[float]:
    curator = Curator(Scene(), Budget(1.0), Adjacency.ADD_REMOVE, bits)
    return [value for _ in range(2) for value in curator.total("a", REQUEST, 0.3).values.tolist()]


def test_answers_reproduce_with_insecure_bits_only() -> None:
    assert asked_twice(insecure_bits(5)) == asked_twice(insecure_bits(5))
    assert asked_twice(insecure_bits(5)) != asked_twice(insecure_bits(6))
    # Fourteen values on grids of 256 steps a standard deviation: equal by chance less than once in 2^40.
    assert asked_twice(secure_bits) != asked_twice(secure_bits)


def test_a_mechanism_sees_answers_and_no_engine() -> None:
    public = {name for name in dir(Scene().curator()) if not name.startswith("_")}
    assert public == {"answers", "remaining", "rows", "statement", "total"}


# What is promised


def test_a_statement_is_made_of_what_was_charged() -> None:
    scene = Scene(mu=0.2)
    curator = Curator(scene, scene.budget, Adjacency.ADD_REMOVE, secure_bits)
    curator.total("first", REQUEST, 0.01)
    said = curator.statement(1.0, 1e-5, "row")
    assert said == {
        "epsilon": 1.0,
        "delta": 1e-5,
        "mu": 0.2,
        "adjacency": Adjacency.ADD_REMOVE,
        "unit": "row",
        "secure": True,
        "spends": scene.budget.spends,
        "slices": (),
    }


def test_seeded_noise_promises_nothing() -> None:
    said = Scene(mu=0.2).curator().statement(1.0, 1e-5, "row")
    assert (said["secure"], said["epsilon"], said["delta"], said["mu"]) == (False, None, None, None)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.5, 1e-5)])
def test_a_promise_that_the_budget_exceeds_is_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(ArgumentError, match="do not cover"):
        Scene(mu=0.26).curator().statement(epsilon, delta, "row")
    Scene(mu=0.26).curator().statement(1.0, 1e-5, "row")  # mu(1, 1e-5) = 0.26805
