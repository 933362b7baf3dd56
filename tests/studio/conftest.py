"""A folder with a table and a schema, a studio for it, and a browser that was let in."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.studio.folder import Folder
from sfumato.studio.jobs import Job
from sfumato.studio.work import Work

TABLE = "age,town,ill\n" + "".join(
    f"{20 + i % 60},{'Ulm' if i % 3 else 'Bonn'},{'yes' if i % 5 else 'no'}\n" for i in range(90)
)
SCHEMA = """\
label: ill
columns:
  age: {type: number, min: 20, max: 80, step: 1}
  town: {type: category, values: [Ulm, Bonn]}
  ill: {type: category, values: ["no", "yes"]}
unconfirmed: [columns.age.min, columns.age.max, columns.town.values, columns.ill.values]
"""


@pytest.fixture
def work(tmp_path: Path) -> Work:
    """A studio that was just started."""
    place = tmp_path / "office"
    place.mkdir()
    (place / "people.csv").write_text(TABLE)
    (place / "known.yaml").write_text(SCHEMA)
    (tmp_path / "secret.csv").write_text(TABLE)
    return Work(Folder.of(place))


@pytest.fixture
def drafted(work: Work) -> Work:
    """One with a table and a draft that is to be confirmed."""
    work.begin(table="people.csv", columns=("age", "town", "ill"), schema="known.yaml")
    return work


@pytest.fixture
def confirmed(drafted: Work) -> Work:
    """One whose schema is public."""
    drafted.path("known.yaml").write_text(SCHEMA[: SCHEMA.index("unconfirmed")])
    return drafted


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The commands that were started, none of which runs."""
    found: list[Job] = []

    class Recorded(Job):
        def __init__(self, words, folder, then=lambda found: None, good=(0,), keeps=()) -> None:  # type: ignore[no-untyped-def]
            self.words, self.then = tuple(words), then
            found.append(self)

        running = False  # type: ignore[assignment]
        problem = ""  # type: ignore[assignment]

        def settle(self) -> None: ...

    monkeypatch.setattr("sfumato.studio.work.Job", Recorded)
    return found
