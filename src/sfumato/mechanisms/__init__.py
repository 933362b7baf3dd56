"""The mechanisms by name: those of the library, those that were registered, and those of other packages.

Public: the configs `Mixture`, `Clustmix` and `Slicing`; `find`, `kind`, `names` and `register`; and what a mechanism is
written against: `Mechanism`, `Plan`, `Public`, `Round`.

Another package offers a mechanism by an entry point of the group `sfumato.mechanisms`, its name leading to the class.
Such code is trusted: types keep a mechanism from the rows by mistake, not by malice.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from sfumato.errors import ArgumentError
from sfumato.mechanisms.base import Mechanism, Plan, Public, Round
from sfumato.mechanisms.clustmix.clustmix_mechanism import Clustmix
from sfumato.mechanisms.mixture.mixture_mechanism import Mixture
from sfumato.mechanisms.slicing.slicing_mechanism import Slicing

__all__ = [
    "Clustmix",
    "Mechanism",
    "Mixture",
    "Plan",
    "Public",
    "Round",
    "Slicing",
    "find",
    "kind",
    "names",
    "register",
]

ENTRY_POINTS = "sfumato.mechanisms"

_registered: dict[str, type[Mechanism]] = {}


def register(kind: type[Mechanism]) -> type[Mechanism]:
    """Make a mechanism known by its name; also usable as a decorator.

    Args:
        kind: A frozen dataclass with a `name`, `plan` and `run`, all of whose fields have defaults.

    Returns:
        The same class.

    Raises:
        ArgumentError: Another mechanism has that name.
    """
    if _registered.setdefault(kind.name, kind) is not kind:
        raise ArgumentError(f"there is a mechanism {kind.name!r} already; give yours another name")
    return kind


def names() -> tuple[str, ...]:
    """The names of all mechanisms that can be found.

    Returns:
        Those of the library, those that were registered, and those of other packages' entry points.
    """
    return (*_registered, *(each.name for each in _outside() if each.name not in _registered))


def kind(name: str) -> type[Mechanism]:
    """The class of a mechanism, from its name.

    Args:
        name: As in `names()`.

    Returns:
        The class of its config.

    Raises:
        ArgumentError: There is none of that name, or its package cannot be imported.
    """
    if name in _registered:
        return _registered[name]
    for each in _outside():
        if each.name == name:
            try:
                return register(each.load())
            except (ImportError, AttributeError) as error:
                raise ArgumentError(f"mechanism {name!r} of {each.value} cannot be loaded: {error}") from error
    raise ArgumentError(f"mechanism must be one of {', '.join(map(repr, names()))}, not {name!r}")


def find(mechanism: str | Mechanism) -> Mechanism:
    """A mechanism from its name, which is short for its defaults, or from its config.

    Args:
        mechanism: A name, or a config, which comes back as it is.

    Returns:
        The config.

    Raises:
        ArgumentError: It is neither.

    Example:
        >>> from sfumato.mechanisms import find
        >>> find("mixture").name
        'mixture'
    """
    if isinstance(mechanism, str):
        return kind(mechanism)()
    if isinstance(mechanism, type) or not isinstance(mechanism, Mechanism):
        raise ArgumentError(
            f"mechanism must be a name ({', '.join(map(repr, names()))}) or a config such as sf.Mixture(), "
            f"not {mechanism!r}"
        )
    return mechanism


def _outside() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=ENTRY_POINTS))


register(Mixture)
register(Clustmix)
register(Slicing)
