"""Flat options as the arguments of `sf.fit` and `sf.plan`, for tests that go through many of them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import sfumato as sf
from sfumato.mechanisms import kind


def asked(**options: Any) -> dict[str, Any]:
    """Fields of the mechanism become its config, and `workers` an engine."""
    given = dict(options)
    chosen = kind(given.pop("mechanism", "mixture"))
    own = {each.name for each in fields(chosen)}  # type: ignore[arg-type]
    config = {name: given.pop(name) for name in list(given) if name in own}
    if "workers" in given:
        given["engine"] = sf.Local(workers=given.pop("workers"))
    return given | {"mechanism": chosen(**config)}
