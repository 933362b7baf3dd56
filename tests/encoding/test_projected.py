from __future__ import annotations

import numpy as np
import pytest

from sfumato.encoding.projected import Projected
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.schema.projections import Projection
from sfumato.schema.schema import Group

SIDE, KEEP, NUMBERS = 6, 3, 4
PIXELS = SIDE * SIDE
IMAGE = Group(columns="p*", min=0, max=1, shape=(SIDE, SIDE), projection="dct2", keep=KEEP)
WHOLE = Group(columns="p*", min=0, max=1, shape=(SIDE, SIDE), projection="dct2", keep=SIDE)
OTHERS = Group(columns="n{1..4}", min=0, max=1)


def encoder(groups: list[Group]) -> tuple[Projected, GaussianMixture]:
    projection = Projection.of(groups)
    dim, columns = projection.matrix.shape
    mixture = GaussianMixture(np.array([0.3, 0.7]), np.zeros((2, dim)), np.stack([0.05 * np.eye(dim)] * 2))
    means = np.array([np.full(columns, 0.3), np.full(columns, 0.6)])
    return Projected.of(projection, means, np.full((2, columns), 0.05), mixture), mixture


def test_images_have_the_frequencies_that_were_drawn() -> None:
    found, mixture = encoder([IMAGE])
    rng = np.random.default_rng(0)
    own = rng.integers(0, 2, 400)
    latent = mixture.sample(own, rng)
    nearest = found.drawn(latent, own, rng, mixture.class_weights)
    bent = found.places(latent, own, rng)
    away = [np.sqrt(((found.seen(each) - latent) ** 2).mean()) for each in (nearest, bent)]
    assert away[0] < 0.2 * away[1]  # bending moves them: the twin
    assert np.array_equal(nearest, found.drawn(latent, 1 - own, rng, mixture.class_weights))  # whatever the class


@pytest.mark.parametrize("order", [0, 1])
def test_other_groups_are_bent_as_ever(order: int) -> None:
    groups = [IMAGE, OTHERS][:: 1 - 2 * order]
    found, mixture = encoder(groups)
    rng = np.random.default_rng(0)
    own = rng.integers(0, 2, 300)
    latent = mixture.sample(own, rng)
    places = found.drawn(latent, own, np.random.default_rng(1), mixture.class_weights)
    bent = found.places(latent, own, np.random.default_rng(1))
    image = slice(NUMBERS, None) if order else slice(0, PIXELS)
    is_image = np.isin(np.arange(PIXELS + NUMBERS), np.arange(PIXELS + NUMBERS)[image])
    assert np.array_equal(places[:, ~is_image], bent[:, ~is_image])
    assert not np.allclose(places[:, is_image], bent[:, is_image])
    assert np.abs((found.seen(places) - latent)[:, found.projection.matrix[:, is_image].any(axis=1)]).mean() < 0.05


@pytest.mark.parametrize("group", [WHOLE, OTHERS])
def test_what_loses_nothing_is_bent(group: Group) -> None:
    found, mixture = encoder([group])
    latent, own = mixture.sample(np.zeros(50, int), np.random.default_rng(2)), np.zeros(50, int)
    places = found.drawn(latent, own, np.random.default_rng(1), mixture.class_weights)
    assert np.array_equal(places, found.places(latent, own, np.random.default_rng(1)))
