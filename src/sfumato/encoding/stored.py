"""The closed table of encoders that a file may name."""

from __future__ import annotations

from sfumato.encoding.affine import Affine
from sfumato.encoding.projected import Projected
from sfumato.encoding.scores import Scores

Encoder = Scores | Affine | Projected
ENCODERS: dict[str, type[Scores] | type[Affine] | type[Projected]] = {
    encoder.name: encoder for encoder in (Scores, Affine, Projected)
}
