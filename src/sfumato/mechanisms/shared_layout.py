"""A layout that several fits share: the bins of every column and the tables to ask of, settled before any of them.

Answers to the same questions about different people add up. So that releases of several sites, or of several years, can
be merged, all of them ask about the bins and tables of one layout, which is public: made from a schema and guesses, or
from what a first release has told already. Nothing is then spent on choosing bins and tables.

A layout is public like a schema is. Whoever makes one by hand after looking at rows tells of them what it shows.
This module imports nothing heavy, so that the command line can list options without numpy.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import ArgumentError, SchemaError
from sfumato.text import one_line

if TYPE_CHECKING:
    from sfumato.guarantee import NoisyAnswer
    from sfumato.mechanisms.base import Public
    from sfumato.schema.layout import Bins, IntArray, Layout
    from sfumato.schema.schema import Schema

FORMAT_NAME = "sfumato-layout"
FORMAT_VERSION = 1
LARGEST_LAYOUT = 1 << 26  # bytes of a file
MOST_TABLE_COLUMNS = 16
NOISIEST_CELL = 0.3  # noise of a cell, of the rows that a typical one has: noisier tables are not worth asking for


@dataclass(frozen=True, eq=False, repr=False)
class SharedLayout:
    """Bins and tables that several fits ask about: `sf.Mixture(layout=...)`.

    Attributes:
        schema: What is public about the columns.
        starts: For each modelled column but the label the first grid cells of its bins; None where they are the
            schema's own.
        levels: For each of these columns the level of every bin in tables, from 0 on.
        tables: For each table its columns by their places; the place after the last is the label.
        label_column: Whether the label is the last of these columns, like all others, in the place of classes apart.
        seeded: Whether it was made of a release with seeded noise: such a layout is not public.

    Raises:
        ArgumentError: Bins, levels or tables do not fit the schema.

    Example:
        >>> import sfumato as sf
        >>> number = {"type": "number", "min": 0, "max": 99, "step": 1}
        >>> schema = {"columns": {"age": number, "hours": number}}
        >>> sf.SharedLayout.of(schema, epsilon=1, delta=1e-6, rows=5000)
        SharedLayout(2 columns, 1 tables)
    """

    schema: Schema
    starts: tuple[IntArray | None, ...]
    levels: tuple[IntArray, ...]
    tables: tuple[tuple[int, ...], ...]
    label_column: bool = False
    seeded: bool = False

    def __post_init__(self) -> None:
        _check(self)

    def __repr__(self) -> str:
        return f"SharedLayout({len(self.levels)} columns, {len(self.tables)} tables)"

    @classmethod
    def of(
        cls,
        schema: Schema | dict[str, Any] | str | Path,
        *,
        epsilon: float,
        delta: float,
        adjacency: str = "add-remove",
        rows: int | None = None,
        sites: int = 1,
    ) -> SharedLayout:
        """The layout of a schema: its own bins, and all pairs of columns with the label where noise leaves enough.

        Args:
            schema: What is publicly known about the columns: a `Schema`, a dictionary, or the path of a file.
            epsilon: What each site is going to spend.
            delta: The probability that a release tells more.
            adjacency: Which tables are neighbours.
            rows: A public guess at the number of rows that a site has.
            sites: How many sites, or periods, are going to be merged: their noise grows by the root of it, their rows
                by all of it.

        Returns:
            The layout, a public function of the arguments.

        Raises:
            ArgumentError: An argument is out of its range, or columns are in groups.
        """
        from sfumato.mechanisms.pairs.public_tables import public_layout

        return public_layout(_schema(schema), epsilon, delta, adjacency, rows, sites)

    @classmethod
    def of_release(cls, release: Any) -> SharedLayout:
        """The layout of a first release: the bins that it settled on, and the tables that it bought.

        Args:
            release: A release of the mixture in scores, with its noisy answers. It is public, and so is what follows
                from it.

        Returns:
            The layout.

        Raises:
            ArgumentError: The release is of another mechanism, or its answers were left out.
        """
        answers: Sequence[NoisyAnswer] = release.answers
        if release.encoding != "scores" or release.mechanism != "mixture":
            raise ArgumentError(f"a release of mechanism {release.mechanism!r} in {release.encoding} is no layout")
        if not answers:
            raise ArgumentError("a compact release is no layout: its noisy answers were left out")
        column = release.asked.label != release.schema.label
        starts = _starts(release.asked, _own_layout(release.schema, column))
        try:
            levels, tables = _asked_tables(answers, release.asked)
            return cls(release.schema, starts, levels, tables, column, not release.guarantee.secure)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            raise ArgumentError("the release's noisy answers are not what they say they are: it is no layout") from None

    @classmethod
    def load(cls, path: str | Path) -> SharedLayout:
        """Read a layout file, every field checked.

        Args:
            path: The file.

        Returns:
            The layout.

        Raises:
            ArgumentError: The file is no layout, or does not fit the schema inside.
        """
        return _read(Path(path))

    def save(self, path: str | Path) -> None:
        """Write the layout to a JSON file, which may be edited by hand: tables left out, or others named.

        Args:
            path: Where to; what is there is replaced.

        Raises:
            OutputError: It cannot be written there.
        """
        from sfumato.files import replacing

        names = self.column_names
        bins = {name: starts.tolist() for name, starts in zip(names, self.starts, strict=False) if starts is not None}
        data = {
            "format": FORMAT_NAME,
            "version": FORMAT_VERSION,
            "tables": [[names[j] for j in table] for table in self.tables],
            "bins": bins,
            "levels": {name: level.tolist() for name, level in zip(names, self.levels, strict=False)},
            "label_column": self.label_column,
            "seeded": self.seeded,
            "schema": self.schema.dump(),
        }
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(data, ensure_ascii=False) + "\n", encoding="utf-8")

    @property
    def column_names(self) -> tuple[str, ...]:
        """The modelled columns, the label last where there is one."""
        modelled = [name for name in self.schema.modelling.modelled if name != self.schema.label]
        return (*modelled, *([] if self.schema.label is None else [self.schema.label]))

    def applied(self, public: Public) -> Public:
        """Public facts with the bins of the layout.

        Args:
            public: Those of a schema.

        Returns:
            The same with other bins.

        Raises:
            ArgumentError: The layout is of another schema.
        """
        from sfumato.schema.column_labels import unlabelled
        from sfumato.schema.layout import Layout

        own, given = Layout.of(self.schema), public.layout
        if _columns(own) != _columns(given) or own.unit != given.unit:
            raise ArgumentError("layout: it was made of another schema; all sites need one schema and its layout")
        if self.label_column and public.adjacency != "add-remove":
            raise ArgumentError("layout: it has the label as a column, which needs add-remove adjacency")
        return replace(public, layout=(unlabelled(given) if self.label_column else given).refined(self.starts))


def shared_layout(given: Any) -> SharedLayout | None:
    """What the option `layout` says: a layout, the path of one, or a release that serves as one."""
    if given is None or isinstance(given, SharedLayout):
        return given
    if isinstance(given, (str, Path)):
        return SharedLayout.load(given)
    if all(hasattr(given, name) for name in ("schema", "answers", "mechanism", "layout", "encoding")):
        return SharedLayout.of_release(given)
    raise ArgumentError(f"layout must be a SharedLayout, the path of one, or a release, not {given!r}")


def all_pairs(columns: int, label: int | None) -> tuple[tuple[int, ...], ...]:
    """Every pair of columns, with the label where there is one: that costs the same and says more."""
    more = () if label is None else (label,)
    return tuple((*pair, *more) for pair in combinations(range(columns), 2))


def _check(made: SharedLayout) -> None:
    """Refuse what does not fit the schema, or is too large to ask for."""
    import numpy as np

    from sfumato.private.queries.tables import CELLS_OF_ALL, CELLS_OF_ONE

    own = _own_layout(made.schema, made.label_column)
    if own.groups:
        raise ArgumentError("layout: columns in groups have no bins to share")
    if len(made.starts) != len(own.names) or len(made.levels) != len(own.names):
        raise ArgumentError("layout: it needs bins and levels for each column of its schema")
    for name, bins, starts in zip(own.names, own.bins, made.starts, strict=True):
        if starts is not None and not _fits_grid(bins, starts):
            raise ArgumentError(f"layout: the bins of {one_line(name)!r} do not fit the column's grid")
    sizes = own.refined(made.starts).sizes
    for name, level, size in zip(own.names, made.levels, sizes, strict=True):
        if level.ndim != 1 or len(level) != size or not np.array_equal(np.unique(level), np.arange(len(set(level)))):
            raise ArgumentError(f"layout: the levels of {one_line(name)!r} must be one for each bin, numbered from 0")
    places = [*(int(level.max()) + 2 for level in made.levels), own.classes]  # with what fits no bin
    most = len(places) if own.label is not None else len(places) - 1
    for table in made.tables:
        if not 0 < len(set(table)) == len(table) <= MOST_TABLE_COLUMNS or not 0 <= min(table) <= max(table) < most:
            raise ArgumentError("layout: a table is of columns that the schema has, each of them once")
    if len(set(map(frozenset, made.tables))) < len(made.tables):
        raise ArgumentError("layout: a table is named twice")
    cells = [math.prod(places[j] for j in table) for table in made.tables]
    if max(cells, default=0) > CELLS_OF_ONE or sum(cells) > CELLS_OF_ALL:
        raise ArgumentError(f"layout: a table has at most {CELLS_OF_ONE} cells, all of them {CELLS_OF_ALL}; name fewer")


def _fits_grid(bins: Bins, starts: IntArray) -> bool:
    from sfumato.schema.layout import OrderedBins

    if not isinstance(bins, OrderedBins) or starts.ndim != 1 or not len(starts) or starts[0] != 0:
        return False
    return bool((starts[1:] > starts[:-1]).all() and starts[-1] < bins.grid.size)


def _own_layout(schema: Schema, label_column: bool) -> Layout:
    """The schema's own bins, with the label as a column like all others or apart."""
    from sfumato.schema.column_labels import can_unlabel, unlabelled
    from sfumato.schema.layout import Layout

    own = Layout.of(schema)
    if label_column and not can_unlabel(own):
        raise ArgumentError("layout: only a category can be a label and a column like all others")
    return unlabelled(own) if label_column else own


