"""What slicing asks of the rows, at what price, and that the answers are what generators are to be trained on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.configs import asked
from tests.models.test_mixture_groups import SMALL, images

from sfumato.accounting import delta_of
from sfumato.api import Job, prepare
from sfumato.encoding.projected import Projected
from sfumato.encoding.scores import Scores
from sfumato.mechanisms.asker import Client
from sfumato.mechanisms.slicing import WaveTuning
from sfumato.models.bought import BoughtRows, BoughtWaves
from sfumato.private.queries.base import LATENT_BITS
from sfumato.private.queries.group_sums import GroupSums
from sfumato.private.queries.histograms import Histograms
from sfumato.private.queries.waves import WaveImage
from sfumato.private.slicing.law import Slices
from sfumato.private.slicing.rows import Whole

WAVES = WaveTuning()
NUMBER: dict[str, Any] = {"type": "number", "min": -4, "max": 4, "bins": 32}
COLUMNS: dict[str, Any] = {
    "x": NUMBER,
    "z": NUMBER | {"missing": True},
    "c": {"type": "category", "values": list("ab")},
}
TWO = {"label": "y", "columns": COLUMNS | {"y": {"type": "category", "values": ["no", "yes"]}}}
ONE = {"columns": COLUMNS}
UNIT = TWO | {"unit": {"column": "who", "rows": 2}}
ROWS: dict[str, Any] = {"form": "rows", "adjacency": "replace-one"}
TOO_MUCH = 200.0  # an epsilon at which noise is next to nothing


def people(n: int = 1000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = rng.random(n) < 0.4
    x = rng.normal(y, 1.0)
    z = np.where(rng.random(n) < 0.1, np.nan, 0.8 * x + rng.normal(0, 0.6, n))
    frame = pd.DataFrame({"x": x, "z": z, "c": np.where(x + rng.normal(0, 0.5, n) > 0, "a", "b")})
    return frame.assign(y=np.where(y, "yes", "no"), who=np.arange(n) // 2)


@dataclass
class Recorder:
    """The curator, and all that it was asked."""

    curator: Any
    asked: list[tuple[str, Any, Any]] = field(default_factory=list)

    @property
    def remaining(self) -> float:
        return float(self.curator.remaining)

    def total(self, name: str, query: Any, mu_squared: float) -> Any:
        self.asked.append((name, query, mu_squared))
        return self.curator.total(name, query, mu_squared)

    def rows(self, name: str, vectors: Any, projection: Any) -> Any:
        self.asked.append((name, vectors, projection))
        return self.curator.rows(name, vectors, projection)


@dataclass
class Bought:
    """A purchase: what was asked, in order, and what came of it."""

    job: Job
    asked: list[tuple[str, Any, Any]]
    encoder: Any
    bought: Any

    @property
    def names(self) -> list[str]:
        return [name for name, _, _ in self.asked]


def buy(
    schema: dict[str, Any] = TWO, epsilon: float = 2.0, table: pd.DataFrame | None = None, **options: Any
) -> Bought:
    if table is None:
        table = images() if "groups" in schema else people()
    given = {"epsilon": epsilon, "delta": 1e-6, "mechanism": "slicing", "training": None}
    given |= {"insecure_seed": 1, "workers": 1} | options
    job = prepare(table, schema, **asked(**given))
    recorder = Recorder(Client(job.curator()))
    model: Any = job.mechanism.run(recorder, job.plan)
    return Bought(job, recorder.asked, model.encoder, model.bought)


def check_all_is_spent(made: Bought) -> None:
    budget = made.job.budget
    assert budget.remaining == 0.0
    spent = math.fsum(spend.mu**2 for spend in budget.spends)
    assert spent == pytest.approx(made.job.plan.mu**2, rel=1e-12)
    assert spent <= made.job.plan.mu**2 * (1 + 1e-15)
    assert delta_of(2.0, budget.total, budget.slices) <= 1e-6


# --- sums


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one", "label"])
def test_the_central_form_asks_twice(adjacency: str) -> None:
    made = buy(adjacency=adjacency)
    assert made.names == ["histograms", "waves"]
    histograms, waves = (query.query for _, query, _ in made.asked)  # about bins, in a view
    assert isinstance(histograms, Histograms)
    assert isinstance(waves, GroupSums)
    assert isinstance(waves.latent.image, WaveImage)
    plan = made.job.plan
    assert made.asked[0][2] == pytest.approx(plan.budget("histograms"))
    assert made.asked[1][2] == pytest.approx(plan.budget("waves"))
    assert len(waves.latent.radii) == 2
    assert len(waves.latent.image.frequencies) == WAVES.fewest
    assert sum(waves.shares) == pytest.approx(1.0)
    check_all_is_spent(made)
    assert made.job.budget.slices == ()
    assert isinstance(made.encoder, Scores)


def test_what_is_bought_are_the_means_of_waves() -> None:
    """With next to no noise: the class means of cosines and sines of the scores of the rows."""
    made = buy(epsilon=TOO_MUCH)
    assert isinstance(made.bought, BoughtWaves)
    assert made.bought.space is None
    real, layout = people(), made.job.plan.layout
    for k, kind in enumerate(["no", "yes"]):
        mine = real[real["y"] == kind]
        assert made.bought.counts[k] == pytest.approx(len(mine), abs=3)
        latent = np.zeros((len(mine), 3))
        for c, (name, column) in enumerate(zip(layout.names, made.encoder.columns, strict=True)):
            latent[:, c] = column.scores[k][codes(mine[name], layout.bins[c])]
        phases = latent @ made.bought.frequencies.T
        exact = np.concatenate([np.cos(phases).mean(axis=0), np.sin(phases).mean(axis=0)])
        apart = np.abs(made.bought.means[k] - exact)
        assert apart.max() < 6 * made.bought.sd[k] + 3 / len(mine)
        assert made.bought.sd[k] < 0.01


def codes(cells: Any, bins: Any) -> Any:
    """The bins of clean cells."""
    if hasattr(bins, "column") and bins.column.type == "category":
        return cells.map({value: i for i, value in enumerate(bins.column.values)}).to_numpy()
    place = np.clip(np.floor((cells.to_numpy() + 4) / 8 * 32), 0, 31)
    return np.where(cells.isna(), bins.missing, place).astype(int)


def test_the_noise_that_is_told_is_the_noise_that_is_there() -> None:
    """Two purchases differ by noise of both: the ratio to what they tell has mean square 1, with a spread of 0.04."""
    one, two = (buy(insecure_seed=seed) for seed in (1, 2))
    apart = one.bought.means * one.bought.counts[:, None] - two.bought.means * two.bought.counts[:, None]
    told = np.sqrt(sum((each.bought.sd * each.bought.counts) ** 2 for each in (one, two)))
    # The encodings differ too, and with them the answers; but by far less than this noise.
    assert ((apart / told[:, None]) ** 2).mean() == pytest.approx(1.0, abs=0.2)


# --- rows


def test_rows_themselves_are_asked_for_where_nothing_is_said() -> None:
    made = buy(**ROWS)
    assert made.names == ["histograms", "rows"]
    _, vectors, asked = made.asked[1]
    assert isinstance(asked, Whole)
    assert vectors.dim == 5
    assert isinstance(made.bought, BoughtRows)
    assert made.bought.values.shape == (1000, 5)
    assert made.bought.values.dtype == np.float32
    assert made.bought.directions is None
    check_all_is_spent(made)
    spend = made.job.budget.spends[-1]
    assert made.bought.sd == spend.sigma
    assert spend.sensitivity >= 2 * made.bought.radius


@pytest.mark.parametrize("slice_dim", [2, 1])
def test_slices_of_rows_are_taken_from_the_budget(slice_dim: int) -> None:
    made = buy(slices=2, slice_dim=slice_dim, **ROWS)
    assert made.names == ["histograms", "rows"]
    asked = made.asked[1][2]
    assert isinstance(asked, Slices)
    assert made.job.budget.slices == (asked,)
    assert asked.projections == 2 * slice_dim
    check_all_is_spent(made)
    assert isinstance(made.bought, BoughtRows)
    assert made.bought.values.shape == (1000, 2 * slice_dim)
    assert made.bought.directions is not None
    assert made.bought.directions.shape == (5, 2 * slice_dim)
    assert made.bought.slice_dim == slice_dim
    assert made.bought.sd == pytest.approx(asked.sigma, rel=1e-6)


def test_noisy_rows_hold_columns_and_class() -> None:
    """With next to no noise: the class stands in the last coordinates, as often as it comes, and its scores in front
    are about standard normal."""
    made = buy(epsilon=TOO_MUCH, **ROWS)
    values, sd, height = made.bought.values, made.bought.sd, made.bought.height
    assert sd < 0.3 * height
    assert np.linalg.norm(values, axis=1).max() < made.bought.radius + 10 * sd
    yes = values[:, 4] > values[:, 3]
    assert yes.mean() == pytest.approx((people()["y"] == "yes").mean(), abs=0.02)
    assert not np.array_equal(yes, (people()["y"] == "yes").to_numpy()), "in another order"
    assert values[yes, :3].mean(axis=0) == pytest.approx(np.zeros(3), abs=0.2)
    assert values[:, :3].std(axis=0) == pytest.approx(np.ones(3), abs=0.3)
    assert made.bought.height == 2.0


def test_without_a_label_there_is_one_class() -> None:
    central, rows = buy(ONE), buy(ONE, **ROWS)
    assert central.bought.means.shape == (1, 2 * WAVES.fewest)
    assert central.bought.counts == pytest.approx([1000], abs=200)
    assert rows.bought.values.shape == (1000, 3)
    assert rows.bought.height == 0.0
    check_all_is_spent(central)
    check_all_is_spent(rows)


@pytest.mark.parametrize("options", [{}, ROWS, ROWS | {"slices": 1}], ids=["central", "rows", "slices"])
def test_units_of_several_rows_pay_for_them(options: dict[str, Any]) -> None:
    made = buy(UNIT, **options)
    check_all_is_spent(made)
    alone = buy(TWO, **options)
    for one, other in zip(alone.job.budget.spends, made.job.budget.spends, strict=True):
        far = math.sqrt(2.0) if one.name == "rows" else 2.0
        assert other.sensitivity == pytest.approx(far * one.sensitivity, rel=1e-6)


# --- columns in groups


def test_groups_are_asked_in_their_main_directions() -> None:
    made = buy(SMALL, adjacency="replace-one")
    assert sorted(made.names) == ["centres", "columns", "shape", "waves"]
    assert made.names[-1] == "waves"
    check_all_is_spent(made)
    assert isinstance(made.encoder, Projected)
    space, dim = made.bought.space, made.encoder.projection.dim
    seen = len(space.matrix)
    assert made.bought.frequencies.shape[1] == seen <= dim
    assert space.centres.shape == (3, seen)
    assert (made.bought.start.skip.shape, made.bought.start.shift.shape) == ((3, dim, dim), (3, dim))
    plan = made.job.plan
    for name, _, mu_squared in made.asked:
        assert mu_squared == pytest.approx(plan.budget(name))


def projected(kind: str) -> Any:
    """Real rows of a class in the coordinates of the projection."""
    made = images()
    pixels = made.loc[made["kind"] == kind].drop(columns="kind").to_numpy() / 255 - 0.5
    return pixels


def test_groups_begin_with_the_gaussian_of_each_class() -> None:
    made = buy(SMALL, epsilon=TOO_MUCH)
    space, start, matrix = made.bought.space, made.bought.start, made.encoder._matrix
    for k, kind in enumerate(["bar", "beam", "cross"]):
        real = projected(kind) @ matrix.T
        middle = space.coordinates(start.shift[k][None], np.array([k]))[0]
        assert middle == pytest.approx(real.mean(axis=0), abs=0.05)
        root = start.skip[k] @ space.basis
        covariance = root.T @ root
        assert np.trace(covariance) == pytest.approx(np.cov(real.T).trace(), rel=0.3)
        phases = (real @ space.matrix.T - space.centres[k]) @ made.bought.frequencies.T
        exact = np.concatenate([np.cos(phases).mean(axis=0), np.sin(phases).mean(axis=0)])
        apart = np.abs(made.bought.means[k] - exact)
        assert apart.max() < 6 * made.bought.sd[k] + 0.05


def test_rows_of_groups_are_asked_as_they_are() -> None:
    made = buy(SMALL, **ROWS)
    assert made.names == ["centres", "columns", "rows"]
    assert isinstance(made.asked[0][1], GroupSums)
    check_all_is_spent(made)
    dim = made.encoder.projection.dim
    assert made.bought.values.shape == (600, dim + 3)
    assert made.bought.radius >= made.encoder.projection.radius
    np.testing.assert_array_equal(made.bought.space.matrix, np.eye(dim))
    sliced = buy(SMALL, slices=1, **ROWS)
    assert sliced.bought.values.shape == (600, 2)
    assert sliced.bought.directions.shape == (dim + 3, 2)
    check_all_is_spent(sliced)


def test_a_row_that_moves_is_clipped_with_its_class() -> None:
    made = buy(**ROWS)
    vectors = made.asked[1][1]
    assert vectors.height * 2.0**-LATENT_BITS == made.bought.height
    assert math.sqrt(vectors.radius) * 2.0**-LATENT_BITS == made.bought.radius
    far = made.job.plan.details.far
    assert made.bought.radius == pytest.approx(math.hypot(far, 2.0), rel=1e-3)


def test_a_class_without_rows_has_answers_too() -> None:
    bought = buy(table=people().assign(y="no")).bought
    assert isinstance(bought, BoughtWaves)
    assert np.isfinite(bought.means).all()
    assert (bought.sd > 0).all()
