"""The columns of Table 1: every way to make synthetic rows that is run here, and the paper's own figures."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sfumato as sf
from experiments.three_a import tuning
from experiments.three_a.cube import Cube
from experiments.three_a.data import DataSet
from experiments.three_a.judge import lightgbm
from sfumato.published import ads_gan, baselines, dp_gan, pate_gan
from sfumato.published import clustmix as clustmix_printed

RESULTS = Path(__file__).parent / "results"
SIGMAS = (0.1, 0.2, 0.5, 1.0)  # that ClustMix as printed is tried with; rows lie in [0, 1]
TUNING_ROWS = 5000  # private rows that it is tried on
MANY = 100_000  # rows that are drawn of small tables too, where a line says so: drawing them is free


@dataclass(frozen=True)
class Synthetic:
    """Synthetic rows, and how long it took to make them, from the private table to the last row."""

    frame: pd.DataFrame
    seconds: float


class NotThere(Exception):
    """A method that cannot be run on a data set, or not yet."""


@dataclass(frozen=True)
class Method:
    """A way to make synthetic rows. `seed` fixes all chance; None draws from the operating system.

    Where `least` rows are drawn of tables that have fewer, `like` names the same method without that.
    """

    title: str
    guarantee: str
    make: Callable[[DataSet, float, float, int | None, int], pd.DataFrame]
    random: bool = True
    least: int = 0
    like: str = ""

    @property
    def named(self) -> str:
        """The title with the guarantee."""
        return f"{self.title} ({self.guarantee})" if self.random else self.title

    def __call__(
        self, data: DataSet, epsilon: float, delta: float, seed: int | None = None, rows: int | None = None
    ) -> Synthetic:
        """Synthetic rows, as many as real ones, or `least`, unless `rows` says otherwise."""
        started = time.perf_counter()
        frame = self.make(data, epsilon, delta, seed, max(len(data.train), self.least) if rows is None else rows)
        return Synthetic(frame, time.perf_counter() - started)


def real(data: DataSet, epsilon: float, delta: float, seed: int | None, rows: int) -> pd.DataFrame:
    """The train rows themselves."""
    return data.train


def mixture(data: DataSet, epsilon: float, delta: float, seed: int | None, rows: int) -> pd.DataFrame:
    """The strict mixture as it comes: with pair tables, where columns are not in groups."""
    return _sampled(data, epsilon, delta, seed, rows, sf.Mixture())


def mixture_adapted(data: DataSet, epsilon: float, delta: float, seed: int | None, rows: int) -> pd.DataFrame:
    """The same with labels adapted where that pays."""
    return _sampled(data, epsilon, delta, seed, rows, sf.Mixture(adapt="auto"))


def clustmix(data: DataSet, epsilon: float, delta: float, seed: int | None, rows: int) -> pd.DataFrame:
    """The strict ClustMix."""
    return _sampled(data, epsilon, delta, seed, rows, sf.Clustmix())


def printed(data: DataSet, epsilon: float, delta: float, seed: int | None, rows: int) -> pd.DataFrame:
    """ClustMix as printed, its sigma_max chosen by the judge of Table 1."""
    return printed_for(data, epsilon, delta, seed, lambda frame, private: max(lightgbm(frame, private).values()))


def printed_for(
    data: DataSet, epsilon: float, delta: float, seed: int | None, worth: Callable[[pd.DataFrame, DataSet], float]
) -> pd.DataFrame:
    """ClustMix as printed: as many points as its clusters. As in the paper, Algorithm 2 is run with several sigma_max,
    and the points that classify the private rows best are taken; nothing pays for that. `worth` should be the judge
    that the points will meet: one that cannot learn from few points would choose many and noisy ones."""
    cube = Cube.of(data)
    x, y = cube.points(data.train)
    few = np.random.default_rng(0).permutation(len(data.train))[:TUNING_ROWS]
    private = replace(data, test=data.train.iloc[few].reset_index(drop=True))
    found: list[tuple[float, pd.DataFrame]] = []
    for i, sigma_max in enumerate(SIGMAS):
        rng = np.random.default_rng(None if seed is None else [seed, i])
        made = clustmix_printed.release(
            x, y, len(data.classes), epsilon=epsilon, delta=delta, sigma_max=sigma_max, rng=rng
        )
        frame = cube.frame(made.x, made.y)
        found.append((worth(frame, private), frame))
    return max(found, key=lambda pair: pair[0])[1]


def tried(method: str) -> Callable[[DataSet, dict[str, Any], int | None], pd.DataFrame]:
    """How a method is run with settings that a search tries."""
    return partial(_tried, method)


def _tried(method: str, data: DataSet, settings: dict[str, Any], seed: int | None) -> pd.DataFrame:
    if method != "printed":
        found = replace(GANS[method][1], **settings)
        return gan(method, found, data, tuning.EPSILON, data.delta, seed, len(data.train))
    cube = Cube.of(data)
    x, y = cube.points(data.train)
    given = {key: value for key, value in settings.items() if key not in ("sigma_max", "scaling")}
    kip = clustmix_printed.Kip(**given)
    made = clustmix_printed.release(
        x,
        y,
        len(data.classes),
        epsilon=tuning.EPSILON,
        delta=data.delta,
        sigma_max=settings["sigma_max"],
        rng=np.random.default_rng(seed),
        kip=kip,
        adapt=kip.alpha < 1.0,
        scaling=settings["scaling"],
    )
    return cube.frame(made.x, made.y)


def printed_tuned(data: DataSet, epsilon: float, delta: float, seed: int | None, rows: int) -> pd.DataFrame:
    """ClustMix as printed with what a search on the same data set found best, which nothing pays for."""
    found = tuning.best(RESULTS, "printed", data.name)
    if found is None:
        raise NotThere(
            f"it is not tuned there: python -m experiments.three_a tune --methods printed --data {data.name}"
        )
    return tried("printed")(data, found, seed)


def mixed(data: DataSet, epsilon: float, delta: float, seed: int | None, rows: int) -> pd.DataFrame:
    """DPMix: means of random rows. Labels are soft and hardly differ; a point gets the class that is furthest above
    that class's mean over the points."""
    cube = Cube.of(data)
    x, y = cube.points(data.train)
    classes, rng = len(data.classes), np.random.default_rng(seed)
    points, soft = baselines.mix(x, y, classes, bounds=(0.0, 1.0), epsilon=epsilon, delta=delta, rng=rng, points=rows)
    return cube.frame(points, (soft - soft.mean(axis=0)).argmax(axis=1))


