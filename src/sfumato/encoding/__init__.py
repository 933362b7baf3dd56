"""Encodings: the way from columns to a latent space and back, made of public facts and noisy answers.

Public: `Scores` (normal scores of noisy marginals, for ordinary columns), `Affine` (data units), `Projected` (columns
in groups), and `Marginals`, which the first is made of.
"""

from sfumato.encoding.affine import Affine
from sfumato.encoding.marginals import Marginals
from sfumato.encoding.projected import Projected
from sfumato.encoding.scores import Scores

__all__ = ["Affine", "Marginals", "Projected", "Scores"]
