"""HTML made of tags, in which foreign text cannot become anything but text.

>>> print(tag("p", "a < b ", tag("b", "& so on"), class_="note", hidden=True))
<p class="note" hidden>a &lt; b <b>&amp; so on</b></p>
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any

from sfumato.text import one_line

UNSCROLLED_LINES = 40  # of a table that does not scroll up and down
NARROW_COLUMNS, NARROW_TEXTS = 4, 2  # of a table that a phone has room for, and how many of them are no numbers
VOID = {"br", "col", "hr", "input", "link", "meta", "wbr"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(kind: str, /, *children: str, **attributes: Any) -> Markup:
    """An element.

    Args:
        kind: Its name.
        *children: What is in it: text, which is escaped, or Markup.
        **attributes: Its attributes: an underscore stands for a hyphen, one at the end for nothing; True gives the bare
            name; None and False leave it out.

    Returns:
        The element.
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if kind in VOID:
        return Markup(f"<{kind}{given}>")
    return Markup(f"<{kind}{given}>{joined(children)}</{kind}>")


def joined(parts: Iterable[str], between: str = "") -> Markup:
    """Parts one behind the other, those that are text escaped."""
    return Markup(escaped(between).join(escaped(part) for part in parts))


def escaped(text: str) -> Markup:
    """Text as HTML; what is HTML already stays."""
    return text if isinstance(text, Markup) else Markup(html.escape(text, quote=True))


def foreign(text: Any) -> Markup:
    """A name or a value of the schema: on one line, nothing in it obeyed, apart from the direction of what is around.

    >>> foreign("</script>")
    '<bdi>&lt;/script&gt;</bdi>'
    """
    return tag("bdi", one_line(str(text)))


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str, numbers: Iterable[int] = (), label: str = ""
) -> Markup:
    """A table that scrolls sideways where there is no room for it.

    Args:
        head: The heads of its columns; () for none.
        rows: Its rows; the first cell of each is its head.
        caption: What stands above it; Markup or text.
        numbers: The places of columns that are set as numbers.
        label: What a reader of the screen calls the region that scrolls.

    Returns:
        The table.
    """
    right = set(numbers)

    def cell(kind: str, place: int, content: str, **more: Any) -> Markup:
        return tag(kind, content, class_="number" if place in right else None, **more)

    heads = tag("thead", tag("tr", *(cell("th", i, each, scope="col") for i, each in enumerate(head))))
    lines = [
        tag("tr", *(cell("td" if i else "th", i, each, scope=None if i else "row") for i, each in enumerate(row)))
        for row in rows
    ]
    broad = "broad" if len(head) > NARROW_COLUMNS or len(head) - len(right) > NARROW_TEXTS else None
    whole = tag("table", tag("caption", caption), heads if head else "", tag("tbody", *lines), class_=broad)
    long = " long" * (len(lines) > UNSCROLLED_LINES)
    return tag("div", whole, class_=f"scroll{long}", tabindex="0", role="region", aria_label=label or "Table")


def script_data(data: Any) -> Markup:
    r"""Data as JSON for a script element, which nothing in it can end.

    >>> print(script_data(["</script>", "&"]))
    ["\u003c/script\u003e","\u0026"]
    """
    written = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        written = written.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(written)


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.removesuffix("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(str(value), quote=True)}"'
