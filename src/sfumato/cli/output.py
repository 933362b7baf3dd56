"""What is printed where: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from typing import Any


def say(line: str) -> None:
    """Print a line beside the result: on stderr, at once."""
    print(line, file=sys.stderr, flush=True)


def print_json(data: Any) -> None:
    """Print the result as one JSON document."""
    print(json.dumps(data, indent=2, ensure_ascii=False))
