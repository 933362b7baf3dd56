"""The extra that trains, and what is said without it."""

from __future__ import annotations

from sfumato.errors import MissingExtraError


def check_extra(what: str = "training a generator") -> None:
    """Refuse to begin without what trains: rounds that were asked are spent."""
    try:
        import equinox  # noqa: F401
        import jax  # noqa: F401
        import optax  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise MissingExtraError(f"{what} needs an extra: pip install sfumato[train]") from None
