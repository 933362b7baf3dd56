"""Command lines that work, to be altered, and what is read off their output."""

from __future__ import annotations

import json
from typing import Any

from tests.calls import Result

SCHEMA = """\
label: ill
columns:
  age: {type: number, min: 0, max: 100, step: 1}
  town: {type: category, values: [Ulm, Bonn], missing: true}
  ill: {type: category, values: ["no", "yes"]}
"""
FIT = ("fit", "data.csv", "--schema", "s.yaml", "--epsilon", "1", "--delta", "1e-6", "-o", "new.sfumato", "--replace")


def altered(**options: Any) -> tuple[Any, ...]:
    """The arguments of a good fit with some options replaced."""
    arguments = list(FIT)
    for name, value in options.items():
        flag = "-o" if name == "output" else f"--{name}"
        if flag in arguments:
            arguments[arguments.index(flag) + 1] = value
        else:
            arguments += [flag, value]
    return tuple(arguments)


def document(result: Result) -> Any:
    assert result.code == 0, result.err
    return json.loads(result.out)  # fails if there is anything before or after it
