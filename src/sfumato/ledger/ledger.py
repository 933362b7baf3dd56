"""The ledger: what was spent on each data set, written down before any noise is drawn.

Formal guarantee. Whatever was released under a data set's name through one ledger is together within the cap with which
the data set was opened; `account` has the arithmetic.

Protocol. `reserved` is on disk before a row is read, `drawing` before the first noise is drawn, `released` before `fit`
returns. All three count, so a process may die anywhere. Only a `reserved` entry can become `returned`, which does not
count; nothing deletes an entry or raises a cap. States change by "update where the state is still", so that of two
processes at most one succeeds: an entry that was given back can no longer draw. Triggers in the database hold everyone
else to the same steps.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from sfumato.accounting import calibrate, check_adjacency
from sfumato.errors import ArgumentError, LedgerError
from sfumato.guarantee import LONGEST_NAME
from sfumato.ledger.account import Account, Ask, Dataset, Entry, State, is_one_line
from sfumato.private.accounting import Adjacency
from sfumato.schema.layout import ROW

if TYPE_CHECKING:
    import sqlalchemy as sa

RETURN_SECONDS = 3
"""How long to wait for the ledger when a fit has failed: an interrupt may have left a transaction of our own open."""

_ID = re.compile("[0-9a-f]{32}")


class Ledger:
    """What was spent on data sets, in an SQLite file or a PostgreSQL database.

    Args:
        place: a path, or a database's URL.

    Raises:
        ArgumentError: where a URL cannot be read, or is of another kind of database.

    Example:
        >>> Ledger("clinic.db")
        Ledger('clinic.db')
    """

    def __init__(self, place: str | Path) -> None:
        from sfumato.ledger.store import Place

        self._place = Place.of(str(place))

    def __repr__(self) -> str:
        return f"Ledger({self.place!r})"

    @property
    def place(self) -> str:
        """The path or URL, without a password."""
        return self._place.shown

    def open(
        self, name: str, epsilon: float, delta: float, adjacency: str = Adjacency.ADD_REMOVE, unit: str = ROW
    ) -> Dataset:
        """Enter a data set with its cap, and make the ledger where there is none. A cap is final.

        Args:
            name: of the data set: one name for the same people, whatever the extract or the year.
            epsilon: of all its releases together.
            delta: of all its releases together.
            adjacency: in which terms its cost is counted: "add-remove", "replace-one" or "label".
            unit: of privacy: "row", or the name of the column that names it.

        Returns:
            The data set as it was entered.

        Raises:
            ArgumentError: where the cap is none, or too small for what is set aside at the opening.
            LedgerError: where there is a data set of that name, or one that reads like it.
        """
        from sfumato.ledger import store

        name = _checked("the data set's name", name)
        _checked("the unit", unit)
        check_adjacency(adjacency)
        calibrate(epsilon, delta)  # refuses what is no cap
        made = Dataset(name, _now(), float(epsilon), float(delta), Adjacency(adjacency), unit)
        if not made.mu > 0.0:  # and a delta that what is set aside would use up
            raise ArgumentError(
                f"delta {delta:g} leaves nothing at epsilon {epsilon:g} beside what is set aside for collisions of ids "
                "and for how exactly noise is drawn; raise delta"
            )
        with store.creating(self._place) as connection:
            known = self._find(connection, name)
            if known is not None:
                raise LedgerError(f"{self.place} has {name!r} already, with a cap that is final: {known}")
            for other in connection.execute(store.datasets.select()).mappings():
                if _as_read(other["name"]) == _as_read(name):
                    raise LedgerError(f"{self.place} has {other['name']!r} already, which reads like {name!r}")
            connection.execute(store.datasets.insert().values(asdict(made)))
        return made

    def accounts(self, name: str | None = None) -> list[Account]:
        """Every data set with its entries.

        Args:
            name: of one data set; None for all of them.

        Returns:
            Accounts, in the order in which they were opened.

        Raises:
            LedgerError: where there is no ledger, no such data set, or the ledger is damaged.
        """
        from sfumato.ledger import store

        if name is not None:
            name = _checked("the data set's name", name)
        with store.reading(self._place) as connection, _readable(self.place):
            rows = connection.execute(store.datasets.select().order_by("opened", "name")).mappings()
            found = [_account(connection, _dataset(row)) for row in rows.all() if name in (None, row["name"])]
        if name is not None and not found:
            raise LedgerError(self._unknown(name))
        return found

    def give_back(self, entry: str) -> None:
        """Return an entry whose process ended before it drew any noise. If it is still at work, it will refuse.

        Args:
            entry: its id.

        Raises:
            LedgerError: where there is none, or noise may have been drawn for it.
        """
        wanted = entry if _ID.fullmatch(entry) else ""  # no other text goes to the database
        if self._moved(wanted, State.RESERVED, State.RETURNED):
            return
        state = self._state(wanted)
        if state is None:
            raise LedgerError(f"{self.place} has no entry {entry!r}")
        if state is State.RETURNED:
            raise LedgerError(f"entry {entry} was returned before")
        raise LedgerError(f"entry {entry} is {state}: noise may have been drawn, so it stays counted")

    def reserve(self, dataset: str, asked: Ask, entry: str | None = None) -> Reservation:
        """Set the cost of a release aside while the block runs.

        Args:
            dataset: its name.
            asked: what the release will cost.
            entry: its id, of 32 hexadecimal digits; a fresh one by default.

        Returns:
            A context manager; on entering it the cost is written down, or refused with BudgetError.
        """
        return Reservation(self, _checked("the data set's name", dataset), asked, entry)

    def keeps(self, path: str | Path) -> bool:
        """Whether a path, by any name, is the ledger's own file or one that SQLite keeps beside it.

        Args:
            path: any.

        Returns:
            True where writing to it would damage the ledger.
        """
        return self._place.keeps(Path(path))

    def _reserve(self, entry: str, name: str, asked: Ask) -> None:
        from sfumato.ledger import store

        with store.writing(self._place) as connection:
            dataset = self._find(connection, name)
            if dataset is None:
                raise LedgerError(self._unknown(name, asked))
            with _readable(self.place):
                account = _account(connection, dataset)
            made = account.price(entry, _now(), asked)
            connection.execute(store.entries.insert().values(asdict(made)))

    def _moved(self, entry: str, old: State, new: State, seconds: float | None = None) -> bool:
        """Whether the entry was in the old state, and is now in the new one."""
        from sfumato.ledger import store

        with store.writing(self._place, seconds) as connection:
            mine = (store.entries.c.id == entry) & (store.entries.c.state == str(old))
            return connection.execute(store.entries.update().where(mine).values(state=str(new))).rowcount == 1

    def _state(self, entry: str) -> State | None:
        """How far an entry got; None where there is none."""
        from sfumato.ledger import store

        with store.reading(self._place) as connection, _readable(self.place):
            mine = store.entries.select().where(store.entries.c.id == entry)
            found = connection.execute(mine).mappings().first()
            return None if found is None else State(found["state"])

    def _find(self, connection: sa.Connection, name: str) -> Dataset | None:
        """A data set, locked until the transaction ends where the database does not lock all."""
        from sfumato.ledger.store import datasets

        wanted = datasets.select().where(datasets.c.name == name).with_for_update()
        row = connection.execute(wanted).mappings().first()
        with _readable(self.place):
            return None if row is None else _dataset(row)

    def _unknown(self, name: str, asked: Ask | None = None) -> str:
        command = ["sfumato", "ledger", self.place, "--open", name, "--epsilon", "E", "--delta", "D"]
        if asked is not None and asked.adjacency is not Adjacency.ADD_REMOVE:
            command += ["--adjacency", asked.adjacency]
        if asked is not None and asked.unit != ROW:
            command += ["--unit", asked.unit]
        return f"{self.place} has no data set {name!r}; to open it: {shlex.join(command)}"


class Reservation(AbstractContextManager["Reservation"]):
    """The cost of one release, set aside. Left by an exception before `draw`, it is returned; else it stays counted."""

    def __init__(self, ledger: Ledger, dataset: str, asked: Ask, entry: str | None = None) -> None:
        self.id = entry or uuid.uuid4().hex
        self._ledger, self._dataset, self._asked = ledger, dataset, asked
        self._entered = self._drawn = self._released = self._ended = False

    def __enter__(self) -> Reservation:
        if self._entered:
            raise LedgerError(f"entry {self.id} was reserved before: one reservation is for one release")
        self._entered = True
        try:
            self._ledger._reserve(self.id, self._dataset, self._asked)
        except BaseException:
            self._ended = True
            self._return()  # an interrupt may come when it is written already
            raise
        return self

    def resume(self) -> Reservation:
        """Go on with what an earlier process reserved under this id; reserve it where none did."""
        state = self._ledger._state(self.id)
        if state is None:
            return self.__enter__()
        if state is State.RETURNED:
            raise LedgerError(f"entry {self.id} was given back, so nothing more is drawn for it")
        self._entered, self._drawn = True, state is not State.RESERVED
        self._released = state is State.RELEASED
        return self

    def draw(self) -> None:
        """Call it before any noise is drawn: from here on the cost can never be returned."""
        if self._ended or not self._entered:
            raise LedgerError(f"entry {self.id} is reserved inside its `with` block only, so nothing was drawn")
        if self._drawn:
            return
        if not self._ledger._moved(self.id, State.RESERVED, State.DRAWING):
            raise LedgerError(f"entry {self.id} was given back while its fit ran, so nothing was drawn; fit again")
        self._drawn = True

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        self._ended = True
        if kind is not None:
            self._return()
        elif not self._released and not self._ledger._moved(self.id, State.DRAWING, State.RELEASED):
            raise LedgerError(f"entry {self.id} of {self._ledger.place} is not drawing, so it cannot be released")

    def _return(self) -> None:
        with suppress(LedgerError):  # what went wrong first is what has to be told; and it stays counted
            self._ledger._moved(self.id, State.RESERVED, State.RETURNED, RETURN_SECONDS)


class Uncounted(AbstractContextManager["Uncounted"]):
    """The reservation of a release that no ledger counts."""

    id = None

    def resume(self) -> Uncounted:
        """Nothing was written down."""
        return self

    def draw(self) -> None:
        """Nothing has to be written down."""

    def __exit__(self, *details: object) -> None:
        """Nor here."""


Reserve: TypeAlias = Callable[[Ask], Reservation | Uncounted]


def reservations(
    ledger: Ledger | str | Path | None,
    dataset: str | None,
    secure: bool,
    who: str | None = None,
    why: str | None = None,
) -> Reserve:
    """How a release is to be counted; refuses what cannot be, before any table is opened."""
    if (ledger is None) != (dataset is None):
        raise ArgumentError("ledger and dataset belong together: give both or neither")
    who, why = (note if note is None else _checked(name, note) for name, note in (("who", who), ("why", why)))
    if ledger is None and (who or why):
        raise ArgumentError(
            "who and why belong into a ledger's entry: name the ledger and the data set too, or leave them out"
        )
    if ledger is None or dataset is None:
        return lambda asked: Uncounted()
    if not secure:
        raise ArgumentError("a release with insecure_seed has no epsilon that a ledger could count; leave one out")
    name = _checked("the data set's name", dataset)
    opened = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    return lambda asked: opened.reserve(name, replace(asked, who=who, why=why))


def _account(connection: sa.Connection, dataset: Dataset) -> Account:
    from sfumato.ledger.store import entries

    mine = entries.select().where(entries.c.dataset == dataset.name).order_by(entries.c.number)
    return Account(dataset, tuple(_entry(dict(row), dataset) for row in connection.execute(mine).mappings()))


def _entry(row: dict[str, Any], dataset: Dataset) -> Entry:
    del row["number"]
    entry = Entry(**row | {"state": State(row["state"]), "adjacency": Adjacency(row["adjacency"])})
    entry.check(dataset)
    return entry


def _dataset(row: Any) -> Dataset:
    dataset = Dataset(**dict(row) | {"adjacency": Adjacency(row["adjacency"])})
    calibrate(dataset.epsilon, dataset.delta)  # refuses what is no cap
    return dataset


@contextmanager
def _readable(place: str) -> Iterator[None]:
    """Numbers and words that the library would not have written are damage."""
    try:
        yield
    except ArgumentError as error:  # of a cap that is none
        raise LedgerError(f"{place} is damaged: {error}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise LedgerError(f"{place} is damaged: an entry or a cap is not one that sfumato writes") from error


def _checked(what: str, name: str) -> str:
    """The name in composed form (NFC): an accented letter has two spellings, and only the bytes tell them apart."""
    composed = unicodedata.normalize("NFC", name) if isinstance(name, str) else name
    if not is_one_line(composed):
        raise ArgumentError(f"{what} must be one line of 1 to {LONGEST_NAME} characters, not {name!r}")
    return composed


def _as_read(name: str) -> str:
    """What a name looks like to someone in a hurry: without case, width and double blanks."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return " ".join(folded.split())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
