"""Models: what a release publishes, made of noisy answers alone.

Public: `MixtureModel` (with its `GaussianMixture`), `TiltedModel` (with its `Tilt`), `ColumnLabelModel` of either
(`model_asked` takes it off, `with_asked` puts it on again), and `GeneratorModel`; and what a model of one's own is
written against: `Model`, `Trainable`, `CodedRows`, `GivenCell`, `register_model`, `find_model`.
"""

from sfumato.models.base import CodedRows, GivenCell, Model, Trainable, find_model, register_model
from sfumato.models.column_label import ColumnLabelModel, model_asked, with_asked
from sfumato.models.gaussian_mixture import GaussianMixture
from sfumato.models.generator_model import GeneratorModel
from sfumato.models.mixture_model import MixtureModel
from sfumato.models.tilt import Tilt
from sfumato.models.tilted_model import TiltedModel

__all__ = [
    "CodedRows",
    "ColumnLabelModel",
    "GaussianMixture",
    "GeneratorModel",
    "GivenCell",
    "MixtureModel",
    "Model",
    "Tilt",
    "TiltedModel",
    "Trainable",
    "find_model",
    "model_asked",
    "register_model",
    "with_asked",
]
