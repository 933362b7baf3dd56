"""sfumato: publish the shape of a private table, never the people in it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_NAMES = {
    "sfumato.accounting": "accounting",
    "sfumato.api": "fit load plan",
    "sfumato.asking": "Estimate Estimates",
    "sfumato.checking": "Check check",
    "sfumato.drafting": "Draft draft",
    "sfumato.engines": "Local",
    "sfumato.errors": "errors",
    "sfumato.estimator": "PrivateMixture",
    "sfumato.evaluation": "Evaluation evaluate",
    "sfumato.guarantee": "Guarantee",
    "sfumato.ledger.ledger": "Ledger",
    "sfumato.mechanisms": "Clustmix Mixture Plan Slicing",
    "sfumato.mechanisms.shared_layout": "SharedLayout",
    "sfumato.merging": "merge update",
    "sfumato.planning.outlook": "Outlook outlook",
    "sfumato.planning.periods": "Periods",
    "sfumato.planning.wishes": "EpsilonRange Wishes epsilon_for",
    "sfumato.progress": "Planned Reading Spending Step Streamed",
    "sfumato.release.combining": "combine",
    "sfumato.release.release": "Release",
    "sfumato.reporting.document": "report",
    "sfumato.schema.schema": "Schema",
    "sfumato.serving.remote": "remote",
    "sfumato.tables": "open_table",
    "sfumato.training.settings": "Training",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = ["Check", "Clustmix", "Draft", "EpsilonRange", "Estimate", "Estimates", "Evaluation", "Guarantee"]
__all__ += ["Ledger", "Local", "Mixture", "Outlook", "Periods", "Plan", "Planned", "PrivateMixture", "Reading"]
__all__ += ["Release", "Schema", "SharedLayout", "Slicing", "Spending", "Step", "Streamed", "Training", "Wishes"]
__all__ += ["__version__", "accounting", "check", "combine", "draft", "epsilon_for", "errors", "evaluate", "fit"]
__all__ += ["load", "merge", "open_table", "outlook", "plan", "remote", "report", "update"]

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
    from sfumato.progress import Planned, Reading, Spending, Step, Streamed
    from sfumato.release.combining import combine
    from sfumato.release.release import Release
    from sfumato.reporting.document import report
    from sfumato.schema.schema import Schema
    from sfumato.serving.remote import remote
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
