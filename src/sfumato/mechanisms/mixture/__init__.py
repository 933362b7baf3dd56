"""The mixture mechanism: Gaussians in latent space, after Liu, Scaglione and Peisert (2025)."""

from sfumato.mechanisms.mixture.mixture_mechanism import Mixture as Mixture
from sfumato.mechanisms.mixture.mixture_mechanism import MixtureTuning as MixtureTuning