def merf(data: DataSet, epsilon: float, delta: float, seed: int | None, rows: int) -> pd.DataFrame:
    """DP-MERF: a generator that matches noisy means of random features."""
    cube = Cube.of(data)
    x, y = cube.points(data.train)
    options = {"epsilon": epsilon, "delta": delta, "rows": rows, "rng": np.random.default_rng(seed)}
    numbers, codes, labels = baselines.dp_merf(cube.rows(x, y), **options)
    return cube.frame(cube.put_together(numbers, codes), labels)


GANS: dict[str, tuple[Callable[..., Any], Any, str]] = {
    "dp-gan": (dp_gan.dp_gan, dp_gan.AUTHORS, "DP but for scaling"),
    "pate-gan": (pate_gan.pate_gan, pate_gan.AUTHORS, "claims DP"),
    "ads-gan": (ads_gan.ads_gan, ads_gan.AUTHORS, "not DP"),
}
"""The published GANs, with their authors' settings."""


def gan(
    name: str, settings: Any, data: DataSet, epsilon: float, delta: float, seed: int | None, rows: int
) -> pd.DataFrame:
    """Rows of a published GAN. Numbers are scaled by the private rows' own smallest and largest values, as their
    authors do and nothing pays for: between public bounds, which must be wide, they would learn less."""
    cube = Cube.of(data, from_rows=True)
    x, y = cube.points(data.train)
    budget = {} if name == "ads-gan" else {"epsilon": epsilon, "delta": delta}
    options = {"rows": rows, "rng": np.random.default_rng(seed), "settings": settings}
    numbers, codes, labels = GANS[name][0](cube.rows(x, y), **options, **budget)
    return cube.frame(cube.put_together(numbers, codes), labels)


