"""Make the release in this folder: `python examples/make_adult.py`. Noise is fresh, so each one differs."""

from __future__ import annotations

from pathlib import Path

import sfumato as sf
from sfumato.demo import adult

train, _, schema = adult()
release = sf.fit(train, schema, epsilon=1, delta=1e-6, rows=30_000)
release.save(Path(__file__).parent / "adult.sfumato")
print(release.guarantee)
