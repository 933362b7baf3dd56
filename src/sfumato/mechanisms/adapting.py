"""What is adapted to the private labels, and the rounds that are set aside for it."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.errors import ArgumentError
from sfumato.mechanisms.base import Plan, Public
from sfumato.mechanisms.budget import Share, repeated, scaled
from sfumato.mechanisms.encodings import Encoding, Learned

MOST_LABEL_WEIGHTS = 2000  # of a label model: its Hessian has the square of that


def can_adapt(public: Public, encoding: str) -> dict[str, bool]:
    """What adapting needs, in words, and whether it is there."""
    layout = public.layout
    weights = (1 if layout.classes == 2 else layout.classes) * (1 + len(layout.names))
    return {
        "encoding 'scores'": encoding != "affine",
        "a label of at least two classes": layout.classes > 1,
        f"at most {MOST_LABEL_WEIGHTS} weights, classes times columns": encoding == "projected"
        or weights <= MOST_LABEL_WEIGHTS,
    }


def what_adapts(adapt: str | None, public: Public, encoding: str) -> tuple[str, ...]:
    """What is to be adapted, of "points" and "labels".

    Raises:
        ArgumentError: It was asked for and cannot be; "auto" adapts labels where they can be.
    """
    if adapt is None:
        return ()
    asked = {"points": ("points",), "both": ("points", "labels")}.get(adapt, ("labels",))
    needed = can_adapt(public, encoding)
    if adapt != "auto":
        for what, holds in needed.items():
            if not holds:
                raise ArgumentError(f"adapt needs {what}")
    return asked if all(needed.values()) else ()


def adapts_labels(adapt: str | None, learned: Learned, plan: Plan) -> bool:
    """Whether a run adapts labels: where its plan has rounds for that and, of "auto", where that pays. What is not
    spent on labels is there for the rounds that follow.
    """
    return plan.has("labels") and (adapt != "auto" or learned.labels_pay(plan))


@dataclass(frozen=True)
class Adapting:
    """The parts of the budget that are set aside: for features of moved points, and for labels, in how many rounds."""

    features: float = 0.0
    labels: float = 0.0
    rounds: int = 0

    @classmethod
    def of(cls, adapted: tuple[str, ...], encoding: Encoding, public: Public, feature_share: float = 0.0) -> Adapting:
        """What is adapted, and which part of the budget that takes."""
        share, rounds = encoding.label_budget(public) if "labels" in adapted else (0.0, 0)
        return cls(feature_share * ("points" in adapted), share, rounds)

    @property
    def kept(self) -> float:
        """What is left for everything else."""
        return 1.0 - self.features - self.labels

    def after(self, shares: tuple[Share, ...], last: tuple[Share, ...] = ()) -> tuple[Share, ...]:
        """The rounds of a model in what is left, and those that adapt its points and labels; `last` are those of its
        rounds that come when points have been moved.
        """
        purpose = "what a kernel regression on the rows would have to know"
        features = (Share("features", self.features, purpose),) if self.features else ()
        each = self.labels / self.rounds if self.rounds else 0.0
        step = f"one of {self.rounds} steps towards how labels follow columns"
        found = *scaled(shares, self.kept), *features, *scaled(last, self.kept)
        return *found, *repeated("labels", self.rounds, each, step)


def refuse_alpha(alpha: float | None, adapted: tuple[str, ...], encoding: str) -> None:
    """Refuse an alpha that nothing would be held by."""
    if alpha is not None and (not adapted or (encoding == "projected" and "points" not in adapted)):
        raise ArgumentError(
            "alpha is for moved points, and adapted labels of columns outside groups; say adapt='labels' or 'points'"
        )
