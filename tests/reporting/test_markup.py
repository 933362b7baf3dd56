"""Whatever is foreign stays text."""

from __future__ import annotations

import json
from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.reporting.markup import escaped, foreign, joined, script_data, table, tag


class Reader(HTMLParser):
    """The elements of a text, and the text in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.elements.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@settings(max_examples=30)
@given(st.text())
def test_text_cannot_become_an_element(text: str) -> None:
    read = Reader(tag("p", text, title=text))
    assert read.elements == ["p"]
    assert "".join(read.texts) == text


@settings(max_examples=30)
@given(st.text())
def test_data_cannot_end_its_script(text: str) -> None:
    written = script_data({text: [text]})
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == {text: [text]}


def test_what_is_html_already_is_not_escaped_again() -> None:
    assert joined([tag("b", "<"), "<"], " & ") == "<b>&lt;</b> &amp; &lt;"
    assert escaped(escaped("&")) == "&amp;"


def test_a_name_is_on_one_line_and_turns_nothing_round() -> None:
    assert foreign("a\n\u202eb") == "<bdi>a \\u202eb</bdi>"


def test_a_long_table_scrolls_and_can_be_reached_by_keyboard() -> None:
    short, long = (table(["a"], [("x",)] * n, caption="c") for n in (3, 100))
    assert 'tabindex="0"' in short
    assert 'class="scroll"' in short
    assert 'class="scroll long"' in long
    assert "<thead>" not in table((), [("x", "y")], caption="c")
