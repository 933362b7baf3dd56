"""The mixture mechanism: Gaussians in latent space, after Liu, Scaglione and Peisert (2025)."""

from sfumato.mechanisms.mixture.mixture_mechanism import Mixture, MixtureTuning

__all__ = ["Mixture", "MixtureTuning"]
