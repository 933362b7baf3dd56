"""The scoreboard's methods: ours in all variants, and others' in environments of their own."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from pathlib import Path

import sfumato as sf
from benchmarks.scoreboard import environments, own

FOLDER = Path(__file__).parent
SHORT = 300.0  # seconds: what takes less is released three times


@dataclass(frozen=True)
class Method:
    """A way to make synthetic rows.

    `environment` is empty for what runs here, `option` is what the driver is told, `ours` says whose it is.
    """

    name: str
    title: str
    environment: str
    option: str
    ours: bool

    @property
    def epsilons(self) -> tuple[float, ...]:
        """Where it is measured unless the command says otherwise."""
        return (0.5, 1.0, 4.0, 20.0) if self.ours else (1.0, 4.0)

    def suits(self, labelled: bool) -> bool:
        """Whether it is a method of its own on a table with a label, or without: adapting labels takes some."""
        return labelled or "adapt" not in own.MECHANISMS.get(self.option, ("", {}))[1]

    def releases(self, seconds: float | None) -> int:
        """How many are made: five of ours, three of a peer's that is fast, one of others."""
        if self.ours:
            return 5
        return 3 if seconds is not None and seconds < SHORT else 1

    def command(self, folder: Path) -> list[str]:
        """What makes synthetic rows from the task in a folder."""
        if not self.environment:
            self._require_options()
            return [sys.executable, "-m", "benchmarks.scoreboard.own", str(folder)]
        driver = FOLDER / "peers" / f"run_{self.environment}.py"
        return [str(environments.python_of(self.environment)), str(driver), str(folder)]

    def _require_options(self) -> None:
        """Whether the library has what one of our variants is about."""
        kind, options = own.MECHANISMS.get(self.option, ("Mixture", {}))
        known = {each.name for each in fields(getattr(sf, kind))}
        if missing := set(options) - known:
            raise environments.NotPrepared(f"{kind} has no option {missing.pop()!r} in this version")


def _peer(name: str, title: str, environment: str, option: str) -> Method:
    return Method(name, title, environment, option, ours=False)


METHODS = {
    each.name: each
    for each in (
        *(Method(name.replace(" ", "-"), name, "", name, ours=True) for name in own.MECHANISMS),
        _peer("dpmm-aim", "AIM (dpmm)", "dpmm", "aim"),
        _peer("dpmm-mst", "MST (dpmm)", "dpmm", "mst"),
        _peer("dpmm-privbayes", "PrivBayes (dpmm)", "dpmm", "privbayes"),
        _peer("mbi-aim", "AIM (mbi 2.0)", "mbi", "aim"),
        _peer("mbi-mst", "MST (mbi 2.0)", "mbi", "mst"),
        _peer("smartnoise-aim", "AIM (smartnoise)", "smartnoise", "aim"),
        _peer("smartnoise-mst", "MST (smartnoise)", "smartnoise", "mst"),
        _peer("smartnoise-mwem", "MWEM (smartnoise)", "smartnoise", "mwem"),
        _peer("smartnoise-patectgan", "PATE-CTGAN (smartnoise)", "smartnoise", "patectgan"),
        _peer("synthcity-privbayes", "PrivBayes (synthcity)", "synthcity", "privbayes"),
        _peer("synthcity-pategan", "PATE-GAN (synthcity)", "synthcity", "pategan"),
        _peer("synthcity-dpgan", "DP-GAN (synthcity)", "synthcity", "dpgan"),
        _peer("dp-merf", "DP-MERF", "", "dp-merf"),
    )
}
FEATURED = ("pairs-adapted", "mixture-pairs", "mixture-adapted", "mixture")
"""Ours that peers are held against: the first of these that is measured."""
