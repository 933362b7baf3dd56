"""A generator in a file: what was bought, the network, and how far its training is."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, FailFast, Field

from sfumato.arrays import ArraySpec, Insist, NamedArrays, Specs
from sfumato.guarantee import ROUNDING, Guarantee
from sfumato.models.bought import Bought, BoughtRows, BoughtWaves, Space, Start
from sfumato.models.generator import Generator, OwnGenerator, Progress
from sfumato.models.generator_training import Encoder as TrainedEncoder
from sfumato.models.generator_training import image_of, lens_of
from sfumato.private.accounting import Adjacency
from sfumato.private.slicing.rows import matrix_rounding
from sfumato.schema.layout import Layout
from sfumato.training.network import KINDS, Architecture
from sfumato.training.settings import Training

ROWS_ROUND = "rows"  # the round that buys noisy rows as they are


@dataclass(frozen=True)
class Limits:
    """What a file may say of a generator at the most."""

    waves: int = 1 << 20
    rows: int = 1 << 40
    coordinates: int = 1 << 20
    leaves: int = 10_000  # arrays of a network of the user's own
    weight: float = 1e6
    number: float = 1e30  # of the rest: counts and Adam's squares may be large; all fits in single precision


LIMITS = Limits()
Small = np.float32  # of weights and noisy rows, of which there are many

Whole = Annotated[int, Field(strict=True, ge=0)]
Shapes = dict[str, tuple[int, ...]]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class _Waves(_Strict):
    form: Literal["central"]
    waves: Annotated[int, Field(strict=True, ge=1, le=LIMITS.waves)]
    coordinates: Annotated[int, Field(strict=True, ge=1, le=LIMITS.coordinates)]


class _Rows(_Strict):
    form: Literal["rows"]
    rows: Annotated[int, Field(strict=True, ge=0, le=LIMITS.rows)]
    coordinates: Annotated[int, Field(strict=True, ge=1, le=LIMITS.coordinates)]
    projections: Annotated[int, Field(strict=True, ge=1, le=LIMITS.coordinates)] | None
    slice_dim: Annotated[int, Field(strict=True, ge=1, le=LIMITS.coordinates)]
    sd: Annotated[float, Field(gt=0)]
    radius: Annotated[float, Field(gt=0)]
    height: Annotated[float, Field(ge=0)]


class _Network(_Strict):
    kind: Literal["mlp", "conv"]
    width: Annotated[int, Field(strict=True, ge=1, le=4096)]
    depth: Annotated[int, Field(strict=True, ge=1, le=16)]
    channels: Annotated[int, Field(strict=True, ge=0, le=256)]


class _Own(_Strict):
    kind: Literal["own"]
    leaves: Annotated[tuple[tuple[Whole, ...], ...], FailFast()] = Field(max_length=LIMITS.leaves)


class _Training(_Strict):
    steps: Whole
    rows: Whole
    rate: float
    architecture: str
    width: Whole
    depth: Whole
    channels: Whole
    divergence: str
    seed: Whole
    number: Whole
    step: Whole
    loss: float | None
    finished: bool
    resumable: bool


class GeneratorFacts(_Strict):
    """What a file says of a generator beside its arrays."""

    encoding: Literal["scores", "projected"]
    bought: _Waves | _Rows = Field(discriminator="form")
    network: _Network | _Own = Field(discriminator="kind")
    training: _Training


def facts_of(encoding: str, bought: Bought, generator: Generator | OwnGenerator, progress: Progress) -> dict[str, Any]:
    """A generator as plain JSON data; its numbers are among the arrays."""
    return {
        "encoding": encoding,
        "bought": _bought_data(bought),
        "network": _network_data(generator),
        "training": asdict(progress.settings)
        | {
            "number": progress.number,
            "step": progress.step,
            "loss": progress.loss,
            "finished": progress.finished,
            "resumable": progress.memory is not None,
        },
    }


def _bought_data(bought: Bought) -> dict[str, Any]:
    if isinstance(bought, BoughtWaves):
        return {"form": bought.form, "waves": len(bought.frequencies), "coordinates": bought.frequencies.shape[1]}
    whole = bought.directions is None
    return {
        "form": bought.form,
        "rows": len(bought.values),
        "coordinates": bought.values.shape[1] if bought.directions is None else len(bought.directions),
        "projections": None if whole else bought.values.shape[1],
        "slice_dim": bought.slice_dim,
        "sd": bought.sd,
        "radius": bought.radius,
        "height": bought.height,
    }


def _network_data(generator: Generator | OwnGenerator) -> dict[str, Any]:
    if isinstance(generator, OwnGenerator):
        return {"kind": "own", "leaves": [list(leaf.shape) for leaf in generator.leaves]}
    known = generator.architecture
    return {"kind": known.kind, "width": known.width, "depth": known.depth, "channels": known.channels}


def arrays_of(bought: Bought, generator: Generator | OwnGenerator, progress: Progress) -> dict[str, Any]:
    """Every array of a generator but the encoder's."""
    found: dict[str, Any] = {"counts": bought.counts}
    if isinstance(bought, BoughtWaves):
        found |= {"frequencies": bought.frequencies, "waves": bought.means, "waves_sd": bought.sd}
    else:
        found["rows"] = bought.values.astype(Small)
        found |= {} if bought.directions is None else {"directions": bought.directions}
    found |= {f"start.{name}": value for name, value in vars(bought.start).items()}
    if bought.space is not None:
        found |= {f"space.{name}": value for name, value in vars(bought.space).items()}
    names = _names(generator)
    leaves = generator.leaves if isinstance(generator, OwnGenerator) else tuple(generator.weights.values())
    found |= dict(zip((f"net.{name}" for name in names), leaves, strict=True))
    for half, part in zip(("first", "second"), progress.memory or (), strict=False):
        found |= dict(zip((f"{half}.{name}" for name in names), part, strict=True))
    return found


