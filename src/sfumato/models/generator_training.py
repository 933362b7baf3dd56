"""Training a generator on what slicing bought, the one bridge to JAX. No row is near: trainings cost nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.encoding.projected import Projected
from sfumato.encoding.scores import Scores
from sfumato.errors import ArgumentError
from sfumato.models.bought import Bought, BoughtRows, BoughtWaves
from sfumato.models.generator import Generator, OwnGenerator, Progress
from sfumato.schema.layout import FloatArray, Layout
from sfumato.training.extra import check_extra
from sfumato.training.network import Architecture, Lens
from sfumato.training.settings import Training

Encoder = Scores | Projected
Trained = tuple[Generator | OwnGenerator, Progress]
OnBlock = Callable[[Generator | OwnGenerator, Progress], None]


def check_image(settings: Training, image: tuple[int, int] | None) -> None:
    """Refuse convolutions of what is no image."""
    if settings.architecture == "conv" and image is None:
        raise ArgumentError("architecture 'conv' is for images: it needs one group with a shape, and no other columns")


def untrained(bought: Bought, encoder: Encoder, settings: Training, image: tuple[int, int] | None) -> Generator:
    """The network before its first step: a Gaussian for each class."""
    classes, dim = len(bought.counts), _dim(encoder)
    check_image(settings, image)
    conv = settings.architecture == "conv"
    shown = (settings.channels, image) if conv else (0, None)
    architecture = Architecture(settings.architecture, classes, dim, settings.width, settings.depth, *shown)
    first = architecture.start(settings.seed, bought.start.skip, bought.start.shift)
    return Generator(architecture, first, lens_of(bought, encoder) if conv else None)


def lens_of(bought: Bought, encoder: Encoder) -> Lens:
    """How what is made is seen as an image, and what an image says of it.

    That is not the inverse, which would blow up what is told of directions that images hardly show.
    """
    assert isinstance(encoder, Projected)  # images are columns in a group
    assert bought.space is not None
    show = bought.space.basis @ encoder.projection.back.T
    tell = show.T / float(np.linalg.norm(show, 2)) ** 2
    return Lens(show.astype(np.float32), tell.astype(np.float32))


def train_on(
    bought: Bought,
    encoder: Encoder,
    generator: Generator | OwnGenerator,
    progress: Progress,
    on_block: OnBlock = lambda generator, progress: None,
) -> Trained:
    """Go on with a training from where it is; `on_block` hears of every block of steps."""
    check_extra()
    if isinstance(bought, BoughtRows) and len(bought.values) < 2:
        raise ArgumentError("there are too few noisy rows to train on: two are the least")
    import jax

    from sfumato.training.fitting import State, train
    from sfumato.training.makers import NetworkRows, OwnRows

    if isinstance(generator, Generator):
        leaves, dim = tuple(generator.weights.values()), generator.architecture.dim
        rows: Any = NetworkRows(generator.architecture, tuple(generator.weights), generator.lens)
    else:
        leaves, dim, rows = generator.leaves, generator.dim, OwnRows(generator.brought())

    def pack(found: Any) -> tuple[Any, ...]:
        return tuple(np.asarray(leaf, dtype=np.float32) for leaf in found)

    def told(state: State, loss: float | None, finished: bool) -> Trained:
        memory = None if finished else (pack(state.first), pack(state.second))
        now = Progress(progress.number, progress.settings, state.step, loss, finished, memory)
        if isinstance(generator, Generator):
            weights = dict(zip(generator.weights, pack(state.weights), strict=True))
            return replace(generator, weights=weights), now
        return fill(generator, pack(state.weights)), now

    state = State.begin(leaves)
    if progress.memory is not None:
        first, second = (tuple(map(jax.numpy.asarray, half)) for half in progress.memory)
        state = State(progress.step, state.weights, first, second)
    last = progress.loss

    def heard(state: State, loss: float) -> None:
        nonlocal last
        last = loss
        if not np.isfinite(loss):
            raise ArgumentError(f"training diverged at step {state.step}; lower the rate")
        on_block(*told(state, loss, False))

    target = target_of(bought, encoder, progress.settings)
    if last is None or last >= target.enough:  # else it was interrupted where it would have ended
        state = train(target, rows, dim, state, progress.settings, heard)
    return told(state, last, True)


def own(module: Any, bought: Bought, encoder: Encoder) -> OwnGenerator:
    """A user's module as a generator."""
    classes, dim = len(bought.counts), _dim(encoder)
    return OwnGenerator(check_module(module, classes, dim), classes, dim, module)


