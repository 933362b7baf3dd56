"""Command lines: arguments, separated by a null byte, for the command's own `main` in a folder of example files.

No path leaves that folder (a slash is no slash here), no sample is asked for more rows than it can write in a
moment, and the verbs that run for minutes are asked for their help only.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import strategies as st

import sfumato as sf
from fuzz.harness import FaultFound, Target, edited, scratch
from sfumato import cli

SCHEMA = (
    "label: ill\ncolumns:\n  age: {type: number, min: 0, max: 100, step: 1}\n  ill: {type: category, values: [a, b]}\n"
)
SLOW_VERBS = ("demo", "audit", "evaluate", "report")
ROW_OPTIONS = re.compile(r"[\d_]{4,}")
ALLOWED_CODES = (0, None, 2)


def run(data: bytes) -> None:
    """Call the command line: exit code 0, or 2 and one line that says why."""
    arguments = _tamed(data.split(b"\0"))
    with _inside(_folder()), _captured(arguments) as (out, err):
        code: Any = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code
        out.flush()
        err.flush()
        _check(code, err.buffer.getvalue().decode("utf-8", "replace"))


def _check(code: Any, err: str) -> None:
    if code not in ALLOWED_CODES:
        raise FaultFound(f"exit code {code}")
    if "Traceback" in err:
        raise FaultFound("a traceback")
    if code == 2 and not err.strip():
        raise FaultFound("refused without a word")


def _tamed(parts: list[bytes]) -> list[str]:
    texts = [part.decode("utf-8", "surrogateescape").replace("/", "_").replace("..", "_") for part in parts]
    verb = next((text for text in texts if not text.startswith("-")), "")
    if verb in SLOW_VERBS:
        return [verb, "--help"]
    return [ROW_OPTIONS.sub("999", text) for text in texts] if verb == "sample" else texts


@contextlib.contextmanager
def _captured(arguments: list[str]) -> Any:
    """Streams as strict as those of a terminal, and the arguments in their place."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors) for errors in ("strict", "backslashreplace"))
    old = sys.argv
    sys.argv = ["sfumato", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield out, err
    finally:
        sys.argv = old


@contextlib.contextmanager
def _inside(folder: Path) -> Any:
    """The example files as they were, whatever an earlier case did to them."""
    for path in folder.iterdir():
        if path.is_file() and path.name not in _files():
            path.unlink()
    for name, content in _files().items():
        (folder / name).write_bytes(content)
    old = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(old)


@cache
def _folder() -> Path:
    folder = scratch("cli")
    (folder / "folder").mkdir()
    return folder


@cache
def _files() -> dict[str, bytes]:
    rows = pd.DataFrame({"age": [str(n) for n in range(60)], "ill": ["a", "b", "a"] * 20})
    path = _folder() / "r.sfumato"
    sf.fit(rows, sf.Schema.parse(SCHEMA), epsilon=1, delta=1e-6).save(path)
    parquet = io.BytesIO()
    rows.to_parquet(parquet)
    return {
        "r.sfumato": path.read_bytes(),
        "data.csv": rows.to_csv(index=False).encode(),
        "data.parquet": parquet.getvalue(),
        "s.yaml": SCHEMA.encode(),
        "draft.yaml": (SCHEMA + "unconfirmed: [columns.age.max]\n").encode(),
        "empty.csv": b"",
        "bad.sfumato": b"PK",
    }


LINES = [
    "schema data.csv --label ill -o new.yaml",
    "plan s.yaml --rows 3000 --epsilon 0.5,1,2 --delta 1e-6 --json",
    "fit data.csv --schema s.yaml --epsilon 1 --delta 1e-6 -o new.sfumato",
    "fit data.parquet --schema s.yaml --epsilon 1 --delta 1e-6 --adjacency label --insecure-seed 3 --json -o new.s",
    "fit data.csv --schema s.yaml --epsilon 1 --delta 1e-6 --components 2 --adapt labels --alpha 0.5 -o new.sfumato",
    "plan s.yaml --epsilon 1 --delta 1e-6 --mechanism clustmix --sigma-max 0.5 --tuning.points.steps 3",
    "fit data.csv --schema draft.yaml --epsilon 1 --delta 1e-6 -o new.sfumato",
    "sample r.sfumato -n 20 -o out.csv --seed 3",
    "sample r.sfumato -n 20 -o out.parquet --given ill=b --where age>40 --json",
    "ledger l.db --open town --epsilon 2 --delta 1e-5",
    "ledger l.db --json",
    "fit data.csv --schema s.yaml --epsilon 1 --delta 1e-6 --ledger l.db --dataset town -o new.sfumato",
    "inspect r.sfumato",
    "inspect r.sfumato --json",
    "inspect bad.sfumato",
    "--version",
    "--help",
    "",
]


def seeds() -> list[bytes]:
    return [line.replace(" ", "\0").encode() for line in LINES]


VERBS = ["schema", "plan", "fit", "sample", "inspect", "ledger", "demo", "audit", "nothing", ""]
OPTIONS = """
-o --output --label --rows -n --seed --given --where --json --epsilon --delta --adjacency --mechanism --encoding --help
--schema --delimiter --quote --csv-encoding --table --insecure-seed --version --ledger --dataset --open --give-back
--unit --components --adapt --alpha --sigma-max --form --tuning.gain --tuning.labels.rounds --no-training -x -- -
"""
VALUES = """
data.csv data.parquet s.yaml draft.yaml r.sfumato bad.sfumato empty.csv folder none.csv out.csv out.parquet new.sfumato
l.db new.yaml new.json . 0 1 -1 3 1e-6 0.5 1,2 nan inf 1e999 -0 0x10 1_0 ٣ 1e-400 1e308 18446744073709551616 ill age
age>3 ill=a age=5 =x x= label replace-one add-remove affine scores utf-16 latin-1 utf-8-sig idna ; , town
mixture clustmix auto labels none
"""
ODD_VALUES = ["", " ", "\t", "\x1b[31m", "a" * 300, "é" * 5000, "\udcff", "postgresql:x", "sqlite:"]
values = st.one_of(
    st.sampled_from(VALUES.split()), st.sampled_from(VALUES.split()), st.text(max_size=8), st.sampled_from(ODD_VALUES)
)
tokens = st.one_of(st.sampled_from(OPTIONS.split()), values)


@st.composite
def cases(draw: Any) -> bytes:
    """A line that works with something put in, taken out or replaced; or a verb and whatever comes."""
    if draw(st.integers(0, 2)):
        parts = draw(st.sampled_from(LINES)).split(" ")
        for _ in range(draw(st.integers(0, 3))):
            at = draw(st.integers(0, len(parts)))
            kind = draw(st.integers(0, 2))
            parts[at : at + (kind > 0)] = [] if kind == 2 else [draw(tokens)]
    else:
        parts = [draw(st.sampled_from(VERBS)), *draw(st.lists(tokens, max_size=8))]
    line = "\0".join(parts).encode("utf-8", "surrogateescape" if "\udcff" in parts else "surrogatepass")
    return edited(draw, line) if draw(st.integers(0, 5)) == 0 else line


TARGET = Target("cli", run, seeds, cases, longest=512, words=(*VERBS[:-1], *OPTIONS.split(), *VALUES.split()))
