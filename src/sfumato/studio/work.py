"""What was chosen and made so far: the state that every page is drawn from, kept by the server and not by the page."""

from __future__ import annotations

import hashlib
import os
import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError, SchemaError, SfumatoError
from sfumato.studio.folder import Folder
from sfumato.studio.jobs import Job

if TYPE_CHECKING:
    from sfumato.mechanisms import Plan
    from sfumato.release.release import Release
    from sfumato.schema.schema import Schema

FILE_OPTIONS = ("--test", "--codebook")  # of which files are read


@dataclass(frozen=True)
class Choice:
    """What a release is to cost.

    Attributes:
        epsilon: How much it may tell about one row.
        delta: The chance that it tells more.
        rows: A public guess at the number of rows.
        mechanism: By its name.
        adjacency: Which tables are neighbours.
        wishes: Options of `sfumato plan` that epsilon was found by; none where it was named.
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    rows: int | None = None
    mechanism: str = "mixture"
    adjacency: str = "add-remove"
    wishes: Mapping[str, str] = field(default_factory=dict)

    def plan(self, known: Schema, epsilon: float | None = None) -> Plan:
        """The plan of such a release, or of one with another epsilon.

        Raises:
            ArgumentError: There is none.
        """
        from sfumato.api import plan

        return plan(
            known,
            epsilon=self.epsilon if epsilon is None else epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
            adjacency=self.adjacency,
            rows=self.rows,
        )


@dataclass(repr=False, eq=False)
class Work:
    """All of it, for one folder. Names of files are as commands take them, from the folder.

    Attributes:
        folder: Where files may be opened.
        table: The private table.
        opening: How it has to be opened.
        columns: The names of its columns.
        drafting: The options that the draft was made with.
        schema: The schema's file.
        drafted: What `sfumato schema` told of the draft. PRIVATE.
        later: Questions that were put off.
        apart: Columns that are asked one by one, though the same is said of others.
        past: The schema before each answer, the last one last.
        checked: What `sfumato check` found, and in which schema. PRIVATE.
        choice: What the release is to cost; None before it is chosen.
        ledger: Its file, and the data set in it; none where releases are not counted.
        booked: Whether it was said in which ledger the release is counted, or in none.
        output: The file that the fit under way writes.
        release: The release's file.
        report: The file that `sfumato report` wrote.
        evaluation: The file that `sfumato evaluate` wrote. PRIVATE.
        asked: The last question to the release, and the answer.
        go: The step to show once a command has ended; nothing to stay.
        job: The command that runs, or ran last.
        spent: How many fits were begun: a form that was sent twice spends once.
        lock: Held while a request is answered.
    """

    folder: Folder
    table: str = ""
    opening: dict[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    drafting: dict[str, Any] = field(default_factory=dict)
    schema: str = ""
    drafted: dict[str, Any] | None = None
    later: list[str] = field(default_factory=list)
    apart: set[str] = field(default_factory=set)
    past: list[Schema] = field(default_factory=list)
    checked: tuple[str, dict[str, Any]] | None = None
    choice: Choice | None = None
    ledger: tuple[str, str] | None = None
    booked: bool = False
    output: str = ""
    release: str = ""
    report: str = ""
    evaluation: str = ""
    asked: dict[str, Any] | None = None
    go: str = ""
    job: Job | None = None
    spent: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)
    _loaded: tuple[str, Release] | None = None

    def begin(self, **known: Any) -> None:
        """Begin with another table or release: forget all that was chosen before."""
        self.refuse_while_running()
        kept = {"folder", "spent", "lock"}
        fresh = Work(self.folder)
        for each in fields(self):
            if each.name not in kept:
                setattr(self, each.name, getattr(fresh, each.name))
        for name, value in known.items():
            setattr(self, name, value)

    def start(
        self,
        words: Sequence[str],
        then: Callable[[Any], None] = lambda found: None,
        good: Sequence[int] = (0,),
        keeps: Sequence[int] = (),
    ) -> None:
        """Run a command beside the server, one at a time.

        Raises:
            Outside: A file that it reads leads out of the folder by now, whatever it was when it was chosen.
            ArgumentError: Another one runs.
        """
        self.refuse_while_running()
        chosen = {self.table, self.schema, self.release, *(self.ledger or ())[:1]}
        chosen.update(word for option, word in pairwise(words) if option in FILE_OPTIONS)
        for name in chosen.intersection(words):
            self.folder.whole(name)
        self.job = Job(words, self.folder.root, then, good, keeps)

    def refuse_while_running(self) -> None:
        """Refuse what would disturb the command that runs.

        Raises:
            ArgumentError: One does.
        """
        if self.job is not None and self.job.running:
            raise ArgumentError(f"sfumato {self.job.words[1]} is still at work; wait until it has ended")

    def settle(self) -> None:
        """Take what a command has found that has ended since, and forget files that are gone."""
        if self.job is not None:
            self.job.settle()
        for each in ("table", "schema", "release", "report", "evaluation"):
            if getattr(self, each) and not os.path.exists(self.folder.root / getattr(self, each)):
                setattr(self, each, "")

    def problem(self, verb: str) -> str:
        """Why the last command failed, if it was this verb's."""
        return self.job.problem if self.job is not None and self.job.words[1] == verb else ""

    def dismiss(self) -> None:
        """Forget a command that failed: what comes next is another try."""
        if self.job is not None and self.job.problem:
            self.job = None

    def runs(self, verb: str) -> Job | None:
        """The job that runs, if it is this verb's."""
        return self.job if self.job is not None and self.job.words[1] == verb and self.job.running else None

    def path(self, name: str) -> Path:
        """A file of ours, looked up anew: what a name leads to may have changed."""
        return self.folder.path(name)

    def read_schema(self) -> Schema:
        """The schema as its file has it now.

        Raises:
            SchemaError: It was broken by hand. What is wrong may quote what was read off rows, and pages that are not
                private show it too, so only the place is told.
        """
        from sfumato.schema.schema import Schema

        try:
            return Schema.load(self.path(self.schema))
        except SchemaError as error:
            mark = getattr(error.__cause__ and error.__cause__.__cause__, "problem_mark", None)
            place = "" if mark is None else f" at line {mark.line + 1}, column {mark.column + 1}"
            command = f"sfumato confirm {shlex.quote(self.schema)}"
            raise SchemaError(f"{self.schema} is no schema{place}; mend it: {command} says what is wrong") from None

    def digest(self) -> str:
        """Which schema, by what its file holds."""
        return hashlib.sha256(self.path(self.schema).read_bytes()).hexdigest()

    @property
    def is_unprotected(self) -> bool:
        """Whether the release is one that was made with a seed, which protects nobody."""
        try:
            return bool(self.release) and not self.load_release().guarantee.secure
        except SfumatoError:  # the steps that read it say so
            return False

    def load_release(self) -> Release:
        """The release, read once."""
        from sfumato.api import load

        if self._loaded is None or self._loaded[0] != self.release:
            self._loaded = self.release, load(self.path(self.release))
        return self._loaded[1]