def _starts(layout: Layout, own: Layout) -> tuple[IntArray | None, ...]:
    """Where bins begin that are not the schema's own."""
    import numpy as np

    from sfumato.schema.layout import OrderedBins

    return tuple(
        None if np.array_equal(mine.cell_starts, own.cell_starts) or not isinstance(mine, OrderedBins) else mine.starts
        for mine, own in zip(layout.bins, own.bins, strict=True)
    )


def _asked_tables(
    answers: Iterable[NoisyAnswer], layout: Layout
) -> tuple[tuple[IntArray, ...], tuple[tuple[int, ...], ...]]:
    """The levels of tables that answers are about, and the tables, each once."""
    import numpy as np

    found: dict[tuple[int, ...], None] = {}
    levels: tuple[IntArray, ...] = tuple(np.zeros(size, dtype=np.int64) for size in layout.sizes)
    for answer in answers:
        if answer.what.get("kind") == "tables":
            levels = tuple(np.array(level[:-1], dtype=np.int64) for level in answer.what["levels"])
            found |= dict.fromkeys(tuple(table) for table in answer.what["tables"])
    return levels, tuple(found)


def _columns(layout: Layout) -> list[Any]:
    """What two layouts of one schema have in common, whatever their bins are."""
    label = None if layout.label_bins is None else layout.label_bins.column
    return [layout.names, [bins.column for bins in layout.bins], layout.label, label, sorted(layout.differences)]