def check_module(module: Any, classes: int, dim: int) -> tuple[Any, ...]:
    """The numbers of a user's module, once it was tried on one row."""
    check_extra()
    import equinox as eqx
    import jax

    leaves = jax.tree.leaves(eqx.filter(module, eqx.is_inexact_array))
    if not leaves:
        raise ArgumentError("the module has no numbers to train")
    try:
        made = jax.eval_shape(
            module, jax.ShapeDtypeStruct((dim,), np.float32), jax.ShapeDtypeStruct((classes,), np.float32)
        )
        shape = tuple(made.shape)
    except Exception as error:
        raise ArgumentError(
            f"the module must make a row from {dim} normals and a one-hot class of {classes}: "
            f"module(noise, one_hot) failed with {type(error).__name__}"
        ) from error
    if shape != (dim,):
        raise ArgumentError(f"the module must make {dim} numbers a row, not an array of shape {shape}")
    return tuple(np.asarray(leaf, dtype=np.float32) for leaf in leaves)


def fill(generator: OwnGenerator, leaves: tuple[Any, ...]) -> OwnGenerator:
    """The same generator with other numbers in it."""
    from sfumato.training.makers import with_leaves

    return OwnGenerator(leaves, generator.classes, generator.dim, with_leaves(generator.module, leaves))


def bring(generator: OwnGenerator, module: Any) -> OwnGenerator:
    """A loaded generator with the module that its numbers belong to."""
    check_extra()
    import equinox as eqx
    import jax

    from sfumato.training.makers import with_leaves

    shapes = [leaf.shape for leaf in jax.tree.leaves(eqx.filter(module, eqx.is_inexact_array))]
    if shapes != [leaf.shape for leaf in generator.leaves]:
        raise ArgumentError("the module does not have the arrays that this release was trained with")
    return OwnGenerator(generator.leaves, generator.classes, generator.dim, with_leaves(module, generator.leaves))


def target_of(bought: Bought, encoder: Encoder, settings: Training) -> Any:
    """What was bought, in JAX."""
    import jax.numpy as jnp

    from sfumato.training.targets import RowTarget, WaveTarget

    view = _view(bought, encoder)

    def small(array: FloatArray) -> Any:
        return jnp.asarray(array, dtype=jnp.float32)

    if isinstance(bought, BoughtWaves):
        return WaveTarget(small(bought.frequencies), small(bought.means), small(bought.sd), view)
    directions = None if bought.directions is None else small(bought.directions)
    weights = small(bought.counts / bought.counts.sum())
    public = bought.sd, bought.radius, bought.height, bought.slice_dim, settings.divergence
    return RowTarget(small(bought.values), directions, weights, view, *public)


def _view(bought: Bought, encoder: Encoder) -> Any:
    from sfumato.training.views import Mapped, Staircase

    if isinstance(encoder, Scores):
        edges = [column.edges[:, 1:-1] for column in encoder.columns]
        return Staircase.of(edges, [column.in_order for column in encoder.columns])
    space = bought.space
    assert space is not None  # columns in groups are asked in a space of their own
    return Mapped.of(space.basis @ space.matrix.T, space.middles @ space.matrix.T - space.centres)


def image_of(layout: Layout) -> tuple[int, int] | None:
    """The shape of the one image that all columns make up, if they do."""
    shapes = [group.shape for group in layout.groups]
    return shapes[0] if len(shapes) == 1 else None


def _dim(encoder: Encoder) -> int:
    return len(encoder.columns) if isinstance(encoder, Scores) else encoder.projection.dim
