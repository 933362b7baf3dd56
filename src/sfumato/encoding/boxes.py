"""Where the cells of a table lie in a model's latent space."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.schema.layout import FloatArray, IntArray

LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)  # of a normal density


@dataclass(frozen=True)
class Boxes:
    """For each row and column an interval, or the point `low` where `is_point`; `log_change[i]` turns the latent
    probability of row i into one of data. `order` has all columns, those of narrow intervals first, whatever the rows.
    """

    low: FloatArray
    high: FloatArray
    is_point: np.ndarray[Any, np.dtype[np.bool_]]
    log_change: FloatArray
    order: IntArray
