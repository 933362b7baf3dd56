"""The code that a guarantee rests on stays small enough to read: the count, its ceilings, and what the count sees."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import trusted_base

CEILINGS = {"private": 1_400, "closure": 2_800}


@pytest.mark.parametrize("part", CEILINGS)
def test_the_base_to_trust_stays_small(part: str) -> None:
    found = trusted_base.measure()
    assert getattr(found, part) <= CEILINGS[part], found.table()


def test_the_table_names_every_module_and_the_sums() -> None:
    found = trusted_base.measure()
    table = found.table()
    assert all(f"`{name}`" in table for name in found.inside | found.reached)
    assert f"**{found.private:,}**" in table
    assert f"**{found.closure:,}**" in table


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ("# why\n\n", 0),
        ('"""What it is."""\n', 0),
        ('"""What\n\nit is."""\nx = 1  # why\n', 1),
        ("x = (\n    1,\n    # why\n\n    2,\n)\n", 4),
        ('def f():\n    """What it does."""\n    return 1\n', 2),
        ('x = """one\n\nthree"""\n', 3),
        ("x = 1; y = 2\n", 1),
    ],
)
def test_what_is_a_line_of_code(source: str, lines: int) -> None:
    assert trusted_base.code_lines(source) == lines


FILES = {
    "p/__init__.py": "import p.always",
    "p/always.py": "",
    "p/core/__init__.py": "",
    "p/core/a.py": "from p.named import thing\nfrom . import sibling\nfrom ..up import x\nimport numpy",
    "p/core/sibling.py": "def f():\n    from p.far.late import g",
    "p/named.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.types\nelse:\n    import p.runs",
    "p/up.py": "from p.far import module",
    "p/far/__init__.py": "",
    "p/far/late.py": "",
    "p/far/module.py": "",
    "p/types.py": "",
    "p/runs.py": "",
    "p/alone.py": "",
}


def test_what_importing_may_run(tmp_path: Path) -> None:
    for name, source in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    found = trusted_base.measure(tmp_path, "p.core")
    assert set(found.inside) == {"p.core", "p.core.a", "p.core.sibling"}
    reached = {"p", "p.always", "p.named", "p.up", "p.far", "p.far.late", "p.far.module", "p.runs"}
    assert set(found.reached) == reached