def shapes(told: GeneratorFacts, layout: Layout) -> Specs:
    """What arrays a generator's release of this schema has, but for the encoder's."""
    k, d = layout.classes, layout.dim
    bought = told.bought
    found: Shapes = {"counts": (k,), "start.skip": (k, d, d), "start.shift": (k, d)}
    rows: Shapes = {}
    if isinstance(bought, _Waves):
        f = bought.waves
        found |= {"frequencies": (f, bought.coordinates), "waves": (k, 2 * f), "waves_sd": (k,)}
    elif bought.projections is None:
        rows = {"rows": (bought.rows, bought.coordinates)}
    else:
        rows = {"rows": (bought.rows, bought.projections)}
        found["directions"] = (bought.coordinates, bought.projections)
    if layout.groups:
        seen = _seen(bought, layout)
        found |= {"space.matrix": (seen, d), "space.centres": (k, seen)}
        found |= {"space.basis": (d, d), "space.middles": (k, d)}
    parts = ("net", "first", "second") if told.training.resumable else ("net",)
    inside = network_shapes(told, layout)
    small = rows | {f"{part}.{name}": shape for part in parts for name, shape in inside.items()}
    return {name: ArraySpec(shape) for name, shape in found.items()} | {
        name: ArraySpec(shape, Small) for name, shape in small.items()
    }


def network_shapes(told: GeneratorFacts, layout: Layout) -> Shapes:
    """The shapes of the network's own arrays."""
    if isinstance(told.network, _Own):
        return {str(i): tuple(leaf) for i, leaf in enumerate(told.network.leaves)}
    return _architecture(told.network, layout).shapes()


def check(told: GeneratorFacts, layout: Layout, insist: Insist) -> None:
    """Whether what a file says of a generator goes together, before any array is read."""
    bought, network, training = told.bought, told.network, told.training
    settings = _settings(training)
    insist(settings.problem() is None, "the settings of its training are not valid")
    insist(training.step <= training.steps, "its training has done more steps than it has")
    insist(not (training.finished and training.resumable), "a training that is over cannot be resumed")
    begun = training.finished or training.resumable
    insist(begun == (training.number > 0), "its training has a number exactly if it was begun")
    insist(begun or (training.step == 0 and training.loss is None), "a training that was not begun has done steps")
    if isinstance(network, _Network):
        conv = network.kind == "conv"
        insist(conv == (network.channels > 0), "the channels of its network do not fit its kind")
        insist(image_of(layout) is not None or not conv, "its network is for images, and its schema is of none")
    classes = layout.classes if isinstance(bought, _Rows) and bought.height > 0 else 0
    insist(bought.coordinates == _seen(bought, layout) + classes, "what was bought does not fit its schema")
    if isinstance(bought, _Rows) and bought.projections is not None:
        insist(bought.projections % bought.slice_dim == 0, "its projections are not whole slices")


