"""What a page shows: code that a reader copies, and what it prints, run in the order of the page."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*?) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
TYPED = "typed: "  # a mark: what a reader types at the prompts of the commands below it
FILE = "file: "  # a mark: the page tells the reader to save the block under this name
NOISY = "noisy"  # a mark: the output holds noisy numbers


@dataclass(frozen=True)
class Block:
    """Code or output, with the mark that stands before it as a comment."""

    language: str
    text: str
    mark: str


def blocks(page: str) -> Iterator[Block]:
    """What a page shows, in order."""
    for found in BLOCK.finditer((ROOT / page).read_text(encoding="utf-8")):
        yield Block(found["language"], found["text"], found["mark"] or "")


def run_page(page: str, folder: Path) -> dict[str, Any]:
    """Run a page's Python and commands in a folder; what stands right behind them as text is what they print."""
    known: dict[str, Any] = {"__name__": "__main__"}
    printed: str | None = None
    for block in blocks(page):
        if block.language == "python":
            printed = python(block.text, known)
        elif block.language == "sh":
            printed = commands(block, folder)
        elif block.language == "text" and printed is not None:
            check(block, printed)
            printed = None
        elif block.mark.startswith(FILE):
            (folder / block.mark.removeprefix(FILE)).write_text(block.text, encoding="utf-8")
    return known


def python(code: str, known: dict[str, Any]) -> str:
    """What code prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, known)
    return out.getvalue()


def commands(block: Block, folder: Path) -> str:
    """What commands print, with what a reader would type at their prompts."""
    typed = block.mark.removeprefix(TYPED).replace("|", "\n") + "\n" if block.mark.startswith(TYPED) else ""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        ["bash", "-e", "-c", block.text], cwd=folder, env=env, input=typed, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check(block: Block, printed: str) -> None:
    """Whether what was printed is what is shown: `...` is anything; of noisy output the words count."""
    shown, found = block.text.strip(), printed.strip()
    if block.mark == NOISY:
        shown, found = NUMBER.sub("#", shown), NUMBER.sub("#", found)
    pattern = ".*?".join(map(re.escape, squeezed(shown).split("...")))
    assert re.fullmatch(pattern, squeezed(found), re.DOTALL), f"shown:\n{block.text}\nprinted:\n{printed}"


def squeezed(text: str) -> str:
    """Text with every run of blanks as one: columns may be wider where a number is."""
    return re.sub(r"\s+", " ", text)
