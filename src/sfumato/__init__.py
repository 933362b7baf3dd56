"""sfumato: publish the shape of a private table, never the people in it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_HOMES = {
    "Check": "sfumato.checking",
    "Clustmix": "sfumato.mechanisms",
    "Draft": "sfumato.drafting",
    "EpsilonRange": "sfumato.planning.wishes",
    "Estimate": "sfumato.asking",
    "Estimates": "sfumato.asking",
    "Guarantee": "sfumato.guarantee",
    "Ledger": "sfumato.ledger.ledger",
    "Local": "sfumato.engines",
    "Mixture": "sfumato.mechanisms",
    "Outlook": "sfumato.planning.outlook",
    "Periods": "sfumato.planning.periods",
    "Plan": "sfumato.mechanisms",
    "PrivateMixture": "sfumato.estimator",
    "Release": "sfumato.release.release",
    "Schema": "sfumato.schema.schema",
    "SharedLayout": "sfumato.mechanisms.shared_layout",
    "Slicing": "sfumato.mechanisms",
    "Spending": "sfumato.progress",
    "Step": "sfumato.progress",
    "accounting": "sfumato.accounting",
    "check": "sfumato.checking",
    "combine": "sfumato.release.combining",
    "draft": "sfumato.drafting",
    "epsilon_for": "sfumato.planning.wishes",
    "errors": "sfumato.errors",
    "fit": "sfumato.api",
    "load": "sfumato.api",
    "merge": "sfumato.merging",
    "open_table": "sfumato.tables",
    "outlook": "sfumato.planning.outlook",
    "plan": "sfumato.api",
    "update": "sfumato.merging",
    "Training": "sfumato.training.settings",
    "Wishes": "sfumato.planning.wishes",
} | {"Evaluation": "sfumato.evaluation", "evaluate": "sfumato.evaluation", "report": "sfumato.reporting.document"}
__all__ = [
    "Check",
    "Clustmix",
    "Draft",
    "EpsilonRange",
    "Estimate",
    "Estimates",
    "Guarantee",
    "Ledger",
    "Local",
    "Mixture",
    "Outlook",
    "Periods",
    "Plan",
    "PrivateMixture",
    "Release",
    "Schema",
    "SharedLayout",
    "Slicing",
    "Spending",
    "Step",
    "Training",
    "Wishes",
    "__version__",
    "accounting",
    "check",
    "combine",
    "draft",
    "epsilon_for",
    "errors",
    "fit",
    "load",
    "merge",
    "open_table",
    "outlook",
    "plan",
    "update",
]
__all__ += ["Evaluation", "evaluate", "report"]

if TYPE_CHECKING:
    from sfumato import accounting, errors
    from sfumato.api import fit, load, plan
    from sfumato.asking import Estimate, Estimates
    from sfumato.checking import Check, check
    from sfumato.drafting import Draft, draft
    from sfumato.engines import Local
    from sfumato.estimator import PrivateMixture
    from sfumato.evaluation import Evaluation, evaluate
    from sfumato.guarantee import Guarantee
    from sfumato.ledger.ledger import Ledger
    from sfumato.mechanisms import Clustmix, Mixture, Plan, Slicing
    from sfumato.mechanisms.shared_layout import SharedLayout
    from sfumato.merging import merge, update
    from sfumato.planning.outlook import Outlook, outlook
    from sfumato.planning.periods import Periods
    from sfumato.planning.wishes import EpsilonRange, Wishes, epsilon_for
    from sfumato.progress import Spending, Step
    from sfumato.release.combining import combine
    from sfumato.release.release import Release
    from sfumato.reporting.document import report
    from sfumato.schema.schema import Schema
    from sfumato.tables import open_table
    from sfumato.training.settings import Training


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `sfumato --help` needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    return home if _HOMES[name] == f"{__name__}.{name}" else getattr(home, name)


def __dir__() -> list[str]:
    """The public names, for `dir` and tab completion: most are not in the module until they are used."""
    return sorted(__all__)
