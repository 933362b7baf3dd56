"""The ledger: what was released of each data set, under a cap that all releases together keep.

Public: `Ledger`, and what it returns: `Account`, `Dataset`, `Entry`, `State`.
"""

from sfumato.ledger.account import Account, Dataset, Entry, State
from sfumato.ledger.ledger import Ledger

__all__ = ["Account", "Dataset", "Entry", "Ledger", "State"]