def _schema(schema: Schema | dict[str, Any] | str | Path) -> Schema:
    from sfumato.schema.schema import Schema

    return Schema.load(schema) if isinstance(schema, (str, Path)) else Schema.of(schema)


def _read(path: Path) -> SharedLayout:
    try:
        if path.stat().st_size > LARGEST_LAYOUT:
            raise ArgumentError(f"{path} is too large to be a layout")
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise ArgumentError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ArgumentError(f"{path} is no layout; `sfumato layout` makes one of a schema or of a release") from None
    if not isinstance(data, dict) or (data.get("format"), data.get("version")) != (FORMAT_NAME, FORMAT_VERSION):
        raise ArgumentError(f"{path} is no layout of version {FORMAT_VERSION}; `sfumato layout` makes one")
    try:
        bins, levels, tables = data["bins"], data["levels"], data["tables"]
        column, seeded = data.get("label_column", False), data.get("seeded", False)
        schema = _schema(data["schema"])
        modelled = [name for name in schema.modelling.modelled if name != schema.label]
        names = [*modelled, *filter(None, [schema.label])]
        places = {name: j for j, name in enumerate(names)}
        asked = names if column is True else modelled
        return SharedLayout(
            schema,
            tuple(_whole(bins[name]) if name in bins else None for name in asked),
            tuple(_whole(levels[name]) for name in asked),
            tuple(tuple(places[name] for name in table) for table in tables),
            column is True,
            seeded is not False,
        )
    except SchemaError as error:
        raise ArgumentError(f"{path}: the schema inside is not valid: {one_line(str(error))}") from None
    except ArgumentError as error:
        raise ArgumentError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise ArgumentError(f"{path}: bins, levels or tables are not those of columns of its schema") from None


def _whole(numbers: Any) -> IntArray:
    """A list of whole numbers as an array."""
    import numpy as np

    if not isinstance(numbers, list) or not numbers or not all(type(each) is int for each in numbers):
        raise ValueError
    return np.array(numbers, dtype=np.int64)
