"""What all tests share: Hypothesis' profiles, which folders are slow as a whole, and which tests by halves.

Hypothesis repeats the same examples, so that a test passes today if it did yesterday;
`pytest --hypothesis-profile=explore` looks for new ones.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from sfumato.mechanisms.pairs.tilting import PoolSize

HERE = Path(__file__).parent
SLOW_FOLDERS = ("browser", "docs", "experiments", "published", "training")  # every test in them is marked slow

settings.register_profile("explore", deadline=None)
settings.register_profile("repeat", deadline=None, derandomize=True)
settings.load_profile("repeat")


@pytest.fixture
def small_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pair tables are followed over few rows of the model: fast, where the test is not about how well."""
    monkeypatch.setattr(PoolSize, "of", lambda *_: PoolSize(1000, 1.0))


def is_in_slow_folder(path: Path) -> bool:
    return path.is_relative_to(HERE) and path.relative_to(HERE).parts[:1] in {(name,) for name in SLOW_FOLDERS}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import what would be left out."""
    return True if config.option.markexpr == "not slow" and is_in_slow_folder(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    cases: Counter[tuple[Path, str]] = Counter()
    for item in items:
        test = item.path, getattr(item, "originalname", item.name)
        cases[test] += 1
        every_second = item.get_closest_marker("half") is not None and cases[test] % 2 == 0
        if every_second or is_in_slow_folder(item.path):
            item.add_marker(pytest.mark.slow)
