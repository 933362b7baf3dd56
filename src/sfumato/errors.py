"""What can go wrong, one class per kind.

Every message is one line that says what was wrong, where, and what to change. A message speaks of
the schema, the columns of a file and the arguments of a call, never of a row or of how many there are.
"""


class SfumatoError(Exception):
    """Anything sfumato refuses to do."""


class SchemaError(SfumatoError):
    """The schema is not valid, or is a draft that nobody confirmed."""


class TableError(SfumatoError):
    """A table cannot be read, or lacks a column that the schema names."""


class ArgumentError(SfumatoError, ValueError):
    """An argument is out of its range."""


class BudgetError(SfumatoError):
    """A query or a release would cost more privacy than is left."""


class ReleaseError(SfumatoError):
    """A release file is truncated, foreign, newer than this library, or inconsistent."""


class LedgerError(SfumatoError):
    """A ledger is missing, foreign or damaged, does not know a data set, or cannot count a release in it."""


class OutputError(SfumatoError):
    """A file cannot be written."""


class MissingExtraError(SfumatoError, ImportError):
    """A feature needs an optional dependency that is not installed."""


def insist(holds: object, message: str) -> None:
    """Refuse an argument for which this does not hold."""
    if not holds:
        raise ArgumentError(message)
