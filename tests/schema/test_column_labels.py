"""A label among the columns and back."""

from sfumato.schema.column_labels import can_unlabel, labelled, unlabelled
from sfumato.schema.layout import Layout
from sfumato.schema.schema import Schema

SIZE = {"type": "number", "min": 0, "max": 3, "step": 1}
KIND = {"type": "category", "values": ["a", "b"]}


def layout(label, columns):
    return Layout.of(Schema.of({"label": label, "columns": columns} if label else {"columns": columns}))


def test_there_and_back():
    own = layout("kind", {"kind": KIND, "size": SIZE})
    plain = unlabelled(own)
    assert (plain.names, plain.label, plain.classes, plain.sizes) == (("size", "kind"), None, 1, (4, 2))
    assert labelled(plain) == own


def test_only_a_category_can_be_one_of_them():
    assert can_unlabel(layout("kind", {"kind": KIND, "size": SIZE}))
    assert not can_unlabel(layout("size", {"kind": KIND, "size": {**SIZE, "bins": 2}}))
    assert not can_unlabel(layout(None, {"kind": KIND, "size": SIZE}))