def check_bought(bought: Bought, guarantee: Guarantee, unit_rows: int, insist: Insist) -> None:
    """Whether a guarantee covers what was bought: its noise, how far a unit can move it, and the adjacency."""
    named = {spend.name: spend for spend in guarantee.spends}
    if isinstance(bought, BoughtWaves):
        insist("waves" in named and not guarantee.slices, "its guarantee does not cover what was bought")
        return
    insist(guarantee.adjacency is Adjacency.REPLACE_ONE, "noisy rows in another adjacency than replace-one")
    far, sd = 2.0 * bought.radius * math.sqrt(unit_rows) * (1.0 - ROUNDING), bought.sd * (1.0 + ROUNDING)
    if bought.directions is None:
        spend = named.get(ROWS_ROUND)
        insist(spend is not None and not guarantee.slices, "its guarantee does not cover what was bought")
        insist(spend and spend.sensitivity >= far and spend.sigma <= sd, "its guarantee does not cover its noisy rows")
        return
    insist(len(guarantee.slices) == 1 and ROWS_ROUND not in named, "its guarantee does not cover what was bought")
    (one,) = guarantee.slices
    insist((one.dim, one.projections) == bought.directions.shape, "its guarantee is for other slices than it holds")
    covers = one.sigma <= sd and one.distance >= far and one.rows >= unit_rows
    insist(
        covers and one.rounding >= matrix_rounding(one) * (1.0 - ROUNDING),
        "its guarantee does not cover its noisy slices",
    )


def _seen(bought: _Waves | _Rows, layout: Layout) -> int:
    """Coordinates of a row that were asked, without its class."""
    if not layout.groups:
        return len(layout.names)
    return bought.coordinates if isinstance(bought, _Waves) else layout.dim


def build(
    told: GeneratorFacts, found: NamedArrays, layout: Layout, encoder: TrainedEncoder, insist: Insist
) -> tuple[Bought, Generator | OwnGenerator, Progress]:
    """What was bought, the generator, and how far its training is: every number checked."""
    for name, array in found.items():
        most = LIMITS.weight if name.startswith(("net.", "start.")) else LIMITS.number
        insist((np.abs(array) <= most).all(), f"array {name} has a value that is no number, or too large")
    insist((found["counts"] > 0).all(), "the counts of its classes are not positive")
    parts = ("basis", "middles", "matrix", "centres")
    space = Space(*(found[f"space.{name}"] for name in parts)) if layout.groups else None
    bought = _bought(told.bought, found, space, insist)
    names = tuple(network_shapes(told, layout))
    weights = {name: found[f"net.{name}"] for name in names}
    generator: Generator | OwnGenerator
    if isinstance(told.network, _Own):
        generator = OwnGenerator(tuple(weights.values()), layout.classes, layout.dim)
    else:
        lens = lens_of(bought, encoder) if told.network.kind == "conv" else None
        generator = Generator(_architecture(told.network, layout), weights, lens)
    return bought, generator, _progress(told.training, names, found, insist)


def _progress(told: _Training, names: tuple[str, ...], found: NamedArrays, insist: Insist) -> Progress:
    memory = None
    if told.resumable:
        first, second = (tuple(found[f"{half}.{name}"] for name in names) for half in ("first", "second"))
        insist(all((part >= 0).all() for part in second), "the memory of its training is not valid")
        memory = first, second
    return Progress(told.number, _settings(told), told.step, told.loss, told.finished, memory)


def _bought(told: _Waves | _Rows, found: NamedArrays, space: Space | None, insist: Insist) -> Bought:
    start = Start(found["start.skip"], found["start.shift"])
    if isinstance(told, _Waves):
        insist((found["waves_sd"] > 0).all(), "the noise of its waves is not positive")
        return BoughtWaves(found["counts"], start, found["frequencies"], found["waves"], found["waves_sd"], space)
    directions = found.get("directions")
    public = told.sd, told.radius, told.height, told.slice_dim
    return BoughtRows(found["counts"], start, found["rows"], directions, *public, space)


def _settings(told: _Training) -> Training:
    progress = {"number", "step", "loss", "finished", "resumable"}
    return Training(**told.model_dump(exclude=progress))


def _architecture(told: _Network, layout: Layout) -> Architecture:
    assert told.kind in KINDS
    image = image_of(layout) if told.kind == "conv" else None
    return Architecture(told.kind, layout.classes, layout.dim, told.width, told.depth, told.channels, image)


def _names(generator: Generator | OwnGenerator) -> tuple[str, ...]:
    if isinstance(generator, OwnGenerator):
        return tuple(str(i) for i in range(len(generator.leaves)))
    return tuple(generator.weights)
