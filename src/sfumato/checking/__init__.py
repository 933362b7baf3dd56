"""What of a table a schema cannot read. Private: whatever it finds was computed from rows without noise.

Public: `check`, and the `Check` that it returns.
"""

from sfumato.checking.findings import Check
from sfumato.checking.table_check import check

__all__ = ["Check", "check"]
