"""How far a fit has come: by the time that its parts usually take, not by what they cost."""

from __future__ import annotations

from sfumato.progress import Event, Planned, Reading, Spending, Step

# Parts of the time that a fit takes, measured on UCI Adult with 32,561 rows and 60 times as many: the first round
# reads the table, one of tables is followed by fitting the model to them, and the last one by settling it.
READING, LOOKING, TABLES, SETTLING = 6.0, 1.0, 15.0, 45.0
SETTLED_BY = 2  # steps of at most many more that settling usually takes


class Course:
    """The way of one fit, which hears its events and knows which fraction of the way is behind it."""

    def __init__(self) -> None:
        self._parts: dict[str, float] = {}
        self._settling = 0.0
        self._behind = self._part = self._within = 0.0
        self._step, self._settles = 0, False

    @property
    def fraction(self) -> float:
        """From 0 to 1; 0 before it is known which rounds are planned."""
        total = sum(self._parts.values()) + self._settling
        return min((self._behind + self._within * self._part) / total, 1.0) if total else 0.0

    def hear(self, event: Event) -> None:
        """Go on by an event."""
        if isinstance(event, Planned):
            self._plan(event.rounds)
        elif isinstance(event, Reading):
            self._within = max(self._within, event.percent / 100)
        elif isinstance(event, Spending) and event.name in self._parts:
            names = list(self._parts)
            self._enter(sum(self._parts[name] for name in names[: names.index(event.name)]), self._parts[event.name])
        elif isinstance(event, Step):
            if event.step <= self._step:  # another kind of steps: of those there is settling alone
                self._enter(sum(self._parts.values()), self._settling)
                self._settles = True
            usual = event.step + SETTLED_BY if self._settles else event.steps
            self._step, self._within = event.step, event.step / usual

    def _plan(self, rounds: tuple[str, ...]) -> None:
        self._parts = {name: TABLES if name.startswith("tables") else LOOKING for name in rounds}
        self._settling = SETTLING if TABLES in self._parts.values() else LOOKING
        if rounds:
            self._parts[rounds[0]] += READING

    def _enter(self, behind: float, part: float) -> None:
        self._behind, self._part, self._within, self._step = behind, part, 0.0, 0
        self._settles = False
