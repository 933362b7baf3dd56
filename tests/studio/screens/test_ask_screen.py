"""Ask questions."""

from __future__ import annotations

import pytest
from tests.studio.visitor import visitor

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.studio.screens import ask_screen
from sfumato.studio.work import Work

FAST = sf.Mixture(pairs=None)


@pytest.fixture
def released(drafted: Work) -> Work:
    known = sf.Schema.of(drafted.read_schema().dump() | {"unconfirmed": []})
    table = drafted.path("people.csv")
    sf.fit(table, known, epsilon=1, delta=1e-6, mechanism=FAST).save(drafted.path("people.sfumato"))
    drafted.release = "people.sfumato"
    return drafted


def test_a_release_made_with_a_seed_gets_an_alarm_and_no_comfort(released: Work) -> None:
    comfort = "may be published with it", "Asking costs no privacy", "sampling rows is free"
    safe = "".join(visitor(released).get(f"/{page}").text for page in ("report", "ask"))
    assert "NOT PRIVATE" not in safe
    assert all(words in safe for words in comfort)
    known = sf.Schema.of(released.read_schema().dump() | {"unconfirmed": []})
    seeded = sf.fit(released.path("people.csv"), known, epsilon=1, delta=1e-6, mechanism=FAST, insecure_seed=1)
    seeded.save(released.path("seeded.sfumato"))
    released.release = "seeded.sfumato"
    for page in ("table", "report", "ask"):
        told = visitor(released).get(f"/{page}").text
        assert "NOT PRIVATE" in told
        assert not any(words in told for words in comfort)


def test_a_question_takes_its_own_fields_alone(released: Work) -> None:
    form = {
        "question": ["mean"],
        "column": ["age"],
        "second": ["town"],
        "q": ["0,5"],
        "where": ["ill == 'yes'"],
        "by": [""],
    }
    ask_screen.act(released, form)
    assert released.asked is not None
    assert released.asked["command"] == ["sfumato", "ask", "people.sfumato", "--where", "ill == 'yes'", "mean", "age"]
    assert released.asked["rows"][0]["shown"]
    ask_screen.act(released, form | {"question": ["quantile"], "where": [""]})
    assert released.asked["command"][-3:] == ["quantile", "age", "0.5"]
    ask_screen.act(released, form | {"question": ["mean"], "by": ["town"], "where": [""]})
    assert [row["key"] for row in released.asked["rows"]] == ["Bonn", "Ulm"]
    for odd in ({"question": ["magic"]}, {"question": ["share"], "where": [""]}, form | {"where": ["import os"]}):
        with pytest.raises(SfumatoError):
            ask_screen.act(released, odd)
