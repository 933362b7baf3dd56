"""Training of generators on what a release bought: numpy, jax, optax and equinox, and never a row.

Public: `Training`, the settings. The other modules need the extra `train` and are imported when it is used.
"""

from sfumato.training.settings import Training

__all__ = ["Training"]
