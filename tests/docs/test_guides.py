"""The tutorial and the guides do what they say: every block runs, and prints what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.shown import ROOT, Block, blocks, check, run_page

GUIDES = [
    "docs/tutorial.md",
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/guides").glob("*.md")),
]


@pytest.mark.parametrize("page", GUIDES)
def test_a_guide_runs_as_it_stands(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    assert any(block.language in ("python", "sh") for block in blocks(page))
    run_page(page, tmp_path)


def test_other_output_would_be_seen() -> None:
    check(Block("text", "1 of ... rows\n", ""), "1 of   500 rows\n")
    check(Block("text", "438 (95 %: 392 to 485)\n", "noisy"), "427.5 (95 %: 380 to 1,475)\n")
    with pytest.raises(AssertionError):
        check(Block("text", "438 rows\n", ""), "427 rows\n")
    with pytest.raises(AssertionError):
        check(Block("text", "438 rows\n", "noisy"), "427 people\n")
