"""The watch over pages sees what it is there to see."""

from __future__ import annotations

import pytest

HEAD = "<!doctype html><html lang=en><title>A page</title><main><h1>Here</h1>"


def test_a_quiet_page_has_no_fault(page, axe):
    page.set_content(HEAD + "<p>Quiet.</p></main>")
    axe(page)


@pytest.mark.parametrize(
    ("markup", "fault"),
    [
        ("<script>console.error('lost')</script>", "console: lost"),
        ("<script>missing()</script>", "exception"),
        ("<img alt='' src='http://192.0.2.1/a.png'>", "request: http://192.0.2.1/a.png"),
    ],
)
def test_a_fault_is_seen(page, faults, markup, fault):
    page.set_content(HEAD + markup, wait_until="commit")
    page.wait_for_timeout(300)
    assert any(fault in found for found in faults)
    faults.clear()


def test_a_picture_without_words_is_seen(page, axe):
    page.set_content(HEAD + "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA='></main>")
    with pytest.raises(AssertionError, match="image-alt"):
        axe(page)
