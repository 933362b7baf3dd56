"""What all tests share: Hypothesis' profiles, which folders are slow as a whole, and which tests in part.

Hypothesis repeats the same examples, so that a test passes today if it did yesterday: half of them in every run, and
all in those of `make test-all` (`--hypothesis-profile=thorough`). `pytest --hypothesis-profile=explore` looks for new
ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from sfumato.mechanisms.pairs.tilting import PoolSize

HERE = Path(__file__).parent
SLOW_FOLDERS = ("browser", "docs", "experiments", "published", "training")  # every test in them is marked slow
EXACT = (
    *SLOW_FOLDERS,
    *("asking", "audit", "benchmarks", "evaluation", "mechanisms", "merging", "models", "planning"),
    *("release/test_keeping.py", "release/test_population.py", "test_demo.py"),
)
"""Where tests are about how well pair tables are followed, or say themselves that they are not: `small_pool`."""

settings.register_profile("explore", deadline=None)
settings.register_profile("thorough", deadline=None, derandomize=True)
settings.register_profile("repeat", settings.get_profile("thorough"), max_examples=50)
settings.load_profile("repeat")


def few_rows(*_: Any) -> PoolSize:
    """A small pool, whatever is asked for."""
    return PoolSize(1000, 1.0)


@pytest.fixture
def small_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pair tables are followed over few rows of the model: fast, where the test is not about how well."""
    monkeypatch.setattr(PoolSize, "of", few_rows)


@pytest.fixture(autouse=True, scope="module")
def _small_pools(request: pytest.FixtureRequest) -> Iterator[None]:
    """The same for whole modules, and for releases that their tests share."""
    with pytest.MonkeyPatch.context() as patch:
        if not is_in(EXACT, request.path):
            patch.setattr(PoolSize, "of", few_rows)
        yield


def is_in(places: tuple[str, ...], path: Path) -> bool:
    return any(path.is_relative_to(HERE / place) for place in places)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import what would be left out."""
    return True if config.option.markexpr == "not slow" and is_in(SLOW_FOLDERS, collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    cases: Counter[tuple[Path, str]] = Counter()
    for item in items:
        test = item.path, getattr(item, "originalname", item.name)
        cases[test] += 1
        some = item.get_closest_marker("every")
        is_left_out = some is not None and (cases[test] - 1) % some.args[0] != 0
        if is_left_out or is_in(SLOW_FOLDERS, item.path):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("hypothesis") is not None:
            item.add_marker(pytest.mark.thorough)
