"""The picture of marginals knows every kind of column."""

from __future__ import annotations

from pathlib import Path

from tests.evaluation.tables import SCHEMA, frame

from sfumato.evaluation.marginals_plot import draw_marginals

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_picture_of_every_kind_of_column(tmp_path: Path) -> None:
    draw_marginals(frame(300, 0), frame(300, 1), SCHEMA, tmp_path / "p.png", "title")
    assert (tmp_path / "p.png").read_bytes().startswith(PNG)
    assert [path.name for path in tmp_path.iterdir()] == ["p.png"]
