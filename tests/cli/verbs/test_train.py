"""Slicing by the command line: buying, training, going on, and what an interrupt leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.calls import Call, Result
from tests.cli.lines import FIT, SCHEMA, altered, document
from tests.release.files import with_model

import sfumato as sf
from sfumato.models import GeneratorModel, generator_model
from sfumato.models.generator import OwnGenerator, Progress

pytestmark = pytest.mark.slow  # JAX compiles

SLICING = altered(mechanism="slicing")
BUY = (*SLICING, "--no-training")
SMALL = {"steps": 5, "width": 4, "depth": 1}
QUICK = tuple(word for name, value in SMALL.items() for word in (f"--{name}", value))
QUICK_FIT = tuple(word for name, value in SMALL.items() for word in (f"--training.{name}", value))


@pytest.fixture(scope="module")
def bought_bytes(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A release of slicing that was bought and not trained."""
    place = tmp_path_factory.mktemp("bought") / "b.sfumato"
    sf.fit(frame, sf.Schema.parse(SCHEMA), epsilon=1, delta=1e-6, mechanism=sf.Slicing(training=None)).save(place)
    return place.read_bytes()


@pytest.fixture
def bought(folder: Path, bought_bytes: bytes) -> Path:
    place = folder / "b.sfumato"
    place.write_bytes(bought_bytes)
    return place


def read(path: Path | str = "new.sfumato") -> sf.Release:
    made = sf.load(path)
    assert isinstance(made.model, GeneratorModel)
    return made