def tuned_gan(name: str, data: DataSet, *asked: Any) -> pd.DataFrame:
    """The same with what did best on public data."""
    found = tuning.best(RESULTS, name)
    if found is None:
        raise NotThere(f"it is not tuned yet: python -m experiments.three_a tune --methods {name}")
    return gan(name, replace(GANS[name][1], **found), data, *asked)


def many(name: str, method: Method) -> Method:
    """The same method, of which no fewer than MANY rows are drawn."""
    return replace(method, title=f"{method.title}, {MANY:,} rows", least=MANY, like=name)


METHODS: dict[str, Method] = {
    "real": Method("Real", "none: the private rows", real, random=False),
    "mixture": Method("mixture", "DP", mixture),
    "adapted": Method("mixture, adapted", "DP", mixture_adapted),
    "clustmix": Method("ClustMix, strict", "DP", clustmix),
    "printed": Method("ClustMix as printed", "not DP", printed),
    "printed-tuned": Method("ClustMix as printed, tuned unpaid", "not DP", printed_tuned),
    "dpmix": Method("DPMix", "DP, replace-one", mixed),
    "dp-merf": Method("DP-MERF", "DP", merf),
    **{
        name: Method(name.upper(), guarantee, partial(gan, name, authors))
        for name, (_, authors, guarantee) in GANS.items()
    },
    **{
        f"{name}-tuned": Method(f"{name.upper()}, tuned in public", guarantee, partial(tuned_gan, name))
        for name, (_, _, guarantee) in GANS.items()
    },
}
METHODS |= {f"{name}-many": many(name, METHODS[name]) for name in ("adapted", "dp-merf")}
TEN = ("real", "dp-gan", "pate-gan", "ads-gan", "dp-merf", "dpmix", "printed", "mixture", "adapted", "clustmix")
"""The methods that Table 1 is full with; the others are the same ones tuned, or with more rows drawn."""

# Madl, Xu, Choudhury and Howard (2023), Table 1: epsilon = 1, delta = 1 / N (MNIST 1e-5). Their Census has all rows,
# their credit card fraud all 284,807; hyper-parameters were tuned on private rows without charge.
PUBLISHED: dict[str, dict[str, float]] = {
    "adult": {
        "Real": 0.931,
        "DP-GAN": 0.511,
        "PATE-GAN": 0.732,
        "ADS-GAN": 0.821,
        "DP-MERF": 0.650,
        "ClustMix": 0.863,
    },
    "census": {
        "Real": 0.952,
        "DP-GAN": 0.529,
        "PATE-GAN": 0.544,
        "ADS-GAN": 0.856,
        "DP-MERF": 0.686,
        "ClustMix": 0.906,
    },
    "fraud": {
        "Real": 0.973,
        "DP-GAN": 0.435,
        "PATE-GAN": 0.739,
        "ADS-GAN": 0.911,
        "DP-MERF": 0.772,
        "ClustMix": 0.969,
    },
    "isolet": {
        "Real": 0.988,
        "DP-GAN": 0.618,
        "PATE-GAN": 0.529,
        "ADS-GAN": 0.924,
        "DP-MERF": 0.547,
        "ClustMix": 0.903,
    },
    "mnist": {
        "Real": 0.972,
        "DP-GAN": 0.403,
        "PATE-GAN": 0.563,
        "ADS-GAN": 0.710,
        "DP-MERF": 0.650,
        "ClustMix": 0.818,
    },
}


def _sampled(data: DataSet, epsilon: float, delta: float, seed: int | None, rows: int, mechanism: Any) -> pd.DataFrame:
    """Fit and sample."""
    if data.schema is None:
        raise NotThere(f"{data.name} has no schema yet")
    release = sf.fit(
        data.train,
        data.schema,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        rows=data.rows,
        insecure_seed=seed,
    )
    return release.sample(rows, seed=seed)
