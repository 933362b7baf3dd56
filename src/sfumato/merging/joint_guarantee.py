"""What a merged release promises, and to whom. docs/proofs/merging.md has the proof.

Each release i is mu_i-GDP for whoever is in it. What is made of several of them together is, for someone in the
releases of a set S, mu-GDP with mu^2 = the sum of mu_i^2 over S: for whoever is at one site the site's own mu, for
someone who moves between two those of both, for someone in all the sum over all. Releases of the same people count
together.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.accounting import add_up, epsilon_of
from sfumato.errors import ArgumentError
from sfumato.guarantee import LONGEST_NAME, MOST_MERGED, Guarantee, Joint, Part, Person
from sfumato.private.accounting import MOST_COORDINATES
from sfumato.private.noise import DISTANCE_PER_COORDINATE
from sfumato.private.units import unit_delta
from sfumato.schema.layout import SINGLE_ROWS

if TYPE_CHECKING:
    from sfumato.release.release import Release


def joint_guarantee(releases: Sequence[Release], same_people: bool, rule: str | None = None) -> Guarantee:
    """The guarantee of releases that are merged.

    Args:
        releases: Of one schema and adjacency.
        same_people: Whether all of them are of the same people; otherwise of different people.
        rule: What tells them apart, in words.

    Returns:
        Epsilon, delta and mu of someone who is in all; what holds for others is in `joint`. Where one release has no
        guarantee, because its noise was seeded, neither has what it is merged into.

    Raises:
        ArgumentError: A release is there twice, there are too many, or the same people would have to be told apart.
    """
    check_rule(rule)
    rules = tuple(
        dict.fromkeys(known for each in releases if each.guarantee.joint for known in each.guarantee.joint.rules)
    )
    rules += () if rule is None or rule in rules else (rule,)
    parts = _parts(releases, same_people)
    if any(part.guarantee.slices for part in parts):
        raise ArgumentError("noisy projections of every row have no mu to add up: a release of them cannot be merged")
    if len(parts) > MOST_MERGED:
        raise ArgumentError(f"a merged release has at most {MOST_MERGED} parts, and these have {len(parts)}")
    _refuse_twice([part.guarantee.entry for part in parts if part.guarantee.entry is not None])
    _refuse_twice([part.id for part in parts])  # also of an entry whose id was taken off a file
    first = parts[0].guarantee
    secure = all(part.guarantee.secure for part in parts)
    spends = tuple(spend for part in parts for spend in part.guarantee.spends)
    if not secure:
        joint = Joint(parts, None, None, rules)
        return Guarantee(None, None, None, first.adjacency, first.unit, False, spends, joint=joint)
    everywhere = person(parts)
    joint = Joint(parts, *promises(parts), rules)
    terms = everywhere.epsilon, everywhere.delta, everywhere.mu
    return Guarantee(*terms, first.adjacency, first.unit, True, spends, joint=joint)


def promises(parts: Sequence[Part]) -> tuple[Person, Person | None]:
    """What holds at worst for whoever is in one group, and for someone who moves between two of them."""
    groups: dict[int, list[Part]] = {}
    for part in parts:
        groups.setdefault(part.people, []).append(part)
    found = sorted((person(group) for group in groups.values()), key=lambda each: (each.mu, each.epsilon))
    if len(found) == 1:
        return found[0], None
    worst = sorted(groups.values(), key=lambda group: add_up(_mus(group)))[-2:]
    return found[-1], person([part for group in worst for part in group])


def person(parts: Sequence[Part]) -> Person:
    """What holds for someone who is in all of these: squares of mu add up, and so do the slacks of samplers.

    Of a single release it is what that release promised. Collisions of unit keys of up to 2^16 releases are set aside
    by each of them (`private/units`).
    """
    if len(parts) == 1:
        only = parts[0].guarantee
        return Person(only.epsilon or math.inf, only.delta or 1.0, only.mu or math.inf)  # none is None if it is secure
    mu = add_up(_mus(parts))
    delta = max(part.guarantee.delta or 0.0 for part in parts)
    left = delta if parts[0].guarantee.unit in SINGLE_ROWS else unit_delta(delta)
    epsilon = epsilon_of(mu, left, len(parts) * MOST_COORDINATES * DISTANCE_PER_COORDINATE)
    if not 0.0 < epsilon < math.inf:
        raise ArgumentError(f"together these releases are no longer private at delta {delta:g}; merge fewer of them")
    return Person(epsilon, delta, mu)


def digest(release: Release) -> str:
    """Of the noisy answers: no two fits have the same."""
    found = hashlib.blake2b(digest_size=16)
    for answer in release.answers:
        found.update(answer.values.tobytes())
    return found.hexdigest()


def _mus(parts: Sequence[Part]) -> list[float]:
    return [part.guarantee.mu or 0.0 for part in parts]


def _parts(releases: Sequence[Release], same_people: bool) -> tuple[Part, ...]:
    """All parts of all releases, groups of people numbered from 0."""
    found: list[Part] = []
    groups = 0
    for release in releases:
        joint = release.guarantee.joint
        mine = (Part(digest(release), release.guarantee, 0),) if joint is None else joint.parts
        if same_people and len({part.people for part in mine}) > 1:
            raise ArgumentError(
                "a release merged of different people cannot be sharpened; merge those of the same people first"
            )
        found += [Part(part.id, part.guarantee, 0 if same_people else groups + part.people) for part in mine]
        groups = 1 + max(part.people for part in found)
    return tuple(found)


def _refuse_twice(ids: Sequence[str]) -> None:
    twice = [each for each, count in Counter(ids).items() if count > 1]
    if twice:
        raise ArgumentError(f"release {twice[0]} is there twice: it is merged once, or its rows would count twice")


def check_rule(rule: str | None) -> None:
    """Refuse what is no line of text."""
    if rule is not None and not (rule.isprintable() and 0 < len(rule.strip()) <= LONGEST_NAME):
        raise ArgumentError(f"what tells people apart must be one line of 1 to {LONGEST_NAME} characters")
