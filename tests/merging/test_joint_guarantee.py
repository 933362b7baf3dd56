"""What a merged release promises to whom: arithmetic, identities, marks that survive, files that lie."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.merging.sites import site

import sfumato as sf
from sfumato.accounting import delta_of
from sfumato.audit.mixture import SHORT
from sfumato.errors import ArgumentError, ReleaseError
from sfumato.guarantee import MOST_MERGED
from sfumato.merging.joint_guarantee import digest, joint_guarantee
from sfumato.merging.joint_release import merged
from sfumato.private.slicing.law import Slices

pytestmark = pytest.mark.usefixtures("small_pool")


def mus(release: sf.Release) -> float:
    assert release.guarantee.mu is not None
    return release.guarantee.mu


def weaker(seed: int) -> sf.Release:
    """A release that spent twice as much, at another delta."""
    release = site(seed)
    spends = tuple(replace(each, sigma=each.sigma / 2, mu=2 * each.mu) for each in release.guarantee.spends)
    changed = replace(release.guarantee, epsilon=5.0, delta=1e-5, mu=2 * mus(release), spends=spends)
    return replace(release, guarantee=changed)


def test_each_keeps_their_own_and_whoever_is_at_several_pays_at_each() -> None:
    releases = [site(1), site(2), weaker(3)]
    made = joint_guarantee(releases, same_people=False)
    assert made.joint is not None
    own, moved = made.joint.own, made.joint.moved
    assert own is not None
    assert moved is not None
    assert (own.epsilon, own.delta, own.mu) == (5.0, 1e-5, mus(releases[2]))
    assert moved.mu == pytest.approx(np.hypot(mus(releases[1]), mus(releases[2])))
    assert made.mu == pytest.approx(np.sqrt(sum(mus(each) ** 2 for each in releases)))
    assert made.mu**2 >= sum(mus(each) ** 2 for each in releases) * (1 - 1e-15)
    for who in (own, moved, made):
        assert delta_of(who.epsilon, who.mu) <= who.delta
    assert made.delta == 1e-5, "the largest"
    text = str(made)
    for number in ("(5, 1e-05)", "for someone who moves between two", "for someone in all", "cannot be checked"):
        assert number in text


def test_the_same_people_pay_for_all_of_them() -> None:
    made = joint_guarantee([site(1), site(2)], same_people=True)
    assert made.joint is not None
    assert made.joint.own is not None
    assert made.joint.moved is None
    assert made.joint.own.mu == made.mu == pytest.approx(np.hypot(mus(site(1)), mus(site(2))))
    assert "of the same people" in str(made)
    assert "if what was spent on none of them was chosen by seeing another" in str(made)


def test_groups_of_people_are_kept_apart_when_merged_again() -> None:
    sharp = sf.merge([site(1), site(2)], same_people=True)
    made = joint_guarantee([sharp, site(3)], same_people=False)
    assert made.joint is not None
    assert made.joint.own is not None
    assert [part.people for part in made.joint.parts] == [0, 0, 1]
    assert made.joint.own.mu == sharp.guarantee.mu, "whoever is in the first group is in both of its releases"
    with pytest.raises(ArgumentError, match="cannot be sharpened; merge those of the same people first"):
        joint_guarantee([replace(sharp, guarantee=made), site(4)], same_people=True)


def test_a_release_is_merged_once_also_inside_of_another() -> None:
    both = sf.merge([site(1), site(2)])
    for again in ([site(1), site(1)], [both, site(2)], [site(1), both], [both, both]):
        with pytest.raises(ArgumentError, match="is there twice: it is merged once"):
            joint_guarantee(again, same_people=False)
    with pytest.raises(ArgumentError, match="is there twice: it is merged once"):
        joint_guarantee([site(1), site(1)], same_people=True)


def test_ledger_entries_that_overlap_are_refused_by_their_id() -> None:
    entry = "0123456789abcdef" * 2
    one, two = (replace(site(i), guarantee=replace(site(i).guarantee, entry=entry)) for i in (1, 2))
    with pytest.raises(ArgumentError, match=f"release {entry} is there twice"):
        joint_guarantee([one, two], same_people=False)
    with pytest.raises(ArgumentError, match="is there twice"):
        joint_guarantee([one, site(1)], same_people=False)  # the same answers, without the id
    made = joint_guarantee([one, site(2)], same_people=False)
    assert f"counted in ledgers as {entry}" in str(made)
    assert made.entry is None
    assert made.joint is not None
    assert [part.id for part in made.joint.parts] == [digest(one), digest(site(2))]
    for again in (site(1), replace(site(3), guarantee=one.guarantee)):  # its answers without the id, and its id
        with pytest.raises(ArgumentError, match="is there twice"):
            joint_guarantee([replace(site(4), guarantee=made), again], same_people=False)


def test_the_same_people_are_one_group_however_a_file_numbers_them() -> None:
    sharp = sf.merge([site(1), site(2)], same_people=True)
    joint = sharp.guarantee.joint
    assert joint is not None
    far = replace(joint, parts=tuple(replace(part, people=5) for part in joint.parts))
    made = joint_guarantee([site(3), replace(sharp, guarantee=replace(sharp.guarantee, joint=far))], same_people=True)
    assert made.joint is not None
    assert made.joint.own is not None
    assert made.joint.groups == 1
    assert made.joint.own.mu == made.mu


def test_noisy_rows_are_not_forgotten() -> None:
    slices = Slices(dim=3, projections=5, distance=1.0, sigma=9.0, rounding=0.0, rows=1)
    both = [replace(site(i), guarantee=replace(site(i).guarantee, slices=(slices,))) for i in (1, 2)]
    with pytest.raises(ArgumentError, match="have no mu to add up"):
        joint_guarantee(both, same_people=False)


def test_parts_are_no_more_than_a_file_holds() -> None:
    made = joint_guarantee([site(1), site(2)], same_people=False)
    assert made.joint is not None
    many = tuple(replace(made.joint.parts[0], id=f"{i:032x}", people=i) for i in range(MOST_MERGED))
    full = replace(site(1), guarantee=replace(made, joint=replace(made.joint, parts=many)))
    with pytest.raises(ArgumentError, match=f"at most {MOST_MERGED} parts, and these have {MOST_MERGED + 1}"):
        joint_guarantee([full, site(2)], same_people=False)


def test_the_mark_of_a_seed_survives_merging_and_files(tmp_path: Path) -> None:
    made = sf.merge([site(1), site(2, noise=5)])
    made.save(tmp_path / "both.sfumato")
    again = sf.merge([sf.load(tmp_path / "both.sfumato"), site(3)])
    for release in (made, again):
        assert not release.guarantee.secure
        assert (release.guarantee.epsilon, release.guarantee.delta, release.guarantee.mu) == (None, None, None)
        assert str(release.guarantee).startswith("NOT PRIVATE")
        assert release.guarantee.joint is not None
        assert release.guarantee.joint.own is None


def test_rules_are_kept_and_checked() -> None:
    made = joint_guarantee([site(1), site(2)], False, "admitted from 2026 on")
    assert "told apart by: admitted from 2026 on" in str(made)
    again = joint_guarantee([replace(site(1), guarantee=made), site(3)], False, "another town")
    assert again.joint is not None
    assert again.joint.rules == ("admitted from 2026 on", "another town")
    for bad in ("", " ", "two\nlines", "x" * 201):
        with pytest.raises(ArgumentError, match="one line"):
            joint_guarantee([site(1), site(2)], False, bad)


def test_a_file_says_the_same(tmp_path: Path) -> None:
    for same in (False, True):
        made = sf.merge([site(1), site(2)], same_people=same)
        made.save(tmp_path / "both.sfumato")
        assert sf.load(tmp_path / "both.sfumato").guarantee == made.guarantee


LIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a smaller mu of its own": lambda g: g["joint"]["own"].update(mu=0.1),
    "a smaller epsilon of its own": lambda g: g["joint"]["own"].update(epsilon=0.1),
    "a smaller mu for who moves": lambda g: g["joint"]["moved"].update(mu=0.1),
    "a smaller mu in all": lambda g: g.update(mu=0.4, epsilon=2.0),
    "a part left out": lambda g: g["joint"]["parts"].pop(),
    "a part twice": lambda g: g["joint"]["parts"].append(g["joint"]["parts"][0]),
    "spends left out": lambda g: g["spends"].pop(),
    "other people": lambda g: g["joint"]["parts"][1].update(people=0),
    "a part with a weaker promise": lambda g: g["joint"]["parts"][0]["guarantee"].update(mu=3.0, epsilon=30.0),
    "a part without one": lambda g: g["joint"]["parts"][0]["guarantee"].update(
        secure=False, epsilon=None, delta=None, mu=None
    ),
    "another adjacency": lambda g: g["joint"]["parts"][0]["guarantee"].update(adjacency="label"),
    "an entry of its own": lambda g: g.update(entry="0" * 32),
    "an entry twice": lambda g: [part["guarantee"].update(entry="0" * 32) for part in g["joint"]["parts"]],
    "people of a number too far": lambda g: g["joint"]["parts"][1].update(people=7),
    "a rule that cannot be printed": lambda g: g["joint"].update(rules=["\x1b[31m"]),
    "no promise of its own": lambda g: g["joint"].update(own=None),
    "a nested joint": lambda g: g["joint"]["parts"][0]["guarantee"].update(joint={}),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("merged") / "both.sfumato"
    merged([site(1), site(2)], tuning=SHORT).save(path)
    return path


@pytest.mark.parametrize("lie", LIES)
def test_a_doctored_file_is_refused_in_one_line(lie: str, saved: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        document, arrays = json.loads(archive.read("release.json")), archive.read("arrays.safetensors")
    LIES[lie](document["guarantee"])
    bad = tmp_path / "bad.sfumato"
    with zipfile.ZipFile(bad, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("release.json", json.dumps(document))
        archive.writestr("arrays.safetensors", arrays)
    with pytest.raises(ReleaseError) as error:
        sf.load(bad)
    assert "\n" not in str(error.value)
