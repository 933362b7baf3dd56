"""How a generator is trained: every choice here is free, because training never sees a row."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.config import ROUND, UNRECORDED, option

ADULT = "docs/proofs/slicing.md, section 9: an 80/20 split of UCI Adult's train rows"
TAU = 1e-4  # of kernel mean matching, as Greenewald et al. (2024) print it
DIVERGENCES = ("kl", "reverse-kl", "js", "chi2")
ARCHITECTURES = ("mlp", "conv")


@dataclass(frozen=True)
class RowMatching:
    """How a batch of made rows is held against noisy ones. A release file does not say it: trainings go on alike."""

    points: int = option(
        128, help="Rows of a batch: the cost of a divergence grows with their cube.", unit="rows", source=UNRECORDED
    )
    slices: int = option(8, help="Slices at a time.", unit="slices", source=UNRECORDED)
    tau: float = option(
        1.0,
        help="Of kernel mean matching: with less it would be least where made rows keep away from real ones.",
        unit="of the kernel's diagonal",
        source=f"docs/proofs/slicing.md, section 9: {ROUND}",
    )


@dataclass(frozen=True)
class Training:
    """Settings of one training. Another training on the same release costs no privacy.

    Args:
        steps: Steps of Adam, at most. Training ends early where the answers are met as closely as their noise allows.
        rows: Synthetic rows that are made at each step, of all classes alike.
        rate: The rate at which training begins; it falls to zero along a cosine.
        architecture: The generator: "mlp", or "conv" for images.
        width: Hidden units of a layer.
        depth: Hidden layers.
        channels: Channels of a convolution.
        divergence: What noisy rows are compared by: "kl", "reverse-kl", "js" or "chi2". It has no meaning for the
            central form.
        seed: Another seed, another generator.

    Example:
        >>> import sfumato as sf
        >>> sf.Training(steps=100, seed=2).steps
        100
    """

    steps: int = option(600, help="Steps of training, at most.", unit="steps", source=ADULT)
    rows: int = option(
        2000, help="Synthetic rows that are made at each step, of all classes alike.", unit="rows", source=UNRECORDED
    )
    rate: float = option(
        3e-3, help="The rate at which training begins; it falls to zero.", unit="of Adam", source=ADULT
    )
    architecture: str = option("mlp", help="The generator: mlp, or conv for images.")
    width: int = option(64, help="Hidden units of a layer.", unit="units", source=ADULT)
    depth: int = option(2, help="Hidden layers.", unit="layers", source=UNRECORDED)
    channels: int = option(8, help="Channels of a convolution.", unit="channels", source=UNRECORDED)
    divergence: str = option("kl", help="What noisy rows are compared by: kl, reverse-kl, js or chi2 (form rows).")
    seed: int = option(0, help="Of the training, which is free: another seed, another generator.", source="any will do")

    def problem(self) -> str | None:
        """What is wrong with these settings.

        Returns:
            One line that says so; None where nothing is.
        """
        whole = {"steps": (1, 10**7), "rows": (2, 10**6), "width": (1, 4096), "depth": (1, 16), "channels": (1, 256)}
        whole["seed"] = (0, 2**31 - 1)
        for name, (low, high) in whole.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                return f"{name} must be a whole number from {low} to {high}, not {value!r}"
        if isinstance(self.rate, bool) or not isinstance(self.rate, (int, float)) or not 0.0 < self.rate <= 1.0:
            return f"rate must be a number above 0 and at most 1, not {self.rate!r}"
        for name, allowed in (("architecture", ARCHITECTURES), ("divergence", DIVERGENCES)):
            if getattr(self, name) not in allowed:
                return f"{name} must be one of {', '.join(map(repr, allowed))}, not {getattr(self, name)!r}"
        return None