def interrupted(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Ctrl-C when a line about so many steps would be printed."""

    def tell(step: int, steps: int, loss: float) -> None:
        if step >= after:
            raise KeyboardInterrupt

    monkeypatch.setattr("sfumato.cli.verbs.train.training", lambda reach: tell)


def never(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C before the first steps are done."""

    def train_on(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(generator_model, "train_on", train_on)


# --- fit


def test_fit_without_training(folder: Path, call: Call) -> None:
    result = call(*BUY)
    assert result.code == 0
    assert result.err.splitlines()[0].startswith("asking for histograms: ")
    assert result.err.splitlines()[1].startswith("asking for waves: ")
    assert len(result.err.splitlines()) == 2
    assert "wrote new.sfumato\n(1, 1e-06)-differentially private" in result.out
    assert read().model.progress.number == 0
    shown = call("inspect", "new.sfumato").out
    assert "A slicing release (scores encoding) of 3 columns." in shown
    assert "Bought once: class means of 400 cosines and sines." in shown
    assert "Not trained yet: rows come from a Gaussian for each class. `sfumato train` trains it, for free." in shown
    assert "waves " in shown
    assert call("sample", "new.sfumato", "-n", 5, "-o", "rows.csv").code == 0


def test_fit_and_train_again_and_again(folder: Path, call: Call) -> None:
    pytest.importorskip("jax")
    result = call(*SLICING, *QUICK_FIT)
    assert result.code == 0
    assert result.err.splitlines()[-1].startswith("training: step 5 of at most 5, loss ")
    made = read()
    assert made.model.progress.number == 1
    assert made.model.progress.settings == sf.Training(steps=5, width=4, depth=1)
    shown = call("inspect", "new.sfumato").out
    assert "Training 1 on it is over, after 5 of at most 5 steps, loss " in shown
    assert "however many there are, the guarantee stays what it is" in shown

    result = call("train", "new.sfumato", *QUICK, "--seed", 3, "-o", "other.sfumato")
    assert result.code == 0
    assert result.out.startswith(
        "wrote other.sfumato: training 2 on what was bought\n(1, 1e-06)-differentially private"
    )
    assert read().model.progress.number == 1
    other = read("other.sfumato")
    assert other.guarantee == made.guarantee
    assert other.model.progress.settings.seed == 3

    found = document(call("train", "new.sfumato", *QUICK, "--warm", "--json"))
    assert found["output"] == "new.sfumato"
    assert found["generator"]["training"]["number"] == 2
    assert found["generator"]["training"]["finished"] is True
    assert found["generator"]["bought"] == {"form": "central", "waves": 400, "coordinates": 2}
    assert found["guarantee"]["epsilon"] == 1
    assert read().model.progress.number == 2
    assert document(call("inspect", "new.sfumato", "--json"))["generator"] == found["generator"]


@pytest.mark.parametrize("slices", [None, 1])
def test_rows_are_asked_for(slices: int | None, folder: Path, call: Call) -> None:
    options = ("--form", "rows", "--adjacency", "replace-one")
    options = options if slices is None else (*options, "--slices", str(slices), "--slice-dim", "3")
    result = call(*BUY, *options)
    assert result.code == 0, result.err
    shown = call("inspect", "new.sfumato").out
    found = document(call("inspect", "new.sfumato", "--json"))["generator"]["bought"]
    if slices is None:
        assert "asking for rows: 70% of the budget" in result.err
        assert "Bought once: 400 noisy rows." in shown
        assert found["projections"] is None
    else:
        assert "asking for 3 noisy projections of every row" in result.err
        assert "Bought once: 400 rows in 3 noisy projections." in shown
        assert "every row        3 projections, noise " in shown
        assert found["projections"] == 3
    assert "noise" in call("plan", "s.yaml", "--epsilon", "1", "--delta", "1e-6", *PLAN, *options).out


PLAN = ("--mechanism", "slicing")


# --- what is refused

FOR_SLICING = "is for mechanism slicing; mixture has --components, --pairs, --adapt, "
REFUSED: dict[str, tuple[tuple[Any, ...], str]] = {
    "a mixture": (
        ("train", "r.sfumato"),
        "r.sfumato is a release of mechanism mixture: there is nothing to train in it",
    ),
    "no file": (("train", "none.sfumato"), "none.sfumato does not exist"),
    "no steps": (("train", "b.sfumato", "--steps", 0), "steps must be a whole number from 1 to 10000000, not 0"),
    "a rate of 2": (("train", "b.sfumato", "--rate", 2), "rate must be a number above 0 and at most 1, not 2.0"),
    "a seed below 0": (("train", "b.sfumato", "--seed", -1), "seed must be a whole number from 0 to"),
    "a divergence": (("train", "b.sfumato", "--divergence", "tv"), "divergence must be one of 'kl', 'reverse-kl'"),
    "an architecture": (("train", "b.sfumato", "--architecture", "rnn"), "architecture must be one of 'mlp', 'conv'"),
    "no image": (("train", "b.sfumato", "--architecture", "conv"), "architecture 'conv' is for images"),
    "nothing to resume": (("train", "b.sfumato", "--resume"), "there is no interrupted training to go on with"),
    "another width": (("train", "b.sfumato", "--warm", "--width", 3), "a warm start needs the architecture, width"),
    "a folder": (("train", "b.sfumato", "-o", "."), "it is a folder"),
    "no such folder": (("train", "b.sfumato", "-o", "nowhere/r"), "cannot write nowhere/r"),
    "fit: no image": ((*SLICING, "--training.architecture", "conv"), "architecture 'conv' is for images"),
    "fit: no steps": ((*SLICING, "--training.steps", 0), "steps must be a whole number from 1"),
    "fit: steps of no training": ((*BUY, *QUICK_FIT), "--no-training leaves nothing for --training.steps to say"),
    "fit: steps of a mixture": ((*FIT, "--training.steps", 9), f"--training.steps {FOR_SLICING}"),
    "fit: no training of a mixture": ((*FIT, "--no-training"), f"--no-training {FOR_SLICING}"),
    "fit: form of a mixture": ((*FIT, "--form", "rows"), f"--form {FOR_SLICING}"),
    "fit: rows of another adjacency": ((*SLICING, "--form", "rows"), "it needs adjacency 'replace-one'"),
    "fit: slices of sums": ((*SLICING, "--slices", 3), "slices is for form 'rows'"),
    "fit: adapt": ((*SLICING, "--adapt", "labels"), "--adapt is for mechanism mixture or clustmix; slicing has --form"),
    "fit: an option of none": ((*SLICING, "--steps", 5), "No such option: --steps"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_are_one_line(case: str, folder: Path, bought: Path, call: Call) -> None:
    pytest.importorskip("jax")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    arguments, words = REFUSED[case]
    result = call(*arguments)
    assert result.code == 2
    assert result.out == ""
    (line,) = result.err.splitlines()
    assert line.startswith("error: ")
    assert words in line
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_module_of_anothers_own_is_not_trained_on(bought: Path, call: Call) -> None:
    net = OwnGenerator((np.ones((2, 2), dtype=np.float32),), 2, 2)
    half = Progress(1, sf.Training(), 50, 2.0, False, (net.leaves, net.leaves))
    with_model(read(bought), generator=net, progress=half).save(bought)
    for more in ("--warm", "--resume"):
        result = call("train", bought, more)
        assert result.code == 2
        assert "trained with a module of its author's own: load it with module=..." in result.err
    assert "trained with a module of its author's own" in call("sample", bought, "-n", 3, "-o", "rows.csv").err
    assert "Training 1 on it is interrupted: `sfumato train --resume` goes on" in call("inspect", bought).out


# --- interrupts


def test_an_interrupted_training_goes_on(
    bought: Path,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("jax")
    with monkeypatch.context() as patch:
        interrupted(patch, 5)
        result = call("train", bought, *QUICK)
    assert result.code == 130
    (line,) = result.err.splitlines()
    assert line.startswith(f"interrupted: {bought} holds what was bought and how far the training is; sfumato train ")
    assert line.endswith(" --resume goes on")
    assert not read(bought).model.is_trained
    assert "is interrupted: `sfumato train --resume` goes on, after 5 of at most 5 steps" in call("inspect", bought).out
    assert call("train", bought, "--resume", "--steps", 9).code == 2
    result = call("train", bought, "--resume")
    assert result.code == 0, result.err
    assert read(bought).model.is_trained
    assert read(bought).model.progress.number == 1


def test_an_interrupt_before_the_first_step_leaves_what_was_bought(
    folder: Path,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("jax")
    never(monkeypatch)
    result = call(*SLICING, *QUICK_FIT)
    assert result.code == 130
    line = result.err.splitlines()[-1]
    assert line.startswith("interrupted: new.sfumato holds what was bought and how far the training is; ")
    assert line.endswith("sfumato train new.sfumato goes on"), "there is nothing to resume"
    before = (folder / "new.sfumato").read_bytes()
    assert call("train", "new.sfumato", *QUICK) == Result(130, "", "interrupted: nothing was written\n")
    assert (folder / "new.sfumato").read_bytes() == before


def test_an_interrupt_with_a_ledger_tells_of_the_file(
    folder: Path,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was bought is counted and kept, so nobody should be told to look whether it was."""
    pytest.importorskip("jax")
    assert call("ledger", "l.db", "--open", "people", "--epsilon", 2, "--delta", "1e-5").code == 0
    never(monkeypatch)
    result = call(*SLICING, *QUICK_FIT, "--ledger", "l.db", "--dataset", "people")
    assert result.code == 130
    assert result.err.splitlines()[-1].startswith("interrupted: new.sfumato holds what was bought")
    (account,) = sf.Ledger("l.db").accounts()
    (entry,) = account.entries
    assert read().guarantee.entry == entry.id


def test_a_signal_leaves_a_file_that_can_be_resumed(bought: Path) -> None:
    pytest.importorskip("jax")
    made = read(bought)
    waves: Any = made.model.bought
    # Few waves, so that steps are quick, and little noise, so that they are not met at once.
    few = replace(waves, frequencies=waves.frequencies[:2], means=waves.means[:, :4], sd=waves.sd / 1000)
    with_model(made, bought=few).save(bought)
    code = "from sfumato.cli import main; main()"
    options = ["--steps", "1000000", "--width", "2", "--depth", "1"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": os.environ}
    with subprocess.Popen([sys.executable, "-c", code, "train", str(bought), *options], **pipes) as process:
        try:
            line = process.stderr.readline()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert line.startswith("training: step 50 of at most 1000000, loss ")
    assert process.returncode == 130
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith(f"interrupted: {bought} holds what was bought and how far the training is; ")
    made = read(bought)
    assert not made.model.is_trained
    assert made.model.progress.memory is not None
    assert made.model.progress.step >= 50
    assert made.model.progress.settings.steps == 1_000_000
    assert made.model.progress.loss is not None
